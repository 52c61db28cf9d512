"""Where memories are kept. Decides nothing; knows no SQL's worth of meaning outside this room."""

from recollect.model.report import Counts, Entry, Finding
from recollect.store.connect import Tuning, sqlite_version
from recollect.store.copies import free_name
from recollect.store.protocol import ChangeHeader, Progress, Store
from recollect.store.salvage import Salvaged, salvage
from recollect.store.sqlite import SqliteStore

__all__ = [
    "ChangeHeader",
    "Counts",
    "Entry",
    "Finding",
    "Progress",
    "Salvaged",
    "SqliteStore",
    "Store",
    "Tuning",
    "free_name",
    "salvage",
    "sqlite_version",
]

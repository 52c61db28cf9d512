"""Where memories are kept: one store per project and one for the user. Decides nothing.

`Store` (protocol.py) is the contract; `SqliteStore` is the one engine today, with one database file per store.
"""

from recollect.store.connect import Tuning, sqlite_version
from recollect.store.journal import Journal
from recollect.store.migrate import free_name
from recollect.store.protocol import ChangeHeader, Progress, Store
from recollect.store.search import Search
from recollect.store.sessions import SessionState
from recollect.store.verify import Salvaged, Upkeep, salvage

__all__ = [
    "ChangeHeader",
    "Progress",
    "Salvaged",
    "SqliteStore",
    "Store",
    "Tuning",
    "free_name",
    "salvage",
    "sqlite_version",
]


class SqliteStore(Journal, Search, SessionState, Upkeep):
    """One opened database."""

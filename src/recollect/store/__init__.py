"""Where memories are kept: one store per project and one for the user. Decides nothing.

`Store` (protocol.py) is the contract; `SqliteStore` is the one engine today, with one database file per store."""

from apsw import sqlite_lib_version

from recollect.store.connect import Tuning, free_name
from recollect.store.protocol import ChangeHeader, Progress, Store
from recollect.store.sqlite_store import SqliteStore, read_tables, salvage

__all__ = [
    "ChangeHeader", "Progress", "SqliteStore", "Store", "Tuning", "free_name", "read_tables", "salvage",
    "sqlite_lib_version",
]  # fmt: skip

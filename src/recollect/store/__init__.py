"""Where memories are kept: one store per project, one for the user, and one per team. Decides nothing.

`Store` (protocol.py) is the contract. `SqliteStore` keeps a store in a file of its own; what a team shares is in
PostgreSQL (postgres_store.py, which is imported only where there is a team)."""

from apsw import sqlite_lib_version

from recollect.store.connect import Tuning, free_name
from recollect.store.protocol import ChangeHeader, LocalStore, Progress, Store
from recollect.store.sqlite_store import SqliteStore, read_tables, salvage

__all__ = [
    "ChangeHeader", "LocalStore", "Progress", "SqliteStore", "Store", "Tuning", "free_name", "read_tables", "salvage",
    "sqlite_lib_version",
]  # fmt: skip

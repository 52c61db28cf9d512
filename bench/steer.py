"""What steering costs: a server's start beside an empty one of the same SDK, each tool's call, suggestions and
compaction through the daemon, and what the tool list puts into every prompt.

Nothing stands in for anything: the server is the script that `install` writes, spoken with over its pipes; the daemon
is one that it started. CPU and memory are what the system tells of the processes. The store holds the corpus's text
with random vectors (hook_pace.py says why); one thread in a hundred has a twin with its vector, so that there is
something to merge.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from bench import child, hook_pace, processes
from bench.child import Child
from bench.house import House
from bench.report import Report, percentile
from recollect.base.errors import RecollectError
from recollect.store import Progress
from recollect.wire import stub

MOST_START_RATIO = 1.5
MOST_MEMORY_RATIO = 1.3
MOST_CPU_S = {"suggestions": 1.0, "compaction, dry run": 2.0, "compaction, done": 5.0}
_TWIN_OF = 100  # one in so many
_WARMING = 3
_CHARS_A_TOKEN = 4
_HANDSHAKE = "2025-11-25"
_EMPTY = """
import asyncio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
async def none(ctx, params):
    from mcp import types
    return types.ListToolsResult(tools=[])
async def main():
    server = Server("empty", on_list_tools=none)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Start:
    """From the spawn to `initialize` answered; medians of runs in turn."""

    runs: int
    cpu_ms: float
    empty_cpu_ms: float
    cpu_ratio: float
    wall_ms: float
    empty_wall_ms: float
    memory_mb: float
    """Resident, after its tools were listed and some were called."""
    empty_memory_mb: float
    memory_ratio: float


@dataclass(frozen=True, slots=True)
class Called:
    tool: str
    calls: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Planned:
    """In the daemon, its vectors in memory."""

    what: str
    cpu_s: float
    wall_s: float
    merges: int
    daemon_mb: float
    """Resident, after it."""


@dataclass(frozen=True, slots=True)
class Steered:
    memories: int
    calls: tuple[Called, ...]
    plans: tuple[Planned, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What every prompt of an agent carries; tokens are reckoned at four characters each."""

    tools: int
    tool_chars: int
    tool_tokens: int
    instruction_chars: int
    instruction_tokens: int
    skill_chars: int
    """Only when it is called."""
    skill_tokens: int


@dataclass(frozen=True, slots=True)
class SteerReport(Report):
    start: Start
    sizes: tuple[Steered, ...]
    prompt: Prompt

    @property
    def passed(self) -> bool:
        planned = [plan for size in self.sizes for plan in size.plans]
        return (
            self.start.cpu_ratio <= MOST_START_RATIO
            and self.start.memory_ratio <= MOST_MEMORY_RATIO
            and all(plan.cpu_s <= MOST_CPU_S[plan.what] for plan in planned)
        )


def run_steer(
    folder: Path, *, sizes: tuple[int, ...], calls: int = 100, runs: int = 11, progress: Progress
) -> SteerReport:
    done = itertools.count(1)
    total = runs + len(sizes) * (calls + 2)
    with tempfile.TemporaryDirectory(prefix="rcs") as runtime:  # the path of a socket has a limit
        place = House(str(folder), runtime, str(folder / "project"))
        place.furnish()
        try:
            start = _start(place, runs, lambda: progress(next(done), total))
            found = tuple(_steered(place, sizes, calls, lambda: progress(next(done), total)))
        finally:
            place.clear()
    return SteerReport(start, found, _prompt())


# One server


class Server:
    """Spoken with in lines of JSON."""

    def __init__(self, process: subprocess.Popen[bytes], began_s: float) -> None:
        self.pid = process.pid
        self._process = process
        self._numbers = itertools.count(1)
        self._to, self._from = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
        self.ask(
            "initialize",
            protocolVersion=_HANDSHAKE,
            capabilities={},
            clientInfo={"name": "bench", "version": "1"},
        )
        self.wall_ms = (time.perf_counter() - began_s) * 1_000
        self.cpu_ms = processes.cpu_ms(self.pid)
        self._tell({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._tell({"id": number, "method": method, "params": params})
        while line := self._from.readline():
            told = json.loads(line)
            if told.get("id") == number:
                return cast(dict[str, Any], told.get("result") or {})
        raise RecollectError(f"The server ended at {method}.")

    def call(self, tool: str, **given: object) -> dict[str, Any]:
        found = self.ask("tools/call", name=tool, arguments=given)
        if found.get("isError"):
            raise RecollectError(f"{tool}: {found['content'][0]['text'][:300]}")
        return found

    def _tell(self, message: Mapping[str, object]) -> None:
        self._to.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._to.flush()


@contextmanager
def serving(place: House, command: list[str]) -> Iterator[Server]:
    began_s = time.perf_counter()
    environ = {**place.environ, "RECOLLECT_HOME": str(place.home.root)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, cwd=place.project
    ) as process:
        try:
            yield Server(process, began_s)
        finally:
            process.kill()


def _ours(place: House) -> list[str]:
    return [stub.server_path(str(place.home.root))]


def _start(place: House, runs: int, step: Callable[[], None]) -> Start:
    """The two in turn, so that what else the machine does falls on both."""
    found: dict[str, list[tuple[float, float, float]]] = {"ours": [], "empty": []}
    for _ in range(runs):
        for name, command in (
            ("ours", _ours(place)),
            ("empty", [sys.executable, "-I", "-c", _EMPTY]),
        ):
            with serving(place, command) as server:
                server.ask("tools/list")
                if name == "ours":
                    for number in range(_WARMING):
                        server.call("ai_recall", query=f"question {number}")
                found[name].append(
                    (server.cpu_ms, server.wall_ms, processes.body(server.pid).memory_mb)
                )
        step()
    ours, empty = (
        [statistics.median(row[n] for row in found[name]) for n in range(3)]
        for name in ("ours", "empty")
    )
    return Start(
        runs,
        round(ours[0], 1),
        round(empty[0], 1),
        round(ours[0] / empty[0], 2),
        round(ours[1], 1),
        round(empty[1], 1),
        round(ours[2], 1),
        round(empty[2], 1),
        round(ours[2] / empty[2], 2),
    )


# Tools, as the store grows


def _steered(
    place: House, sizes: tuple[int, ...], calls: int, step: Callable[[], None]
) -> Iterator[Steered]:
    standing = 0
    for size in sorted(sizes):
        hook_pace.grow(place, standing, size, lambda _: None)
        with Child(give_twins, str(place.store), max(1, (size - standing) // _TWIN_OF)) as process:
            process.answer()
        standing = size
        daemon = place.start()
        place.warm()
        with serving(place, _ours(place)) as server:
            called = _called(server, calls, step)
            plans = [_planned(server, daemon, what, tool, given) for what, tool, given in _PLANS]
            step()
            if size == max(sizes):
                plans.append(_planned(server, daemon, "compaction, done", "ai_compact", {}))
            step()
        place.stop()
        yield Steered(size, called, tuple(plans))


_PLANS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("suggestions", "ai_suggestions", {"context": "the release"}),
    ("compaction, dry run", "ai_compact", {"dry_run": True}),
)


def _called(server: Server, calls: int, step: Callable[[], None]) -> tuple[Called, ...]:
    """Each tool in turn, as an agent mixes them."""
    spent: dict[str, list[float]] = {}

    def timed(tool: str, **given: object) -> str:
        began_s = time.perf_counter()
        found = server.call(tool, **given)
        spent.setdefault(tool, []).append((time.perf_counter() - began_s) * 1_000)
        return str(found["content"][0]["text"])

    for number in range(calls):
        one = timed(
            "ai_pin", content=f"Decision {number}: the queue is drained at midnight."
        ).split()[2]
        other = timed(
            "ai_pin", content=f"Decision {number}: the cache is emptied at noon."
        ).split()[2]
        timed("ai_recall", query=f"what about the queue of release {number}")
        timed("ai_focus", topic=f"queue {number}")
        timed("ai_unfocus")
        timed("ai_rate_context", thread_id=one, useful=number % 2 == 0)
        timed("ai_merge", a=one, b=other)
        timed("ai_undo")
        timed("ai_status")
        step()
    return tuple(
        Called(tool, len(found), round(percentile(found, 50), 1), round(percentile(found, 95), 1))
        for tool, found in sorted(spent.items())
    )


def _planned(
    server: Server, daemon: int, what: str, tool: str, given: Mapping[str, object]
) -> Planned:
    cpu_ms, began_s = processes.cpu_ms(daemon), time.perf_counter()
    told = server.call(tool, **given)["structuredContent"]
    wall_s, used_ms = time.perf_counter() - began_s, processes.cpu_ms(daemon) - cpu_ms
    merges = told["totals"]["merge_candidates"] if "totals" in told else _merges(told)
    return Planned(
        what, round(used_ms / 1_000, 2), round(wall_s, 2), merges, processes.body(daemon).memory_mb
    )


def _merges(told: Mapping[str, Any]) -> int:
    """As far as they are listed: of a long report an agent gets the first entries."""
    return sum(action["action"] == "merge" for action in told["actions"])


def give_twins(path: str, count: int) -> None:
    """Two of each of the newest threads, with one vector for both."""
    import numpy as np

    from recollect.base.clock import SystemClock
    from recollect.base.ids import Mint
    from recollect.embed.embedder import load
    from recollect.model.memory import Kind, Thread
    from recollect.model.plan import Create, Plan
    from recollect.model.query import Query
    from recollect.store import ChangeHeader, SqliteStore, Tuning

    store, clock, embedder = SqliteStore(Path(path), Tuning()), SystemClock(), load()
    mint, now = Mint(clock), clock.now()
    found = store.find(Query(kinds=(Kind.THREAD,), limit=count))
    twins = [
        Thread(
            id=mint.draw("thread"), title=f"{one.title} again", body=one.body[:400], topics=one.topics,
            created_at=now, reinforced_at=now, last_active_at=now,
        )
        for one in found
        for _ in range(2)
    ]  # fmt: skip
    store.apply(
        Plan.of([Create(twin) for twin in twins]),
        ChangeHeader(mint.draw("change"), "import", "bench", "", now),
    )
    missing = store.vectorless(embedder.id, 1_000_000)
    owners = store.owners([seq for seq, _ in missing])
    numbers = {
        owner: number
        for number, owner in enumerate(sorted({one.memory for one in owners.values()}))
    }
    drawn = np.random.default_rng(2).standard_normal(
        (len(numbers) // 2 + 1, embedder.dim), np.float32
    )
    rows = [(seq, drawn[numbers[owners[seq].memory] // 2].tobytes()) for seq, _ in missing]
    store.put_vectors(embedder.id, rows)
    for _ in store.build_index(embedder.id) if store.lacks_index(embedder.id) else ():
        pass  # as the daemon does in the background: its time would count with that of the first tools
    store.close()
    child.say(len(twins))


# What every prompt carries


def _prompt() -> Prompt:
    from recollect.agents import claude_code
    from recollect.mcp.server import INSTRUCTIONS, TOOLS

    told = [
        json.dumps(
            {
                "name": t.name,
                "description": t.tool["description"],
                "input_schema": t.tool["inputSchema"],
            }
        )
        for t in TOOLS
    ]
    skill = Path(claude_code.__file__).with_name("skill.md").read_text(encoding="utf-8")
    lengths = sum(map(len, told)), len(INSTRUCTIONS), len(skill)
    return Prompt(
        len(TOOLS), *(part for chars in lengths for part in (chars, round(chars / _CHARS_A_TOKEN)))
    )

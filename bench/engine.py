"""What an answer costs as the store grows: words and vectors through the product's engine, in CPU time, beside an
exact search in 32-bit floats and bare FTS5 over the same memories in the same run.

The text is the corpus's. The vectors are random, of length one and stored as real ones are: embedding a million texts
would take hours, and the cost of a search does not depend on what its vectors mean. The embedding of a prompt is
measured apart, with the real model. Every figure is taken in a fresh process, so that its memory is its own.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import child, stages, suites
from bench.child import Child
from bench.corpus import Corpus
from bench.report import Report, percentile
from bench.stages import peak_mb as peak_mb
from recollect.base.clock import SystemClock
from recollect.store import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store import Store

SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 200
PROMPT_WORDS = 30
_MODEL = "bench:chance"
_DIM = 384
_LIMIT = 10
_OPENINGS = 3
_BLOCK = 10_000
_VECTOR_SEED, _ASKED_SEED, _PROMPT_SEED = 1, 2, 9_000_000
_BARE_QUERY = "SELECT rowid, rank FROM bare WHERE bare MATCH ? ORDER BY rank LIMIT ?"


@dataclass(frozen=True, slots=True)
class Timed:
    p50_cpu_ms: float
    p95_cpu_ms: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Cold:
    """A fresh process to its first answer; the vectors are loaded on the way."""

    import_cpu_ms: float
    open_cpu_ms: float
    first_answer_cpu_ms: float
    open_and_answer_wall_ms: float


@dataclass(frozen=True, slots=True)
class EngineFigures:
    memories: int
    passages: int
    index_mb: float
    """Of the index file; nothing where the store is too small for one, or it was built before."""
    index_cpu_s: float
    """What building it took."""
    recall: Timed
    """A warm engine; without the embedding of the question."""
    peak_with_model_mb: float
    """The same process with the embedder loaded and used: what a daemon holds."""
    cold: Cold
    exact: Timed
    """numpy, all vectors as 32-bit floats; vectors alone."""
    bare: Timed
    """FTS5 with all words of the question; words alone."""


@dataclass(frozen=True, slots=True)
class EngineReport(Report):
    prompt_words: int
    embedder: str
    """Which way to run the model is installed here."""
    embedding: Timed
    """Of one prompt."""
    sizes: tuple[EngineFigures, ...]


def run_engine(
    folder: Path, *, sizes: tuple[int, ...] = SIZES, progress: Progress, questions: int = QUESTIONS
) -> EngineReport:
    folder.mkdir(parents=True, exist_ok=True)
    ours, bare = str(folder / "engine.db"), str(folder / "bare.db")
    standing = int(_last(count_memories, ours)) if Path(ours).exists() else 0
    # Each memory is written, then its passages are given vectors.
    total = 2 * max(sizes)
    figures: list[EngineFigures] = []
    for size in sorted(size for size in sizes if size >= standing):
        if size > standing:
            _last(stages.grow, ours, standing, size, say=_told(progress, standing, total))
        if size > standing or not Path(bare).exists():
            _last(stages.grow_bare, bare, standing if Path(bare).exists() else 0, size)
        given = _last(give_vectors, ours, say=_told(progress, size, total))
        passages = int(given["passages"])
        warm = _last(ask_warm, ours, questions)
        figures.append(
            EngineFigures(
                size,
                passages,
                given["index_mb"],
                given["index_cpu_s"],
                Timed(**warm["timed"]),
                warm["peak_with_model_mb"],
                _cold(ours),
                Timed(**_last(ask_exact, passages, questions)),
                Timed(**_last(ask_bare, bare, questions)),
            )
        )
        standing = size
    embedded = _last(embed_prompts, questions)
    return EngineReport(PROMPT_WORDS, embedded["by"], Timed(**embedded["timed"]), tuple(figures))


def _told(progress: Progress, before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(min(before + done, total), total)


def _cold(path: str) -> Cold:
    runs = [_last(answer_cold, path, number) for number in range(_OPENINGS)]
    return Cold(
        **{name: round(statistics.median(run[name] for run in runs), 1) for name in runs[0]}
    )


def _last(
    function: Callable[..., None], *arguments: Any, say: Callable[[int], None] | None = None
) -> Any:
    """What a process says at its end; a number before that is how far it is."""
    with Child(function, *arguments) as process:
        said = None
        for said in process.heard():
            if isinstance(said, int) and say is not None:
                say(said)
        if said is None:
            process.answer()  # raises: it died without a word
        return said


# In processes of their own


def count_memories(path: str) -> None:
    store = _opened(path)
    child.say(sum(count for *_, count in store.counts().by_kind_and_status))
    store.close()


def give_vectors(path: str) -> None:
    """The nth passage gets the nth vector, so that others can make the same ones without asking."""
    from recollect.store import SqliteStore, Tuning

    store = SqliteStore(Path(path), Tuning())
    counts = store.counts()
    rows = islice(
        (row for block in _blocks(counts.passages) for row in block), counts.vectors, None
    )
    given = counts.vectors
    while missing := store.vectorless(_MODEL, _BLOCK):
        store.put_vectors(
            _MODEL, [(seq, row.tobytes()) for (seq, _), row in zip(missing, rows, strict=False)]
        )
        given += len(missing)
        child.say(given)
    began = time.process_time()
    for _ in store.build_index(_MODEL) if store.lacks_index(_MODEL) else ():
        pass
    cost, file = time.process_time() - began, Path(path).with_suffix(".index")
    store.close()
    size = file.stat().st_size if file.exists() else 0
    child.say(
        {
            "passages": counts.passages,
            "index_mb": round(size / 1e6, 1),
            "index_cpu_s": round(cost, 2),
        }
    )


def ask_warm(path: str, questions: int) -> None:
    store = _opened(path)
    prompts, vectors = _prompts(questions + 1), _asked(questions + 1)
    _answered(store, prompts[-1], vectors[-1])
    timed = _timed(questions, lambda number: _answered(store, prompts[number], vectors[number]))
    from recollect.embed.embedder import load

    load().embed_one(prompts[0])
    child.say({"timed": timed, "peak_with_model_mb": peak_mb()})
    store.close()


def answer_cold(path: str, number: int) -> None:
    prompt = _prompts(number + 1)[-1]
    began_cpu = time.process_time()
    from recollect.app.memory_search import search_stores  # noqa: F401

    vector = _asked(number + 1)[-1]  # brings numpy, which the engine needs
    imported_cpu, imported = time.process_time(), time.perf_counter()
    store = _opened(path)
    opened_cpu = time.process_time()
    _answered(store, prompt, vector)
    ended_cpu, ended = time.process_time(), time.perf_counter()
    store.close()
    child.say(
        {
            "import_cpu_ms": (imported_cpu - began_cpu) * 1_000,
            "open_cpu_ms": (opened_cpu - imported_cpu) * 1_000,
            "first_answer_cpu_ms": (ended_cpu - opened_cpu) * 1_000,
            "open_and_answer_wall_ms": (ended - imported) * 1_000,
        }
    )


def ask_exact(passages: int, questions: int) -> None:
    import numpy as np

    # Filled in place: a list of blocks joined at the end would hold everything twice.
    vectors = np.empty((passages, _DIM), np.float32)
    place = 0
    for block in _blocks(passages):
        vectors[place : place + len(block)] = block
        place += len(block)
    asked = _asked(questions)

    def nearest(number: int) -> None:
        close = vectors @ asked[number]
        best = np.argpartition(-close, min(_LIMIT, passages - 1))[:_LIMIT]
        best[np.argsort(-close[best])].tolist()

    child.say(_timed(questions, nearest))


def ask_bare(path: str, questions: int) -> None:
    import apsw

    db = apsw.Connection(path)
    prompts = _prompts(questions)

    def found(number: int) -> None:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", prompts[number]))
        db.execute(_BARE_QUERY, (match, _LIMIT)).fetchall()

    child.say(_timed(questions, found))
    db.close()


def embed_prompts(questions: int) -> None:
    from recollect.app.embedding import MAX_TOKENS
    from recollect.embed.embedder import load

    embedder = load()
    prompts = _spoken_prompts()
    embedder.embed_one(prompts[-1], MAX_TOKENS)
    timed = _timed(
        questions, lambda number: embedder.embed_one(prompts[number % len(prompts)], MAX_TOKENS)
    )
    child.say({"by": type(embedder).__name__, "timed": timed})


def _opened(path: str) -> Store:
    from recollect.store import SqliteStore, Tuning

    return SqliteStore(Path(path), Tuning())


def _answered(store: Store, prompt: str, vector: NDArray[np.float32]) -> None:
    from recollect.app.embedding import QuestionVector
    from recollect.app.memory_search import search_stores
    from recollect.lifecycle.strength import AgeRules
    from recollect.model.query import Query

    asked = QuestionVector(_MODEL, vector.tobytes())
    query = Query(text=prompt, limit=_LIMIT)
    search_stores([store], query, now=SystemClock().now(), rules=AgeRules(), vector=asked)


def _timed(times: int, once: Callable[[int], object]) -> dict[str, float]:
    costs: list[float] = []
    for number in range(times):
        began = time.process_time()
        once(number)
        costs.append((time.process_time() - began) * 1_000)
    return {
        "p50_cpu_ms": round(percentile(costs, 50), 2),
        "p95_cpu_ms": round(percentile(costs, 95), 2),
        "peak_mb": peak_mb(),
    }


def _prompts(count: int) -> list[str]:
    corpus = Corpus(_PROMPT_SEED)
    return [corpus.prompt(PROMPT_WORDS) for _ in range(count)]


def _spoken_prompts() -> list[str]:
    """Of real words: the corpus's invented ones fall into twice as many pieces, and each piece costs."""
    words = [
        word
        for task in suites.read(suites.OWN).tasks
        for document in task.documents
        if document.text.isascii()
        for word in document.text.split()
    ]
    ends = range(PROMPT_WORDS, len(words), PROMPT_WORDS)
    return [" ".join(words[end - PROMPT_WORDS : end]) for end in ends]


def _asked(count: int) -> NDArray[np.float32]:
    return _chance(_ASKED_SEED, 0, count)


def _blocks(count: int) -> Iterator[NDArray[np.float32]]:
    """The vectors of all passages, a block at a time, the same at every call."""
    for number, start in enumerate(range(0, count, _BLOCK)):
        yield _chance(_VECTOR_SEED, number, _BLOCK)[: count - start]


def _chance(seed: int, number: int, count: int) -> NDArray[np.float32]:
    import numpy as np

    drawn = np.random.default_rng((seed, number)).standard_normal((count, _DIM), np.float32)
    vectors: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return vectors

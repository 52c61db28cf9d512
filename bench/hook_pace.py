"""What a prompt's hook costs: with a warm daemon, and for the first prompt, which has to start one.

Three are measured in turn, so that other load affects all of them: an interpreter that does nothing, the whole hook
process, and the same event sent by a process that runs already, which leaves the daemon's part. Each prompt is
another one, and sessions are short, so that there is always something left to be told.

The text is the corpus's, the vectors are random (engine.py says why), stored under the real model's name: the daemon
finds none missing, embeds each prompt with the real model, and compares it with as many as there would be.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench import child, house, processes, stages
from bench.child import Child
from bench.corpus import Corpus
from bench.house import PROMPT, House, Ran, payload, soon
from bench.report import digits, percentile
from recollect.store import SqliteStore, Tuning
from recollect.wire.frame import OK

Step = Callable[[int], None]

_BARE = [sys.executable, "-I", "-S", "-c", "pass"]
_A_SESSION = 10
_BLOCK = 10_000
_NAMED_WORDS = 14
_AT_WORK_WITHIN_S = 30.0
_PROMPT_SEED, _VECTOR_SEED = 8_000_000, 1


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds."""

    p50: float
    p95: float
    p99: float
    worst: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(*(digits(percentile(values, percent)) for percent in (50, 95, 99, 100)))


@dataclass(frozen=True, slots=True)
class Warm:
    prompts: int
    how: str
    """What the daemon answered by."""
    answered: int
    """Hooks that printed something."""
    wall: Spread
    """The whole hook process."""
    cpu_ms: float
    """Of the hook process, the shell that starts it included; the median."""
    bare_wall_ms: float
    bare_cpu_ms: float
    """`python -I -S -c pass`"""
    cpu_ratio: float
    daemon: Spread
    """From sending the event to having its answer, in a process that runs already."""
    daemon_cpu_ms: float
    """Of one event, on average."""
    daemon_memory_mb: float
    past_deadline: int


@dataclass(frozen=True, slots=True)
class First:
    """A hook that finds no daemon."""

    runs: int
    wall: Spread
    answered: int
    """Printed something."""
    spooled: int
    """Whose event was not written by the end of the daemon: the pointer stays."""
    past_deadline: int


@dataclass(frozen=True, slots=True)
class Pace:
    memories: int
    database_mb: float
    warm: Warm | None
    first: First | None


@dataclass(frozen=True, slots=True)
class Bulk:
    """While the daemon gives vectors to memories that lack them."""

    warm: Warm
    vectors_given: int
    """Meanwhile; 0 says that it did not come to it."""


def run_pace(
    place: House, sizes: tuple[int, ...], prompts: int, firsts: int, step: Step
) -> Iterator[Pace]:
    standing = 0
    asked = _prompts()
    for size in sorted(sizes):
        grow(place, standing, size, step)
        standing = size
        warm = _warm(place, place.start(), size, asked, prompts, step) if prompts else None
        place.stop()
        first = _first(place, _answerable(place, firsts), step) if firsts else None
        yield Pace(size, round(place.store.stat().st_size / 1e6, 1), warm, first)


def run_bulk(place: House, memories: int, prompts: int, step: Step) -> Bulk:
    """As many memories again, which come without vectors, as by an import."""
    _add(place, memories, 2 * memories, lambda _: None)
    pid = place.start()
    place.warm()
    soon(lambda: _vectors_given(place) > 0, _AT_WORK_WITHIN_S)
    before = _vectors_given(place)
    warm = _warm(place, pid, 0, _prompts(), prompts, step)
    return Bulk(warm, _vectors_given(place) - before)


def grow(place: House, standing: int, size: int, step: Step) -> None:
    _add(place, standing, size, step)
    with Child(give_vectors, str(place.store)) as process:
        process.answer()


def _add(place: House, standing: int, size: int, step: Step) -> None:
    with Child(stages.grow, str(place.store), standing, size) as process:
        while isinstance(said := process.answer(), int):
            step(said - standing)
            standing = said
    step(size - standing)


def _vectors_given(place: House) -> int:
    store = SqliteStore(place.store, Tuning(), read_only=True)
    try:
        return store.counts().vectors
    finally:
        store.close()


def _warm(
    place: House, pid: int, size: int, asked: Iterator[str], prompts: int, step: Step
) -> Warm:
    how = "words and vectors" if place.warm() else "words alone"
    hooks: list[Ran] = []
    bare: list[Ran] = []
    daemon_ms: list[float] = []
    before_ms = processes.cpu_ms(pid)
    for number in range(prompts):
        session = f"warm-{size}-{number // _A_SESSION}"
        bare.append(house.run(_BARE, b"", environ=place.environ, cwd=place.project))
        hooks.append(place.run(PROMPT, payload(place, PROMPT, session, number, prompt=next(asked))))
        daemon_ms.append(
            asked_ms(place, payload(place, PROMPT, session + "d", number, prompt=next(asked)))
        )
        step(1)
    used_ms = processes.cpu_ms(pid) - before_ms
    cpu_ms = statistics.median(ran.cpu_ms for ran in hooks)
    bare_cpu_ms = statistics.median(ran.cpu_ms for ran in bare)
    return Warm(
        prompts,
        how,
        answered=sum(bool(ran.out) for ran in hooks),
        wall=Spread.of([ran.wall_ms for ran in hooks]),
        cpu_ms=digits(cpu_ms),
        bare_wall_ms=round(statistics.median(ran.wall_ms for ran in bare), 1),
        bare_cpu_ms=digits(bare_cpu_ms),
        cpu_ratio=round(cpu_ms / bare_cpu_ms, 2),
        daemon=Spread.of(daemon_ms),
        daemon_cpu_ms=round(used_ms / (2 * prompts), 1),
        daemon_memory_mb=processes.body(pid).memory_mb,
        past_deadline=_late(hooks),
    )


def asked_ms(place: House, body: bytes) -> float:
    began_s = time.perf_counter()
    kind, _ = place.ask(PROMPT, body, pointer="none")
    took_ms = (time.perf_counter() - began_s) * 1_000
    # One that was not taken took no time worth telling, and would better the figure.
    return took_ms if kind == OK else float(house.deadline_ms(PROMPT))


def _first(place: House, asked: list[str], step: Step) -> First:
    ran: list[Ran] = []
    spooled = 0
    for number, prompt in enumerate(asked):
        before = place.spool_length()
        ran.append(
            place.run(PROMPT, payload(place, PROMPT, f"first-{number}", number, prompt=prompt))
        )
        place.stop()  # by then what was answered is written, and its pointer gone
        spooled += place.spool_length() - before
        step(1)
    answered = sum(bool(one.out) for one in ran)
    return First(
        len(asked),
        Spread.of([one.wall_ms for one in ran]),
        answered,
        spooled,
        past_deadline=_late(ran),
    )


def _answerable(place: House, most: int) -> list[str]:
    """Each names a memory by its longest words, so that a hook that prints nothing was not answered in time."""
    store = SqliteStore(place.store, Tuning(), read_only=True)
    try:
        texts = [memory.body for memory, _ in islice(store.each(), most)]
    finally:
        store.close()
    return [" ".join(sorted(set(text.split()), key=len)[-_NAMED_WORDS:]) + "?" for text in texts]


def _late(ran: list[Ran]) -> int:
    return sum(one.wall_ms > house.deadline_ms(PROMPT) for one in ran)


def _prompts() -> Iterator[str]:
    corpus = Corpus(_PROMPT_SEED)
    while True:
        yield corpus.prompt()


# In a process of its own


def give_vectors(path: str) -> None:
    import numpy as np

    from recollect.base.errors import ModelError
    from recollect.embed.embedder import load
    from recollect.store import SqliteStore, Tuning

    try:
        embedder = load()
    except ModelError:
        child.say(0)  # then words answer alone, and the report says so
        return
    chance = np.random.default_rng(_VECTOR_SEED)
    store = SqliteStore(Path(path), Tuning())
    given = 0
    while missing := store.vectorless(embedder.id, _BLOCK):
        drawn = chance.standard_normal((len(missing), embedder.dim), np.float32)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        store.put_vectors(
            embedder.id,
            [(seq, row.tobytes()) for (seq, _), row in zip(missing, drawn, strict=True)],
        )
        given += len(missing)
    store.close()
    child.say(given)

"""Many processes write to one file at once; none may lose a write or see that the file was busy."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import child
from bench.child import Child
from bench.pins import Pin, Pinner, kept
from bench.report import Report
from recollect.base.errors import IdTaken, StoreBusy
from recollect.store import Progress, SqliteStore, Store, Tuning

_PIN_WORDS = 40
_SAID_EVERY = 25


@dataclass(frozen=True, slots=True)
class WritersReport(Report):
    processes: int
    writes: int
    """Of each process."""
    acknowledged: int
    lost: int
    duplicates: int
    busy: int
    """Writes and openings that gave up waiting: what a user would have seen as an error."""
    ids_taken: int
    """Ids that two processes drew at once; the second drew again."""
    verify_findings: int
    per_s: float
    slowest_ms: float

    @property
    def passed(self) -> bool:
        whole = self.acknowledged == self.processes * self.writes
        return whole and self.lost == self.duplicates == self.busy == self.verify_findings == 0


def run_writers(
    folder: Path, *, processes: int = 16, writes: int = 500, progress: Progress
) -> WritersReport:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "writers.db"
    with ExitStack() as stack:
        running = [
            stack.enter_context(Child(write, str(path), number, writes))
            for number in range(processes)
        ]
        for one in running:
            one.answer()
        began = time.perf_counter()
        for one in running:
            one.tell("go")
        # They share one lock and so keep step: hearing each in turn is as good as hearing all at once.
        for done in range(0, writes, _SAID_EVERY):
            for number, one in enumerate(running):
                one.answer()
                progress(
                    min(writes, done + _SAID_EVERY) * (number + 1)
                    + done * (processes - number - 1),
                    processes * writes,
                )
        took_s = time.perf_counter() - began
        ends = [one.answer() for one in running]
    ids = [id for end in ends for id in end["ids"]]
    store = SqliteStore(path, Tuning())
    try:
        found = kept(store, ids)
        return WritersReport(
            processes,
            writes,
            len(ids),
            found.lost,
            found.duplicates,
            busy=sum(end["busy"] for end in ends),
            ids_taken=sum(end["ids_taken"] for end in ends),
            verify_findings=len(store.verify()),
            per_s=round(len(ids) / took_s, 1),
            slowest_ms=round(max(end["slowest_ms"] for end in ends), 1),
        )
    finally:
        store.close()


def write(path: str, number: int, writes: int) -> None:
    """In a process of its own."""
    pinner = Pinner(number, _PIN_WORDS)
    ids: list[str] = []
    busy = ids_taken = 0
    slowest_s = 0.0
    child.say("ready")
    child.told()
    # Opened only now: sixteen programs that make and open the same file at once are part of the question, and
    # so are those that come and go.
    store, refused = _opened(Path(path))
    busy += refused
    for done in range(1, writes + 1):
        began = time.perf_counter()
        try:
            pin, redrawn = _pinned(store, pinner)
            ids.append(pin.id)
            ids_taken += redrawn
        except StoreBusy:
            busy += 1
        slowest_s = max(slowest_s, time.perf_counter() - began)
        if done % _SAID_EVERY == 0 or done == writes:
            child.say(done)
            store.close()
            store, refused = _opened(Path(path))
            busy += refused
    store.close()
    child.say({"ids": ids, "busy": busy, "ids_taken": ids_taken, "slowest_ms": slowest_s * 1_000})


def _opened(path: Path) -> tuple[Store, int]:
    """The store, and how often it was refused before."""
    refused = 0
    while True:
        try:
            return SqliteStore(path, Tuning()), refused
        except StoreBusy:
            refused += 1


def _pinned(store: Store, pinner: Pinner) -> tuple[Pin, int]:
    """The pin that was written, and how many ids were taken before it."""
    redrawn = 0
    while True:
        pin = pinner.draw()
        try:
            store.apply(pin.plan(), pin.act())
        except IdTaken:
            redrawn += 1
            continue
        return pin, redrawn

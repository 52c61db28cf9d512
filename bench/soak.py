"""One daemon, very many prompts, many sessions and projects: do memory, files and threads level off?

A real daemon is asked with real frames, as a hook asks it; each project has a store of its own. What the process holds
and what lies in its folders is looked at ten times on the way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench import processes
from bench.hook_crowd import event_of
from bench.hooks import open_house
from bench.house import House, payload
from bench.report import Report
from recollect.store import Progress
from recollect.wire.frame import OK, BadFrame

PROJECTS = 12  # more than a daemon holds open at once
EVENTS_A_SESSION = 25
LOOKS = 10
# What may still grow between the half and the end: a cache that is not full yet, a log that is.
MOST_GROWTH_MB, MOST_GROWTH_THREADS, MOST_GROWTH_DESCRIPTORS = 25.0, 4, 20


@dataclass(frozen=True, slots=True)
class Look:
    """After this many events."""

    events: int
    memory_mb: float
    descriptors: int
    threads: int
    runtime_files: int
    """Pointers, rendered recalls, the socket."""
    home_files: int
    home_mb: float


@dataclass(frozen=True, slots=True)
class SoakReport(Report):
    projects: int
    sessions: int
    not_taken: int
    per_s: float
    looks: tuple[Look, ...]

    @property
    def passed(self) -> bool:
        middle, last = self.looks[len(self.looks) // 2 - 1], self.looks[-1]
        return (
            self.not_taken == 0
            and last.memory_mb - middle.memory_mb <= MOST_GROWTH_MB
            and last.threads - middle.threads <= MOST_GROWTH_THREADS
            and last.descriptors - middle.descriptors <= MOST_GROWTH_DESCRIPTORS
            and last.runtime_files <= middle.runtime_files + PROJECTS
        )


def soak(place: House, events: int, progress: Progress) -> SoakReport:
    """`place` is furnished; its daemon is alive afterwards, for who wants to look."""
    houses = [replace(place, project=f"{place.project}-{number}") for number in range(PROJECTS)]
    for house in houses:
        house.furnish()
    pid = place.start()
    place.warm()
    looks: list[Look] = []
    not_taken = 0
    began_s = time.perf_counter()
    for number in range(events):
        session, at = divmod(number, EVENTS_A_SESSION)
        house = houses[session % PROJECTS]
        not_taken += not _take(house, f"soak-{session}", at)
        if (number + 1) * LOOKS // events > len(looks):
            looks.append(_look(place, pid, number + 1))
        progress(number + 1, events)
    took_s = time.perf_counter() - began_s
    sessions = -(-events // EVENTS_A_SESSION)
    return SoakReport(PROJECTS, sessions, not_taken, round(events / took_s, 1), tuple(looks))


def _take(house: House, session: str, at: int) -> bool:
    event = event_of(at, EVENTS_A_SESSION)
    try:
        kind, _ = house.ask(event, payload(house, event, session, at))
    except (OSError, BadFrame):
        return False
    return kind == OK


def _look(place: House, pid: int, events: int) -> Look:
    body = processes.body(pid)
    home = _files(place.home.root)
    return Look(
        events=events,
        memory_mb=round(body.memory_mb, 1),
        descriptors=body.descriptors,
        threads=body.threads,
        runtime_files=len(_files(Path(place.place.runtime))),
        home_files=len(home),
        home_mb=round(sum(_size(path) for path in home) / 1e6, 1),
    )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the write-ahead log of a store that was just closed
        return 0


def run_soak(folder: Path, *, events: int, progress: Progress) -> SoakReport:
    with open_house(folder) as place:
        return soak(place, events, progress)

"""Hooks on a slow disk: how many are answered in time where every sync takes so many milliseconds more.

The hardest case: the first session of a new project, for which a store is made, and events that follow at once. A small
library in front of libc (slow_disk.c, built with gcc) slows the daemon's syncs down; hooks and daemon are real.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.hooks import open_house
from bench.house import PROMPT, House, payload, soon
from bench.report import Report
from recollect.base.errors import BadInput
from recollect.store import Progress

DELAYS_MS = (0, 50, 100)
EVENTS = ("SessionStart", PROMPT, "Stop")
_SOURCE = Path(__file__).with_name("slow_disk.c")
_START_WITHIN_S = 60.0
_SETTLE_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class SlowDisk:
    sync_ms: int
    hooks: int
    answered: int
    """Printed and confirmed within the deadline."""
    late: int
    waiting: int
    """Pointers that were still not read at the end: an event that is not kept."""


@dataclass(frozen=True, slots=True)
class SlowDiskReport(Report):
    disks: tuple[SlowDisk, ...]

    @property
    def passed(self) -> bool:
        """Whatever the disk, nothing is lost, and what is asked is answered."""
        return all(disk.waiting == 0 and disk.answered >= disk.hooks * 0.9 for disk in self.disks)


def run_slow_disk(folder: Path, *, projects: int, progress: Progress) -> SlowDiskReport:
    library = _build(folder)
    disks: list[SlowDisk] = []
    for place_in, sync_ms in enumerate(DELAYS_MS):
        with open_house(folder / f"at-{sync_ms}") as place, _daemon(place, library, sync_ms):
            disks.append(_measure(place, sync_ms, projects))
        progress(place_in + 1, len(DELAYS_MS))
    return SlowDiskReport(tuple(disks))


def _build(folder: Path) -> Path:
    library = folder / "slow_disk.so"
    command = ["gcc", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        hint = "It needs gcc, on Linux."
        raise BadInput(f"The library cannot be built: {problem}.", hint=hint) from None
    return library


@contextmanager
def _daemon(place: House, library: Path, sync_ms: int) -> Iterator[None]:
    """Not started by a hook: what a hook starts gets no variables of ours."""
    environ = {
        **place.environ,
        "RECOLLECT_HOME": str(place.home.root),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "LD_PRELOAD": str(library),
        "SLOW_SYNC_US": str(sync_ms * 1_000),
    }
    command = [sys.executable, "-m", "recollect", "daemon", "run"]
    with subprocess.Popen(command, env=environ, cwd="/", stderr=subprocess.DEVNULL) as daemon:
        try:
            soon(lambda: place.status() is not None, _START_WITHIN_S)
            yield
        finally:
            daemon.terminate()


def _measure(place: House, sync_ms: int, projects: int) -> SlowDisk:
    Path(place.root, "warm.jsonl").touch()
    place.run(PROMPT, payload(place, PROMPT, "warm", 0))
    soon(lambda: (place.status() or {}).get("model") == "ready", _START_WITHIN_S)
    before = place.status() or {}
    for number in range(projects):
        house = replace(place, project=f"{place.project}-{number}")
        Path(house.project, ".ai").mkdir(parents=True)
        Path(house.root, f"session-{number}.jsonl").touch()  # else its events wait for it
        for at, event in enumerate(EVENTS):
            house.run(event, payload(house, event, f"session-{number}", at))
    soon(lambda: place.spool_length() == 0, _SETTLE_WITHIN_S)
    after = place.status() or {}
    return SlowDisk(
        sync_ms=sync_ms,
        hooks=projects * 2,  # the end of a turn is only kept
        answered=min(after.get("answered", 0) - before.get("answered", 0), projects * 2),
        late=after.get("late", 0) - before.get("late", 0),
        waiting=place.spool_length(),
    )

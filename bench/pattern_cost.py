"""What texts that are made to be slow cost at each door: the worst CPU time over a corpus of repeated words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.doors import Doors
from bench.report import Report
from recollect.store import Progress

SIZES = (200, 20_000)
WORDS = (
    "wrong again ", "sorry but ", " ", "\n", "a. ", "?", "' ", '\\"', "` ", "<abc>", "BEGIN\n", "- a\n", "\u201c",
    "never use a. ", "we use a, not b. ", "unit e2e ", "\u4f60\u597d", "| head ", "/a", "token: ", "%41", "[[",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DoorCost:
    door: str
    chars: int
    worst_cpu_s: float
    by: str


@dataclass(frozen=True, slots=True)
class PatternReport(Report):
    doors: tuple[DoorCost, ...]


def run_patterns(folder: Path, *, progress: Progress) -> PatternReport:
    doors = Doors(folder)
    costs = []
    try:
        for number, (name, door) in enumerate(doors.all.items()):
            progress(number, len(doors.all))
            door("We always use pnpm here.")  # what is loaded once does not count
            for chars in SIZES:
                spent = {word: _cpu_s(door, word, chars) for word in WORDS}
                worst = max(spent, key=lambda word: spent[word])
                costs.append(DoorCost(name, chars, round(spent[worst], 3), repr(worst)))
    finally:
        doors.close()
    return PatternReport(tuple(costs))


def _cpu_s(door: Callable[[str], None], word: str, chars: int) -> float:
    text = f"please look at this {word * (chars // len(word))}\0 x and check it"
    began_s = time.process_time()
    door(text)
    return time.process_time() - began_s

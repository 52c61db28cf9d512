"""What texts that are made to be slow cost at each door: the worst CPU time over a corpus of repeated words."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import recollect
from bench.doors import Doors
from bench.pumps import Pump, pumps
from bench.report import Report
from recollect.capture import failed_commands, tables
from recollect.store import Progress

SIZES: tuple[int, ...] = (200, 20_000, 240_000, 990_000)
ALL_SIZES = (200, 20_000)
ALL_DOORS = (
    "prompt", "command", "path", "edit", "read: prompt", "read: output", "read: commit", "note",
)  # fmt: skip
_PUMPS_PER_PATTERN = 2
WORDS = (
    "wrong again ", "sorry but ", " ", "\n", "a. ", "?", "' ", '\\"', "` ", "<abc>", "BEGIN\n", "- a\n", "\u201c",
    "never use a. ", "we use a, not b. ", "unit e2e ", "\u4f60\u597d", "| head ", "/a", "token: ", "%41", "[[",
    "a", "7", "{", "\\u0041", "e\u0301", "\U0001f600", "https://a.example/b?c=d ", "QUJDREVGR0hJSktM\n", "---\n",
    "| a | b |\n", "<memory>", "<private>", "-----BEGIN RSA PRIVATE KEY-----\n", "password=x ", "key,b\n", '{"a":',
    "```\n", "@", "> a ", "\u0301\u0327",
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


def run_patterns(folder: Path, *, every: bool = False, progress: Progress) -> PatternReport:
    """`every`: also words that each pattern of the program repeats."""
    doors = Doors(folder)
    texts = [Pump("please look at this ", word) for word in WORDS]
    names, sizes = tuple(doors.all), SIZES
    if every:
        texts += _own_pumps()
        names, sizes = ALL_DOORS, ALL_SIZES
    costs = []
    try:
        for number, name in enumerate(names):
            progress(number, len(names))
            door = doors.all[name]
            door("We always use pnpm here.")  # what is loaded once does not count
            for chars in sizes:
                spent = {pump: _cpu_s(name, door, pump, chars) for pump in texts}
                worst = max(spent, key=lambda pump: spent[pump])
                costs.append(DoorCost(name, chars, round(spent[worst], 3), repr(worst.word)))
    finally:
        doors.close()
    return PatternReport(tuple(costs))


def _own_pumps() -> list[Pump]:
    """The first few of each pattern, each once."""
    made = dict.fromkeys(
        pump for pattern in program_patterns() for pump in pumps(pattern)[:_PUMPS_PER_PATTERN]
    )
    return [pump for pump in made if pump.word]


def program_patterns() -> list[re.Pattern[Any]]:
    """Those of the capture tables, and those that the program's modules hold."""
    patterns = dict.fromkeys(_patterns_in_tables())
    for module in pkgutil.walk_packages(recollect.__path__, "recollect."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, re.Pattern):
                patterns[value] = None
    return list(patterns)


def _patterns_in_tables() -> Iterator[re.Pattern[Any]]:
    for code in tables.CODES:
        spoken = tables.language(code)
        yield from (signal.pattern for signal in spoken.signals)
        for named in (spoken.vetoes, spoken.whole_prompt, spoken.patterns):
            yield from named.values()
        yield from (pattern for pattern, _ in spoken.rewrites)
    for _, _, patterns, _ in failed_commands._kinds():
        yield from patterns


def _cpu_s(name: str, door: Callable[[str], None], pump: Pump, chars: int) -> float:
    """The text names its door: a prompt that a hook has seen is not judged again in the transcript."""
    text = f"{pump.text(chars)} x and check it, {name}"
    began_s = time.process_time()
    door(text)
    return time.process_time() - began_s

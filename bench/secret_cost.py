"""What it costs to look for secrets: CPU time per megabyte of ordinary source, and the slowest pattern on 50 KB that
were made to be slow."""

from __future__ import annotations

import os
import random
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from recollect.redact import Redactor
from recollect.redact.redactor import spans_of
from recollect.redact.secret_table import ROWS, Row

MOST_MS_A_MB = 100.0
MOST_MS_HOSTILE = 50.0
_HOSTILE_BYTES = 50_000
_MEGABYTE = 1_000_000
_KEY = b"a key for benchmarks"
_NOT_ORDINARY = frozenset(
    {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}
)


@dataclass(frozen=True, slots=True)
class Cost:
    ms_a_mb: float
    hostile_texts: int
    slowest_row_ms: float
    slowest_row: str
    slowest_text_ms: float

    @property
    def in_time(self) -> bool:
        return self.ms_a_mb <= MOST_MS_A_MB and self.slowest_row_ms <= MOST_MS_HOSTILE


def sources() -> Iterator[Path]:
    """Not the tests among them: they hold keys that were made for tests."""
    for folder, below, names in os.walk(sysconfig.get_path("stdlib")):
        below[:] = sorted(set(below) - _NOT_ORDINARY)
        yield from (
            Path(folder, name) for name in sorted(names) if name.endswith((".py", ".txt", ".rst"))
        )


def run_cost(hostile: int, seed: int, step: Callable[[int], None]) -> Cost:
    redactor = Redactor(_KEY)
    text = ""
    for path in sources():
        text += path.read_text(encoding="utf-8", errors="replace")
        if len(text) >= _MEGABYTE:
            break
    text = text.encode()[:_MEGABYTE].decode(errors="ignore")
    numbers = count()  # another text each time: one that was just looked at is not looked at again
    ms = _cpu_ms(lambda: redactor.clean(f"{text}\n{next(numbers)}"))
    ms_a_mb = ms * _MEGABYTE / len(text.encode())
    rows = {"": 0.0}
    whole = 0.0
    for made in _hostile(hostile, random.Random(f"{seed} hostile")):
        content = made.encode()
        for row in ROWS:
            if any(keyword in made.lower() for keyword in row.keywords):
                rows[row.kind] = max(rows.get(row.kind, 0.0), _cpu_ms(partial(_walk, row, content)))
        whole = max(whole, _cpu_ms(partial(redactor.clean, made)))
        step(1)
    slowest = max(rows, key=rows.__getitem__)
    return Cost(round(ms_a_mb, 1), hostile, round(rows[slowest], 1), slowest, round(whole, 1))


def _walk(row: Row, content: bytes) -> int:
    return sum(1 for _ in spans_of(row, content, {}, {}))


def _hostile(count: int, chance: random.Random) -> Iterator[str]:
    """Names without end, keywords that begin what never comes, escapes; half of them one unit over and over."""
    for number in range(count):
        make = _UNITS[number % len(_UNITS)]
        again = make(chance) if chance.random() < 0.5 else ""
        pieces: list[str] = []
        size = 0
        while size < _HOSTILE_BYTES:
            pieces.append(again or make(chance))
            size += len(pieces[-1])
        yield "".join(pieces)[:_HOSTILE_BYTES]


def _a_name(chance: random.Random) -> str:
    sign = chance.choice(
        ("={} ", ": {}\n", "='{}' ", '": "{}", ', " is {} ", "=$a{} ", "=f({}) ", "%3D{} ", "={}-")
    )
    name = chance.choice(
        (
            "pwd",
            "token",
            "api_key",
            "password",
            "jira",
            "auth",
            "secret",
            "authorization",
            "://a:b@",
        )
    )
    return name + sign.format(_noise(chance, chance.choice((3, 8, 16, 60))))


def _a_keyword(chance: random.Random) -> str:
    return chance.choice(chance.choice(ROWS).keywords) + _noise(
        chance, chance.choice((1, 5, 20, 50))
    )


def _an_escape(chance: random.Random) -> str:
    return chance.choice(
        (
            "\\/",
            "%41",
            "\\u0041",
            "-----BEGIN PRIVATE KEY-----",
            "<private>",
            "eyJaaaaaaaaaa.",
            "'",
            "A" * 64 + "\n",
        )
    ) * chance.choice((1, 50))


_UNITS = (_a_name, _a_keyword, _an_escape)


def _noise(chance: random.Random, size: int) -> str:
    return "".join(chance.choices("abcdefghij0123456789XYZ_-", k=size))


def _cpu_ms(work: Callable[[], object], runs: int = 3) -> float:
    """The best of a few: what else the machine does is not its cost."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best * 1_000

"""Strings that break programs: for every place that takes text (naughty.json, and some that are too long for it)."""

import json
from pathlib import Path

_HUGE = [
    "9" * 400, "a" * 300, "😀" * 50, "Z\u0351\u036b\u0343" * 200, "e" + "\u0301" * 2000, "x" * 5_000, "ab " * 2_000,
    "日" * 3_000, "_" * 500, "a_" * 700, "aB" * 700, "\n" * 1_500, "." * 1_300, "(" * 1_000,
    "[" * 1_000 + "]" * 1_000, "word" * 20_000, "É" * 40_000, "\u0301",
]  # fmt: skip
_TABLE: dict[str, list[str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)

NAUGHTY: tuple[str, ...] = tuple(
    dict.fromkeys([*(text for texts in _TABLE.values() for text in texts), *_HUGE])
)

"""Texts in many scripts and shapes: what the golden files are made from, and what the tests ask."""

import json
from pathlib import Path

from tests.naughty import NAUGHTY

SENTENCES: tuple[str, ...] = tuple(
    json.loads(Path(__file__).with_name("sentences.json").read_text(encoding="ascii"))
)

# One of every few characters of each plane, between letters and alone: where a table would go wrong.
SWEEP = tuple(
    " ".join(f"a{chr(code)}b {chr(code)}" for code in range(first, first + 1024, 17) if not 0xD800 <= code < 0xE000)
    for first in (*range(0x0000, 0x3400, 1024), 0x4C00, 0x9C00, 0xA000, 0xA400, 0xA800, 0xAC00, 0xD400, 0xD800, 0xE000,
                  0xF800, 0xFC00, 0x10000, 0x10800, 0x10C00, 0x10D00, 0x10F00, 0x11000, 0x11400, 0x11800, 0x11A00,
                  0x11C00, 0x12000, 0x13400, 0x16E00, 0x16F00, 0x1CF00, 0x1D000, 0x1D400, 0x1E000, 0x1E800, 0x1F000,
                  0x1F400, 0x20000, 0x2B800, 0x2CC00, 0x2F800, 0x30000, 0xE0000, 0xF0000, 0x100000)
)  # fmt: skip

TEXTS = tuple(dict.fromkeys((*SENTENCES, *SWEEP, *(text for text in NAUGHTY if len(text) < 2_000))))


def askable(text: str) -> str:
    """The reference refuses lone surrogates; we take them for U+FFFD."""
    return "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text
    )

"""What a terminal is given: lines with a tone, and tables. The command line lays them out."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Tone(StrEnum):
    """The value is how a terminal shows it: a colour, or how heavy the letters are."""

    PLAIN = ""
    TITLE = "bold"
    DIM = "dim"
    GOOD = "green"
    WARN = "yellow"
    BAD = "red"
    COMMAND = "cyan"


class Line(NamedTuple):
    text: str = ""
    tone: Tone = Tone.PLAIN


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Line | Table

"""What a terminal is given: lines with a tone, tables and boxes. The command line lays them out."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Tone(StrEnum):
    """The value is the style in the words of `rich`."""

    PLAIN = ""
    TITLE = "bold"
    DIM = "dim"
    GOOD = "green"
    WARN = "yellow"
    BAD = "bold red"
    COMMAND = "cyan"


class Line(NamedTuple):
    text: str = ""
    tone: Tone = Tone.PLAIN


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Box(NamedTuple):
    """Text word for word, in a frame."""

    title: str
    text: str


Block = Line | Table | Box

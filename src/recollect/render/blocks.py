"""What a terminal is given: lines with a tone, tables and boxes. How they look is up to the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    PLAIN = "plain"
    TITLE = "title"
    DIM = "dim"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Line:
    text: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Box:
    """Text word for word, in a frame."""

    title: str
    text: str


Block = Line | Table | Box

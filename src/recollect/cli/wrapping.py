"""Breaks text at the terminal's width, and tells on standard error. Loads little: errors are told this way, too."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from typing import TextIO
from unicodedata import east_asian_width

import click

from recollect.base.settings import environment
from recollect.base.text import visible

_MAX_WIDTH = 110
_BARS = " \u2502"  # spaces, and what frames a text
# Leading spaces or a frame, and a few short cells of a table-like line, each with two spaces after it.
_COLUMNS = re.compile(r"[ \u2502]*(?:[^ ](?:[^ ]| (?! )){0,24} {2,}){0,2}")


def tell(message: str) -> None:
    """Something that is not the answer itself: an error, a remark, what to do next."""
    text = visible(message)
    width = wrap_width(sys.stderr)
    click.echo(wrapped(text, width) if width else text, err=True)


def terminal_width() -> int:
    return min(_MAX_WIDTH, shutil.get_terminal_size().columns)


def wrap_width(stream: TextIO) -> int:
    """Where to break lines. A pipe gets whole ones, for programs that look for a sentence, unless somebody asks for
    a width: 0."""
    if not stream.isatty() and "COLUMNS" not in environment():
        return 0
    return terminal_width()


def wrapped(text: str, width: int) -> str:
    return "\n".join(part for line in text.split("\n") for part in _wrapped_line(line, width))


def _wrapped_line(line: str, width: int) -> Iterator[str]:
    """Broken between words; what follows is indented like the text above it. A long word stays whole."""
    if text_width(line) <= width:
        yield line
        return
    hanging = _hanging_indent(line, most=width // 2)
    lead = line[: len(hanging)]
    words: list[str] = []
    used = text_width(lead)
    for word in line[len(hanging) :].split(" "):
        wide = text_width(word)
        if words and used + wide > width:
            yield (lead + " ".join(words)).rstrip()
            lead, words, used = hanging, [], text_width(hanging)
        words.append(word)
        used += wide + 1
    yield (lead + " ".join(words)).rstrip()


def _hanging_indent(line: str, *, most: int) -> str:
    """Below the last column that the line begins with, or below its first word."""
    begins = _COLUMNS.match(line)
    start = begins.end() if begins else 0
    if start > most:
        start = len(line) - len(line.lstrip(_BARS))
    return "".join(char if char in _BARS else " " for char in line[:start])


def text_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)

"""Our section in an index that belongs to others: put in, renewed, and taken out again so that not a byte differs.

The section stands between two lines that are comments. Where the text before it did not end its last line, we do, and
the first of the two says so. What others wrote between the two is not ours: it is moved behind the section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

HEAD = "## Rules that Recollect keeps"
_BEGIN, _JOINED = "<!-- recollect begin -->", "<!-- recollect begin, joined -->"
_END = "<!-- recollect end -->"
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")

Ours = Callable[[str], bool]


class Broken(ValueError):
    """The marks are not a pair any more."""


class Parts(NamedTuple):
    """An index without our section."""

    before: str
    after: str  # with what was written into the section by others
    entries: tuple[str, ...] = ()

    @property
    def own(self) -> str:
        return self.before + self.after


def split_off(text: str, is_ours: Ours) -> Parts:
    """`is_ours` knows an entry of ours. Raises Broken."""
    lines = [line for line in _LINE.findall(text) if line]
    begins = [i for i, line in enumerate(lines) if line.rstrip("\r\n") in (_BEGIN, _JOINED)]
    ends = [i for i, line in enumerate(lines) if line.rstrip("\r\n") == _END]
    if not begins and not ends:
        return Parts(text, "")
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise Broken
    begin, end = begins[0], ends[0]
    before, inside, after = lines[:begin], lines[begin + 1 : end], lines[end + 1 :]
    foreign = [line for line in inside if line.rstrip("\r\n") != HEAD and not is_ours(line)]
    entries = tuple(line.rstrip("\r\n") for line in inside if is_ours(line))
    head = "".join(before)
    if lines[begin].startswith(_JOINED) and not foreign and not after:
        head = head.removesuffix("\r\n" if lines[begin].endswith("\r\n") else "\n")
    return Parts(head, "".join((*foreign, *after)), entries)


def put_in(parts: Parts, entries: Sequence[str]) -> str:
    """The index with these entries of ours; as it is without us where there are none."""
    if not entries:
        return parts.own
    eol = "\r\n" if "\r\n" in parts.own else "\n"
    is_open = bool(parts.before) and not parts.before.endswith("\n")
    lines = (_JOINED if is_open else _BEGIN, HEAD, *entries, _END)
    return parts.before + (eol if is_open else "") + eol.join(lines) + eol + parts.after

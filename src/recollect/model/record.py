"""A turn record: what one turn of a session leaves behind.

It is kept as the text of one message (source `TURN`), one labelled line a part, always in this order, parts that are
empty left out:

    Asked: why do the nightly tests fail?
    Found: The clock in the container is an hour behind.
    Decided: "keep everything in UTC"
    Changed: docker/entrypoint.sh, tests/clock.py
    Ran: make nightly (failed); make nightly
    Ended: Nightly tests pass again.
    Said: ...

`Asked` and `Decided` are the person's words, the rest is the agent's. `Said` is the agent's own text, as it was said,
and may have many lines; it is where an answer that is longer than a sentence is found. All other parts are one line.

Does not distil anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.text import one_line

TURN = "turn"  # the source of a message that is a record


class Role(StrEnum):
    ASKED = "asked"
    FOUND = "found"
    DECIDED = "decided"
    CHANGED = "changed"
    RAN = "ran"
    ENDED = "ended"
    SAID = "said"


_ORDER = {role: number for number, role in enumerate(Role)}
_LABEL = re.compile(rf"^({'|'.join(role.capitalize() for role in Role)}): ?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    asked: str = ""
    found: str = ""
    decided: str = ""
    changed: str = ""
    ran: str = ""
    ended: str = ""
    said: str = ""

    def text(self) -> str:
        lines = []
        for role in Role:
            value = getattr(self, role)
            words = value.strip() if role is Role.SAID else one_line(value)
            if words:
                lines.append(f"{role.capitalize()}: {words}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Part:
    """Where the words of one role stand in a record's text, without the label."""

    role: Role
    start: int
    end: int


def parts(text: str) -> Iterator[Part]:
    """Nothing for a text that is no record. A label that comes out of order is part of what was said."""
    found: list[tuple[Role, int, int]] = []
    for label in _LABEL.finditer(text):
        role = Role(label[1].lower())
        if found and _ORDER[role] <= _ORDER[found[-1][0]]:
            continue
        found.append((role, label.start(), label.end()))
    if not found or found[0][1] != 0:
        return
    ends = [start for _, start, _ in found[1:]]
    for (role, _, start), end in zip(found, [*ends, len(text)], strict=True):
        yield Part(role, start, len(text[:end].rstrip()) if end > start else start)


def read(text: str) -> Record | None:
    """None: it is no record."""
    found = {part.role.value: text[part.start : part.end] for part in parts(text)}
    return Record(**found) if found else None

"""A turn record: what one turn of a session leaves behind. It is the text of one message (source `TURN`), one labelled
line per part, in this order, without empty parts:

    Asked: why do the nightly tests fail?
    Found: The clock in the container is an hour behind.
    Decided: "keep everything in UTC"
    Changed: docker/entrypoint.sh, tests/clock.py
    Ran: make nightly (failed); make nightly
    Ended: Nightly tests pass again.
    Said: ...

`Asked` and `Decided` are the person's words, the rest is the agent's. `Said` is the agent's own text and may have many
lines; long answers are found there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

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


_ORDER = list(Role)
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
        parts = {role: one_line(getattr(self, role)) for role in Role} | {Role.SAID: self.said.strip()}
        return "\n".join(f"{role.capitalize()}: {words}" for role, words in parts.items() if words)


class Part(NamedTuple):
    """Where the words of one role are in a record's text, without the label."""

    role: Role
    start: int
    end: int


def parts(text: str) -> Iterator[Part]:
    """Nothing for a text that is not a record. A label out of order is part of what was said."""
    found: list[tuple[Role, re.Match[str]]] = []
    for label in _LABEL.finditer(text):
        role = Role(label[1].lower())
        if not found or _ORDER.index(role) > _ORDER.index(found[-1][0]):
            found.append((role, label))
    if not found or found[0][1].start() != 0:
        return
    ends = [label.start() for _, label in found[1:]]
    for (role, label), end in zip(found, [*ends, len(text)], strict=True):
        yield Part(role, label.end(), max(label.end(), len(text[:end].rstrip())))


def read(text: str) -> Record | None:
    """None if it is not a record."""
    found = {part.role.value: text[part.start : part.end] for part in parts(text)}
    return Record(**found) if found else None

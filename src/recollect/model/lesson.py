"""A failure and what mended it, worded by us alone: two commands and the kind of error. What is written is read back
the same, so a lesson needs no other place to be kept in than a rule's wording."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ORIGIN = "outcome"
SESSION_TAG = "session:"
MAX_COMMAND_CHARS = 120
MAX_ERROR_CHARS = 80


class How(StrEnum):
    INSTEAD = "instead"
    """Another command works."""
    AFTER = "after"
    """The same command works once another has run."""
    CHANGED = "changed"
    """The same command works once a file has been changed."""
    RULE = "rule"
    """A check works once the code keeps to its rules."""
    READ_AGAIN = "read again"
    """An edit works once the file has been read again."""


@dataclass(frozen=True, slots=True)
class Lesson:
    failed: str
    """The command; for an edit the file."""
    fix: str
    """A command, a file, names of rules."""
    how: How
    error: str = ""

    def sentence(self) -> str:
        said = f' with "{self.error}"' if self.error else ""
        match self.how:
            case How.INSTEAD:
                return f"`{self.failed}` fails here{said}; `{self.fix}` works."
            case How.AFTER:
                return f"`{self.failed}` fails here{said}; it works after `{self.fix}`."
            case How.CHANGED:
                return f"`{self.failed}` fails here{said}; it works after a change in `{self.fix}`."
            case How.RULE:
                return f"`{self.failed}` fails here{said} where code breaks `{self.fix}`."
            case How.READ_AGAIN:
                return f"Edits of `{self.failed}` fail here{said}; they work once it is read again."


_WITH = r'(?: with "(?P<error>[^"]*)")?'
_SHAPES = (
    (How.RULE, re.compile(rf"`(?P<failed>[^`]+)` fails here{_WITH} where code breaks `(?P<fix>[^`]+)`\.")),
    (How.CHANGED, re.compile(rf"`(?P<failed>[^`]+)` fails here{_WITH}; it works after a change in `(?P<fix>[^`]+)`\.")),
    (How.AFTER, re.compile(rf"`(?P<failed>[^`]+)` fails here{_WITH}; it works after `(?P<fix>[^`]+)`\.")),
    (How.INSTEAD, re.compile(rf"`(?P<failed>[^`]+)` fails here{_WITH}; `(?P<fix>[^`]+)` works\.")),
    (How.READ_AGAIN, re.compile(rf"Edits of `(?P<failed>[^`]+)` fail here{_WITH}; they work once it is read again\.")),
)  # fmt: skip


MOST_RULES = 8


def rule_list(names: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(names))[:MOST_RULES])


def read(text: str) -> Lesson | None:
    for how, shape in _SHAPES:
        found = shape.fullmatch(text)
        if found:
            fix = found["failed"] if how is How.READ_AGAIN else found["fix"]
            return Lesson(found["failed"], fix, how, found["error"] or "")
    return None

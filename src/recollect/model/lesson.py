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
    INSTEAD = "instead"  # another command works
    AFTER = "after"  # the same command works once another has run
    RULE = "rule"  # a check works once the code keeps to its rules


@dataclass(frozen=True, slots=True)
class Lesson:
    failed: str  # the command
    fix: str  # a command, or names of rules
    how: How
    error: str = ""

    def sentence(self) -> str:
        error = f' with "{self.error}"' if self.error else ""
        return _SENTENCES[self.how].format(failed=self.failed, fix=self.fix, error=error)


_SENTENCES = {  # the longer of two that begin alike first: they are read in this order
    How.RULE: "`{failed}` fails here{error} where code breaks `{fix}`.",
    How.AFTER: "`{failed}` fails here{error}; it works after `{fix}`.",
    How.INSTEAD: "`{failed}` fails here{error}; `{fix}` works.",
}
_PARTS = {"failed": "(?P<failed>[^`]+)", "fix": "(?P<fix>[^`]+)", "error": '(?: with "(?P<error>[^"]*)")?'}
_SHAPES = {how: re.compile(said.replace(".", r"\.").format(**_PARTS)) for how, said in _SENTENCES.items()}


MOST_RULES = 8


def rule_list(names: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(names))[:MOST_RULES])


def read(text: str) -> Lesson | None:
    for how, shape in _SHAPES.items():
        if found := shape.fullmatch(text):
            return Lesson(found["failed"], found["fix"], how, found["error"] or "")
    return None

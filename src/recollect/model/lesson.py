"""A failure and its fix, in our own words: two commands and the kind of error. A sentence parses back to its lesson, so
a lesson is stored as the wording of a rule."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ORIGIN = "outcome"
SESSION_TAG = "session:"
MAX_COMMAND_CHARS = 120


class How(StrEnum):
    INSTEAD = "instead"  # another command works
    AFTER = "after"  # the same command works once another has run
    CHANGED = "changed"  # the same command works once a file has been changed
    READ_AGAIN = "read again"  # an edit works once the file has been read again
    RULE = "rule"  # a check works once the code keeps to its rules


@dataclass(frozen=True, slots=True)
class Lesson:
    failed: str  # the command; for an edit the file
    fix: str  # a command, a file, or names of rules
    how: How
    error: str = ""

    def sentence(self) -> str:
        error = f' with "{self.error}"' if self.error else ""
        return _SENTENCES[self.how].format(failed=self.failed, fix=self.fix, error=error)


_SENTENCES = {  # parsed in this order: of two that begin alike, the longer first
    How.RULE: "`{failed}` fails here{error} where code breaks `{fix}`.",
    How.CHANGED: "`{failed}` fails here{error}; it works after a change in `{fix}`.",
    How.AFTER: "`{failed}` fails here{error}; it works after `{fix}`.",
    How.INSTEAD: "`{failed}` fails here{error}; `{fix}` works.",
    How.READ_AGAIN: "Edits of `{failed}` fail here{error}; they work once it is read again.",
}
_PARTS = {"failed": "(?P<failed>[^`]+)", "fix": "(?P<fix>[^`]+)", "error": '(?: with "(?P<error>[^"]*)")?'}
_SHAPES = {how: re.compile(said.replace(".", r"\.").format(**_PARTS)) for how, said in _SENTENCES.items()}


def rule_list(names: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(names))[:8])


def read(text: str) -> Lesson | None:
    """None if it is not a lesson."""
    for how, shape in _SHAPES.items():
        if found := shape.fullmatch(text):
            return Lesson(found["failed"], found.groupdict().get("fix", found["failed"]), how, found["error"] or "")
    return None

"""Ways to make a failure go away without mending it: what "works" then is never a lesson.

There is a table for commands, and one for what an edit leaves in a file. A way counts where the fix has it and the
command that failed had not.
"""

from __future__ import annotations

import re
from functools import cache

from recollect.capture.tables import Pattern, Patterns, Words, compiled, table
from recollect.model.command import Command, command_of, undressed_end

_SELECTS = re.compile(r"-(?:t|m|run)")
_SETS_UP = re.compile(r"cd |export |source |\. |conda ")
_PATTERNS = Patterns("workarounds")
_WORDS = Words("workarounds")


def workaround(failed: str, fix: str) -> str:
    """How the fix hides the failure; empty where it does not."""
    for name, pattern in _ways():
        if pattern.search(fix) and not pattern.search(failed):
            return name
    one, two = command_of(failed), command_of(fix)
    if one is None or two is None or (one.family, one.verb) != (two.family, two.verb):
        return ""
    if failed != fix and undressed_end(failed) == undressed_end(fix):
        return "shows less"
    return _does_less(one, two)


def hides_result(text: str) -> bool:
    """Nothing can be said of how it went: errors are thrown away, or only some lines are looked at."""
    return _PATTERNS.unseen.search(text) is not None


def switched_off(file: str, written: str) -> str:
    """What an edit switches off, as far as what is seen of it says: those lines, or the settings of a check."""
    if _PATTERNS.check_settings.search(file):
        return file
    return "\n".join(line for line in written.splitlines() if _PATTERNS.marks.search(line))


def _does_less(failed: Command, fix: Command) -> str:
    if set(_steps(fix)) < set(_steps(failed)):
        return "leaves a step out"
    gone = [word for word in failed.words if word not in fix.words]
    if any(_PATTERNS.strict.fullmatch(word) for word in gone):
        return "checks less"
    added = [word for word in fix.words if word not in failed.words]
    if failed.family in _WORDS.selecting and any(_SELECTS.fullmatch(word) for word in added):
        return "runs fewer tests"
    return ""


def _steps(command: Command) -> list[str]:
    """What runs before it, without where it runs and what is set for it."""
    return [part for part in command.dress if " " in part and not _SETS_UP.match(part)]


@cache
def _ways() -> tuple[tuple[str, Pattern], ...]:
    read = table("workarounds.toml")
    return tuple((way["name"], compiled(way["pattern"], read["parts"])) for way in read["ways"])

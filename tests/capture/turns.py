"""Small makers of acts for tests."""

from __future__ import annotations

from recollect.capture.turn import Turn
from recollect.model.act import Act, Deed, Doing, Speaker
from tests.values import NOW

_number = 0


def _next() -> tuple[str, float]:
    global _number
    _number += 1
    return f"act-{_number}", float(_number)


def asked(text: str, id: str = "") -> Act:
    name, at = _next()
    return Act(id=id or name, at=NOW.plus(seconds=at), speaker=Speaker.PERSON, text=text)


def said(text: str) -> Act:
    name, at = _next()
    return Act(id=name, at=NOW.plus(seconds=at), speaker=Speaker.AGENT, text=text)


def ran(command: str, output: str = "", *, failed: bool = False, refused: bool = False) -> Act:
    return call(Doing(Deed.RUN, "Bash", command), output, failed=failed, refused=refused)


def edited(*files: str) -> Act:
    return call(Doing(Deed.EDIT, "Edit", "", files), "done")


def read(*files: str) -> Act:
    return call(Doing(Deed.READ, "Read", "", files), "the text of the file")


def call(doing: Doing, output: str = "", *, failed: bool = False, refused: bool = False) -> Act:
    name, at = _next()
    when = NOW.plus(seconds=at)
    return Act(
        id=name, at=when, speaker=Speaker.TOOL, text=output, doing=doing, failed=failed, refused=refused
    )  # fmt: skip


def turn(*acts: Act) -> Turn:
    return Turn(acts)

"""Small makers of acts: a call that ran, one that failed, a file that was edited, things said."""

from __future__ import annotations

from itertools import count

from recollect.capture.turns import Turn
from recollect.model.act import Act, Deed, Doing, SessionPart, Speaker
from tests.values import NOW

_numbers = count(1)


def call(deed: Deed, what: str = "", output: str = "", *files: str, failed: bool = False, refused: bool = False) -> Act:
    number = next(_numbers)
    doing = Doing(deed, {Deed.RUN: "Bash", Deed.EDIT: "Edit", Deed.DELEGATE: "Agent"}.get(deed, "Read"), what, files)
    return Act(
        id=f"toolu_{number}", at=NOW.plus(seconds=60 * number), speaker=Speaker.TOOL, text=output, doing=doing,
        failed=failed, refused=refused,
    )  # fmt: skip


def ran(command: str, output: str = "ok", *, failed: bool = False, refused: bool = False) -> Act:
    return call(Deed.RUN, command, output, failed=failed, refused=refused)


def failed(command: str, output: str = "Exit code 1") -> Act:
    return call(Deed.RUN, command, output, failed=True)


def refused(command: str) -> Act:
    return call(Deed.RUN, command, "The user doesn't want to proceed with this tool use.", failed=True, refused=True)


def edited(*files: str) -> Act:
    return call(Deed.EDIT, "", "updated", *files)


def missed(file: str) -> Act:
    return call(Deed.EDIT, "", "<tool_use_error>String to replace not found in file.", file, failed=True)


def looked(file: str) -> Act:
    return call(Deed.READ, "", "1\tx", file)


def said(text: str, speaker: Speaker = Speaker.PERSON) -> Act:
    number = next(_numbers)
    return Act(id=f"u{number}", at=NOW.plus(seconds=60 * number), speaker=speaker, text=text)


def replied(text: str) -> Act:
    return said(text, Speaker.AGENT)


def turn(*acts: Act) -> Turn:
    return Turn(acts)


def sitting(*acts: Act, new_from: int = 0, session: str = "s-1", agent: str = "") -> SessionPart:
    return SessionPart(host="claude-code", session=session, agent=agent, acts=acts, new_from=new_from)

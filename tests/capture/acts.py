"""Small makers of acts: a call that ran, one that failed, a file that was edited, things said."""

from itertools import count

from recollect.capture.turns import Turn
from recollect.model.session import Act, SessionPart, Speaker, ToolAction, ToolUse
from tests.values import NOW

_numbers = count(1)
_TOOLS = {ToolAction.RUN: "Bash", ToolAction.EDIT: "Edit", ToolAction.DELEGATE: "Agent"}


def call(
    action: ToolAction,
    what: str = "",
    output: str = "",
    *files: str,
    failed: bool = False,
    refused: bool = False,
) -> Act:
    number = next(_numbers)
    use = ToolUse(action, _TOOLS.get(action, "Read"), what, files)
    return Act(
        id=f"toolu_{number}", at=NOW.plus(seconds=60 * number), speaker=Speaker.TOOL, text=output, use=use,
        failed=failed, refused=refused,
    )  # fmt: skip


def ran(command: str, output: str = "ok", *, failed: bool = False, refused: bool = False) -> Act:
    return call(ToolAction.RUN, command, output, failed=failed, refused=refused)


def failed(command: str, output: str = "Exit code 1") -> Act:
    return call(ToolAction.RUN, command, output, failed=True)


def refused(command: str) -> Act:
    return ran(
        command, "The user doesn't want to proceed with this tool use.", failed=True, refused=True
    )


def edited(*files: str) -> Act:
    return call(ToolAction.EDIT, "", "updated", *files)


def missed(file: str) -> Act:
    return call(
        ToolAction.EDIT,
        "",
        "<tool_use_error>String to replace not found in file.",
        file,
        failed=True,
    )


def looked(file: str) -> Act:
    return call(ToolAction.READ, "", "1\tx", file)


def said(text: str, speaker: Speaker = Speaker.PERSON) -> Act:
    number = next(_numbers)
    return Act(id=f"u{number}", at=NOW.plus(seconds=60 * number), speaker=speaker, text=text)


def replied(text: str) -> Act:
    return said(text, Speaker.AGENT)


def turn(*acts: Act) -> Turn:
    return Turn(acts)


def sitting(*acts: Act, new_from: int = 0, session: str = "s-1", agent: str = "") -> SessionPart:
    return SessionPart(
        host="claude-code", session=session, agent=agent, acts=acts, new_from=new_from
    )

"""Desktop notices of what memory does, where the user switched them on: notify-send, osascript or PowerShell.

Nothing waits for one, and nothing fails because of one. A thread shows them one after the other, each by a program
without a shell, which is ended after a few seconds. Where it is missing, fails or hangs, that is logged, and none is
tried again for a while.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.app import session_ledger
from recollect.app.states import SESSIONS
from recollect.render.inject import plain

if TYPE_CHECKING:
    from recollect.app.core import App
    from recollect.base.log import Log
    from recollect.model.memory import Memory
    from recollect.model.session import Event

SETTING = "MEMORY_TOASTS"
MAX_CHARS = 200
NAME = "Recollect"
TIMEOUT_S = 5.0
PAUSE_S = 300.0  # after one that could not be shown
_MAX_WAITING = 20
_OSASCRIPT = ("on run argv", f'display notification (item 1 of argv) with title "{NAME}"', "end run")


def show(app: App, text: str) -> None:
    """Shows a line, cleaned and cut to its maximum length. Returns at once; too many waiting lines are dropped."""
    line = plain(text, MAX_CHARS) if app.settings.switch(SETTING) else ""
    if line:
        with suppress(queue.Full):
            waiting_lines().put_nowait((line, app.log))


def show_session(app: App, event: Event) -> None:
    """The number of this session. A session without a message is the next to be counted."""
    if app.settings.switch(SETTING):
        count = SESSIONS.read(app.reader(app.scope))
        show(app, f"Session {session_ledger.load_or_new(app, event).number or count + 1}")


def show_recalled(app: App, memories: Iterable[Memory]) -> None:
    for memory in memories:
        show(app, f"Recalled: {memory.title}")


@cache
def waiting_lines() -> queue.Queue[tuple[str, Log]]:
    lines: queue.Queue[tuple[str, Log]] = queue.Queue(_MAX_WAITING)
    threading.Thread(target=_show_all, args=(lines,), name="toasts", daemon=True).start()
    return lines


def _show_all(lines: queue.Queue[tuple[str, Log]]) -> None:
    paused_until_s = 0.0
    while True:
        line, log = lines.get()
        problem = "" if time.monotonic() < paused_until_s else _run_program(*call_for(line, sys.platform))
        if problem:
            paused_until_s = time.monotonic() + PAUSE_S
            log.line("toast-not-shown", problem=problem)
        lines.task_done()


def call_for(line: str, platform: str) -> tuple[tuple[str, ...], str]:
    """The command that shows a line, and its standard input."""
    match platform:
        case "darwin":
            return ("osascript", *(part for text in _OSASCRIPT for part in ("-e", text)), "--", line), ""
        case "win32":
            # The line comes on standard input and is never part of what is run.
            script = Path(__file__).with_name("toast.ps1").read_text(encoding="utf-8")
            return ("powershell", "-NoProfile", "-NonInteractive", "-Command", script), line
        case _:  # some desktops read tags in the text
            text = escape(line, quote=False)
            return ("notify-send", f"--app-name={NAME}", "--expire-time=5000", "--", NAME, text), ""


def _run_program(argv: tuple[str, ...], stdin: str) -> str:
    """What went wrong; empty if nothing did."""
    import shutil  # no first answer waits for these two
    import subprocess

    name, *arguments = argv
    program = shutil.which(name)
    if program is None or not os.path.isabs(program):
        return f"{name} is not there"
    try:
        ended = subprocess.run(
            [program, *arguments], input=stdin.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(program), timeout=TIMEOUT_S, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{name} did not end"
    except OSError as error:
        return error.strerror or type(error).__name__
    return f"{name} ended with {ended.returncode}" if ended.returncode else ""

"""Desktop notices of what memory does, where the user switched them on: notify-send, osascript or PowerShell.

Nothing waits for one, and nothing fails because of one. A thread shows them one after the other, each by a program of
its own, without a shell; the program is ended after a few seconds with everything it started. Where it is missing,
fails or hangs, that is logged, and none is tried again for a while.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import session_ledger
from recollect.render.harmless import plain

if TYPE_CHECKING:
    import subprocess

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
_POWERSHELL_ID = r"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe"
# The text to show comes on standard input and is never part of what is run.
_POWERSHELL = f"""
[Console]::InputEncoding = [Text.Encoding]::UTF8
$said = [Console]::In.ReadToEnd()
$kind = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$page = $kind::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$lines = $page.GetElementsByTagName('text')
$lines.Item(0).AppendChild($page.CreateTextNode('{NAME}')) | Out-Null
$lines.Item(1).AppendChild($page.CreateTextNode($said)) | Out-Null
$kind::CreateToastNotifier('{_POWERSHELL_ID}').Show([Windows.UI.Notifications.ToastNotification]::new($page))
"""
_OSASCRIPT = ("on run argv", f'display notification (item 1 of argv) with title "{NAME}"', "end run")


def show(app: App, text: str) -> None:
    """Show a line, cleaned and cut to its maximum length."""
    line = plain(text, MAX_CHARS) if app.settings.switch(SETTING) else ""
    if line:
        SCREEN.show(line, app.log)


def show_session(app: App, event: Event) -> None:
    """Which session of ours this is. A session without a message is the next to be counted."""
    if app.settings.switch(SETTING):
        count = session_ledger.count_sessions(app.reader(app.scope))
        show(app, f"Session {session_ledger.load_or_new(app, event).number or count + 1}")


def show_recalled(app: App, memories: Iterable[Memory]) -> None:
    for memory in memories:
        show(app, f"Recalled: {memory.title}")


class Screen:
    """Shows lines one after the other, in a thread that lives while there are any."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._platform = platform
        self._lines: queue.Queue[tuple[str, Log]] = queue.Queue(_MAX_WAITING)
        self._paused_until_s = 0.0
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def show(self, line: str, log: Log) -> None:
        """Returns at once. A line is dropped when the queue is full, and during the pause after a failure."""
        if time.monotonic() < self._paused_until_s:
            return
        with suppress(queue.Full):
            self._lines.put_nowait((line, log))
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toasts", daemon=True)
                self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Until all are shown, for tests."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def _run(self) -> None:
        while True:
            try:
                line, log = self._lines.get_nowait()
            except queue.Empty:
                with self._guard:
                    if self._lines.empty():
                        self._thread = None
                        return
                continue
            problem = "" if time.monotonic() < self._paused_until_s else _run_program(call_for(line, self._platform))
            if problem:
                self._paused_until_s = time.monotonic() + PAUSE_S
                log.line("toast-not-shown", problem=problem)


SCREEN = Screen()


class Call(NamedTuple):
    """How a system is asked to show a line."""

    argv: tuple[str, ...]
    stdin: str = ""


def call_for(line: str, platform: str) -> Call:
    match platform:
        case "darwin":
            script = tuple(part for text in _OSASCRIPT for part in ("-e", text))
            return Call(("osascript", *script, "--", line))
        case "win32":
            return Call(("powershell", "-NoProfile", "-NonInteractive", "-Command", _POWERSHELL), line)
        case _:
            # Some desktops read tags in the text.
            said = escape(line, quote=False)
            return Call(("notify-send", f"--app-name={NAME}", "--expire-time=5000", "--", NAME, said))


def _run_program(call: Call) -> str:
    """What went wrong; empty: nothing."""
    import shutil  # no first answer waits for these two
    import subprocess

    program = shutil.which(call.argv[0])
    if program is None or not os.path.isabs(program):
        return f"{call.argv[0]} is not there"
    try:
        process = subprocess.Popen(
            [program, *call.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(program), start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except OSError as error:
        return error.strerror or type(error).__name__
    try:
        process.communicate(call.stdin.encode(), TIMEOUT_S)
        return f"{call.argv[0]} ended with {process.returncode}" if process.returncode else ""
    except subprocess.TimeoutExpired:
        return f"{call.argv[0]} did not end"
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The program and everything it started."""
    import subprocess

    if sys.platform != "win32":
        import signal

        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)

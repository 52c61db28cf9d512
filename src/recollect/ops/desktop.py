"""Shows lines on the desktop, through what the system has for that: notify-send, osascript, PowerShell.

Nobody waits for it: a thread shows them one after the other, each by a program of its own, without a shell, ended after
a few seconds with all that it started. Where that program is missing, fails or hangs, it is logged, and none is tried
again for a while. Which lines, and whether at all, is toasts.py's.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from html import escape
from typing import NamedTuple

from recollect.base.log import Log

NAME = "Recollect"
WITHIN_S = 5.0
REST_S = 300.0
"""After one that could not be shown."""
_MOST_WAITING = 20
_NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # on Windows
_POWERSHELL_ID = r"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe"
# What it shows comes on standard input and is never part of what is run.
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
_OSASCRIPT = (
    "on run argv", f'display notification (item 1 of argv) with title "{NAME}"', "end run",
)  # fmt: skip


class Call(NamedTuple):
    """How a system is asked to show a line."""

    argv: tuple[str, ...]
    stdin: str = ""


class Screen:
    """Shows lines one after the other, in a thread that is there while there are any."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._platform = platform
        self._lines: queue.Queue[tuple[str, Log]] = queue.Queue(_MOST_WAITING)
        self._rests_until_s = 0.0
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def show(self, line: str, log: Log) -> None:
        """At once; what does not fit into the queue is dropped, as is everything while they rest."""
        if time.monotonic() < self._rests_until_s:
            return
        with suppress(queue.Full):
            self._lines.put_nowait((line, log))
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toasts", daemon=True)
                self._thread.start()

    def wait(self, within_s: float) -> bool:
        """Until all are shown, for tests."""
        thread = self._thread
        if thread is not None:
            thread.join(within_s)
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
            problem = "" if time.monotonic() < self._rests_until_s else _shown(call_for(line, self._platform))
            if problem:
                self._rests_until_s = time.monotonic() + REST_S
                log.line("toast-not-shown", problem=problem)


SCREEN = Screen()


def call_for(line: str, platform: str) -> Call:
    match platform:
        case "darwin":
            script = tuple(part for text in _OSASCRIPT for part in ("-e", text))
            return Call(("osascript", *script, "--", line))
        case "win32":
            return Call(("powershell", "-NoProfile", "-NonInteractive", "-Command", _POWERSHELL), line)
        case _:
            # Some of those who show it read tags.
            said = escape(line, quote=False)
            return Call(("notify-send", f"--app-name={NAME}", "--expire-time=5000", "--", NAME, said))


def _shown(call: Call) -> str:
    """Why not; empty: it was."""
    program = shutil.which(call.argv[0])
    if program is None or not os.path.isabs(program):
        return f"{call.argv[0]} is not there"
    try:
        process = subprocess.Popen(
            [program, *call.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(program), start_new_session=True, creationflags=_NO_WINDOW,
        )  # fmt: skip
    except OSError as error:
        return error.strerror or type(error).__name__
    try:
        process.communicate(call.stdin.encode(), WITHIN_S)
        return f"{call.argv[0]} ended with {process.returncode}" if process.returncode else ""
    except subprocess.TimeoutExpired:
        return f"{call.argv[0]} did not end"
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)

"""Lines for a person: what was kept, what an agent was told, what the last session left. A line stands in the answer to
the event it belongs to; else it waits for the end of a turn, a prompt or a session's start. Where the user switched
them on there are toasts, too: notices on the desktop, by notify-send, osascript or PowerShell."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from recollect import agents
from recollect.agents import Ability
from recollect.app.core import App
from recollect.app.states import NOTICES
from recollect.base.text import counted, without_full_stop
from recollect.render.blocks import SHORT_ID
from recollect.render.inject import plain

SETTING = "MEMORY_NOTICES"
_MAX_NAMED = 3
_RULE_CHARS = 60
_TITLE_CHARS = 50
NAME = "Recollect"
MAX_TOAST_CHARS = 200
TOAST_TIMEOUT_S = 5.0
_PAUSE_S = 300.0  # after a toast that could not be shown
_MAX_WAITING = 20
_OSASCRIPT = (
    "on run argv",
    f'display notification (item 1 of argv) with title "{NAME}"',
    "end run",
)


class NotedRule(NamedTuple):
    """A rule that came into force, and what that means for others."""

    words: str
    is_everywhere: bool = False  # in every project, not in this one alone
    instead_of: Sequence[str] = ()  # the rules that it put out of force
    may_contradict: Sequence[str] = ()  # rules that stay in force beside it until a person decides
    change: str = ""  # what undoes it, where `recollect undo` alone might undo another rule


def rules_line(rules: Sequence[NotedRule], *, last_change: str = "") -> str:
    """These rules came into force. Each is a change of its own and is undone by itself. `last_change`: the last one of
    their prompt, which may have counted a rule that was known: plain `undo` undoes that one.
    """
    if not rules:
        return ""
    newest = rules[-1].change
    if len(rules) > _MAX_NAMED:
        # Whatever else is left out, a rule that another one gave way to is named.
        rules = sorted(rules, key=lambda rule: (not rule.instead_of, not rule.may_contradict))
    replacing = sum(bool(rule.instead_of) for rule in rules)
    is_one_of_many = len(rules) > 1
    names = [_name_rule(rule, with_undo=is_one_of_many) for rule in rules]
    named = _join_names(names, at_least=replacing)
    undo = "undo" if len(rules) == 1 else "undo the last"
    command = "recollect undo"
    if newest and last_change not in ("", newest):
        command += f" {newest[-SHORT_ID:]}"
    parts = [f"Recollect: noted {named}", f"{undo}: {command}"]
    if any(rule.may_contradict for rule in rules):
        parts.append("decide: recollect inbox")
    return " \u00b7 ".join(parts)


def _name_rule(rule: NotedRule, *, with_undo: bool) -> str:
    named = _quote(rule.words)
    if rule.is_everywhere:
        named += " for every project"
    if rule.instead_of:
        named += f", instead of {' and '.join(map(_quote, rule.instead_of))}"
        if with_undo and rule.change:
            named += f" (undo: recollect undo {rule.change[-SHORT_ID:]})"
    if rule.may_contradict:
        named += f", which may contradict {' and '.join(map(_quote, rule.may_contradict))}"
    return named


def _quote(rule: str) -> str:
    return f'"{without_full_stop(plain(rule, _RULE_CHARS))}"'


def session_lines(
    captured: Sequence[str], *, promoted: Sequence[str] = (), learnings: int = 0, waiting: int = 0
) -> list[str]:
    """What a session left: the titles of what it captured and of the lessons that came into force, how many learnings
    were extracted, and how much of all that waits in the inbox."""
    lines: list[str] = []
    if captured:
        count = counted(len(captured), "memory", "memories")
        lines.append(f"\U0001f4dd Recollect: captured {count} last time: {_join_titles(captured)}")
    if promoted:
        lessons = counted(len(promoted), "lesson")
        lines.append(
            f"\u2b06\ufe0f Recollect: {lessons} promoted to active rules: {_join_titles(promoted)}"
        )
    if learnings:
        lines.append(f"\U0001f50d Recollect: extracted {counted(learnings, 'learning')}")
    if waiting:
        inbox = f"{waiting} {'waits' if waiting == 1 else 'wait'} in the inbox: recollect inbox"
        if lines:
            lines[-1] += f" \u00b7 {inbox}"
        else:
            lines.append(f"Recollect: {inbox}")
    return lines


def _join_titles(titles: Sequence[str]) -> str:
    """Each once: a rule and the thread that it was said in may have the same."""
    names = (without_full_stop(plain(title, _TITLE_CHARS)) for title in titles)
    return _join_names([*dict.fromkeys(names)])


def _join_names(names: Sequence[str], *, at_least: int = 0) -> str:
    count = max(_MAX_NAMED, at_least)
    more = f" (+{len(names) - count})" if len(names) > count else ""
    return "; ".join(names[:count]) + more


def are_shown(app: App, host: str) -> bool:
    """Whether this host shows a person the notices in our answers."""
    return app.settings.switch(SETTING) and Ability.NOTICES in agents.agent(host).ABILITIES


def add(app: App, *lines: str) -> None:
    """Lines for the next event that shows one."""
    new = [line for line in lines if line]
    if not new or not app.settings.switch(SETTING):
        return
    store = app.writer(app.scope)  # not the reader: this transaction may have added another
    NOTICES.write(store, [*NOTICES.read(store), *new])


def waiting(app: App) -> list[str]:
    return NOTICES.read(app.reader(app.scope))


def clear(app: App, shown: Sequence[str]) -> None:
    """Remove those that were shown; others may have been added meanwhile."""
    store = app.writer(app.scope)
    NOTICES.write(store, [line for line in NOTICES.read(store) if line not in shown])


# Toasts. Nothing waits for one, and nothing fails because of one. A thread shows them one after the other, each by a
# program without a shell. Where that is missing, fails or hangs, it is logged, and none is tried again for a while.


def toast(app: App, text: str) -> None:
    """Shows a line, cleaned and cut to its maximum length. Returns at once; too many waiting lines are dropped."""
    line = plain(text, MAX_TOAST_CHARS) if app.settings.switch("MEMORY_TOASTS") else ""
    if line:
        with suppress(queue.Full):
            waiting_toasts().put_nowait((line, app.log.line))


@cache
def waiting_toasts() -> queue.Queue[tuple[str, Callable[..., None]]]:
    lines: queue.Queue[tuple[str, Callable[..., None]]] = queue.Queue(_MAX_WAITING)

    def show_all() -> None:
        paused_until_s = 0.0
        while True:
            line, log = lines.get()
            problem = (
                ""
                if time.monotonic() < paused_until_s
                else _run_program(*call_for(line, sys.platform))
            )
            if problem:
                paused_until_s = time.monotonic() + _PAUSE_S
                log("toast-not-shown", problem=problem)
            lines.task_done()

    threading.Thread(target=show_all, name="toasts", daemon=True).start()
    return lines


def call_for(line: str, platform: str) -> tuple[tuple[str, ...], str]:
    """The command that shows a line, and its standard input."""
    match platform:
        case "darwin":
            return (
                "osascript",
                *(part for text in _OSASCRIPT for part in ("-e", text)),
                "--",
                line,
            ), ""
        case "win32":
            # The line comes on standard input and is never part of what is run.
            script = Path(__file__).with_name("toast.ps1").read_text(encoding="utf-8")
            return ("powershell", "-NoProfile", "-NonInteractive", "-Command", script), line
        case _:  # some desktops read tags in the text
            text = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
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
            timeout=TOAST_TIMEOUT_S, cwd=os.path.dirname(program),
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{name} did not end"
    except OSError as error:
        return error.strerror or type(error).__name__
    return f"{name} ended with {ended.returncode}" if ended.returncode else ""

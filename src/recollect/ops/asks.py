"""The one way to a language model. Off, over budget, missing, hanging, garbage: no answer, one line in the log, and the
caller goes on as if there were no models.

What is sent is free of secrets, and what it costs is booked before it is sent. Takes seconds: never called with a lock
held, nor where a hook waits without a deadline of its own.
"""

from __future__ import annotations

import os
import shlex
import stat
import time

from recollect import agents
from recollect.base.errors import RecollectError
from recollect.base.files import make_private_folder, read_limited
from recollect.base.settings import environment
from recollect.base.text import storable
from recollect.llm import program, template
from recollect.model.ask import Ask, Heard
from recollect.ops import budget
from recollect.ops.app import App

MOST_CHARS = 400_000
"""Of a question: more than any job sends, less than what a model takes in."""
_CHARS_PER_TOKEN = 3  # fewer than any language has, so that an estimate is rather too high
_OF_AN_ANSWER = 2_000
_KEY_FILE = "llm.key"
_FOLDER = "llm"


def is_on(app: App) -> bool:
    return app.settings.switch("MEMORY_LLM")


def ask(app: App, ask: Ask) -> str | None:
    """An answer, not yet looked at; None where there is none."""
    began_s = time.monotonic()
    try:
        heard = _asked(app, ask)
    except RecollectError as problem:
        heard = Heard(problem=problem.message)
    except Exception as problem:  # noqa: BLE001 a job's edge: whoever asked goes on without
        heard = Heard(problem=type(problem).__name__)
    _log(app, ask, heard, time.monotonic() - began_s)
    return None if heard.problem else heard.text


def _asked(app: App, ask: Ask) -> Heard:
    if not is_on(app):
        return Heard(problem="off")
    if app.dry_run:
        return Heard(problem="a dry run asks nobody")
    text = _question(app, ask)
    if len(text) > MOST_CHARS:
        return Heard(problem=f"{len(text):,} characters are too many")
    room = budget.take(app, ask.job, (len(text) // _CHARS_PER_TOKEN + _OF_AN_ANSWER) * ask.turns)
    if room is None:
        return Heard(problem="over budget")
    heard = _said(app, ask, text)
    budget.settle(app, room, heard.tokens)
    return heard


def _question(app: App, ask: Ask) -> str:
    made = template.filled(template.load(ask.prompt, app.home.root / "prompts"), ask.fields)
    return app.redactor.clean(storable(made)).text


def _said(app: App, ask: Ask, text: str) -> Heard:
    return _by_command(app, ask, text)


def _by_command(app: App, ask: Ask, text: str) -> Heard:
    try:
        words = shlex.split(app.settings.text("MEMORY_LLM_COMMAND"))
    except ValueError:
        words = []
    outer = environment()
    path = program.found(words[0], outer.get("PATH", os.defpath)) if words else ""
    if not path:
        return Heard(problem="MEMORY_LLM_COMMAND names no program")
    speaks = agents.answers()
    model = ask.model or app.settings.text("MEMORY_LLM_MODEL")
    ran = program.run(
        (path, *words[1:], *speaks.arguments(model=model, reads=bool(ask.reads), turns=ask.turns)),
        text=text,
        environ=speaks.environ(outer, _own_key(app)),
        folder=ask.reads or _empty_folder(app),
        seconds=ask.seconds,
    )
    return Heard(problem=ran.problem) if ran.problem else speaks.heard(ran.out)


def _empty_folder(app: App) -> str:
    """Where it stands when there is nothing to read: no project's files tell it anything there."""
    app.home.prepare()
    folder = app.home.root / _FOLDER
    make_private_folder(folder)
    return str(folder)


def _own_key(app: App) -> str:
    """The user's key, where he put one; only a file that nobody else can read counts."""
    path = app.home.root / _KEY_FILE
    try:
        if stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
            return ""
        return read_limited(path, 1_000).decode("ascii").strip()
    except (OSError, ValueError):
        return ""


def _log(app: App, ask: Ask, heard: Heard, seconds: float) -> None:
    tokens = "" if heard.tokens is None else heard.tokens
    said = heard.problem or f"{len(heard.text)} characters"
    app.log.line("asked", job=ask.job, prompt=ask.prompt, tokens=tokens, ms=round(seconds * 1_000), said=said)

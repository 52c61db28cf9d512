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
from collections.abc import Callable

from recollect import agents
from recollect.base.errors import RecollectError
from recollect.base.files import make_private_folder, read_limited
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.text import storable
from recollect.llm import endpoint, program, template
from recollect.model.ask import Ask, Heard, Job
from recollect.model.result import Check, Mark
from recollect.ops import budget
from recollect.ops.app import App

MOST_CHARS = 400_000
"""Of a question: more than any job sends, less than what a model takes in."""
_BYTES_PER_TOKEN = 3  # a character of Chinese, less than a word of English: an estimate is rather too high
_OF_AN_ANSWER = 2_000
_KEY_FILE = "llm.key"
_KEY_VARIABLE = "ANTHROPIC_API_KEY"
_FOLDER = "llm"
_ASKED_MARK = "BLOCK_HOOK_AGENTS"


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


def check(app: App) -> Check:
    """For `doctor`: whether someone could be asked; nobody is."""
    name = "language models"
    if not is_on(app):
        return Check(name, Mark.GOOD, "off")
    key = app.home.root / _KEY_FILE
    if key.exists() and not _own_key(app):
        return Check(name, Mark.WARN, f"{key} can be read by others, or holds no key", f"chmod 600 {key}")
    way = _way(app, Ask(Job.CLASSIFY, ""))
    if isinstance(way, Heard):
        return Check(name, Mark.WARN, f"on, but {way.problem}", "recollect config")
    return Check(name, Mark.GOOD, f"on, by {app.settings.text('MEMORY_LLM_BY')}")


def _asked(app: App, ask: Ask) -> Heard:
    if not is_on(app):
        return Heard(problem="off")
    if app.dry_run:
        return Heard(problem="a dry run asks nobody")
    if environment().get(_ASKED_MARK, "0") not in ("", "0"):
        return Heard(problem="whoever is asked asks nobody")
    way = _way(app, ask)
    if isinstance(way, Heard):
        return way
    text = _question(app, ask)
    if len(text) > MOST_CHARS:
        return Heard(problem=f"{len(text):,} characters are too many")
    estimate = (len(text.encode()) // _BYTES_PER_TOKEN + _OF_AN_ANSWER) * ask.turns
    room = budget.take(app, ask.job, estimate)
    if room is None:
        return Heard(problem="over budget")
    heard = way(text)
    budget.settle(app, room, heard.tokens)
    return heard


def _question(app: App, ask: Ask) -> str:
    made = template.filled(template.load(ask.prompt, app.home.root / "prompts"), ask.fields)
    return app.redactor.clean(storable(made)).text


def _way(app: App, ask: Ask) -> Callable[[str], Heard] | Heard:
    """How the text will be sent; or why it cannot be, which costs nothing."""
    by = app.settings.text("MEMORY_LLM_BY")
    if by == "command":
        return _by_command(app, ask)
    if ask.reads:
        return Heard(problem="only the command can read files")
    key, model = _own_key(app), app.settings.text("MEMORY_LLM_MODEL")
    if by == "endpoint":
        url = app.settings.text("MEMORY_LLM_URL")
        return lambda text: endpoint.chat(url, key=key, model=model, text=text, seconds=ask.seconds)
    key, url = key or environment().get(_KEY_VARIABLE, ""), app.settings.text("MEMORY_LLM_API_URL")
    if not key:
        return Heard(problem=f"there is no key: neither {_KEY_FILE} nor {_KEY_VARIABLE}")
    return lambda text: endpoint.messages(url, key=key, model=model, text=text, seconds=ask.seconds)


def _by_command(app: App, ask: Ask) -> Callable[[str], Heard] | Heard:
    outer = environment()
    words = _words(app)
    path = program.found(words[0], outer.get("PATH", os.defpath), user_home(outer)) if words else ""
    if not path:
        return Heard(problem="MEMORY_LLM_COMMAND names no program")
    speaks = agents.answers()
    model = ask.model or app.settings.text("MEMORY_LLM_MODEL")
    argv = (path, *words[1:], *speaks.arguments(model=model, reads=bool(ask.reads), turns=ask.turns))
    environ = speaks.environ(outer, _own_key(app))

    def said(text: str) -> Heard:
        folder = ask.reads or _empty_folder(app)
        ran = program.run(argv, text=text, environ=environ, folder=folder, seconds=ask.seconds)
        heard = speaks.heard(ran.out)
        if not ran.problem:
            return heard
        why = f"{ran.problem}; {heard.problem}" if ran.out and heard.problem else ran.problem
        return Heard(tokens=heard.tokens, problem=why)

    return said


def _words(app: App) -> list[str]:
    try:
        return shlex.split(app.settings.text("MEMORY_LLM_COMMAND"))
    except ValueError:  # a quotation mark that does not close
        return []


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
        key = read_limited(path, 1_000).decode("ascii").strip()
    except (OSError, ValueError):
        return ""
    return key if key.isprintable() else ""


def _log(app: App, ask: Ask, heard: Heard, seconds: float) -> None:
    tokens = "" if heard.tokens is None else heard.tokens
    said = heard.problem or f"{len(heard.text)} characters"
    app.log.line("asked", job=ask.job, prompt=ask.prompt, tokens=tokens, ms=round(seconds * 1_000), said=said)

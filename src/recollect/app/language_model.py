"""The one way to a language model. USES has a row for everything that a model is asked for.

Off, over budget, missing, too slow, or an answer that cannot be used: the caller gets None, the log one line, and work
goes on as if there were no models. What is sent is redacted, and its estimated cost is booked before it is sent. A call
takes seconds: it is never made with a lock held, nor in a hook without a deadline of its own.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from recollect import agents
from recollect.app import llm_budget
from recollect.app.core import App
from recollect.base.errors import BadInput, RecollectError
from recollect.base.files import make_private_folder
from recollect.base.paths import user_home
from recollect.base.post import read_key
from recollect.base.settings import environment
from recollect.base.text import storable
from recollect.llm import chat_server, program, template
from recollect.model.ask import Answer, Ask, Use
from recollect.model.result import Check, Mark


class Row(NamedTuple):
    prompt: str  # `llm/prompts/<name>.md`; a file of this name in the home's `prompts/` takes its place
    reader: str  # `module:function`, loaded when first needed: makes a value of an answer and of what was asked about
    budget: str  # the name under which `status` shows what it cost
    switches: tuple[str, ...] = ()  # settings that switch its automatic work on, besides MEMORY_LLM
    seconds: float = 60.0
    turns: int = 1  # more than one only where the model may read files: all else that it needs is in the question


USES: dict[Use, Row] = {
    Use.CLASSIFY: Row("capture-classify", "capture.unsure_prompts:read_answer", "classify"),
    Use.EXTRACT: Row("capture-extract", "capture.learnings:read_answer", "extract", seconds=120),
    Use.REVIEW: Row("review", "capture.review:read_answer", "update", ("MEMORY_UPDATE",), 300),
    Use.FORGET: Row("forget-review", "lifecycle.forgetting:read_answer", "forget", ("MEMORY_FORGETTING",), 300),
    Use.VALIDATE_CLAIMS: Row(
        "validate-claims", "lifecycle.validation:read_checks", "validate", ("MEMORY_VALIDATION",), 300, turns=10
    ),
    Use.VALIDATE_DESCRIPTIONS: Row(
        "validate-descriptions", "lifecycle.validation:read_descriptions", "validate", ("MEMORY_VALIDATION",), 300
    ),
    Use.RECALL_BROAD: Row(
        "recall-broad", "recall.model_choice:read_answer", "recall", ("MEMORY_RECALL", "MEMORY_RECALL_SCHEME")
    ),
    Use.RECALL_STRICT: Row(
        "recall-strict", "recall.model_choice:read_answer", "recall", ("MEMORY_RECALL", "MEMORY_RECALL_SCHEME")
    ),
}

MAX_CHARS = 400_000  # of a question: more than any use sends, less than what a model takes in
_BYTES_PER_TOKEN = 3  # one Chinese character, less than an English word: the estimate is rather too high
_ANSWER_TOKENS = 2_000
_KEY_FILE = "llm.key"
_KEY_VARIABLE = "ANTHROPIC_API_KEY"
_INSIDE_A_CALL = "BLOCK_HOOK_AGENTS"


def is_on(app: App, use: Use | None = None) -> bool:
    """Models may be asked at all; with `use`, unasked for this as well."""
    switches = USES[use].switches if use else ()
    return app.settings.switch("MEMORY_LLM") and all(app.settings.text(name) != "off" for name in switches)


def ask(app: App, question: Ask, subject: object) -> Any:
    """What the reader of this use makes of the answer and of the `subject` that was asked about; None: no answer."""
    text = answer_text(app, question)
    if text is None:
        return None
    module, name = USES[question.use].reader.split(":")
    return getattr(import_module(f"recollect.{module}"), name)(text, subject)


def answer_text(app: App, question: Ask) -> str | None:
    """An answer that nobody has looked at yet; None: no answer."""
    began_s = time.monotonic()
    try:
        answer = _call(app, question)
    except RecollectError as problem:
        answer = Answer(problem=problem.message)
    except Exception as problem:  # noqa: BLE001 the edge of a job: whoever asked goes on without
        answer = Answer(problem=type(problem).__name__)
    app.log.line(
        "asked",
        use=question.use,
        prompt=_prompt(question),
        tokens="" if answer.tokens is None else answer.tokens,
        ms=round((time.monotonic() - began_s) * 1_000),
        said=answer.problem or f"{len(answer.text)} characters",
    )
    return None if answer.problem else answer.text


def check(app: App) -> Check:
    """For `doctor`: whether a model could be asked. None is."""
    name = "language models"
    if not is_on(app):
        return Check(name, Mark.GOOD, "off")
    try:
        read_key(app.home.root / _KEY_FILE)
    except BadInput as problem:
        return Check(name, Mark.WARN, problem.message, problem.hint)
    sender = _sender(app, Ask(Use.CLASSIFY))
    if isinstance(sender, Answer):
        return Check(name, Mark.WARN, f"on, but {sender.problem}", "recollect config")
    return Check(name, Mark.GOOD, f"on, by {app.settings.text('MEMORY_LLM_BY')}")


def _call(app: App, question: Ask) -> Answer:
    if not is_on(app):
        return Answer(problem="off")
    if app.dry_run:
        return Answer(problem="a dry run asks nobody")
    if environment().get(_INSIDE_A_CALL, "0") not in ("", "0"):
        return Answer(problem="a model that is asked asks nobody")
    sender = _sender(app, question)
    if isinstance(sender, Answer):
        return sender
    filled = template.fill(template.load(_prompt(question), app.home.root / "prompts"), question.fields)
    text = app.redactor.clean(storable(filled)).text
    if len(text) > MAX_CHARS:
        return Answer(problem=f"{len(text):,} characters are too many")
    row = USES[question.use]
    estimate = (len(text.encode()) // _BYTES_PER_TOKEN + _ANSWER_TOKENS) * row.turns
    booking = llm_budget.book(app, row.budget, estimate)
    if booking is None:
        return Answer(problem="over budget")
    answer = sender(text)
    llm_budget.settle(app, booking, answer.tokens)
    return answer


def _prompt(question: Ask) -> str:
    return question.prompt or USES[question.use].prompt


def _sender(app: App, question: Ask) -> Callable[[str], Answer] | Answer:
    """How the text will be sent; or why it cannot be, which costs nothing."""
    by, seconds = app.settings.text("MEMORY_LLM_BY"), question.seconds or USES[question.use].seconds
    if by == "command":
        return _command_sender(app, question, seconds)
    if question.reads:
        return Answer(problem="only the command can read files")
    key, model = _own_key(app), app.settings.text("MEMORY_LLM_MODEL")
    if by == "endpoint":
        url, protocol = app.settings.text("MEMORY_LLM_URL"), chat_server.CHAT
    else:
        key, url = key or environment().get(_KEY_VARIABLE, ""), app.settings.text("MEMORY_LLM_API_URL")
        protocol = chat_server.MESSAGES
        if not key:
            return Answer(problem=f"there is no key: neither {_KEY_FILE} nor {_KEY_VARIABLE}")
    return lambda text: chat_server.ask(protocol, url, key=key, model=model, text=text, seconds=seconds)


def _command_sender(app: App, question: Ask, seconds: float) -> Callable[[str], Answer] | Answer:
    outer = environment()
    try:
        words = shlex.split(app.settings.text("MEMORY_LLM_COMMAND"))
    except ValueError:  # a quotation mark that does not close
        words = []
    path = program.find(words[0], outer.get("PATH", os.defpath), user_home(outer)) if words else ""
    if not path:
        return Answer(problem="MEMORY_LLM_COMMAND names no program")
    client = agents.model_client()
    model = question.model or app.settings.text("MEMORY_LLM_MODEL")
    turns = USES[question.use].turns
    argv = (path, *words[1:], *client.arguments(model=model, reads=bool(question.reads), turns=turns))
    environ = client.environ(outer, _own_key(app))

    def send(text: str) -> Answer:
        folder = question.reads or _empty_folder(app)
        run = program.run(argv, text=text, environ=environ, folder=folder, seconds=seconds)
        answer = client.read_answer(run.out)
        if not run.problem:
            return answer
        why = f"{run.problem}; {answer.problem}" if run.out and answer.problem else run.problem
        return Answer(tokens=answer.tokens, problem=why)

    return send


def _empty_folder(app: App) -> str:
    """Where the program runs when it has nothing to read, so that no project's files tell it anything."""
    app.home.prepare()
    folder = app.home.root / "llm"
    make_private_folder(folder)
    return str(folder)


def _own_key(app: App) -> str:
    """The user's key; empty also where the file cannot be used, which `check` reports."""
    try:
        return read_key(app.home.root / _KEY_FILE)
    except BadInput:
        return ""

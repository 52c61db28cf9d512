"""The one way to a language model. USES has a row for everything that a model is asked for. Off, over budget, missing,
too slow, or an answer that cannot be used: the caller gets None, the log one line, and work goes on. What is sent is
redacted. A call takes seconds: it is never made with a lock held, nor in a hook without a deadline of its own."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import llm
from recollect.agents import model_client
from recollect.app.core import App
from recollect.app.states import SPENT
from recollect.base.errors import BadInput, NotFound, RecollectError
from recollect.base.files import make_private_folder, read_limited
from recollect.base.paths import find_program, user_home
from recollect.base.post import read_key
from recollect.base.settings import environment
from recollect.base.text import storable
from recollect.llm import model_calls
from recollect.model.ask import Answer, Ask, Use
from recollect.model.codec import Json
from recollect.model.memory import Memory
from recollect.model.result import Check, Mark, Scope

if TYPE_CHECKING:
    from recollect.store import Store


class Row(NamedTuple):
    prompt: (
        str  # `llm/prompts/<name>.md`; a file of this name in the home's `prompts/` takes its place
    )
    reader: str  # `module:function`, loaded when first needed: makes a value of an answer and of what was asked about
    budget: str  # the name under which `status` shows what it cost
    switches: tuple[str, ...] = ()  # settings that switch its automatic work on, besides MEMORY_LLM
    seconds: float = 60.0
    turns: int = 1  # more than one only where the model may read files: all else that it needs is in the question


_RECALL = ("recall.model_choice:read_answer", "recall", ("MEMORY_RECALL", "MEMORY_RECALL_SCHEME"))
_VALIDATE = ("validate", ("MEMORY_VALIDATION",), 300)
USES: dict[Use, Row] = {
    Use.CLASSIFY: Row("capture-classify", "capture.model_questions:read_rule", "classify"),
    Use.EXTRACT: Row(
        "capture-extract", "capture.model_questions:read_learnings", "extract", seconds=120
    ),
    Use.REVIEW: Row(
        "review", "capture.model_questions:read_proposals", "update", ("MEMORY_UPDATE",), 300
    ),
    Use.FORGET: Row(
        "forget-review", "lifecycle.review:read_verdicts", "forget", ("MEMORY_FORGETTING",), 300
    ),
    Use.VALIDATE_CLAIMS: Row(
        "validate-claims", "lifecycle.review:read_checks", *_VALIDATE, turns=10
    ),
    Use.VALIDATE_DESCRIPTIONS: Row(
        "validate-descriptions", "lifecycle.review:read_descriptions", *_VALIDATE
    ),
    Use.RECALL_BROAD: Row("recall-broad", *_RECALL),
    Use.RECALL_STRICT: Row("recall-strict", *_RECALL),
}

MAX_CHARS = 400_000  # of a question: more than any use sends, less than what a model takes in
_BYTES_PER_TOKEN = (
    3  # one Chinese character, less than an English word: the estimate is rather too high
)
_ANSWER_TOKENS = 2_000
_KEY_FILE = "llm.key"
_KEY_VARIABLE = "ANTHROPIC_API_KEY"
_PROMPTS = Path(llm.__file__).parent / "prompts"
_MAX_PROMPT_BYTES = 100_000
_PLACEHOLDER = r"\{\{\s*([a-z_]+)\s*\}\}"


def is_on(app: App, use: Use | None = None) -> bool:
    """Whether models may be asked at all; with `use`, whether they are asked for this without a person's command."""
    switches = USES[use].switches if use else ()
    return app.settings.switch("MEMORY_LLM") and all(
        app.settings.text(name) != "off" for name in switches
    )


def ask(app: App, question: Ask, subject: object) -> Any:
    """What the reader of this use makes of the answer and of the `subject` that was asked about; None: no answer."""
    text = answer_text(app, question)
    return (
        None
        if text is None
        else resolve_name(f"recollect.{USES[question.use].reader}")(text, subject)
    )


def answer_text(app: App, question: Ask) -> str | None:
    """The answer, unread; None: no answer."""
    began_s = time.monotonic()
    try:
        answer = _call(app, question)
    except Exception as problem:  # noqa: BLE001 the edge of a job: the caller goes on without an answer
        answer = Answer(
            problem=problem.message
            if isinstance(problem, RecollectError)
            else type(problem).__name__
        )
    app.log.line(
        "asked", use=question.use, prompt=question.prompt or USES[question.use].prompt,
        tokens="" if answer.tokens is None else answer.tokens, ms=round((time.monotonic() - began_s) * 1_000),
        said=answer.problem or f"{len(answer.text)} characters",
    )  # fmt: skip
    return None if answer.problem else answer.text


def read_again(app: App, scope: Scope, memory: Memory) -> Memory | None:
    """The memory as it is now; None where it is gone or says something else: a model takes minutes."""
    now = app.reader(scope).get(memory.id, follow=False)
    return now if now is not None and (now.title, now.body) == (memory.title, memory.body) else None


def check(app: App) -> Check:
    """For `doctor`: whether a model could be asked. Asks none."""
    name = "language models"
    if not is_on(app):
        return Check(name, Mark.GOOD, "off")
    try:
        _sender(app, Ask(Use.CLASSIFY))
    except BadInput as problem:
        return Check(name, Mark.WARN, f"on, but: {problem.message}", problem.hint)
    return Check(name, Mark.GOOD, f"on, by {app.settings.text('MEMORY_LLM_BY')}")


def _call(app: App, question: Ask) -> Answer:
    if not is_on(app):
        return Answer(problem="off")
    if app.dry_run:
        return Answer(problem="a dry run asks nobody")
    if environment().get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
        return Answer(problem="a model that is asked asks nobody")
    row = USES[question.use]
    send = _sender(app, question)
    prompt = load_prompt(question.prompt or row.prompt, app.home.root / "prompts")
    text = app.redactor.clean(storable(fill_prompt(prompt, question.fields))).text
    if len(text) > MAX_CHARS:
        return Answer(problem=f"{len(text):,} characters are too many")
    estimate = (len(text.encode()) // _BYTES_PER_TOKEN + _ANSWER_TOKENS) * row.turns
    day = reserve_budget(app, row.budget, estimate)
    if not day:
        return Answer(problem="over budget")
    answer = send(text)
    if answer.tokens is not None:
        with suppress(RecollectError):  # the estimate stands
            _add(app, day, row.budget, calls=0, tokens=answer.tokens - estimate)
    return answer


def _sender(app: App, question: Ask) -> Callable[[str], Answer]:
    """How the text will be sent. BadInput: it cannot be, and nothing was spent."""
    by, seconds = app.settings.text("MEMORY_LLM_BY"), question.seconds or USES[question.use].seconds
    key = read_key(app.home.root / _KEY_FILE)
    if by == "command":
        return _command_sender(app, question, key, seconds)
    if question.reads:
        raise BadInput("Only the command can read files.", hint="MEMORY_LLM_BY=command")
    model, url, protocol = app.settings.text("MEMORY_LLM_MODEL"), "MEMORY_LLM_URL", model_calls.CHAT
    if by == "api":
        key, url, protocol = (
            key or environment().get(_KEY_VARIABLE, ""),
            "MEMORY_LLM_API_URL",
            model_calls.MESSAGES,
        )
        if not key:
            raise BadInput(
                f"There is no key: neither {_KEY_FILE} nor {_KEY_VARIABLE}.",
                hint="See docs/LLM.md.",
            )
    address = app.settings.text(url)
    return lambda text: model_calls.ask_server(
        protocol, address, key=key, model=model, text=text, seconds=seconds
    )


def _command_sender(app: App, question: Ask, key: str, seconds: float) -> Callable[[str], Answer]:
    outer = environment()
    try:
        words = shlex.split(app.settings.text("MEMORY_LLM_COMMAND"))
    except ValueError:  # a quotation mark that does not close
        words = []
    path = find_program(words[0], outer.get("PATH", os.defpath), user_home(outer)) if words else ""
    if not path:
        raise BadInput("MEMORY_LLM_COMMAND names no program.", hint="recollect config")
    model = question.model or app.settings.text("MEMORY_LLM_MODEL")
    turns = USES[question.use].turns
    argv = (
        path,
        *words[1:],
        *model_client.arguments(model=model, reads=bool(question.reads), turns=turns),
    )
    environ = model_client.environ(outer, key)

    def send(text: str) -> Answer:
        folder = Path(question.reads) if question.reads else app.home.root / "llm"
        if not question.reads:  # an empty folder, so that no project's files influence the program
            app.home.prepare()
            make_private_folder(folder)
        run = model_calls.run_program(
            argv, text=text, environ=environ, folder=str(folder), seconds=seconds
        )
        answer = model_client.read_answer(run.out)
        if not run.problem:
            return answer
        why = f"{run.problem}; {answer.problem}" if run.out and answer.problem else run.problem
        return Answer(tokens=answer.tokens, problem=why)

    return send


def load_prompt(name: str, own: Path) -> str:
    """The user's own prompt of this name in the folder `own`, else the shipped one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        raise NotFound(
            f"{name!r} is not the name of a prompt.", hint="Letters, digits, dots and dashes."
        )
    for folder in (own, _PROMPTS):
        path = folder / f"{name}.md"
        try:
            return read_limited(path, _MAX_PROMPT_BYTES, follow=folder is own).decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as problem:
            raise NotFound(
                f"{path} cannot be read.", hint="Repair it, or move it away."
            ) from problem
    raise NotFound(f"There is no prompt {name}.", hint=f"Make {own / name}.md, or name another.")


def fill_prompt(template: str, fields: Iterable[tuple[str, str]]) -> str:
    """In one pass, so a field's text is never read as a template; one without placeholders gets them at its end."""
    known = dict(fields)
    if not re.search(_PLACEHOLDER, template):
        return "\n\n".join([template.rstrip(), *known.values()])
    return re.sub(_PLACEHOLDER, lambda place: known.get(place[1], ""), template)


# The budget: calls and tokens per day (UTC), in the user's store. An estimate is reserved before a call, so that two
# processes never spend the same money twice, and corrected after it.


def reserve_budget(app: App, use: str, tokens: int) -> str:
    """Reserves one call of this many tokens. Returns the day; empty if its budget has no room for the call."""
    limits = (
        app.settings.count("MEMORY_LLM_CALLS_PER_DAY"),
        app.settings.count("MEMORY_LLM_TOKENS_PER_DAY"),
    )
    store = app.writer(Scope.USER)
    with store.transaction():
        day, _, calls, spent = _spent_today(app, store)
        if calls + 1 > limits[0] or spent + tokens > limits[1]:
            return ""
        _add(app, day, use, calls=1, tokens=tokens)
    return day


def _add(app: App, day: str, use: str, *, calls: int, tokens: int) -> None:
    store = app.writer(Scope.USER)
    with store.transaction():
        days = SPENT.read(store)
        called, spent = days.get(day, {}).get(use, (0, 0))
        SPENT.write(
            store,
            {**days, day: {**days.get(day, {}), use: (called + calls, max(0, spent + tokens))}},
        )


def summarize_spending(app: App) -> dict[str, Json]:
    """For `status`: whether models may be asked, what was spent today, and the limits."""
    _, today, calls, tokens = _spent_today(app, app.reader(Scope.USER))
    return {
        "on": app.settings.switch("MEMORY_LLM"), "by": app.settings.text("MEMORY_LLM_BY"),
        "calls": calls, "calls_per_day": app.settings.count("MEMORY_LLM_CALLS_PER_DAY"),
        "tokens": tokens, "tokens_per_day": app.settings.count("MEMORY_LLM_TOKENS_PER_DAY"),
        "jobs": {use: {"calls": pair[0], "tokens": pair[1]} for use, pair in sorted(today.items())},
    }  # fmt: skip


def _spent_today(app: App, store: Store) -> tuple[str, dict[str, tuple[int, int]], int, int]:
    """The day, calls and tokens by use, and all of both."""
    day = app.clock.now().iso()[:10]
    uses = SPENT.read(store).get(day, {})
    return (
        day,
        uses,
        sum(calls for calls, _ in uses.values()),
        sum(tokens for _, tokens in uses.values()),
    )

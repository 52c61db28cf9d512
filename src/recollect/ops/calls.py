"""Operations asked for by name: how the MCP server and other programs of the user's reach them, through the daemon or
without it.

The body is `{"op": "recall", "values": {"query": ["deploy"]}}`, with `"dry_run": true` where nothing is to be written.
The answer is what `--json` prints; with `"for": "agent"` it is `{"text": …, "data": …}`, as an agent reads it
(render/tools.py). Operations that are for a person at the command line are not offered.
"""

from __future__ import annotations

import difflib
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum

from recollect.base.errors import BadInput, RecollectError, Stopped
from recollect.base.ids import fresh_key
from recollect.base.text import storable
from recollect.model.codec import Json
from recollect.model.result import Recalled, Result
from recollect.ops.app import App
from recollect.ops.sessions import asked_for
from recollect.ops.table import OPS, Effect, Op
from recollect.render import tools
from recollect.render.data import as_json

_LONG = frozenset({"verify", "suggestions", "compact"})


class Call(typing.NamedTuple):
    op: Op
    values: dict[str, object]
    dry_run: bool = False
    for_agent: bool = False
    offset: int = 0
    """Of a text too long for one answer: where to begin."""
    session: str = ""
    """The agent's, where it says so: what it is told here it is not told again by a hook."""

    @property
    def takes_long(self) -> bool:
        """Goes through a whole store."""
        return self.op.effect is Effect.KEEP or self.op.name in _LONG


class Work:
    """How far a call is, and whether it is still wanted. Called as operations report their progress."""

    def __init__(self) -> None:
        self.done = self.total = 0
        self.unwanted = False

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self.unwanted:
            raise Stopped("It was called off. Nothing was written.")


def read(body: bytes) -> Call:
    """BadInput for anything that is no call."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("The question is not JSON.") from None
    if not isinstance(asked, dict) or not isinstance(values := asked.get("values", {}), dict):
        raise BadInput('The question is not of the form {"op": NAME, "values": {...}}.')
    op = next((op for op in OPS if op.name == asked.get("op") and not op.cli_only), None)
    if op is None:
        raise BadInput(f"There is no operation {str(asked.get('op'))[:80]!r} to be asked for.")
    offset = asked.get("offset", 0)
    return Call(
        op,
        _taken(op.function, values),
        asked.get("dry_run") is True,
        asked.get("for") == "agent",
        offset if type(offset) is int else 0,
        storable(str(asked.get("session", "")))[:200],
    )


def run(app: App, call: Call, work: Work | None = None) -> bytes:
    with _working(app, call, work):
        result = call.op.function(app, **call.values)
    if call.for_agent:
        _count(app, call, result)
        answer: Json = tools.answer(result, now=app.clock.now(), nonce=fresh_key()[:8], offset=call.offset)
    else:
        answer = as_json(result)
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


def _count(app: App, call: Call, result: Result) -> None:
    """A store that cannot be written still answers."""
    if isinstance(result, Recalled) and result.found.found and not result.offset:
        with suppress(RecollectError):
            asked_for(app, call.session, {one.hit.turn_mark: one.scope for one in result.found.found})


@contextmanager
def _working(app: App, call: Call, work: Work | None) -> Iterator[None]:
    """An App is lent: it is given back as it was."""
    dry_run, progress = app.dry_run, app.progress
    app.dry_run = call.dry_run
    if work is not None:
        app.progress = work
    try:
        yield
    finally:
        app.dry_run, app.progress = dry_run, progress


def told(problem: RecollectError) -> bytes:
    said = {"type": type(problem).__name__, "message": problem.message, "hint": problem.hint}
    return json.dumps({"error": said | {"exit_code": problem.exit_code}}).encode()


def _taken(function: Callable[..., object], values: dict[str, object]) -> dict[str, object]:
    hints = typing.get_type_hints(function)
    given = list(inspect.signature(function).parameters.values())[1:]
    unknown = values.keys() - {parameter.name for parameter in given}
    if unknown:
        takes = ", ".join(parameter.name for parameter in given)
        raise BadInput(f"It takes no value named {min(map(str, unknown))[:80]!r}.", hint=f"It takes: {takes or '-'}.")
    for parameter in given:
        if parameter.default is inspect.Parameter.empty and parameter.name not in values:
            raise BadInput(f"The value {parameter.name!r} is missing.")
    return {name: _as(name, hints[name], value) for name, value in values.items()}


def _as(name: str, wanted: object, value: object) -> object:
    if isinstance(wanted, types.UnionType):
        if value is None:
            return None
        wanted = next(part for part in typing.get_args(wanted) if part is not type(None))
    if typing.get_origin(wanted) is tuple:
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return tuple(value)
    elif isinstance(wanted, type) and issubclass(wanted, Enum):
        return _member(name, wanted, value)
    elif wanted is float and type(value) is int:
        return float(value)
    elif isinstance(wanted, type) and type(value) is wanted:
        return value
    raise BadInput(f"The value of {name!r} is not what it takes.", hint=f"It takes {_named(wanted)}.")


def _member(name: str, wanted: type[Enum], value: object) -> Enum:
    choices = {str(member).lower(): member for member in wanted}
    said = str(value).lower()
    if said not in choices:
        near = difflib.get_close_matches(said[:80], choices, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise BadInput(f"There is no {name} {str(value)[:80]!r}.", hint=f"{meant}Known: {', '.join(choices)}.")
    return choices[said]


def _named(wanted: object) -> str:
    if typing.get_origin(wanted) is tuple:
        return "a list of texts"
    return {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}.get(
        typing.cast(type, wanted), "another"
    )

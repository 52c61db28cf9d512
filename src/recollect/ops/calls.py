"""Operations called by name, as the MCP server and other programs reach them, through the daemon or without it. The
body is `{"op": "recall", "values": {"query": ["deploy"]}, "dry_run": false}`; the answer is what `--json` prints, or,
with `"for": "agent"`, `{"text": …, "data": …}`: under 8,000 characters as JSON, a long memory in pages, and of a long
report the first entries and how many were left out."""

from __future__ import annotations

import difflib
import json
import typing
from contextlib import suppress
from enum import Enum
from functools import partial

from recollect.app.core import AGENT, App
from recollect.app.session_ledger import record_asked
from recollect.base.errors import BadInput, RecollectError, Stopped
from recollect.base.ids import fresh_key
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, storable
from recollect.model.codec import Json, decode, encode
from recollect.model.result import (
    Cards,
    Compacted,
    Done,
    Overview,
    Recalled,
    Result,
    Shown,
    Suggested,
    Summary,
)
from recollect.ops.table import OPS, Effect, Op
from recollect.render import inject
from recollect.render.inject import neutral, plain
from recollect.render.recall_text import TOOL, memory_text
from recollect.wire.place import agent_program

_TITLE_CHARS = 80
_LONG = frozenset({"verify", "suggestions", "compact", "doctor"})


class Call(typing.NamedTuple):
    op: Op
    values: dict[str, object]
    dry_run: bool = False
    for_agent: bool = False
    offset: int = 0  # where to begin in a text too long for one answer
    session: str = (
        ""  # the agent's session, where it says so: what it is told here no hook tells it again
    )

    @property
    def takes_long(self) -> bool:
        """Goes through a whole store."""
        return self.op.effect is Effect.KEEP or self.op.name in _LONG


class Work:
    """The progress of a call, which operations report by calling it, and whether it was cancelled."""

    def __init__(self) -> None:
        self.done = self.total = 0
        self.is_cancelled = False

    def __call__(self, done: float, total: float, what: str = "") -> None:
        self.done, self.total = int(done), int(total)
        if self.is_cancelled and done < total:
            raise Stopped("It was cancelled.", hint="`recollect log` shows what was finished.")


def parse_call(body: bytes) -> Call:
    """BadInput for anything that is not a call."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("The question is not JSON.") from None
    if not isinstance(asked, dict) or not isinstance(values := asked.get("values", {}), dict):
        raise BadInput('The question is not of the form {"op": NAME, "values": {...}}.')
    op = next((op for op in OPS if op.name == asked.get("op") and not op.cli_only), None)
    if op is None:
        raise BadInput(f"Unknown operation {str(asked.get('op'))[:80]!r}.")
    is_dry, is_agent, offset = (
        asked.get("dry_run") is True,
        asked.get("for") == "agent",
        asked.get("offset"),
    )
    session = storable(str(asked.get("session", "")))[:200]
    return Call(
        op,
        _parse_values(op, values),
        is_dry,
        is_agent,
        offset if type(offset) is int else 0,
        session,
    )


def run_call(app: App, call: Call, work: Work | None = None) -> bytes:
    """The App belongs to the caller: it is left as it was."""
    before = app.dry_run, app.progress, app.actor
    app.dry_run, app.progress = call.dry_run, work or app.progress
    if call.for_agent:
        app.actor = AGENT
    try:
        result = call.op.function(app, **call.values)
    finally:
        app.dry_run, app.progress, app.actor = before
    if not call.for_agent:
        answer: Json = encode(result)
    else:
        if isinstance(result, Recalled) and result.found.found and not result.offset:
            with suppress(
                RecollectError
            ):  # where the store cannot be written, the answer still stands
                record_asked(
                    app, call.session, {one.hit.turn_mark: one.scope for one in result.found.found}
                )
        answer = answer_agent(
            result, now=app.clock.now(), nonce=fresh_key()[:8], offset=call.offset
        )
        if isinstance(result, Done | Summary):  # words of ours alone
            program = agent_program(str(app.home.root))
            answer["text"] = str(answer["text"]).replace("`recollect ", f"`{program} ")
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


def encode_error(problem: RecollectError) -> bytes:
    told = {"message": problem.message, "hint": problem.hint, "exit_code": problem.exit_code}
    return json.dumps({"error": {"type": type(problem).__name__, **told}}).encode()


def _parse_values(op: Op, values: dict[str, object]) -> dict[str, object]:
    takes = {parameter.name: parameter for parameter in op.parameters}
    if unknown := values.keys() - takes.keys():
        known = ", ".join(takes) or "-"
        raise BadInput(
            f"Unknown argument {min(map(str, unknown))[:80]!r}.", hint=f"Known: {known}."
        )
    parsed: dict[str, object] = {}
    for name, parameter in takes.items():
        kind, value = parameter.type, values.get(name)
        if name not in values:
            if parameter.required:
                raise BadInput(f"The argument {name!r} is missing.")
        elif value is None and parameter.default is None and not parameter.required:
            parsed[name] = None
        elif isinstance(kind, type) and issubclass(kind, Enum):
            parsed[name] = _parse_choice(name, kind, value)
        else:
            try:
                parsed[name] = decode(kind, value)
            except (ValueError, TypeError) as problem:
                raise BadInput(f"Invalid value for {name!r}: {problem}.") from None
    return parsed


def _parse_choice(name: str, kind: type[Enum], value: object) -> Enum:
    choices = {str(member).lower(): member for member in kind}
    said = str(value).lower()
    if said not in choices:
        near = difflib.get_close_matches(said[:80], choices, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise BadInput(
            f"There is no {name} {str(value)[:80]!r}.", hint=f"{meant}Known: {', '.join(choices)}."
        )
    return choices[said]


def answer_agent(result: Result, *, now: Moment, nonce: str, offset: int = 0) -> dict[str, Json]:
    match result:
        case Recalled():
            told = inject.requested_recall(result, nonce=nonce, now=now, door=TOOL)
            return {"text": told.text, "data": None}
        case Shown():
            text = partial(memory_text, result, now=now, ask=TOOL.ask, offset=offset)
            return {"text": inject.fence(nonce, lambda chars: text(max_chars=chars)), "data": None}
        case Suggested():
            merges, splits = len(result.merge_candidates), len(result.split_candidates)
            return _data(result.as_json(), merge_candidates=merges, split_candidates=splits)
        case Compacted(
            actions=actions
        ):  # there may be a hundred thousand actions: only the first are encoded
            data = replace(result, actions=actions[:200]).as_json()
            return _data({**data, "summary": result.summary}, actions=len(actions))
        case Overview(version, _, project, _, stores):
            kinds = {str(scope): counts.by_kind_and_status for scope, _, counts in stores}
            return _data({
                "version": version, "project": project,
                "memories": {of: {f"{kind} {status}": n for kind, status, n in rows} for of, rows in kinds.items()},
                "focus": [{**point, "topic": plain(str(point["topic"]), _TITLE_CHARS)} for point in result.focus],
                "passages_without_vector": result.embedding.waiting if result.embedding else 0,
                "set_aside_as_damaged": len(result.set_aside), "settings_problems": result.settings_problems,
            }, focus=len(result.focus))  # fmt: skip
        case Done() | Summary():
            return _text(result.said, result.notes)
        case Cards(cards):
            titles = [(one.memory, plain(one.memory.title, _TITLE_CHARS)) for one in cards[:50]]
            listed: list[Json] = [
                {"id": one.id, "title": title, "kind": str(one.kind)} for one, title in titles
            ]
            return {"text": "", "data": {"memories": listed}}
        case _:
            return _data({"result": encode(result)})


def _text(summary: str, notes: tuple[str, ...]) -> dict[str, Json]:
    return {"text": clip(neutral("\n".join((summary, *notes))), 1_500), "data": None}


def _data(data: dict[str, typing.Any], **totals: int) -> dict[str, Json]:
    """Sent twice, as data and as text, because some agents read the one and some the other. `totals`: the lists that
    may be cut until both fit, and how many entries there are of each."""
    while True:
        left_out = {
            name: total - len(data[name])
            for name, total in totals.items()
            if total > len(data[name])
        }
        sent = {**data, **({"left_out": left_out} if left_out else {})}
        text = json.dumps(sent, ensure_ascii=False)
        if inject.json_chars(text) + len(text) <= inject.ANSWER_CHARS:
            return {"text": text, "data": sent}
        longest = max(totals, key=lambda name: len(data[name]), default="")
        if not longest or not data[longest]:
            return _data({"summary": clip(text, 1_000)})
        data = {**data, longest: data[longest][: len(data[longest]) * 3 // 4]}

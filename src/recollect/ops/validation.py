"""validate: are memories still true? A few, drawn by chance, every so many sessions (rounds.py).

Free and always: what a memory names is looked for (claims.py). With a model, two phases. The first compares what the
project's rules and notes state with its files, which the model may read and nothing else; what reads otherwise waits in
the inbox, what is no longer so is flagged. The second finds better first lines, and keeps one only if the memory comes
up no later than before, measured with the engine that answers everyone. Nothing that a memory says is ever run.

A user's memories hold in every project, so no single project's files can speak against them: they go through the free
checks and the second phase. Files of a repository are never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import RecollectError
from recollect.base.ids import drawn
from recollect.base.text import clip, counted, one_line
from recollect.lifecycle import validation
from recollect.lifecycle.validation import Check, State
from recollect.model.ask import Ask, Job
from recollect.model.codec import Json, content_hash
from recollect.model.memory import Kind, Memory, Note, Rule, Status
from recollect.model.plan import Create, Plan
from recollect.model.query import Query
from recollect.model.result import Scope, Told
from recollect.ops import asks, claims, describing, flags, notices, rounds, toasts
from recollect.ops.app import App
from recollect.ops.rounds import VALIDATION, Held
from recollect.ops.table import Arg
from recollect.ops.validation_log import ValidationLog

if TYPE_CHECKING:
    from recollect.store import Store

SECONDS = 300.0
TURNS = 10
AT_ONCE = 5
"""Memories in one question of the first phase."""
_LOOKED_AT = 100_000
_GLANCED_AT = 2_000
_TITLE_CHARS = 60


@dataclass(slots=True)
class _Found:
    """Of one run."""

    flagged: set[str] = field(default_factory=set)
    proposed: int = 0
    heard: bool = True
    """A model answers; once it does not, nobody is asked again."""


def validate(
    app: App,
    *,
    run: Annotated[bool, Arg("Validate some memories now, whatever the schedule says.")] = False,
) -> Told:
    return _run_now(app) if run and not app.dry_run else _glance(app)


# A run


def review(app: App, held: Held) -> Iterator[str]:
    log = ValidationLog(app, held.session)
    where = app.project.name if app.project is not None and held.scope is Scope.PROJECT else "user"
    log.line(f"validation of {where} at session {held.session}")
    toasts.toast(app, "Memory validation started")
    _take_back_trial(app, held)
    sample = _sample(app, held.scope)
    found = _Found()
    for step in (_looked_for, _checked, _described):
        for line in step(app, held, sample, found):
            if line:
                log.line(line)
            yield line
            if not held.still_ours():
                return
    log.line(f"looked at {len(sample)}, flagged {len(found.flagged)}, proposed {found.proposed}")
    log.tidy()
    if found.flagged or found.proposed:
        notices.leave(app, f"Validation: {_told(found)}. `recollect validate` shows what.")


def _told(found: _Found) -> str:
    many = counted(len(found.flagged), "memory", "memories")
    parts = [f"{many} may be out of date"] if found.flagged else []
    parts += [f"{counted(found.proposed, 'rule')} in other words wait in the inbox"] if found.proposed else []
    return ", ".join(parts)


def _take_back_trial(app: App, held: Held) -> None:
    """Of a run that was killed while it measured."""
    if held.trial:
        describing.take_back(app, held.scope, held.trial)
        held.tries_out("")


def _looked_for(app: App, held: Held, sample: Sequence[Memory], found: _Found) -> Iterator[str]:
    for memory in sample:
        missing = claims.unfounded(app, held.scope, memory)
        if missing:
            found.flagged.add(memory.id)
            yield f"{memory.id} {_title(memory)}: {'; '.join(missing)}"


def _checked(app: App, held: Held, sample: Sequence[Memory], found: _Found) -> Iterator[str]:
    """The first phase."""
    if held.scope is not Scope.PROJECT or app.project is None:
        return
    for start in range(0, len(sample), AT_ONCE):
        some = sample[start : start + AT_ONCE]
        fields = (("entries", validation.shown(some)),)
        reads = str(app.project.root)
        answer = asks.ask(app, Ask(Job.VALIDATE, "validate-claims", fields, reads=reads, turns=TURNS, seconds=SECONDS))
        if answer is None:
            found.heard = False
            return
        checks = validation.read_checks(answer, some)
        for memory in some:
            check = checks.get(memory.id)
            if check is not None and check.state is not State.HOLDS and _is_as_it_was(app, held.scope, memory):
                yield _followed(app, held.scope, memory, check, found)
        yield ""  # a pause before the next question


def _followed(app: App, scope: Scope, memory: Memory, check: Check, found: _Found) -> str:
    why = f": {check.why}" if check.why else ""
    if check.state is State.FIX and isinstance(memory, Rule):
        id = _proposed(app, scope, memory, check.body)
        if id:
            found.proposed += 1
            return f"{memory.id} {_title(memory)} should read otherwise{why}; {id} waits in the inbox"
    found.flagged.add(memory.id)
    flags.put(app.writing(scope), memory)
    return f"{memory.id} {_title(memory)} is out of date{why}"


def _described(app: App, held: Held, sample: Sequence[Memory], found: _Found) -> Iterator[str]:
    """The second phase."""
    some = [memory for memory in sample if describing.may_be(app, held.scope, memory)] if found.heard else []
    if not some:
        return
    yield ""
    fields = (("entries", validation.shown(some)),)
    answer = asks.ask(app, Ask(Job.VALIDATE, "validate-descriptions", fields, seconds=SECONDS))
    lines = validation.read_descriptions(answer, some) if answer is not None else {}
    for memory in some:
        line = lines.get(memory.id)
        if line and _is_as_it_was(app, held.scope, memory):
            try:
                said = describing.tried(app, held, memory, line)
            except RecollectError as problem:
                yield f"{memory.id} {_title(memory)}: not measured: {problem.message}"
                return  # what is on trial is taken back by the next run
            yield f"{memory.id} {_title(memory)}: {said}"


# What there is


def _pool(app: App, scope: Scope) -> list[Memory]:
    wanted = Query(kinds=(Kind.RULE, Kind.NOTE), statuses=(Status.ACTIVE,), limit=_LOOKED_AT)
    return app.reading(scope).find(wanted)


def _sample(app: App, scope: Scope) -> list[Memory]:
    pool = _pool(app, scope)
    return [pool[number] for number in drawn(app.settings.count("MEMORY_VALIDATION_AMOUNT"), len(pool))]


def _is_as_it_was(app: App, scope: Scope, memory: Memory) -> bool:
    """A model thinks for minutes."""
    now = app.reading(scope).exact(memory.id)
    return now is not None and content_hash(now) == content_hash(memory)


def _proposed(app: App, scope: Scope, rule: Rule, body: str) -> str:
    """The id of the rule that waits; empty: one waits for this one already."""
    id = app.mint.draw("rule")
    said = app.take("rule", body, max_chars=validation.MAX_RULE_CHARS)
    waiting = Query(kinds=(Kind.RULE,), statuses=(Status.CANDIDATE,), tag=validation.IN_PLACE_OF + rule.id, limit=1)

    def make(store: Store) -> Plan:
        if store.find(waiting):
            return Plan.empty()
        return Plan.of([Create(validation.in_other_words(rule, said, id=id, now=app.clock.now()))])

    done = app.commit(scope, "validate", make, lambda _: f"{rule.id} in other words waits in the inbox as {id}.")
    return id if done.plan else ""


# By hand


def _run_now(app: App) -> Told:
    lines: list[str] = []
    logs: list[str] = []
    for scope, _ in list(app.scopes()):
        held = rounds.take(app, VALIDATION, scope, by_hand=True)
        if held is None:
            lines.append(f"The {scope}'s memory is being validated already.")
            continue
        lines += filter(None, rounds.finish(held))
        logs.append(str(ValidationLog(app, held.session).path))
    said = f"Validated; {counted(len(lines), 'finding')}." if logs else "There was nothing to validate."
    told = [f"Log: {path}" for path in dict.fromkeys(logs)]
    return Told(
        said, {"lines": list[Json](lines), "logs": list[Json](logs), "dry_run": False}, (*lines, *told, *app.notes())
    )


def _glance(app: App) -> Told:
    """What a run would draw from, what a model flagged, and what the free checks find."""
    lines: list[str] = []
    listed: list[Json] = []
    looked_at = 0
    for scope, store in app.scopes():
        pool = _pool(app, scope)
        amount = min(app.settings.count("MEMORY_VALIDATION_AMOUNT"), len(pool))
        lines.append(
            f"Validation: {rounds.schedule_line(app, VALIDATION, scope)}; {amount} of {len(pool):,} would be drawn."
        )
        flagged = flags.standing(store)
        for memory in pool[:_GLANCED_AT]:
            looked_at += 1
            why = [*claims.unfounded(app, scope, memory), *(["flagged by a review"] if memory.id in flagged else [])]
            if why:
                listed.append({"id": memory.id, "title": memory.title, "scope": str(scope), "why": list[Json](why)})
                lines.append(f"{memory.id} {_title(memory)}: {'; '.join(why)}")
    said = f"{len(listed):,} of {counted(looked_at, 'memory', 'memories')} may be out of date; nothing was changed."
    return Told(said, {"findings": listed, "looked_at": looked_at, "dry_run": app.dry_run}, tuple(lines))


def _title(memory: Memory) -> str:
    where = memory.path if isinstance(memory, Note) and memory.path else memory.title
    return f"({clip(one_line(where), _TITLE_CHARS)})"

"""forget, appreciate: rules and notes that are hardly used go into cold storage, on a person's word or a model's.

Every so many sessions (rounds.py) the three lowest are reviewed. A model says keep, which raises their appreciation, or
cold; without one they are only proposed. Nothing is put away on a doubt: not what was used, changed or pinned while the
model thought, and never a file of a repository. A rule is archived, which `undo` and `restore` take back; a note's file
moves to `memory-cold/`, and `note restore` brings it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput, Conflict
from recollect.base.text import clip, counted, one_line
from recollect.lifecycle import change, forgetting
from recollect.lifecycle.forgetting import Candidate, Verdict
from recollect.model.ask import Ask, Job
from recollect.model.codec import Json, content_hash
from recollect.model.memory import Kind, Memory, Note, Status
from recollect.model.plan import Plan, Update
from recollect.model.query import Query
from recollect.model.result import Done, Scope, Told
from recollect.ops import asks, notes, notices, rounds, sessions, toasts, vaults
from recollect.ops.app import App
from recollect.ops.memories import by_name
from recollect.ops.rounds import FORGETTING, Held
from recollect.ops.table import Arg
from recollect.vault import page, tags

if TYPE_CHECKING:
    from recollect.store import Store

SECONDS = 300.0
TURNS = 1
"""Of thirty at most: there is nothing to be read on the way."""
_LOOKED_AT = 100_000
_AMOUNT = re.compile(r"\+?(\d{1,4}(?:\.\d{1,3})?)")
_TITLE_CHARS = 60


def forget(
    app: App,
    name: Annotated[str | None, Arg("A rule's id, or a note's name or id.", metavar="[NAME]")] = None,
    *,
    candidates: Annotated[bool, Arg("Show what is used least; changes nothing.")] = False,
    run: Annotated[bool, Arg("Review what is used least now, whatever the schedule says.")] = False,
) -> Told | Done:
    if (name is not None) + candidates + run > 1:
        raise BadInput("A name, --candidates and --run are three different things.", hint="Give one of them.")
    if name is not None:
        return _forget_one(app, name)
    return _run_now(app) if run else _candidates_told(app)


def appreciate(
    app: App,
    name: Annotated[str, Arg("A rule's id, or a note's name or id.", metavar="NAME")],
    amount: Annotated[str, Arg("How much is added to its forgetting score.", metavar="[+N]")] = "+1",
) -> Done:
    found = _AMOUNT.fullmatch(amount.strip())
    if found is None or not 0 < float(found[1]) <= forgetting.MOST_APPRECIATION:
        most = int(forgetting.MOST_APPRECIATION)
        raise BadInput(
            f"{amount[:40]!r} is no amount.", hint=f"A number up to {most:,}: `recollect appreciate NAME +2`."
        )
    scope, memory, _ = by_name(app, name)
    _must_be_of_a_kind(memory)
    return _appreciated(app, scope, memory, float(found[1]))


# The review


def review(app: App, held: Held) -> Iterator[str]:
    """One look at the three lowest of one store."""
    found = lowest(app, held.scope, held)
    if not found:
        yield f"Forgetting: nothing in the {held.scope}'s memory is old enough to be looked at."
        return
    toasts.toast(app, "Memory forgetting started")
    answer = asks.ask(app, _asked(found))
    if answer is None:
        yield _proposed(app, held.scope, found)
        return
    verdicts = forgetting.read_answer(answer, found)
    put_away = 0
    for one in found:
        if not held.still_ours():
            return
        line = _follow(app, held.scope, one, verdicts.get(one.memory.id))
        if line.startswith("Forgot"):
            put_away += 1
            toasts.toast(app, line)
        yield line
    if put_away:
        notices.leave(
            app, f"Forgetting put {counted(put_away, 'memory', 'memories')} away: `recollect log` says which."
        )


def lowest(app: App, scope: Scope, held: Held | None = None) -> tuple[Candidate, ...]:
    """As the store stands. Files of a repository are not ours to move, so a project's notes are not among them."""
    store = app.reading(scope)
    kinds = (Kind.RULE, Kind.NOTE) if scope is Scope.USER else (Kind.RULE,)
    memories = store.find(Query(kinds=kinds, statuses=(Status.ACTIVE,), limit=_LOOKED_AT))
    since = held.since if held else rounds.since(store, FORGETTING)
    return forgetting.candidates(memories, session=sessions.number(store), born_before=since)


def _asked(found: tuple[Candidate, ...]) -> Ask:
    fields = (("entries", forgetting.shown(found)),)
    return Ask(Job.FORGET, "forget-review", fields, turns=TURNS, seconds=SECONDS)


def _proposed(app: App, scope: Scope, found: tuple[Candidate, ...]) -> str:
    many = counted(len(found), "memory", "memories")
    said = f"Hardly used: {many} of the {scope}. `recollect forget --candidates` shows which."
    notices.leave(app, said)
    return said


def _follow(app: App, scope: Scope, one: Candidate, verdict: Verdict | None) -> str:
    memory, name = one.memory, _name(one.memory)
    if verdict is None:
        return f"Left {name} as it is: no clear answer."
    try:
        if not _is_as_it_was(app.reading(scope), memory):
            return f"Left {name} as it is: it was used or changed meanwhile."
        if verdict is Verdict.KEEP:
            _appreciated(app, scope, memory, forgetting.KEPT_FOR)
            return f"Kept {name}."
        _put_away(app, scope, memory)
    except (BadInput, Conflict) as problem:
        return f"Left {name} as it is: {problem.message}"
    app.log.line("forgot", memory=memory.id, scope=scope, score=round(one.score, 3))
    return f"Forgot {name}."


def _is_as_it_was(store: Store, memory: Memory) -> bool:
    now = store.exact(memory.id)
    return (
        now is not None
        and forgetting.is_eligible(now)
        and content_hash(now) == content_hash(memory)
        and (now.frequency, now.last_session) == (memory.frequency, memory.last_session)
    )


# By hand


def _forget_one(app: App, name: str) -> Done:
    scope, memory, _ = by_name(app, name)
    _must_be_of_a_kind(memory)
    if memory.status is Status.ARCHIVED:
        raise BadInput(f"{memory.id} is put away already.", hint=f"`recollect {_way_back(memory)}` brings it back.")
    if memory.pinned:
        raise BadInput(f"{memory.id} is pinned, and what is pinned is kept.", hint="Take its pin away first.")
    done = _put_away(app, scope, memory)
    return replace(done, notes=(f"`recollect {_way_back(memory)}` brings it back.", *done.notes))


def _run_now(app: App) -> Told:
    if app.dry_run:
        return _candidates_told(app)
    lines: list[str] = []
    for scope, _ in list(app.scopes()):
        held = rounds.take(app, FORGETTING, scope, by_hand=True)
        if held is None:
            lines.append(f"The {scope}'s memory is being reviewed already.")
            continue
        lines += filter(None, rounds.finish(held))
    said = "Reviewed what is used least." if lines else "There is no memory here yet."
    return Told(said, {"lines": list[Json](lines), "dry_run": False}, (*lines, *app.notes()))


def _candidates_told(app: App) -> Told:
    listed: list[Json] = []
    lines: list[str] = []
    for scope, _ in app.scopes():
        lines.append(f"{FORGETTING.name.capitalize()}: {rounds.schedule_line(app, FORGETTING, scope)}.")
        for one in lowest(app, scope):
            memory = one.memory
            listed.append(
                {"id": memory.id, "kind": str(memory.kind), "scope": str(scope), "title": memory.title,
                 "score": round(one.score, 4), "frequency": memory.frequency, "idle": one.idle,
                 "appreciation": memory.appreciation}
            )  # fmt: skip
            lines.append(f"{one.score:7.3f}  {_name(memory)}  (shown {memory.frequency}x, idle {one.idle} sessions)")
    said = f"{counted(len(listed), 'memory', 'memories')} used least; nothing was changed."
    return Told(
        said if listed else "There is nothing to forget.", {"candidates": listed, "dry_run": app.dry_run}, tuple(lines)
    )


# Changes


def _put_away(app: App, scope: Scope, memory: Memory) -> Done:
    if vaults.file_of(app, scope, memory) is not None:
        return notes.chill(app, memory.id)
    return app.commit(
        scope,
        "forget",
        lambda store: change.archive(store.exact(memory.id) or memory),
        lambda _: f"Forgot {memory.id}.",
    )


def _appreciated(app: App, scope: Scope, memory: Memory, by: float) -> Done:
    """Of a note that keeps the figure in its own file, there; of the others in the store."""
    now = forgetting.appreciated(memory, by)
    said = f"The appreciation of {memory.id} is {now:g}."
    if _keeps_it_in_its_file(app, scope, memory):
        figure: dict[str, object] = {"appreciation": page.spelt(now)}
        return notes.rewrite(app, memory.id, lambda text: tags.with_metadata(text, figure), "appreciate", said)

    def make(store: Store) -> Plan:
        standing = store.exact(memory.id) or memory
        raised = replace(standing, appreciation=forgetting.appreciated(standing, by))
        return Plan.of([Update.between(standing, raised)])

    return app.commit(scope, "appreciate", make, lambda _: said)


def _keeps_it_in_its_file(app: App, scope: Scope, memory: Memory) -> bool:
    path = vaults.file_of(app, scope, memory) if scope is Scope.USER else None
    if path is None or not isinstance(memory, Note):
        return False
    return notes.is_tagged(app, memory.id)


def _must_be_of_a_kind(memory: Memory) -> None:
    if memory.kind is Kind.THREAD:
        raise BadInput(
            f"{memory.id} is a thread, and threads fade by the clock.",
            hint=f"`recollect archive {memory.id}` puts it away, `recollect pin` keeps something.",
        )


def _way_back(memory: Memory) -> str:
    return f"note restore {memory.id}" if memory.kind is Kind.NOTE else f"restore {memory.id}"


def _name(memory: Memory) -> str:
    where = memory.path if isinstance(memory, Note) and memory.path else memory.id
    return f"{where} ({clip(one_line(memory.title), _TITLE_CHARS)})"

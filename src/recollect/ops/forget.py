"""forget, appreciate: rules and notes that are hardly used go into cold storage, on a person's word or a model's.

Every so many sessions (jobs/session_schedule.py) the three lowest are reviewed. A model says keep, which raises their
appreciation, or cold; without one they are only proposed. Nothing is put away on a doubt: not what was used, changed
or pinned while the model thought, and never a file of a repository. A rule is archived, which `undo` and `restore`
take back; a note's file moves to `memory-cold/`, and `note restore` brings it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.app import language_model, notices, session_ledger, toasts
from recollect.app.core import App
from recollect.app.note_files import file_of
from recollect.base.errors import BadInput, Conflict
from recollect.base.text import clip, counted, one_line
from recollect.jobs import session_schedule
from recollect.jobs.job_table import FORGETTING
from recollect.jobs.session_schedule import Lease
from recollect.lifecycle import edits, forgetting
from recollect.lifecycle.forgetting import Candidate, Verdict
from recollect.model.ask import Ask, Use
from recollect.model.codec import Json, content_hash
from recollect.model.memory import Kind, Memory, Note, Status
from recollect.model.plan import Plan, Update
from recollect.model.query import Query
from recollect.model.result import Done, Scope, Summary
from recollect.ops import history, memories, notes
from recollect.ops.table import Arg
from recollect.vault import page, tags

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_POOL = 100_000
_AMOUNT = re.compile(r"\+?(\d{1,4}(?:\.\d{1,3})?)")
_TITLE_CHARS = 60


def forget(
    app: App,
    names: memories.Names = (),
    *,
    delete: Annotated[bool, Arg("Delete them; only `undo` brings them back.")] = False,
    purge: Annotated[bool, Arg("Erase them with every trace: journal, index, backups. Cannot be undone.")] = False,
    group: Annotated[str | None, Arg("With --purge: everything that came from this session or import.")] = None,
    candidates: Annotated[bool, Arg("Show what is used least; changes nothing.")] = False,
    run: Annotated[bool, Arg("Review what is used least now, whatever the schedule says.")] = False,
) -> Summary | Done:
    if bool(names or group) + candidates + run > 1 or (delete and purge):
        raise BadInput("These options exclude each other.", hint="Name memories, or give --candidates or --run.")
    if purge or group:
        return history.purge(app, names, group=group)
    if not names:
        return _run_now(app) if run else _show_candidates(app)
    if delete:
        return memories.delete(app, names)
    return _forget_one(app, names[0]) if len(names) == 1 else memories.archive(app, names)


def appreciate(
    app: App,
    name: Annotated[str, Arg("A rule's id, or a note's name or id.", metavar="NAME")],
    amount: Annotated[str, Arg("How much is added to its forgetting score.", metavar="[+N]")] = "+1",
) -> Done:
    found = _AMOUNT.fullmatch(amount.strip())
    if found is None or not 0 < float(found[1]) <= forgetting.MOST_APPRECIATION:
        most = int(forgetting.MOST_APPRECIATION)
        raise BadInput(
            f"{amount[:40]!r} is not an amount.", hint=f"A number up to {most:,}: `recollect appreciate NAME +2`."
        )
    scope, memory = app.find(name)
    if memory.kind is Kind.THREAD:
        raise BadInput(
            f"{memory.id} is a thread, and threads fade by the clock.",
            hint=f"`recollect forget {memory.id}` puts it away, `recollect pin` keeps something.",
        )
    return _add_appreciation(app, scope, memory, float(found[1]))


# The review


def review_lowest(app: App, lease: Lease) -> Iterator[str]:
    """One review of the three lowest of one store."""
    found = lowest(app, lease.scope, lease)
    if not found:
        yield f"Forgetting: nothing in the {lease.scope}'s memory is old enough to be looked at."
        return
    toasts.show(app, "Memory forgetting started")
    question = Ask(Use.FORGET, (("entries", forgetting.shown(found)),))
    verdicts: dict[str, Verdict] | None = language_model.ask(app, question, found)
    if verdicts is None:
        said = f"Hardly used: {counted(len(found), 'memory', 'memories')} of the {lease.scope}."
        notices.add(app, f"{said} `recollect forget --candidates` shows which.")
        yield f"{said} `recollect forget --candidates` shows which."
        return
    put_away = 0
    for one in found:
        if not lease.renew():
            return
        line = _follow(app, lease.scope, one, verdicts.get(one.memory.id))
        if line.startswith("Forgot"):
            put_away += 1
            toasts.show(app, line)
        yield line
    if put_away:
        notices.add(app, f"Forgetting put {counted(put_away, 'memory', 'memories')} away: `recollect log` says which.")


def lowest(app: App, scope: Scope, lease: Lease | None = None) -> tuple[Candidate, ...]:
    """As the store stands. Files of a repository are not ours to move, so a project's notes are not among them."""
    store = app.reader(scope)
    kinds = (Kind.RULE, Kind.NOTE) if scope is Scope.USER else (Kind.RULE,)
    memories = store.find(Query(kinds=kinds, statuses=(Status.ACTIVE,), limit=_MAX_POOL))
    since = lease.since if lease else session_schedule.last_run(store, FORGETTING)
    return forgetting.candidates(memories, session=session_ledger.count_sessions(store), born_before=since)


def _follow(app: App, scope: Scope, one: Candidate, verdict: Verdict | None) -> str:
    memory, name = one.memory, _name(one.memory)
    if verdict is None:
        return f"Left {name} as it is: no clear answer."
    try:
        if not _is_unchanged(app.reader(scope), memory):
            return f"Left {name} as it is: it was used or changed meanwhile."
        if verdict is Verdict.KEEP:
            _add_appreciation(app, scope, memory, forgetting.KEPT_FOR)
            return f"Kept {name}."
        _put_away(app, scope, memory)
    except (BadInput, Conflict) as problem:
        return f"Left {name} as it is: {problem.message}"
    app.log.line("forgot", memory=memory.id, scope=scope, score=round(one.score, 3))
    return f"Forgot {name}."


def _is_unchanged(store: Store, memory: Memory) -> bool:
    now = store.exact(memory.id)
    return (
        now is not None
        and forgetting.is_eligible(now)
        and content_hash(now) == content_hash(memory)
        and (now.frequency, now.last_session) == (memory.frequency, memory.last_session)
    )


# By hand


def _forget_one(app: App, name: str) -> Done:
    scope, memory = app.find(name)
    if memory.kind is Kind.THREAD:
        return memories.archive(app, (memory.id,))
    if memory.status is Status.ARCHIVED:
        raise BadInput(f"{memory.id} is put away already.", hint=f"`recollect {_way_back(memory)}` brings it back.")
    if memory.pinned:
        raise BadInput(f"{memory.id} is pinned, and what is pinned is kept.", hint="Take its pin away first.")
    done = _put_away(app, scope, memory)
    return replace(done, notes=(f"`recollect {_way_back(memory)}` brings it back.", *done.notes))


def _run_now(app: App) -> Summary:
    if app.dry_run:
        return _show_candidates(app)
    lines: list[str] = []
    for scope, _ in list(app.scopes()):
        lease = session_schedule.acquire(app, FORGETTING, scope, by_hand=True)
        if lease is None:
            lines.append(f"The {scope}'s memory is being reviewed already.")
            continue
        lines += filter(None, session_schedule.run(lease))
    said = "Reviewed what is used least." if lines else "There is no memory here yet."
    return Summary(said, {"lines": list[Json](lines), "dry_run": False}, (*lines, *app.notes()))


def _show_candidates(app: App) -> Summary:
    listed: list[Json] = []
    lines: list[str] = []
    for scope, _ in app.scopes():
        lines.append(f"{FORGETTING.name.capitalize()}: {session_schedule.describe_schedule(app, FORGETTING, scope)}.")
        for one in lowest(app, scope):
            memory = one.memory
            listed.append(
                {"id": memory.id, "kind": str(memory.kind), "scope": str(scope), "title": memory.title,
                 "score": round(one.score, 4), "frequency": memory.frequency, "idle": one.idle,
                 "appreciation": memory.appreciation}
            )  # fmt: skip
            lines.append(f"{one.score:7.3f}  {_name(memory)}  (shown {memory.frequency}x, idle {one.idle} sessions)")
    said = f"{counted(len(listed), 'memory', 'memories')} used least; nothing was changed."
    return Summary(
        said if listed else "There is nothing to forget.", {"candidates": listed, "dry_run": app.dry_run}, tuple(lines)
    )


# Changes


def _put_away(app: App, scope: Scope, memory: Memory) -> Done:
    if file_of(app, scope, memory) is not None:
        return notes.move_to_cold_storage(app, memory.id)
    return app.commit(
        scope, "forget", lambda store: edits.archive(store.exact(memory.id) or memory), lambda _: f"Forgot {memory.id}."
    )


def _add_appreciation(app: App, scope: Scope, memory: Memory, by: float) -> Done:
    """In the note's own file, if it has a place for it; else in the store."""
    now = forgetting.appreciated(memory, by)
    said = f"The appreciation of {memory.id} is {now:g}."
    is_own_note = isinstance(memory, Note) and scope is Scope.USER and file_of(app, scope, memory) is not None
    if is_own_note and notes.has_tags(app, memory.id):
        figure: dict[str, object] = {"appreciation": page.without_point(now)}
        return notes.rewrite(app, memory.id, lambda text: tags.with_metadata(text, figure), "appreciate", said)

    def make(store: Store) -> Plan:
        standing = store.exact(memory.id) or memory
        raised = replace(standing, appreciation=forgetting.appreciated(standing, by))
        return Plan.of([Update.between(standing, raised)])

    return app.commit(scope, "appreciate", make, lambda _: said)


def _way_back(memory: Memory) -> str:
    return f"note restore {memory.id}" if memory.kind is Kind.NOTE else f"restore {memory.id}"


def _name(memory: Memory) -> str:
    where = memory.path if isinstance(memory, Note) and memory.path else memory.id
    return f"{where} ({clip(one_line(memory.title), _TITLE_CHARS)})"

"""`forget` and `appreciate`: archives, deletes or erases memories, and says which to keep. Every so many sessions
(jobs/runner.py) the three rules or notes used least are reviewed: a model says keep, which raises their appreciation,
or cold storage; without one they are only proposed. Nothing is put away in doubt, and no file of a repository."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

from recollect.app import language_model, note_files, notices
from recollect.app.core import App
from recollect.app.states import JOB_RECORDS, SESSIONS
from recollect.base.errors import BadInput, Conflict, NotFound, RecollectError
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, counted, one_line
from recollect.jobs import runner
from recollect.jobs.runner import FORGETTING
from recollect.lifecycle import edits, review
from recollect.lifecycle.review import Candidate, Verdict
from recollect.model.ask import Ask, Use
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Note, Status
from recollect.model.plan import Plan, Update, UpdateAll
from recollect.model.query import Query
from recollect.model.result import Done, Scope, Summary
from recollect.ops import memories, notes
from recollect.ops.table import Arg
from recollect.vault import dialects

if TYPE_CHECKING:
    from recollect.store import Store

_NO_LIMIT = 1_000_000
_STANDING = (Status.ACTIVE, Status.SUSPENDED, Status.CANDIDATE)
_AMOUNT = re.compile(r"\+?(\d{1,4}(?:\.\d{1,3})?)")


def forget(
    app: App,
    names: memories.Names = (),
    *,
    delete: Annotated[bool, Arg("Delete them; only `undo` brings them back.")] = False,
    purge: Annotated[
        bool, Arg("Erase them with every trace: journal, index, backups. Cannot be undone.")
    ] = False,
    group: Annotated[
        str | None, Arg("With --purge: everything that came from this session or import.")
    ] = None,
    project: Annotated[
        bool, Arg("Everything of this project; `undo` brings it back, unless --purge is given.")
    ] = False,
    candidates: Annotated[bool, Arg("Show the memories used least; changes nothing.")] = False,
    run: Annotated[
        bool, Arg("Review the memories used least now, whatever the schedule says.")
    ] = False,
) -> Summary | Done:
    if bool(names or group) + project + candidates + run > 1 or (delete and (purge or project)):
        raise BadInput(
            "These options exclude each other.",
            hint="Name memories, or give --project, --candidates or --run. With --project, --delete is left out: one "
            "`undo` brings all of it back; --purge erases it.",
        )
    if project and not purge:
        return _forget_project(app)
    if purge or group:
        from recollect.ops import purge as purging  # a review needs nothing of it

        return purging.erase(app, names, group=group, project=project)
    if run and not app.dry_run:
        lines = runner.run_by_hand(app, FORGETTING)
        summary = "Reviewed the memories used least." if lines else "There is no memory here yet."
        return Summary(summary, {"lines": [*lines], "dry_run": False}, (*lines, *app.notes()))
    if not names:
        return _show_candidates(app)
    scope, memory = app.find(names[0]) if len(names) == 1 else (app.scope, None)
    if memory is None or delete or memory.kind is Kind.THREAD:
        done = _put_away(app, names, delete=delete)
    else:
        _refuse_archiving(app, scope, memory)
        done = _archive(app, scope, memory)
        done = replace(done, notes=(_way_back(memory), *done.notes))
    if done.scope is not Scope.TEAM:
        return done
    whose = (
        "For everyone in the team."
        if delete
        else "For you alone: `recollect unshare` removes it for everyone."
    )
    return replace(done, notes=(whose, *done.notes))


def _forget_project(app: App) -> Done:
    """Archives all that still stands, as one change: in the store, or with its file. What colleagues share and what is
    kept for every project stays; so does what was archived or replaced before.
    """
    project = app.require_project()
    standing = _find_standing(app.reader(Scope.PROJECT))
    file_ids = {
        memory.id
        for memory in standing
        if note_files.file_of(app, Scope.PROJECT, memory) is not None
    }

    def make(store: Store) -> Plan:
        by_status: dict[Status, list[str]] = {}
        for memory in _find_standing(store):
            if memory.id not in file_ids:
                by_status.setdefault(memory.status, []).append(memory.id)
        archived = {"status": str(Status.ARCHIVED)}
        return Plan(
            tuple(
                UpdateAll(tuple(ids), {"status": str(status)}, archived)
                for status, ids in by_status.items()
            )
        )

    summary = _summarize_project(app, project.name, standing)
    # One transaction, and files last: a kill leaves all of it or none, but for a file that was just being moved.
    whole: AbstractContextManager[None] = nullcontext()
    if not app.dry_run:
        whole = app.file_transaction(app.writer(Scope.PROJECT))
    with app.as_one_change(), whole:
        parts = [app.commit(Scope.PROJECT, "forget", make, lambda _: summary)]
        if file_ids:
            parts.append(notes.forget_files(app, tuple(file_ids)))
    return replace(memories.as_one(parts), summary=summary)


def _find_standing(store: Store) -> list[Memory]:
    return store.find(Query(statuses=_STANDING, limit=_NO_LIMIT))


def _summarize_project(app: App, name: str, standing: list[Memory]) -> str:
    if not standing:
        return f"Nothing is remembered of {name}."
    kinds = Counter(str(memory.kind) for memory in standing)
    many = ", ".join(counted(count, kind) for kind, count in sorted(kinds.items()))
    if app.dry_run:
        return f"Would archive everything of {name}: {many}."
    return f"Archived everything of {name}: {many}. `recollect undo` brings it back."


def _put_away(app: App, names: tuple[str, ...], *, delete: bool) -> Done:
    """One change, in both stores and with the files of notes. What cannot be put away is named; the rest is done."""
    groups: dict[tuple[Scope, bool], list[str]] = {}
    problems: list[RecollectError] = []
    done: list[Done] = []
    for name in names:
        try:
            scope, memory = app.find(name)
            (memories.refuse_note_file if delete else _refuse_archiving)(app, scope, memory)
            groups.setdefault(
                (scope, note_files.file_of(app, scope, memory) is not None), []
            ).append(memory.id)
        except (BadInput, NotFound) as problem:
            problems.append(problem)
    with app.as_one_change():
        for (_, is_file), ids in groups.items():
            try:
                put_away = (
                    memories.delete
                    if delete
                    else notes.forget_files
                    if is_file
                    else memories.archive
                )
                done.append(put_away(app, tuple(ids)))
            except (BadInput, NotFound, Conflict) as problem:
                problems.append(problem)
    if not done:
        raise problems[0]
    return memories.as_one(done, problems)


def _refuse_archiving(_app: App, _scope: Scope, memory: Memory) -> None:
    if memory.kind is not Kind.THREAD and memory.status is Status.ARCHIVED:
        raise BadInput(f"{memory.id} is already archived.", hint=_way_back(memory))
    if memory.kind is not Kind.THREAD and memory.pinned:
        hint = f"`recollect forget {memory.id} --delete` deletes it all the same; `undo` brings it back."
        raise BadInput(f"{memory.id} is pinned, so it is never archived.", hint=hint)


def _way_back(memory: Memory) -> str:
    return f"`recollect {'note restore' if memory.kind is Kind.NOTE else 'restore'} {memory.id}` brings it back."


def appreciate(
    app: App,
    name: Annotated[str, Arg("A rule's id, or a note's name or id.", metavar="NAME")],
    amount: Annotated[
        str, Arg("How much is added to its forgetting score.", metavar="[+N]")
    ] = "+1",
) -> Done:
    found, most = _AMOUNT.fullmatch(amount.strip()), review.MAX_APPRECIATION
    if found is None or not 0 < float(found[1]) <= most:
        hint = f"A number up to {most:,.0f}: `recollect appreciate NAME +2`."
        raise BadInput(f"{amount[:40]!r} is not an amount.", hint=hint)
    scope, memory = app.find(name)
    if memory.kind is Kind.THREAD:
        hint = f"`recollect forget {memory.id}` archives it, `recollect pin` keeps something."
        raise BadInput(f"{memory.id} is a thread, and threads fade by the clock.", hint=hint)
    return _add_appreciation(app, scope, memory, float(found[1]))


def review_lowest(app: App, run: runner.Run) -> Iterator[str]:
    """One review of the three lowest of one store."""
    found = _find_lowest(app, run.scope, run.since)
    if not found:
        yield f"Forgetting: nothing in the {run.scope}'s memory is old enough to be looked at."
        return
    notices.toast(app, "Memory forgetting started")
    question = Ask(Use.FORGET, (("entries", review.format_unused(found)),))
    verdicts: dict[str, Verdict] | None = language_model.ask(app, question, found)
    if verdicts is None:
        hardly = f"Hardly used: {counted(len(found), 'memory', 'memories')} of the {run.scope}."
        line = f"{hardly} `recollect forget --candidates` shows which."
        notices.add(app, line)
        yield line
        return
    forgotten = 0
    for one in found:
        line = _apply_verdict(app, run.scope, one, verdicts.get(one.memory.id))
        if line.startswith("Forgot"):
            forgotten += 1
            notices.toast(app, line)
        yield line
    if forgotten:
        notices.add(
            app,
            f"Forgetting put {counted(forgotten, 'memory', 'memories')} away: `recollect log` says which.",
        )


def _apply_verdict(app: App, scope: Scope, one: Candidate, verdict: Verdict | None) -> str:
    memory, name = one.memory, _name(one.memory)
    if verdict is None:
        return f"Left {name} as it is: no clear answer."
    try:
        now = language_model.read_again(app, scope, memory)
        used = (memory.frequency, memory.last_session)
        if now is None or not review.is_eligible(now) or (now.frequency, now.last_session) != used:
            return f"Left {name} as it is: it was used or changed meanwhile."
        if verdict == "keep":
            _add_appreciation(app, scope, memory, review.KEPT_FOR)
            return f"Kept {name}."
        _archive(app, scope, memory)
    except (BadInput, Conflict) as problem:
        return f"Left {name} as it is: {problem.message}"
    app.log.line("forgot", memory=memory.id, scope=scope, score=round(one.score, 3))
    return f"Forgot {name}."


def _show_candidates(app: App) -> Summary:
    listed: list[Json] = []
    lines: list[str] = []
    for scope, store in app.own_scopes():
        lines.append(
            f"{FORGETTING.name.capitalize()}: {runner.describe_schedule(app, FORGETTING, scope)}."
        )
        for memory, score, idle in _find_lowest(
            app, scope, JOB_RECORDS.read(store, FORGETTING.name).ran_at
        ):
            listed.append(
                {"id": memory.id, "kind": str(memory.kind), "scope": str(scope), "title": memory.title,
                 "score": round(score, 4), "frequency": memory.frequency, "idle": idle,
                 "appreciation": memory.appreciation}
            )  # fmt: skip
            lines.append(
                f"{score:7.3f}  {_name(memory)}  (shown {memory.frequency}x, idle {idle} sessions)"
            )
    least = f"{counted(len(listed), 'memory', 'memories')} used least; nothing was changed."
    summary = least if listed else "There is nothing to forget."
    return Summary(summary, {"candidates": listed, "dry_run": app.dry_run}, tuple(lines))


def _find_lowest(app: App, scope: Scope, since: Moment | None) -> tuple[Candidate, ...]:
    """Files of a repository are not ours to move, so a project's notes are not among them."""
    store = app.reader(scope)
    kinds = (Kind.RULE, Kind.NOTE) if scope is Scope.USER else (Kind.RULE,)
    found = store.find(Query(kinds=kinds, statuses=(Status.ACTIVE,), limit=_NO_LIMIT))
    return review.candidates(found, session=SESSIONS.read(store), born_before=since)


def _archive(app: App, scope: Scope, memory: Memory) -> Done:
    if note_files.file_of(app, scope, memory) is not None:
        return notes.forget_files(app, (memory.id,))
    return memories.change_one(app, scope, memory, "forget", edits.archive, f"Forgot {memory.id}.")


def _add_appreciation(app: App, scope: Scope, memory: Memory, by: float) -> Done:
    """Writes it to the note's own file if that has a place for it, otherwise to the store."""
    now = review.raise_appreciation(memory, by)
    summary = f"The appreciation of {memory.id} is {now:g}."
    if notes.has_own_tags(app, scope, memory):
        figure: dict[str, object] = {"appreciation": now}
        return notes.rewrite(
            app, memory.id, lambda text: dialects.with_metadata(text, figure), "appreciate", summary
        )

    def plan_of(standing: Memory) -> Plan:
        raised = replace(standing, appreciation=review.raise_appreciation(standing, by))
        return Plan.of([Update.between(standing, raised)])

    return memories.change_one(app, scope, memory, "appreciate", plan_of, summary)


def _name(memory: Memory) -> str:
    where = memory.path if isinstance(memory, Note) and memory.path else memory.id
    return f"{where} ({clip(one_line(memory.title), 60)})"

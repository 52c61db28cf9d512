"""validate: are memories still true? A random sample is checked every so many sessions (jobs/session_schedule.py).

Always, and for free: whether what a memory names exists (app/claim_check.py). With a model there are two phases. The
first compares what the project's rules and notes state with its files, which the model may read and nothing else; a
rule that should read otherwise waits in the inbox, a memory that no longer holds is flagged. The second finds better
titles. Nothing that a memory says is ever run, and files of a repository are never written.

A user's memories hold in every project, so no single project's files can contradict them: they go through the free
checks and the second phase.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.app import language_model, notices, toasts
from recollect.app.claim_check import outdated_claims
from recollect.app.core import MAX_TITLE_CHARS, App
from recollect.app.memory_search import search as search_memory
from recollect.app.note_files import file_of
from recollect.app.question_vector import fill_vectors
from recollect.app.states import OUTDATED
from recollect.base.errors import BadInput, Conflict, HomeRefused, ModelError, NotFound, RecollectError
from recollect.base.files import read_limited, write_private
from recollect.base.ids import draw_numbers
from recollect.base.text import clip, counted, one_line, visible
from recollect.jobs import session_schedule
from recollect.jobs.job_table import VALIDATION
from recollect.jobs.session_schedule import Lease
from recollect.lifecycle import validation
from recollect.lifecycle.validation import Check, State
from recollect.model.ask import Ask, Use
from recollect.model.codec import Json, content_hash
from recollect.model.memory import Kind, Memory, Note, Rule, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import REACHED, Query
from recollect.model.result import Scope, Summary
from recollect.ops import notes
from recollect.ops.table import Arg
from recollect.vault import tags

if TYPE_CHECKING:
    from recollect.store import Store

PER_QUESTION = 5  # memories in one question of the first phase
LOGS_KEPT = 20
_MAX_POOL = 100_000
_MAX_GLANCED = 2_000
_TITLE_CHARS = 60
_MAX_LOG_BYTES = 500_000
_LOG_LINE_CHARS = 500
_RENAME = "describe"
_KEPT = "now"
_RANKS = 50
_VECTORS_AT_ONCE = 32
_LOG_NAME = re.compile(r"validation-\d+\.log")


@dataclass(slots=True)
class _Run:
    flagged: set[str] = field(default_factory=set)
    proposed: int = 0
    is_answered: bool = True  # by a model; once it is not, no other question is asked


def validate(
    app: App, *, run: Annotated[bool, Arg("Validate some memories now, whatever the schedule says.")] = False
) -> Summary:
    return _run_now(app) if run and not app.dry_run else _glance(app)


# A run


def check_sample(app: App, lease: Lease) -> Iterator[str]:
    log = _Log(app, lease.session)
    where = app.project.name if app.project is not None and lease.scope is Scope.PROJECT else "user"
    log.line(f"validation of {where} at session {lease.session}")
    toasts.show(app, "Memory validation started")
    if lease.trial:  # of a run that was killed while it measured
        take_back(app, lease.scope, lease.trial)
        lease.record_trial("")
    sample = _sample(app, lease.scope)
    run = _Run()
    for phase in (_check_names, _check_claims, _improve_titles):
        for line in phase(app, lease, sample, run):
            if line:
                log.line(line)
            yield line
            if not lease.renew():
                return
    log.line(f"looked at {len(sample)}, flagged {len(run.flagged)}, proposed {run.proposed}")
    _remove_old_logs(app)
    parts = [f"{counted(len(run.flagged), 'memory', 'memories')} may be out of date"] if run.flagged else []
    parts += [f"{counted(run.proposed, 'rule')} in other words wait in the inbox"] if run.proposed else []
    if parts:
        notices.add(app, f"Validation: {', '.join(parts)}. `recollect validate` shows what.")


def _check_names(app: App, lease: Lease, sample: Sequence[Memory], run: _Run) -> Iterator[str]:
    for memory in sample:
        if missing := outdated_claims(app, lease.scope, memory):
            run.flagged.add(memory.id)
            yield f"{memory.id} {_title(memory)}: {'; '.join(missing)}"


def _check_claims(app: App, lease: Lease, sample: Sequence[Memory], run: _Run) -> Iterator[str]:
    if lease.scope is not Scope.PROJECT or app.project is None:
        return
    for start in range(0, len(sample), PER_QUESTION):
        some = sample[start : start + PER_QUESTION]
        fields = (("entries", validation.shown(some)),)
        question = Ask(Use.VALIDATE_CLAIMS, fields, reads=str(app.project.root))
        checks: dict[str, Check] | None = language_model.ask(app, question, some)
        if checks is None:
            run.is_answered = False
            return
        for memory in some:
            check = checks.get(memory.id)
            if check is not None and check.state is not State.HOLDS and _is_unchanged(app, lease.scope, memory):
                yield _follow(app, lease.scope, memory, check, run)
        yield ""  # a pause before the next question


def _follow(app: App, scope: Scope, memory: Memory, check: Check, run: _Run) -> str:
    why = f": {check.why}" if check.why else ""
    if check.state is State.FIX and isinstance(memory, Rule) and (id := _propose(app, scope, memory, check.body)):
        run.proposed += 1
        return f"{memory.id} {_title(memory)} should read otherwise{why}; {id} waits in the inbox"
    run.flagged.add(memory.id)
    flag(app.writer(scope), memory)
    return f"{memory.id} {_title(memory)} is out of date{why}"


def _improve_titles(app: App, lease: Lease, sample: Sequence[Memory], run: _Run) -> Iterator[str]:
    some = [memory for memory in sample if _may_rename(app, lease.scope, memory)] if run.is_answered else []
    if not some:
        return
    yield ""
    question = Ask(Use.VALIDATE_DESCRIPTIONS, (("entries", validation.shown(some)),))
    lines: dict[str, str] = language_model.ask(app, question, some) or {}
    for memory in some:
        line = lines.get(memory.id)
        if line and _is_unchanged(app, lease.scope, memory):
            try:
                said = try_title(app, lease, memory, line)
            except RecollectError as problem:
                yield f"{memory.id} {_title(memory)}: not measured: {problem.message}"
                return  # the next run takes back what is being tried out
            yield f"{memory.id} {_title(memory)}: {said}"


def _pool(app: App, scope: Scope) -> list[Memory]:
    wanted = Query(kinds=(Kind.RULE, Kind.NOTE), statuses=(Status.ACTIVE,), limit=_MAX_POOL)
    return app.reader(scope).find(wanted)


def _sample(app: App, scope: Scope) -> list[Memory]:
    pool = _pool(app, scope)
    return [pool[number] for number in draw_numbers(app.settings.count("MEMORY_VALIDATION_AMOUNT"), len(pool))]


def _is_unchanged(app: App, scope: Scope, memory: Memory) -> bool:
    """A model takes minutes."""
    now = app.reader(scope).exact(memory.id)
    return now is not None and content_hash(now) == content_hash(memory)


def _propose(app: App, scope: Scope, rule: Rule, body: str) -> str:
    """The id of the rule that waits; empty: one is waiting for this one already."""
    id = app.mint.draw("rule")
    said = app.redact_text("rule", body, max_chars=validation.MAX_RULE_CHARS)
    waiting = Query(kinds=(Kind.RULE,), statuses=(Status.CANDIDATE,), tag=validation.IN_PLACE_OF + rule.id, limit=1)

    def make(store: Store) -> Plan:
        if store.find(waiting):
            return Plan.empty()
        return Plan.of([Create(validation.in_other_words(rule, said, id=id, now=app.clock.now()))])

    done = app.commit(scope, "validate", make, lambda _: f"{rule.id} in other words waits in the inbox as {id}.")
    return id if done.plan else ""


# A better title is put in place, measured with the engine that answers everyone, and taken back unless the memory still
# comes up as early for what it should be found by. The trial is recorded in the lease before it is written, so that the
# next run takes back what a run that is killed while it measures leaves behind. For a note, the store is changed first
# and its file last, and only the condition in it: what it says is never touched.


def _may_rename(app: App, scope: Scope, memory: Memory) -> bool:
    """Rules, and notes of the user's own whose dialect has a place for it; nothing that is pinned."""
    if memory.pinned:
        return False
    if isinstance(memory, Note):
        is_own = scope is Scope.USER and file_of(app, scope, memory) is not None
        return is_own and notes.has_tags(app, memory.id)
    return isinstance(memory, Rule)


def try_title(app: App, lease: Lease, memory: Memory, line: str) -> str:
    """The outcome in a few words, which begin with _KEPT if the title was kept."""
    title = app.redact_text("description", line, max_chars=MAX_TITLE_CHARS)
    asked = validation.questions(memory)
    before = _ranks(app, lease.scope, memory, asked)
    change = app.mint.draw("change")
    if not lease.record_trial(change):
        return "left as it is: another is at it"
    store = app.writer(lease.scope)
    standing = store.exact(memory.id) or memory
    plan = app.redact_plan(Plan.of([Update.between(standing, replace(standing, title=title))]))
    store.apply(plan, app.change_header(_RENAME, f"{memory.id} is called {title!r}.", change=change))
    said = _judge(app, lease.scope, memory, title, asked, before)
    if not said.startswith(_KEPT):
        take_back(app, lease.scope, change)
    lease.record_trial("")  # not before it is settled: whatever fails on the way leaves it to the next run
    return said


def _judge(
    app: App, scope: Scope, memory: Memory, title: str, asked: Sequence[str], before: Sequence[int | None]
) -> str:
    after = _ranks(app, scope, memory, asked)
    if validation.fell(before, after):
        return f"the title stays: by another it came up later ({_shown(before)}, then {_shown(after)})"
    if isinstance(memory, Note):
        said = f"{memory.path} has a new condition."
        try:
            notes.rewrite(app, memory.id, lambda text: tags.with_condition(text, title), _RENAME, said)
        except (BadInput, Conflict) as problem:
            return f"the title stays: {problem.message}"
    return f"{_KEPT} called {title!r} ({_shown(before)}, then {_shown(after)})"


def take_back(app: App, scope: Scope, change: str) -> None:
    """If it was ever written, and nobody has changed it since."""
    store = app.writer(scope)
    found = store.log(limit=1, change=change)
    if not found or found[0].undone_by:
        return
    try:
        store.undo(change, app.change_header("undo", "Took back a title that did not serve.", undoes=change))
    except (Conflict, BadInput, NotFound):
        app.log.line("describe-stays", change=change)


def _ranks(app: App, scope: Scope, memory: Memory, asked: Sequence[str]) -> list[int | None]:
    """Of each question; with vectors if there are any."""
    try:
        while fill_vectors(app.writer(scope), app.embedder, _VECTORS_AT_ONCE):
            pass
    except (ModelError, BadInput):
        pass  # words alone, before and after
    ranks: list[int | None] = []
    for text in asked:
        found = search_memory(app, Query(text=text, statuses=REACHED, limit=_RANKS)).found
        ids = [one.hit.memory.id for one in found]
        ranks.append(ids.index(memory.id) + 1 if memory.id in ids else None)
    return ranks


def _shown(ranks: Sequence[int | None]) -> str:
    return "rank " + "/".join("-" if rank is None else str(rank) for rank in ranks)


# By hand


def _run_now(app: App) -> Summary:
    lines: list[str] = []
    logs: list[str] = []
    for scope, _ in list(app.scopes()):
        lease = session_schedule.acquire(app, VALIDATION, scope, by_hand=True)
        if lease is None:
            lines.append(f"The {scope}'s memory is being validated already.")
            continue
        lines += filter(None, session_schedule.run(lease))
        logs.append(str(_log_path(app, lease.session)))
    said = f"Validated; {counted(len(lines), 'finding')}." if logs else "There was nothing to validate."
    where = [f"Log: {path}" for path in dict.fromkeys(logs)]
    facts: dict[str, Json] = {"lines": list[Json](lines), "logs": list[Json](logs), "dry_run": False}
    return Summary(said, facts, (*lines, *where, *app.notes()))


def _glance(app: App) -> Summary:
    """What a run would draw from, what a model flagged, and what the free checks find."""
    lines: list[str] = []
    listed: list[Json] = []
    looked_at = 0
    for scope, store in app.scopes():
        pool = _pool(app, scope)
        amount = min(app.settings.count("MEMORY_VALIDATION_AMOUNT"), len(pool))
        schedule = session_schedule.describe_schedule(app, VALIDATION, scope)
        lines.append(f"Validation: {schedule}; {amount} of {len(pool):,} would be drawn.")
        flagged = flagged_ids(store)
        for memory in pool[:_MAX_GLANCED]:
            looked_at += 1
            why = [*outdated_claims(app, scope, memory), *(["flagged by a review"] if memory.id in flagged else [])]
            if why:
                listed.append({"id": memory.id, "title": memory.title, "scope": str(scope), "why": list[Json](why)})
                lines.append(f"{memory.id} {_title(memory)}: {'; '.join(why)}")
    said = f"{len(listed):,} of {counted(looked_at, 'memory', 'memories')} may be out of date; nothing was changed."
    return Summary(said, {"findings": listed, "looked_at": looked_at, "dry_run": app.dry_run}, tuple(lines))


def _title(memory: Memory) -> str:
    where = memory.path if isinstance(memory, Note) and memory.path else memory.title
    return f"({clip(one_line(where), _TITLE_CHARS)})"


# Flags: memories that a model found out of date, with a hash of what they said then. Once that changes, or the memory
# is put away, the flag is gone.


def flag(store: Store, memory: Memory) -> None:
    with store.transaction():
        flags = {**OUTDATED.read(store), memory.id: content_hash(memory)}
        OUTDATED.write(store, {id: hash for id, hash in flags.items() if _stands(store, id, hash)})


def flagged_ids(store: Store) -> frozenset[str]:
    return frozenset(id for id, hash in OUTDATED.read(store).items() if _stands(store, id, hash))


def remove_flags(store: Store, ids: Iterable[str]) -> None:
    """Of memories that are erased."""
    gone = set(ids)
    with store.transaction():
        if gone & (flags := OUTDATED.read(store)).keys():
            OUTDATED.write(store, {id: hash for id, hash in flags.items() if id not in gone})


def _stands(store: Store, id: str, hash: str) -> bool:
    memory = store.exact(id)
    return memory is not None and memory.status is Status.ACTIVE and content_hash(memory) == hash


# The log: `logs/validation-<session>.log`, a line per finding, redacted. Two stores may be at the same session, so
# lines are added to a file.


def _log_path(app: App, session: int) -> Path:
    return app.home.logs / f"validation-{session}.log"


class _Log:
    def __init__(self, app: App, session: int) -> None:
        self._app = app
        self._path = _log_path(app, session)
        self._lines = _read_lines(self._path)

    def line(self, text: str) -> None:
        """A log that cannot be written is no reason to fail."""
        said = self._app.redactor.clean(visible(clip(one_line(text), _LOG_LINE_CHARS))).text
        self._lines.append(f"{self._app.clock.now().iso()} {said}")
        with suppress(OSError, HomeRefused):
            write_private(self._path, "\n".join(self._lines)[-_MAX_LOG_BYTES // 2 :] + "\n")


def erase_log_lines(app: App, ids: Iterable[str]) -> None:
    """About memories that are erased: every line about a memory begins with its id."""
    gone = tuple(ids)
    for path in _logs(app):
        lines = _read_lines(path)
        kept = [line for line in lines if not any(id in line for id in gone)]
        if len(kept) < len(lines):
            with suppress(OSError, HomeRefused):
                write_private(path, "\n".join(kept) + "\n")


def _remove_old_logs(app: App) -> None:
    for path in sorted(_logs(app), key=lambda path: path.stat().st_mtime_ns)[:-LOGS_KEPT]:
        with suppress(OSError):
            path.unlink()


def _logs(app: App) -> list[Path]:
    try:
        return [path for path in app.home.logs.iterdir() if _LOG_NAME.fullmatch(path.name)]
    except OSError:
        return []


def _read_lines(path: Path) -> list[str]:
    try:
        return read_limited(path, _MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []

"""A session starts: the agent is told what holds here, and what is open. Again after compaction; only what is new after
a resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, NamedTuple, TypeVar

from recollect import agents
from recollect.agents.transcript import Voice
from recollect.app import beat_state, notices, session_ledger, toasts
from recollect.app.active_rules import load_rules
from recollect.app.core import App
from recollect.app.note_files import NO_FILE, Known, KnownFiles, vault_scopes
from recollect.app.states import ALLOWED_NOTES
from recollect.base.errors import NotFound, RecollectError, StoreDamaged
from recollect.base.ids import fresh_key
from recollect.base.text import counted
from recollect.jobs import vault_sync
from recollect.lifecycle.strength import status_at, strength
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Note, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope, Summary
from recollect.model.session import LedgerKey
from recollect.ops import hook_reply, virtual_files
from recollect.ops.hook_reply import HookReply, HookRequest
from recollect.ops.table import Arg
from recollect.recall.priority import is_quiet
from recollect.render import inject
from recollect.vault import layout

OPEN_THREADS = 5
_THREADS_NEED_S = 0.05
_ANSWER_NEEDS_S = 0.1
_VAULT_NEEDS_S = 0.15
_MAX_FORK_BYTES = 100_000_000  # nobody reads more than that in half a second

PROJECT_FOLDER = f"{layout.MEMORY}/{layout.ALWAYS}/"
MAX_NOTES = 50
_HOW = "read them, then `recollect allow`"

M = TypeVar("M", bound=Memory)
Rules = Mapping[str, tuple[Scope, Rule]]


def start_session(request: HookRequest) -> HookReply:
    app, event = request.app, request.event
    virtual_files.sweep_old_answers(request.folder, event.at)
    is_known = session_ledger.load(app, event) is not None
    if event.source != "compact":
        toasts.show_session(app, event)
    talker = _begin(request)
    rules = load_rules(app)
    match event.source:
        case "compact":
            return _load_again(request, talker, rules)
        case "resume" if is_known:
            return _load_new_rules(request, talker, rules)
        case "fork" if _rebuild_ledger(request, talker):
            return _load_new_rules(request, talker, rules)
        case _:
            return _load(request, talker, rules)


def _begin(request: HookRequest) -> LedgerKey:
    app, event = request.app, request.event
    session = session_ledger.load_or_new(app, event)
    talker = LedgerKey(session.id, event.agent_id, session.epoch + (event.source in session_ledger.FORGETFUL_STARTS))

    def write() -> None:
        session_ledger.begin_session(app, event)
        request.receive()

    request.write(write)
    return talker


def _load(request: HookRequest, talker: LedgerKey, rules: Rules) -> HookReply:
    app = request.app
    is_late = request.left_s < _THREADS_NEED_S
    threads = {} if is_late else open_threads(app)
    always = _load_always(request)
    said = inject.session_start(
        _memories(rules), _memories(threads), heart=beat_state.load(app), always=_memories(always.notes),
        nonce=fresh_key()[:8], now=app.clock.now(),
    )  # fmt: skip
    if is_late:
        app.log.line("late", session=request.event.session_id, left_out="open threads")
    return _reply(request, talker, said, {**always.notes, **rules, **threads}, always.notice)


def _load_again(request: HookRequest, talker: LedgerKey, rules: Rules) -> HookReply:
    notes = _load_always(request).notes
    said = inject.rules_again(_memories(rules), always=_memories(notes), nonce=fresh_key()[:8])
    return _reply(request, talker, said, {**notes, **rules})


def _load_new_rules(request: HookRequest, talker: LedgerKey, rules: Rules) -> HookReply:
    seen = session_ledger.marks_shown(request.app, talker)
    new = [rule for id, (_, rule) in rules.items() if id not in seen]
    return _reply(request, talker, inject.new_rules(new, nonce=fresh_key()[:8]), rules)


def _memories(kept: Mapping[str, tuple[Scope, M]]) -> list[M]:
    return [memory for _, memory in kept.values()]


def open_threads(app: App) -> dict[str, tuple[Scope, Memory]]:
    """The strongest of those that were active lately; not those that age suspended, nor those that went quiet.
    Imported history began to fade when it was imported, but the work in it was open when it was last active."""
    now, age = app.clock.now(), app.age_rules
    wanted = Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=10 * OPEN_THREADS)
    found = [
        (strength(by_activity, now=now, rules=age), scope, memory)
        for scope, store in app.scopes()
        for memory in store.find(wanted)
        for by_activity in (replace(memory, reinforced_at=min(memory.reinforced_at, memory.last_active_at)),)
        if status_at(by_activity, now=now, rules=age) is Status.ACTIVE and not is_quiet(memory)
    ]
    found.sort(key=lambda entry: entry[0], reverse=True)
    return {memory.id: (scope, memory) for _, scope, memory in found[:OPEN_THREADS]}


def _load_always(request: HookRequest) -> AlwaysLoaded:
    """As the files are now, where few of them changed; the daemon reads the rest."""
    app = request.app
    for scope in vault_scopes(app):
        try:
            waiting = vault_sync.quick_look(app, scope).waiting if request.left_s > _VAULT_NEEDS_S else 1
        except StoreDamaged:
            raise
        except RecollectError as problem:
            app.log.line("vault-not-read", scope=scope, problem=problem.message)
            continue
        if waiting:
            app.log.line("late", session=request.event.session_id, left_out=f"changed notes of the {scope}")
    return load_notes(app)


def _rebuild_ledger(request: HookRequest, talker: LedgerKey) -> bool:
    """A fork goes on from another session's transcript: what we put in there since its last compaction is known."""
    event = request.event
    transcript = agents.origin(event)
    try:
        if transcript is None or transcript.stat().st_size > _MAX_FORK_BYTES:
            return False
    except OSError:
        return False
    marks: dict[str, None] = {}
    for utterance in agents.utterances(event.host, agents.Tail(transcript)):
        if utterance.voice is Voice.SUMMARY:
            marks.clear()
        elif utterance.voice is Voice.INJECTION:
            marks |= dict.fromkeys(inject.marks_shown(utterance.text))
        if request.left_s < _ANSWER_NEEDS_S:
            request.app.log.line("late", session=event.session_id, left_out="the rest of the transcript")
            break
    if marks:
        request.write(lambda: session_ledger.record_replayed(request.app, talker, list(marks)))
    return bool(marks)


def _reply(
    request: HookRequest,
    talker: LedgerKey,
    said: inject.Injection,
    memories: Mapping[str, tuple[Scope, Memory]],
    notice: str = "",
) -> HookReply:
    app, event = request.app, request.event
    waiting = notices.waiting(app) if notices.are_shown(app, event.host) else []

    def after(later: HookRequest, delivered: bool) -> None:
        def write() -> None:
            if said.text:
                what = f"session start ({event.source or 'startup'})"
                hook_reply.record_listed(later, what, list(memories.values()), said, delivered)
            if delivered:
                notices.clear(later.app, waiting)

        if said.text or waiting:
            later.write(write)
        hook_reply.log_reply(later, hook_reply.NOT_SEARCHED, said, delivered)

    scopes = {id: scope for id, (scope, _) in memories.items()}
    lines = "\n".join(filter(None, (*waiting, said.notice, notice)))
    return hook_reply.inject(said, talker, scopes, after, notice=lines)


# Notes in `_always-load/` are loaded at every session's start. The user's own are always loaded. A project's may have
# been written by a stranger, so they are loaded only once a person allowed them, and only as they were then: the store
# keeps a hash of their names and texts, where nothing in a tree can reach it. Until then they are not shown unasked in
# any other way either.


class AlwaysLoaded(NamedTuple):
    notes: dict[str, tuple[Scope, Note]]
    withheld: frozenset[str] = frozenset()  # of the project's, those that nobody allowed as they are
    changed: bool = False  # they were allowed, as they were then

    @property
    def notice(self) -> str:
        """For a person's eyes. Says how many, never what."""
        if not self.withheld:
            return ""
        if self.changed:
            return f"Recollect: always-load notes of this repository changed since you allowed them; {_HOW}"
        many = counted(len(self.withheld), "note")
        return f"Recollect: {many} of this repository would be always loaded; {_HOW}"


def load_notes(app: App) -> AlwaysLoaded:
    """In order of their paths, the user's first."""
    found: dict[str, tuple[Scope, Note]] = {}
    withheld, allowed = withheld_notes(app)
    for scope in (Scope.USER, Scope.PROJECT):
        for one in list(_files(app, scope).values())[:MAX_NOTES]:
            note = app.reader(scope).exact(one.id)
            if isinstance(note, Note) and note.status is Status.ACTIVE and note.id not in withheld:
                found[note.id] = (scope, note)
    return AlwaysLoaded(found, withheld, bool(withheld and allowed))


def withheld_notes(app: App) -> tuple[frozenset[str], str]:
    """The ids of the project's notes that nobody allowed as they are, and the hash of those that were allowed."""
    files = _files(app, Scope.PROJECT)
    allowed = ALLOWED_NOTES.read(app.reader(Scope.PROJECT)) if files else ""
    return frozenset(one.id for one in files.values() if allowed != _digest(files)), allowed


def allow(
    app: App, *, off: Annotated[bool, Arg("Take it back: they are not loaded until allowed again.")] = False
) -> Summary:
    app.require_scope(Scope.PROJECT)
    if not app.dry_run:
        vault_sync.refresh(app, Scope.PROJECT)
    files = _files(app, Scope.PROJECT)
    if not files:
        raise NotFound(
            "This project has no notes that want to be always loaded.", hint="They lie in .ai/memory/_always-load/."
        )
    if not app.dry_run:
        ALLOWED_NOTES.write(app.writer(Scope.PROJECT), "" if off else _digest(files))
        app.log.line("allow", notes=len(files), off=off)
    facts: dict[str, Json] = {"notes": list(files), "allowed": not off, "dry_run": app.dry_run}
    many = counted(len(files), "note")
    if off:
        return Summary(f"{many} of this project will not be loaded any more.", facts)
    summary = f"{many} of this project will be loaded at every session's start, as they are now: {', '.join(files)}."
    return Summary(summary, facts, ("If one is changed, they wait until you allow them again.",))


def _files(app: App, scope: Scope) -> dict[str, Known]:
    if app.store_path(scope) is None:
        return {}
    under = PROJECT_FOLDER if scope is Scope.PROJECT else f"{layout.ALWAYS}/"
    files = KnownFiles.load(app.reader(scope), under=under).files
    return {path: one for path, one in sorted(files.items()) if one.stamp != NO_FILE}


def _digest(files: dict[str, Known]) -> str:
    listed = [[path, one.hash] for path, one in sorted(files.items())]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

"""A session starts: the agent is told what holds here, and what is open. Again after compaction; only what is new after
a resume."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from recollect import agents
from recollect.agents.transcript import Voice
from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.app.note_files import NO_FILE, NOTE_FILES, KnownFile, vault_scopes
from recollect.app.offered_memory import offer_lines
from recollect.app.states import ALLOWED_NOTES, SESSIONS
from recollect.base.errors import NotFound, RecollectError, StoreDamaged, StoreTooNew
from recollect.base.ids import fresh_key
from recollect.base.structs import replace
from recollect.base.text import counted
from recollect.jobs import vault_sync
from recollect.lifecycle.strength import status_at, strength
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Note, Status
from recollect.model.query import Query
from recollect.model.result import Scope, Summary
from recollect.model.session import LedgerKey, ShownMemory, Way
from recollect.ops import hook_reply
from recollect.ops.hook_reply import HookReply, HookRequest
from recollect.ops.table import Arg
from recollect.recall.selection import is_muted, is_unwanted
from recollect.render import inject
from recollect.vault import page

OPEN_THREADS = 5
_FORGETFUL_STARTS = frozenset(
    {"compact", "clear"}
)  # starts after which the agent no longer has what it was shown
_THREADS_NEED_S = 0.05
_ANSWER_NEEDS_S = 0.1
_VAULT_NEEDS_S = 0.15
_MAX_FORK_BYTES = 100_000_000  # nobody reads more than that in half a second
_MAX_NOTES = 50

Kept = dict[str, tuple[Scope, Memory]]  # by id, each with the store that keeps it


def start_session(request: HookRequest) -> HookReply:
    app, event, source = request.app, request.event, request.event.source
    hook_reply.sweep_old_answers(request.folder, event.at)
    is_known, is_compacted = session_ledger.load(app, event) is not None, source == "compact"
    session = session_ledger.load_or_new(app, event)
    # Before anything is written: with its first store the project counts as known.
    offered = () if is_compacted else tuple(f"Recollect: {line}" for line in offer_lines(app))
    if not is_compacted:  # a session without a message is the next to be counted
        notices.toast(app, f"Session {session.number or SESSIONS.read(app.reader(app.scope)) + 1}")
    if source in _FORGETFUL_STARTS:  # it gets a new ledger
        session = replace(session, epoch=session.epoch + 1)

    key, rules = LedgerKey(session.id, event.agent_id, session.epoch), rules_in_force(app)
    forked = _marks_of_origin(request) if source == "fork" else frozenset()
    is_resumed = (source == "resume" and is_known) or bool(forked)
    seen = app.reader(app.scope).marks(key, Way.TOLD) | forked if is_resumed else ()

    def write() -> None:
        store, now = app.writer(app.scope), app.clock.now()
        told = [ShownMemory(mark, Way.TOLD, now, "", *key) for mark in sorted(forked)]
        store.put(replace(session, last_at=event.at), *told)
        request.receive()

    notes, withheld = _load_notes(request) if not is_resumed else ({}, "")
    is_fresh, threads = not is_resumed and not is_compacted, {}
    if is_fresh and request.left_s >= _THREADS_NEED_S:
        threads = open_threads(app)
    elif is_fresh:
        request.log_late("open threads")
    injection = inject.session_start(
        [rule for id, (_, rule) in rules.items() if id not in seen], nonce=fresh_key()[:8], now=app.clock.now(),
        always=[note for _, note in notes.values()], heart=session_ledger.load_heartbeat(app) if is_fresh else None,
        threads=[thread for _, thread in threads.values()], is_resumed=is_resumed, is_compacted=is_compacted,
    )  # fmt: skip
    what, loaded = f"session start ({source or 'startup'})", {**notes, **rules, **threads}
    listed = hook_reply.list_loaded(app, what, loaded, injection)
    notice = (injection.notice, "" if is_compacted else withheld, *offered)
    reply = hook_reply.inject(request, injection, key, listed=listed, notice=notice)
    return replace(reply, write=lambda later: later.write(write))


def open_threads(app: App) -> Kept:
    """The strongest of those that were active lately; not those that age suspended, nor muted ones.
    Imported history began to fade when it was imported, but the work in it was open when it was last active."""
    now, age = app.clock.now(), app.age_rules
    query = Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=10 * OPEN_THREADS)
    found = []
    for scope, memory in (
        (scope, memory) for scope, store in app.own_scopes() for memory in store.find(query)
    ):
        by_activity = replace(
            memory, reinforced_at=min(memory.reinforced_at, memory.last_active_at)
        )
        if status_at(by_activity, now=now, rules=age) is Status.ACTIVE and not is_muted(memory):
            found.append((strength(by_activity, now=now, rules=age), scope, memory))
    found.sort(key=lambda entry: entry[0], reverse=True)
    return {memory.id: (scope, memory) for _, scope, memory in found[:OPEN_THREADS]}


def _marks_of_origin(request: HookRequest) -> frozenset[str]:
    """A fork goes on from another session's transcript: what we put in there since its last compaction is known."""
    event = request.event
    transcript = agents.agent(event.host).origin(event)
    if (
        transcript is None
        or not transcript.is_file()
        or transcript.stat().st_size > _MAX_FORK_BYTES
    ):
        return frozenset()
    marks: dict[str, None] = {}
    for utterance in agents.utterances(event.host, agents.Tail(transcript)):
        if utterance.voice is Voice.SUMMARY:
            marks.clear()
        elif utterance.voice is Voice.INJECTION:
            marks |= dict.fromkeys(inject.marks_shown(utterance.text))
        if request.left_s < _ANSWER_NEEDS_S:
            request.log_late("the rest of the transcript")
            break
    return frozenset(marks)


def _load_notes(request: HookRequest) -> tuple[Kept, str]:
    """By path, the user's first, as the files are now where few of them changed (the daemon reads the rest); and a
    line about the project's that nobody allowed, which says how many, never what."""
    app = request.app
    for scope in vault_scopes(app):
        try:
            if request.left_s <= _VAULT_NEEDS_S or vault_sync.quick_look(app, scope).waiting:
                request.log_late(f"changed notes of the {scope}")
        except (StoreDamaged, StoreTooNew):
            raise
        except RecollectError as problem:
            app.log.line("vault-not-read", scope=scope, problem=problem.message)
    withheld, allowed = withheld_notes(app)
    found: Kept = {}
    for scope in (Scope.USER, Scope.PROJECT):
        for one in list(_always_load_files(app, scope).values())[:_MAX_NOTES]:
            note = app.reader(scope).get(one.id, follow=False)
            is_loaded = (
                isinstance(note, Note) and note.status is Status.ACTIVE and not is_unwanted(note)
            )
            if note is not None and is_loaded and note.id not in withheld:
                found[note.id] = (scope, note)
    if not withheld:
        return found, ""
    about = f"{counted(len(withheld), 'note')} of this repository would be always loaded"
    if allowed:
        about = "always-load notes of this repository changed since you allowed them"
    return found, f"Recollect: {about}; read them, then `recollect allow`"


def withheld_notes(app: App) -> tuple[frozenset[str], str]:
    """The ids of the project's notes that nobody allowed as they are, and the hash of those that were allowed: a
    stranger may have written them, so they are never shown unasked before. The store keeps the hash of their names and
    texts, where nothing in a tree can reach it."""
    files = _always_load_files(app, Scope.PROJECT)
    allowed = ALLOWED_NOTES.read(app.reader(Scope.PROJECT)) if files else ""
    return frozenset(one.id for one in files.values() if allowed != _digest(files)), allowed


def allow(
    app: App, *, off: Annotated[bool, Arg("Stop loading them until you allow them again.")] = False
) -> Summary:
    app.require_scope(Scope.PROJECT)
    if not app.dry_run:
        vault_sync.refresh(app, Scope.PROJECT)
    files = _always_load_files(app, Scope.PROJECT)
    if not files:
        raise NotFound(
            "This project has no always-load notes.", hint="They lie in .ai/memory/_always-load/."
        )
    if not app.dry_run:
        ALLOWED_NOTES.write(app.writer(Scope.PROJECT), "" if off else _digest(files))
        app.log.line("allow", notes=len(files), off=off)
    facts: dict[str, Json] = {"notes": list(files), "allowed": not off, "dry_run": app.dry_run}
    ours = f"{counted(len(files), 'note')} of this project will"
    if off:
        return Summary(f"{ours} no longer be loaded.", facts)
    summary = f"{ours} be loaded at every session's start, as they are now: {', '.join(files)}."
    return Summary(summary, facts, ("If one is changed, they wait until you allow them again.",))


def _always_load_files(app: App, scope: Scope) -> dict[str, KnownFile]:
    """Sorted by path."""
    if app.store_path(scope) is None:
        return {}
    under = f"{page.MEMORY}/{page.ALWAYS}/" if scope is Scope.PROJECT else f"{page.ALWAYS}/"
    files = NOTE_FILES.find_all(app.reader(scope), under)
    return {path: one for path, one in sorted(files.items()) if one.stamp != NO_FILE}


def _digest(files: dict[str, KnownFile]) -> str:
    return hashlib.sha256(
        json.dumps([[path, one.hash] for path, one in files.items()]).encode()
    ).hexdigest()

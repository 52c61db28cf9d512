"""review: after a turn, a language model looks back over it and proposes what memory lacks. Job and command.

That a turn is over is only noted, and not even that if nobody said anything new or the agent wrote memory itself. The
job asks, in the background, once per turn: the turn is taken off the list before anyone is asked, so that a daemon that
dies over it does not ask again. The answer becomes a plan like any other, announced at the next session's start.

Only words are changed. Threads and rules that wait are reworded in place; for a rule in force a candidate waits in the
inbox, which takes its place if a person accepts it; for a note of the user's own, a note waits in the vault's inbox.
What a person changed meanwhile, pinned memories and a repository's files are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from recollect.agents import DEFAULT_HOST
from recollect.app import language_model, notices
from recollect.app.core import App
from recollect.app.memory_search import search as search_memory
from recollect.app.question_vector import shorten_prompt
from recollect.app.rule_keeping import load_rules
from recollect.app.states import DUE_TURNS, DueTurn, DueTurns
from recollect.base.errors import BadInput, RecollectError
from recollect.base.text import counted
from recollect.capture import review as reviewing
from recollect.capture import rule_relations
from recollect.capture.review import Known, Proposal, Rewrite
from recollect.jobs import transcripts
from recollect.jobs.llm_questions import read_transcript_end
from recollect.jobs.transcripts import Writes
from recollect.lifecycle import edits
from recollect.lifecycle.edits import TAG
from recollect.model.act import Act, SessionPart, Speaker
from recollect.model.ask import Use
from recollect.model.memory import Lane, Memory, Note, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.query import REACHED, Query
from recollect.model.result import Done, Scope, Summary
from recollect.ops import notes
from recollect.ops.table import Arg
from recollect.render.harmless import neutral, plain
from recollect.vault import page

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_DUE, _MAX_DONE = 20, 200
_KNOWN = 20
_TITLE_CHARS = 160
_SHOWN = (*REACHED, Status.CANDIDATE)
MAX_WAITING = 30  # proposals in the inbox; nobody reads more


@dataclass(frozen=True, slots=True)
class Proposed:
    proposals: tuple[Proposal, ...]
    shown: dict[str, tuple[Scope, Memory]]  # what the model was shown, as it was then
    lane: Lane
    session: str


# When


def note_turn(app: App, sitting: SessionPart) -> Writes | None:
    # What was said may have been read before its end was announced: then nothing is new, and the turn is over anyway.
    is_over = sitting.turned and not sitting.past and not sitting.agent and bool(sitting.acts)
    if not is_over or not language_model.is_on(app, Use.REVIEW):
        return None
    turn = sitting.acts[_turn_start(sitting.acts, sitting.new_from) :]
    if not reviewing.has_news(turn):
        return None
    if reviewing.wrote_memory(turn):
        return lambda: app.log.line("not-reviewed", session=sitting.session, why="the agent wrote memory itself")
    due = DueTurn(sitting.host, sitting.session, sitting.transcript, sitting.acts[-1].id)
    return lambda: _put(app, due)


def _turn_start(seen: Sequence[Act], new_from: int) -> int:
    """Of the turn that the first new act belongs to."""
    for number in range(min(new_from, len(seen) - 1), -1, -1):
        if seen[number].speaker is Speaker.PERSON and not seen[number].agent:
            return number
    return 0


def _put(app: App, due: DueTurn) -> None:
    """One per session: the last messages of a later turn include those of the one before."""
    store = app.writer(app.scope)
    state = DUE_TURNS.read(store)
    if due.key not in state.done:
        others = tuple(one for one in state.due if one.session != due.session)
        DUE_TURNS.write(store, replace(state, due=(*others, due)[-_MAX_DUE:]))


def _take(app: App) -> DueTurn | None:
    if not DUE_TURNS.read(app.reader(app.scope)).due:
        return None  # without opening the store to write
    store = app.writer(app.scope)
    with store.transaction():
        state = DUE_TURNS.read(store)
        if not state.due:
            return None
        due, *others = state.due
        DUE_TURNS.write(store, DueTurns(tuple(others), (*state.done, due.key)[-_MAX_DONE:]))
    return None if due.key in state.done else due


def review_next(app: App, _memo: object = None) -> bool:
    """Review one turn that is over. True: there may be another."""
    due = _take(app) if language_model.is_on(app, Use.REVIEW) else None
    if due is None:
        return False
    try:
        proposed = _proposed(app, due)
        dones = _apply(app, proposed) if proposed else []
    except RecollectError as problem:
        app.log.line("not-reviewed", session=due.session, why=problem.message)
        return True
    app.log.line("reviewed", session=due.session, proposed=len(proposed.proposals) if proposed else 0, done=len(dones))
    if dones:
        notices.add(app, f"\U0001f501 Recollect: looked back: {' '.join(done.summary for done in dones)}")
    return True


def review(
    app: App, *, run: Annotated[bool, Arg("Write what is proposed instead of only showing it.")] = False
) -> Done | Summary:
    """The last turn that was read here, whether or not it was reviewed before."""
    due = _last(app)
    if due is None:
        return Summary("No session was read here yet.", {"proposed": 0, "dry_run": app.dry_run})
    if app.dry_run:
        said = reviewing.messages(_acts(app, due))
        told = f"{counted(len(said), 'message')} of session {due.session} would be reviewed; no model was asked."
        return Summary(told, {"messages": len(said), "session": due.session, "dry_run": True})
    if not language_model.is_on(app):
        raise BadInput("Language models are switched off.", hint="MEMORY_LLM=on in agent.conf; see docs/LLM.md.")
    proposed = _proposed(app, due)
    if proposed is None:
        raise BadInput("The model gave no answer.", hint="`recollect logs` says why.")
    app.dry_run = not run
    try:
        dones = _apply(app, proposed)
    finally:
        app.dry_run = False
    if not dones:
        return Summary("Nothing is new.", {"proposed": 0, "session": due.session})
    return replace(dones[-1], summary=" ".join(done.summary for done in dones))


# What is asked


def _last(app: App) -> DueTurn | None:
    store = app.reader(app.scope)
    found = transcripts.last_read(store)
    if found is None:
        return None
    path, session = found
    known = store.session(session)
    return DueTurn(known.host if known else DEFAULT_HOST, session, path, "")


def _proposed(app: App, due: DueTurn) -> Proposed | None:
    """None: there was no answer, or nothing to ask about."""
    seen = _acts(app, due)
    said = reviewing.messages(seen)
    if not said:
        return None
    shown = _near(app, said)
    known = [_known(app, *pair) for pair in shown.values()]
    harmless = [replace(act, text=neutral(act.text)) for act in said]
    found: tuple[Proposal, ...] | None = language_model.ask(app, reviewing.ask(harmless, known), known)
    if found is None:
        return None
    return Proposed(found, shown, reviewing.lane(seen), due.session)


def _acts(app: App, due: DueTurn) -> Sequence[Act]:
    """The end of its transcript, up to the turn's last act."""
    seen = read_transcript_end(app, due.host, due.transcript)
    ends = [number for number, act in enumerate(seen, start=1) if act.id == due.upto]
    return seen[: ends[-1]] if ends else seen


def _near(app: App, said: Sequence[Act]) -> dict[str, tuple[Scope, Memory]]:
    text = shorten_prompt("\n".join(act.text for act in reversed(said)))
    if not any(char.isalnum() for char in text):
        return {}
    found = search_memory(app, Query(text=text, statuses=_SHOWN, limit=_KNOWN)).found
    return {one.hit.memory.id: (one.scope, one.hit.memory) for one in found}


def _known(app: App, scope: Scope, memory: Memory) -> Known:
    said = memory.body or "\n".join(one.content for one in app.reader(scope).messages(memory.id))
    return Known(memory.id, str(memory.kind), plain(memory.title, _TITLE_CHARS), neutral(said))


# What becomes of the answer


def _apply(app: App, proposed: Proposed) -> list[Done]:
    """One change per store, so that one undo takes it back; a note's file is a change of its own."""
    by_scope: dict[Scope, list[Proposal]] = {scope: [] for scope in Scope}
    for_notes: list[Rewrite] = []
    for one in proposed.proposals:
        if not isinstance(one, Rewrite):
            by_scope[app.scope].append(one)
        elif isinstance(proposed.shown[one.id][1], Note):
            for_notes.append(one)
        else:
            by_scope[proposed.shown[one.id][0]].append(one)
    dones = [
        app.commit(scope, TAG, partial(_plan, app, wanted, proposed), _summary)
        for scope, wanted in by_scope.items()
        if wanted
    ]
    saved = [_save_note(app, one, proposed) for one in for_notes]
    return [*(done for done in dones if done.plan), *(done for done in saved if done is not None)]


def _plan(app: App, wanted: Sequence[Proposal], proposed: Proposed, store: Store) -> Plan:
    changes: list[Change] = []
    rules = load_rules(store, Status.ACTIVE, Status.CANDIDATE, Status.ARCHIVED)
    room = MAX_WAITING - sum(rule.status is Status.CANDIDATE and TAG in rule.tags for rule in rules)
    now = app.clock.now()
    for one in wanted:
        is_known = any(rule_relations.says_same(one.body, rule.body) for rule in rules)
        words = edits.Words(one.body, proposed.lane, proposed.session)
        if isinstance(one, Rewrite):
            old = _unchanged(app, store.exact(one.id), proposed.shown[one.id][1])
            if old is not None and not is_known:
                changes += edits.rewritten(old, words, id=app.mint.draw("rule"), now=now)
        elif room > 0 and not is_known:
            room -= 1
            changes.append(Create(edits.candidate(words, one.rule_type, id=app.mint.draw("rule"), now=now)))
    return Plan.of(changes)


def _unchanged(app: App, now: Memory | None, was: Memory) -> Memory | None:
    """None where somebody changed or pinned it since the model was shown it."""
    if now is not None and (now.title, now.body) == (was.title, was.body) and not now.pinned:
        return now
    app.log.line("not-rewritten", memory=was.id, why="pinned" if now and now.pinned else "changed meanwhile")
    return None


def _save_note(app: App, one: Rewrite, proposed: Proposed) -> Done | None:
    """Into the inbox of the user's vault; a repository's files are never written unasked."""
    scope, was = proposed.shown[one.id]
    now = _unchanged(app, app.reader(scope).exact(one.id), was)
    if not isinstance(now, Note) or scope is not Scope.USER or now.status is not Status.ACTIVE:
        return None
    try:
        return notes.save(app, one.body, title=f"{page.stem(now.path)} (proposed)", tags=(TAG,), inbox=True)
    except RecollectError as problem:
        app.log.line("not-rewritten", memory=one.id, why=problem.message)
        return None


def _summary(plan: Plan) -> str:
    waiting = sum(isinstance(change, Create) for change in plan.changes)
    changed = sum(isinstance(change, Update) for change in plan.changes)
    parts = [f"{counted(changed, 'memory', 'memories')} reworded"] if changed else []
    parts += [f"{counted(waiting, 'proposal')} in the inbox"] if waiting else []
    return f"{', '.join(parts)}."

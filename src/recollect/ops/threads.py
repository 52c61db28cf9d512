"""Taker: what is done in sessions becomes threads.

Turn by turn: `capture` makes its record and says where it belongs; here the few threads that come into question are
looked up, and the record is written as one message, one change a turn, so that each can be undone. When more of the
same turn is read later, its message is replaced. What a look costs does not grow with the store: a handful of threads
is found by words and by the session's own marks, and only those are read.

Which threads a session was at, and which act comes next, stands in the store's state: ids, no words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.base.errors import BadInput, ModelError
from recollect.capture import echo, weave
from recollect.capture.records import joined, record
from recollect.capture.threads import Candidate, Continue, Decision, Leave, Open, Subject, decide, subject
from recollect.capture.ties import ties
from recollect.capture.turn import Turn, message_id, turns
from recollect.capture.weave import ORIGIN, Entry
from recollect.lifecycle.strength import reinforced
from recollect.model import record as records
from recollect.model.act import Act, Sitting, Speaker
from recollect.model.bridge import Bridge
from recollect.model.ledger import turn_mark
from recollect.model.memory import Kind, Memory, Status, Thread
from recollect.model.plan import Change, Create, Link, Plan, Say, Unsay, Update
from recollect.model.query import REACHED, Query
from recollect.ops import asking, echoes, sessions
from recollect.ops.app import App
from recollect.ops.digest import Writes
from recollect.ops.here import scope_here
from recollect.ops.tally import count_all
from recollect.recall import lexical

if TYPE_CHECKING:
    from recollect.store import Store

_GROUPED = frozenset({ORIGIN, "split"})
"""Threads of other origins were made by somebody, as they are: nothing is added to them."""
BY_WORDS = 10
_POSTINGS = 500
"""Where the rarest words stand more often than this, they tell one thread from another no more."""
_MOST_TOKENS = 48
"""Of what a turn is about: the prompt's beginning and the conclusion's end. All of it groups no better."""
_FILLED_AT_ONCE = 32  # passages of the threads before, where no daemon fills them: about a second
OF_SESSION = 6
LATEST = 3
_STATE = "threads"
_MOST_SESSIONS = 50


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of a session between two looks."""

    waiting: str = ""
    """The first act that was not taken yet."""
    turn: str = ""
    """The message of the turn that was written last."""
    threads: tuple[str, ...] = ()
    """The latest first."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A turn, looked at; what is left is to find its place."""

    turn: Turn
    entry: Entry
    said_again: bool
    """All that the agent said are words that it was told from memory."""
    asked: asking.Asked | None = None
    """None where there is no model: words and files go on alone."""


def take(app: App, sitting: Sitting) -> Writes | None:
    """Subagents report to the agent that sent them, and that is in its own transcript."""
    if sitting.agent or not sitting.acts:
        return None
    start = _start(sitting, _mark(app.reading(scope_here(app)), sitting.session))
    found = list(turns(sitting.acts, start, finished=sitting.ended or sitting.compacting))
    done = sum(len(turn.new) for turn in found)
    waiting = sitting.acts[start + done].id if start + done < len(sitting.acts) else ""
    if not done and start == len(sitting.acts):
        return None
    looked = _with_vectors(app, [_look(app, sitting, turn) for turn in found])

    def write() -> None:
        store = app.writing(scope_here(app))
        left_out = _left_out(store, looked)
        placed = [(_place(app, sitting, one, left_out), one.asked) for one in looked]
        mark = _mark(store, sitting.session)
        if mark.waiting != waiting:
            _put_mark(store, sitting.session, replace(mark, waiting=waiting))
        _hold_vectors(app, placed)

    return write


def _hold_vectors(app: App, placed: list[tuple[str, asking.Asked | None]]) -> None:
    """For the next look: turns of one look are told apart by words and files, as where passages get their vectors."""
    for thread, asked in placed:
        if app.turn_vectors is not None and thread and asked is not None:
            app.turn_vectors.setdefault(thread, []).append(asked.vector)


def _start(sitting: Sitting, mark: Mark) -> int:
    if mark.waiting:
        for at, act in enumerate(sitting.acts):
            if act.id == mark.waiting:
                return at
    return sitting.new_from


# Looking: nothing is locked, and it may take its time


def _look(app: App, sitting: Sitting, turn: Turn) -> Looked:
    told = echoes.told(app, sitting.session)
    roots = [f"{app.project.root}/"] if app.project else []
    roots += [f"{sitting.cwd}/"] if sitting.cwd else []
    own = replace(turn, acts=tuple(_named_inside(_own_words(act, told), roots) for act in turn.acts))
    made = record(own)
    said_again = not (made.said or made.changed or made.ran) and bool(turn.conclusion)
    entry = Entry(message_id(turn.acts[0]), turn.acts[0].at, turn.acts[-1].at, subject(own, made), made)
    return Looked(turn, entry, said_again)


def _own_words(act: Act, told: Sequence[str]) -> Act:
    if not told or act.speaker is not Speaker.AGENT:
        return act
    return replace(act, text=echo.own_words(act.text, told))


def _named_inside(act: Act, roots: Sequence[str]) -> Act:
    """Files as they are called inside the project."""
    if act.doing is None or not act.doing.files:
        return act
    return replace(act, doing=replace(act.doing, files=tuple(_inside(file, roots) for file in act.doing.files)))


def _inside(file: str, roots: Sequence[str]) -> str:
    return next((file[len(root) :] for root in roots if file.startswith(root)), file)


def _with_vectors(app: App, looked: list[Looked]) -> list[Looked]:
    """All at once."""
    texts = [app.question(one.entry.about.meaning) for one in looked]
    if not any(texts):
        return looked
    try:
        if app.fills_on_the_way:
            asking.fill_vectors(app.writing(scope_here(app)), app.embedder, _FILLED_AT_ONCE)
        made = iter(asking.turn_vectors(app.embedder, [text for text in texts if text], _MOST_TOKENS))
    except (ModelError, BadInput):
        return looked
    return [replace(one, asked=next(made)) if text else one for one, text in zip(looked, texts, strict=True)]


# Placing: inside the one transaction of this look


def _left_out(store: Store, looked: Sequence[Looked]) -> frozenset[str]:
    """What no thread has, and stands before something that one has: it was looked at and left. It stays out, though
    the thread that came after it would take it in now."""
    ids = [one.entry.id for one in looked]
    spoken = store.spoken(ids)
    last = max((at for at, id in enumerate(ids) if id in spoken), default=0)
    return frozenset(ids[:last]) - spoken.keys()


def _place(app: App, sitting: Sitting, looked: Looked, left_out: frozenset[str]) -> str:
    """The thread that it went to, if any."""
    store = app.writing(scope_here(app))
    mark = _mark(store, sitting.session)
    looked = _continued(store, looked, mark)
    entry = looked.entry
    begun = store.spoken([entry.id]).get(entry.id, "")
    candidates: list[Candidate] = []
    decision: Decision
    if entry.id in left_out or (begun and not looked.turn.new_from) or (mark.turn == entry.id and not begun):
        decision = Leave("taken before")
    elif looked.said_again:
        decision = Leave("an echo")
    else:
        candidates = _candidates(app, store, looked, mark)
        decision = _decided(store, entry, candidates, begun)
    if isinstance(decision, Leave):
        count_all(app, {f"threads: {decision.reason}": 1})
        return ""
    thread = _written(app, sitting, entry, decision, candidates)
    threads = (thread, *(id for id in mark.threads if id != thread))[:OF_SESSION]
    _put_mark(store, sitting.session, replace(mark, turn=entry.id, threads=threads))
    if not sitting.agent:
        sessions.enter_own_turn(store, sitting.session, turn_mark(thread, entry.id), now=app.clock.now())
    return thread


def _continued(store: Store, looked: Looked, mark: Mark) -> Looked:
    """A turn that is longer than what is held of a transcript: its beginning is known by its record alone."""
    if looked.turn.is_whole or not looked.turn.new_from or not mark.turn:
        return looked
    thread = store.spoken([mark.turn]).get(mark.turn, "")
    before = next((one for one in store.messages(thread) if one.id == mark.turn), None) if thread else None
    old = records.read(before.content) if before else None
    if before is None or old is None:
        return looked
    return replace(
        looked, entry=replace(looked.entry, id=before.id, at=before.at, record=joined(old, looked.entry.record))
    )


def _decided(store: Store, entry: Entry, candidates: list[Candidate], begun: str) -> Decision:
    """The rest of a turn goes where its beginning went."""
    thread = store.get(begun) if begun else None
    if isinstance(thread, Thread) and _goes_on(thread):
        return Continue(thread, same_turn=True)
    return Leave("taken before") if begun else decide(entry.about, entry.record, candidates)


def _candidates(app: App, store: Store, looked: Looked, mark: Mark) -> list[Candidate]:
    now = looked.entry.ended_at
    at_hand = {id: place for place, id in enumerate(mark.threads)}
    found: dict[str, Candidate] = {}
    for cover, memory in _by_words(store, looked.entry.about.asked):
        if isinstance(memory, Thread):
            found[memory.id] = Candidate(memory, cover=cover)
    others = [store.get(id) for id in mark.threads]
    if not mark.threads:
        others += store.find(Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=LATEST))
    for other in others:
        if isinstance(other, Thread):
            found.setdefault(other.id, Candidate(other))
    ours = [one for one in found.values() if _goes_on(one.thread)]
    near = _near(app, store, looked.asked, [one.thread.id for one in ours]) if looked.asked else {}
    return [
        replace(
            one,
            near=near.get(one.thread.id),
            place=at_hand.get(one.thread.id),
            idle_minutes=now.days_since(one.thread.last_active_at) * 1_440,
        )
        for one in ours
    ]


def _near(app: App, store: Store, asked: asking.Asked, threads: list[str]) -> dict[str, float]:
    held = app.turn_vectors or {}
    more = [(thread, vector) for thread in threads for vector in held.get(thread, ())]
    return store.closeness(asked.model, asked.vector, threads, more)


def _goes_on(thread: Thread) -> bool:
    """However old it is."""
    return thread.status in REACHED and not thread.pinned and thread.origin in _GROUPED


def _by_words(store: Store, text: str) -> Iterator[tuple[float, Memory]]:
    """The few memories that share the rarest of these words, and which share of their rarity."""
    evidence = store.words(text, most=_POSTINGS)
    words = lexical.wording([evidence])
    owners = store.owners(list(words.spoken[0].passages))
    by_memory = {passage: owner._replace(unit=owner.memory) for passage, owner in owners.items()}
    found = lexical.matches(words, [by_memory])
    best = sorted(found, key=lambda ref: (-found[ref].whole, ref))[:BY_WORDS]
    for seq, memory, _ in store.whole([seq for _, seq in best]):
        yield found[0, seq].cover, memory


# Writing


def _written(app: App, sitting: Sitting, entry: Entry, decision: Continue | Open, candidates: list[Candidate]) -> str:
    """The id of the thread that it went to."""
    new_id = app.mint.draw("thread") if isinstance(decision, Open) else decision.thread.id

    def make(store: Store) -> Plan:
        standing = store.exact(new_id)
        changes: list[Change] = []
        if isinstance(standing, Thread):
            at = max(entry.ended_at, standing.last_active_at)
            before = store.messages(new_id)
            same_turn = isinstance(decision, Continue) and decision.same_turn
            stronger = standing if same_turn else reinforced(standing, now=at, rules=app.age_rules)
            thread, message = weave.gone_on(stronger, before, entry)
            if message in before:
                return Plan.empty()
            replaced = tuple(one for one in before if one.id == message.id)
            changes += [Unsay(new_id, replaced)] if replaced else []
            changes += [Say(new_id, (message,)), Update.between(standing, thread)]
        else:
            thread, message = weave.opened(new_id, sitting.session, entry)
            changes.append(Create(thread, (message,)))
        return Plan.of([*changes, *_links(store, thread, entry.about, candidates, decision, sitting.session)])

    def say(plan: Plan) -> str:
        done = "Opened" if isinstance(plan.changes[0], Create) else "Went on with"
        return f"{done} {new_id}."

    app.commit(scope_here(app), "thread", make, say, actor=entry.lane)
    return new_id


def _links(
    store: Store,
    thread: Thread,
    about: Subject,
    candidates: list[Candidate],
    decision: Continue | Open,
    session: str,
) -> Iterator[Change]:
    others = [one.thread for one in candidates if one.thread.id != thread.id]
    found = ties(about, others, decision, session=session)
    if not found:
        return
    joined = {(bridge.source, bridge.target) for bridge in store.bridges(thread.id)}
    for tie in found:
        if (thread.id, tie.target.id) not in joined and (tie.target.id, thread.id) not in joined:
            yield Link(Bridge(thread.id, tie.target.id, tie.type, tie.weight, thread.last_active_at, origin=ORIGIN))


# Marks


def _mark(store: Store, session: str) -> Mark:
    return _marks(store).get(session, Mark())


def _marks(store: Store) -> dict[str, Mark]:
    """The oldest first. Inside a transaction the writer is asked: others do not see yet what it wrote."""
    try:
        kept = json.loads(store.sessions.state(_STATE) or "{}")
        return {id: Mark(waiting, turn, tuple(threads)) for id, (waiting, turn, threads) in kept.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _put_mark(store: Store, session: str, mark: Mark) -> None:
    marks = _marks(store)
    marks.pop(session, None)
    marks[session] = mark
    latest = list(marks.items())[-_MOST_SESSIONS:]
    store.sessions.put_state(_STATE, json.dumps({id: [one.waiting, one.turn, one.threads] for id, one in latest}))

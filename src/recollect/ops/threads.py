"""Taker: what is done in sessions becomes threads.

Turn by turn: `capture` says what of it is worth keeping and where it belongs; here the few threads that come into
question are looked up, and the answer is written, one change a turn, so that each can be undone. What a look costs does
not grow with the store: a handful of threads is found by words and by the session's own marks, and only those are read.

Which threads a session was at, and which act comes next, stands in the store's state: ids, no words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from recollect.base.errors import BadInput, ModelError
from recollect.base.text import counted
from recollect.capture import echo, weave
from recollect.capture.piece import Piece, pieces
from recollect.capture.threads import Candidate, Continue, Decision, Leave, Open, Subject, decide, subject
from recollect.capture.ties import ties
from recollect.capture.turn import Turn, turns
from recollect.capture.weave import ORIGIN
from recollect.lifecycle.strength import reinforced
from recollect.model.act import Sitting
from recollect.model.bridge import Bridge
from recollect.model.memory import Kind, Lane, Memory, Status, Thread
from recollect.model.plan import Change, Create, Link, Plan, Say, Update
from recollect.model.query import REACHED, Query
from recollect.ops import asking, echoes
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
    threads: tuple[str, ...] = ()
    """The latest first."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A turn, looked at; what is left is to find its place."""

    turn: Turn
    about: Subject
    kept: tuple[Piece, ...]
    dropped: tuple[tuple[str, int], ...]
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
    found = pieces(turn)
    told = echoes.told(app, sitting.session) if found.kept else []
    kept = []
    quotes = 0
    for one in found.kept:
        left = echo.own_words(one.content, told) if one.deed is None else one.content
        quotes += not left
        if left:
            kept.append(replace(one, content=left) if one.source == "agent" else one)
    said_again = not any(one.source != "user" for one in kept) and quotes
    if said_again:  # a question about what is remembered, and the answer out of memory
        quotes += len(kept)
        kept = []
    dropped = (*found.dropped, ("an echo", quotes)) if quotes else found.dropped
    about = _here(app, sitting, subject(turn))
    return Looked(turn, about, tuple(kept), dropped)


def _here(app: App, sitting: Sitting, about: Subject) -> Subject:
    """Files as they are called inside the project."""
    roots = [str(app.project.root)] if app.project else []
    roots += [sitting.cwd] if sitting.cwd else []
    return replace(
        about,
        edited=tuple(_inside(file, roots) for file in about.edited),
        read=tuple(_inside(file, roots) for file in about.read),
    )


def _inside(file: str, roots: Sequence[str]) -> str:
    for root in roots:
        if PurePath(file).is_relative_to(root):
            return PurePath(file).relative_to(root).as_posix()
    return file


def _with_vectors(app: App, looked: list[Looked]) -> list[Looked]:
    """All at once."""
    texts = [app.question(one.about.meaning) if one.kept else "" for one in looked]
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
    ids = [piece.id for one in looked for piece in one.kept]
    spoken = store.spoken(ids)
    last = max((at for at, id in enumerate(ids) if id in spoken), default=0)
    return frozenset(ids[:last]) - spoken.keys()


def _place(app: App, sitting: Sitting, looked: Looked, left_out: frozenset[str]) -> str:
    """The thread that it went to, if any."""
    store = app.writing(scope_here(app))
    mark = _mark(store, sitting.session)
    spoken = store.spoken([one.id for one in looked.kept])
    kept = [one for one in looked.kept if one.id not in spoken and one.id not in left_out]
    dropped = dict(looked.dropped)
    dropped["taken before"] = len(looked.kept) - len(kept)
    candidates = _candidates(app, store, looked, mark) if kept else []
    begun = next(iter(spoken.values()), "") or (mark.threads[0] if _is_rest(looked.turn, mark) else "")
    decision = _decided(app, store, looked, kept, candidates, begun)
    thread = ""
    if isinstance(decision, Leave):
        dropped[decision.reason] = dropped.get(decision.reason, 0) + len(kept)
    else:
        thread, added = _written(app, sitting, looked.about, kept, decision, candidates)
        dropped["said before"] = len(kept) - added
        threads = (thread, *(id for id in mark.threads if id != thread))[:OF_SESSION]
        _put_mark(store, sitting.session, replace(mark, turn=looked.turn.acts[0].id, threads=threads))
    count_all(app, {f"threads: {reason}": number for reason, number in dropped.items() if number})
    return thread


def _decided(
    app: App, store: Store, looked: Looked, kept: list[Piece], candidates: list[Candidate], begun: str
) -> Decision:
    """The rest of a turn goes where its beginning went."""
    thread = store.get(begun) if kept and begun else None
    if isinstance(thread, Thread) and _goes_on(thread):
        return Continue(thread, same_turn=True)
    return decide(looked.about, kept, candidates)


def _is_rest(turn: Turn, mark: Mark) -> bool:
    return bool(turn.new_from and mark.threads and mark.turn == turn.acts[0].id)


def _candidates(app: App, store: Store, looked: Looked, mark: Mark) -> list[Candidate]:
    now = looked.kept[-1].at
    at_hand = {id: place for place, id in enumerate(mark.threads)}
    found: dict[str, Candidate] = {}
    for cover, memory in _by_words(store, looked.about.asked):
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


def _written(
    app: App,
    sitting: Sitting,
    about: Subject,
    kept: list[Piece],
    decision: Continue | Open,
    candidates: list[Candidate],
) -> tuple[str, int]:
    """The id of the thread that it went to, and how many messages that has more."""
    new_id = app.mint.draw("thread") if isinstance(decision, Open) else decision.thread.id

    def make(store: Store) -> Plan:
        standing = store.exact(new_id)
        changes: list[Change] = []
        if isinstance(standing, Thread):
            at = max(kept[-1].at, standing.last_active_at)
            same_turn = isinstance(decision, Continue) and decision.same_turn
            stronger = standing if same_turn else reinforced(standing, now=at, rules=app.age_rules)
            thread, said = weave.gone_on(stronger, store.messages(new_id), about, kept, same_turn=same_turn)
            if not said:
                return Plan.empty()
            changes += [Say(new_id, said), Update.between(standing, thread)]
        else:
            thread, said = weave.opened(new_id, sitting.session, about, kept)
            changes.append(Create(thread, said))
        return Plan.of([*changes, *_links(store, thread, about, candidates, decision, sitting.session)])

    def say(plan: Plan) -> str:
        done = "Opened" if isinstance(plan.changes[0], Create) else "Went on with"
        return f"{done} {new_id}: {counted(len(kept), 'message')}."

    done = app.commit(scope_here(app), "thread", make, say, actor=Lane.lowest(*(one.lane for one in kept)))
    added = sum(len(change.messages) for change in done.plan.changes if isinstance(change, Create | Say))
    return new_id, added


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

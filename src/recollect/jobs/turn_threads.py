"""Makes threads out of what is done in sessions. `capture` makes a record of each turn and decides where it belongs;
here the few threads it may belong to are read, and the record is written as one message, one change per turn, so that
each can be undone. When more of the same turn is read later, its message is replaced."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.app.embedding import QuestionVector, fill_vectors
from recollect.app.states import (
    THREAD_MARKS,
    TURN_VECTORS,
    ThreadMark,
    TurnVectors,
    count_captured,
)
from recollect.base.errors import BadInput, ModelError
from recollect.base.structs import Struct, replace
from recollect.capture import thread_choice, turns
from recollect.capture.records import join_records, make_record
from recollect.capture.thread_choice import (
    ORIGIN,
    Candidate,
    Continue,
    Decision,
    Entry,
    Leave,
    Open,
)
from recollect.capture.turns import Turn, message_id, split_turns
from recollect.lifecycle.strength import reinforce
from recollect.model.memory import Bridge, Kind, Status, Thread
from recollect.model.passage import read_record
from recollect.model.plan import Change, Create, Link, Plan, Say, Unsay, Update
from recollect.model.query import REACHED, Query
from recollect.model.session import SessionPart, ShownMemory, Speaker, Way, turn_mark
from recollect.recall import matching
from recollect.store import Store

_GROUPED = frozenset(
    {ORIGIN, "split"}
)  # other threads were made by somebody, as they are: nothing is added to them
_POSTINGS = 500  # where the rarest words stand more often than this, they tell one thread from another no more
_MOST_TOKENS = (
    48  # from the prompt's beginning and the conclusion's end. The whole text groups no better.
)
_FILLED_AT_ONCE = 32  # passages of the threads before, where no daemon fills them: about a second


class PreparedTurn(Struct):  # a turn with its record; what is left is to find its thread
    turn: Turn
    entry: Entry
    is_echo: bool  # all that the agent said are words that it was told from memory
    asked: QuestionVector | None = None  # None where there is no model: words and files go on alone


def record_turns(app: App, part: SessionPart) -> Callable[[], None] | None:
    """Subagents report to the agent that sent them, and that is in its own transcript."""
    if part.agent or not part.acts:
        return None
    waited = _mark(app.reader(app.scope), part.session).waiting
    start = next(
        (at for at, act in enumerate(part.acts) if waited and act.id == waited), part.new_from
    )
    found = list(split_turns(part.acts, start, finished=part.ended or part.compacting))
    done = sum(len(turn.new) for turn in found)
    waiting = part.acts[start + done].id if start + done < len(part.acts) else ""
    if not done and start == len(part.acts):
        return None
    prepared = _with_vectors(app, [_prepare(app, part, turn) for turn in found])

    def write() -> None:
        store = app.writer(app.scope)
        ids = [one.entry.id for one in prepared]
        spoken = {one.id for one in store.messages(ids=ids)}
        last = max((at for at, id in enumerate(ids) if id in spoken), default=0)
        # What no thread has, and stands before something that one has, was looked at and left. It stays out, though the
        # thread that came after it would take it in now.
        left_out = frozenset(ids[:last]) - spoken
        threads = [_place(app, part, one, left_out) for one in prepared]
        mark = _mark(store, part.session)
        if mark.waiting != waiting:
            _write_mark(store, part.session, replace(mark, waiting=waiting))
        # Only for the next look: turns of one look are told apart by words and files, as where passages get vectors.
        if app.turn_vectors is not None:
            _keep_vectors(app, store, threads, prepared)

    return write


def _keep_vectors(app: App, store: Store, threads: list[str], prepared: list[PreparedTurn]) -> None:
    """In memory for the next look, and in the store for an import that goes on where this one was cut off."""
    kept: list[tuple[str, str]] = []
    model = ""
    for thread, one in zip(threads, prepared, strict=True):
        if not thread or one.asked is None or app.turn_vectors is None:
            continue
        app.turn_vectors.setdefault(thread, []).append(one.asked.vector)
        kept.append((one.entry.id, b64encode(one.asked.vector).decode("ascii")))
        model = one.asked.model
    if kept:
        first, _ = kept[0]
        before = TURN_VECTORS.read(store, first).turns
        TURN_VECTORS.write(store, TurnVectors(model, (*before, *kept)), first)


def load_turn_vectors(app: App, store: Store) -> dict[str, list[bytes]]:
    """What an import that was cut off knew: by thread, the vectors of the turns that went to it."""
    records = TURN_VECTORS.find_all(store).values()
    if not records:
        return {}
    try:
        model = app.embedder.id
    except (ModelError, BadInput):
        return {}
    turns = [turn for record in records if record.model == model for turn in record.turns]
    placed = store.messages(ids=[message for message, _ in turns])
    thread_of = {message.id: message.thread_id for message in placed}
    found: dict[str, list[bytes]] = {}
    for message, vector in turns:
        if message in thread_of:
            found.setdefault(thread_of[message], []).append(b64decode(vector))
    return found


def forget_turn_vectors(store: Store) -> None:
    """The import is over: from now on passages have vectors of their own."""
    kept = TURN_VECTORS.find_all(store)
    if kept:
        with store.transaction():
            for key in kept:
                TURN_VECTORS.remove(store, key)


def _prepare(app: App, part: SessionPart, turn: Turn) -> PreparedTurn:
    """Without quotes from memory, and with file names relative to the project."""
    # Before we came nothing was told.
    is_told = (
        not part.past
        or session_ledger.find_session(app.reader(app.scope), part.session) is not None
    )
    shown = session_ledger.texts_shown(app, part.session) if is_told else ()
    roots = [f"{app.project.root}/"] if app.project else []
    roots += [f"{part.cwd}/"] if part.cwd else []
    acts = []
    for act in turn.acts:
        if shown and act.speaker is Speaker.AGENT:
            act = replace(act, text=turns.own_words(act.text, shown))
        if act.use is not None and act.use.files:
            named = act.use.files
            files = (
                next((file[len(root) :] for root in roots if file.startswith(root)), file)
                for file in named
            )
            act = replace(act, use=replace(act.use, files=tuple(files)))
        acts.append(act)
    own = replace(turn, acts=tuple(acts))
    made = make_record(own)
    is_echo = not (made.said or made.changed or made.ran) and bool(turn.conclusion)
    first, last = turn.acts[0], turn.acts[-1]
    entry = Entry(message_id(first), first.at, last.at, thread_choice.subject_of(own, made), made)
    return PreparedTurn(turn, entry, is_echo)


def _with_vectors(app: App, prepared: list[PreparedTurn]) -> list[PreparedTurn]:
    """All at once."""
    texts = [app.question_for_model(one.entry.about.meaning) for one in prepared]
    if not any(texts):
        return prepared
    try:
        if app.fills_vectors:
            fill_vectors(app.writer(app.scope), app.embedder, _FILLED_AT_ONCE)
        vectors = iter(app.embedder.embed([text for text in texts if text], _MOST_TOKENS))
    except (ModelError, BadInput):
        return prepared
    model = app.embedder.id
    return [
        replace(one, asked=QuestionVector(model, next(vectors).tobytes())) if text else one
        for one, text in zip(prepared, texts, strict=True)
    ]


def _place(app: App, part: SessionPart, prepared: PreparedTurn, left_out: frozenset[str]) -> str:
    """The thread that it went to, if any. Inside the one transaction of this look."""
    store = app.writer(app.scope)
    mark = _mark(store, part.session)
    entry = prepared.entry
    if not prepared.turn.is_whole and prepared.turn.new_from and mark.turn:
        # It is longer than what is held of a transcript: its beginning is known by its record alone.
        before = next(iter(store.messages(ids=[mark.turn])), None)
        if before is not None and (old := read_record(before.content)) is not None:
            entry = replace(
                entry, id=before.id, at=before.at, record=join_records(old, entry.record)
            )
    begun = next((one.thread_id for one in store.messages(ids=[entry.id])), "")
    thread = store.get(begun) if begun else None
    candidates: list[Candidate] = []
    decision: Decision = Leave("taken before")
    is_taken = (
        entry.id in left_out
        or (begun and not prepared.turn.new_from)
        or (mark.turn == entry.id and not begun)
    )
    if prepared.is_echo and not is_taken:
        decision = Leave("an echo")
    elif not is_taken:
        candidates = _candidates(app, store, replace(prepared, entry=entry), mark)
        if isinstance(thread, Thread) and _goes_on(thread):
            decision = Continue(
                thread, same_turn=True
            )  # the rest of a turn goes where its beginning went
        elif not begun:
            decision = thread_choice.choose_thread(entry.about, entry.record, candidates)
    if isinstance(decision, Leave):
        count_captured(app, f"threads: {decision.reason}")
        return ""
    id = _write(app, part, entry, decision, candidates)
    threads = (id, *(other for other in mark.threads if other != id))[:6]
    _write_mark(store, part.session, replace(mark, turn=entry.id, threads=threads))
    if session := session_ledger.find_session(
        store, part.session
    ):  # which has the turn in its context
        own = ShownMemory(
            turn_mark(id, entry.id),
            Way.OWN,
            app.clock.now(),
            session=session.id,
            epoch=session.epoch,
        )
        store.put(own)
    return id


def _candidates(
    app: App, store: Store, prepared: PreparedTurn, mark: ThreadMark
) -> list[Candidate]:
    # The few memories that share the rarest of its words, and which share of their rarity.
    words = matching.score_terms([store.words(prepared.entry.about.asked, most=_POSTINGS)])
    owners = store.owners(list(words.passages[0]))
    by_memory = {passage: owner._replace(unit=owner.memory) for passage, owner in owners.items()}
    units = matching.match_units(words, [by_memory])
    best = sorted(units, key=lambda ref: (-units[ref].whole, ref))[:10]
    read = store.read_units([seq for _, seq in best])
    cover = {memory.id: units[0, seq].cover for seq, memory, _ in read}
    latest = Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=3)
    of_session = list(map(store.get, mark.threads)) if mark.threads else store.find(latest)
    found = [*(memory for _, memory, _ in read), *of_session]
    threads = {one.id: one for one in found if isinstance(one, Thread) and _goes_on(one)}
    near: dict[str, float] = {}
    if prepared.asked:
        held = app.turn_vectors or {}
        more = [(id, vector) for id in threads for vector in held.get(id, ())]
        # Passages of this very import may or may not have vectors by now, from a daemon: they do not count.
        kept = [id for id in threads if id not in held]
        near = store.similarity(prepared.asked.model, prepared.asked.vector, kept, more)
    at_hand = {id: place for place, id in enumerate(mark.threads)}
    return [
        Candidate(
            one, cover=cover.get(id, 0.0), near=near.get(id), place=at_hand.get(id),
            idle_minutes=prepared.entry.ended_at.days_since(one.last_active_at) * 1_440,
        )
        for id, one in threads.items()
    ]  # fmt: skip


def _goes_on(thread: Thread) -> bool:
    """However old it is."""
    return thread.status in REACHED and not thread.pinned and thread.origin in _GROUPED


def _write(
    app: App,
    part: SessionPart,
    entry: Entry,
    decision: Continue | Open,
    candidates: list[Candidate],
) -> str:
    """The id of the thread that it went to."""
    new_id = app.mint.draw("thread") if isinstance(decision, Open) else decision.thread.id

    def make(store: Store) -> Plan:
        standing = store.get(new_id, follow=False)
        changes: list[Change] = []
        if isinstance(standing, Thread):
            at = max(entry.ended_at, standing.last_active_at)
            before = store.messages(new_id)
            same_turn = isinstance(decision, Continue) and decision.same_turn
            stronger = standing if same_turn else reinforce(standing, now=at, rules=app.age_rules)
            thread, message = thread_choice.continue_thread(stronger, before, entry)
            if message in before:
                return Plan()
            replaced = tuple(one for one in before if one.id == message.id)
            changes += [Unsay(new_id, replaced)] if replaced else []
            changes += [Say(new_id, (message,)), Update.between(standing, thread)]
        else:
            thread, message = thread_choice.open_thread(new_id, part.session, entry)
            changes.append(Create(thread, (message,)))
        others = [one.thread for one in candidates if one.thread.id != new_id]
        links = thread_choice.thread_links(entry.about, others, decision, session=part.session)
        bridges = store.bridges(new_id) if links else ()
        linked = {end for bridge in bridges for end in (bridge.source, bridge.target)}
        changes += [
            Link(
                Bridge(
                    new_id,
                    one.target.id,
                    one.type,
                    one.weight,
                    thread.last_active_at,
                    origin=ORIGIN,
                )
            )
            for one in links
            if one.target.id not in linked
        ]
        return Plan.of(changes)

    verb = "Opened" if isinstance(decision, Open) else "Went on with"
    app.commit(app.scope, "thread", make, lambda _: f"{verb} {new_id}.", actor=entry.lane)
    return new_id


def forget_session(store: Store, session: str) -> None:
    """Its turns were taken back: what is read of it again is new."""
    if session in (marks := THREAD_MARKS.read(store)):
        THREAD_MARKS.write(store, {id: one for id, one in marks.items() if id != session})


def _mark(store: Store, session: str) -> ThreadMark:
    return THREAD_MARKS.read(store).get(session, ThreadMark())


def _write_mark(store: Store, session: str, mark: ThreadMark) -> None:
    """The session that was written last comes last: the others are dropped first."""
    others = {id: one for id, one in THREAD_MARKS.read(store).items() if id != session}
    THREAD_MARKS.write(store, {**others, session: mark})

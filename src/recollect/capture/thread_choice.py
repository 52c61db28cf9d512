"""Which thread a turn belongs to (the current one, an earlier one, a fork, or a new one), what the thread becomes by
it, and its links. What speaks for a thread is added up; the weights (log odds) were fitted on one half of
bench/data/threads.jsonl. Whether a prompt leans on what was said before is known in English only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import Struct, replace
from recollect.capture import terms
from recollect.capture.machine_text import before_error, is_command, is_error, is_machine_text
from recollect.capture.records import summarize_records
from recollect.capture.tables import Patterns, Words, table
from recollect.capture.titles import FIRST_RECORDS, MAX_TOPICS, find_topics, make_title
from recollect.capture.turns import Turn, says_nothing
from recollect.model.memory import Anchor, BridgeType, Lane, Message, Status, Thread
from recollect.model.passage import TURN, Record, read_record
from recollect.model.session import ToolAction

NEAR_ZERO = (
    0.33  # the similarity of two texts about programming that have nothing to do with each other
)
COVERED = 0.3  # a larger share of common words does not count more: most words of a turn are new
# A thread with more turns shares words and meaning with everything in its project: each doubling asks for more of both.
SMALL_TURNS = 4
CONTINUES_AT, FORKS_AT = 0.0, -1.5
LEANS_A_LITTLE, LITTLE_FOR_MINUTES = 0.4, 30.0
_MAX_LEANING_WORDS = (
    3  # a question with more words that name a subject needs nothing that came before
)
_PASTED_LEANS = 0.6  # an error that is pasted without a word came of what was just done
LEANS_FOR_MINUTES = 8 * 60.0  # for this long "do that" still means what was discussed last
MAX_TURNS = (
    40  # a longer thread is continued in a new one, so that continuing always costs the same
)
_CONCLUSION_CHARS, _PROMPT_CHARS = 300, 600
_SAME_REQUEST = 0.75  # so much of the words of two requests is the same where one repeats the other
_COMMON_FILE_SHARE = 0.25  # the weight of a file that every piece of work touches
_MIN_ANSWER_WORDS, _MIN_ANSWER_CHARS = 6, 15  # a shorter answer is a nod
ORIGIN = "session"
_MAX_FILES, _MAX_LINKS = 20, 3
_LEADING_TOPICS = 3  # one of these first topics of a turn must be known, or the thread has drifted
_MIN_SHARED_FILES = 0.5  # sharing so many of the files it touches is no accident
_NAMED_CHARS = 60  # the other thread is named within so many characters after such words
_MAX_NAMED, _NAMED_WEIGHT = 5, 0.8
_CUES = Patterns("thread_choice")
_WORDS = Words("thread_choice")


class Subject(NamedTuple):
    prompt: str
    conclusion: str
    edited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    is_plan: bool = False  # a plan was handed over to be carried out: work of its own

    @property
    def asked(self) -> str:
        """What the store is searched for: names and words that may name a subject."""
        files = " ".join(terms.stem_of(file) for file in (*self.edited, *self.read)[:6])
        prompt, conclusion = self.prompt[:_PROMPT_CHARS], self.conclusion[:_CONCLUSION_CHARS]
        said = [
            " ".join(dict.fromkeys([*terms.names(text), *terms.content(text)]))
            for text in (prompt, conclusion)
        ]
        return f"{said[0]} {files} {said[1]}".strip() or " ".join(terms.words(prompt))

    @property
    def meaning(self) -> str:
        return f"{self.prompt[:_PROMPT_CHARS]}\n{self.conclusion[:_CONCLUSION_CHARS]}".strip()


class Candidate(NamedTuple):
    thread: Thread
    cover: float = 0.0  # the share of what was asked, weighted by rarity, that occurs in it
    near: float | None = None  # None: there is no vector to compare
    place: int | None = (
        None  # 0: the current thread, 1: the one before it in this session; None: of another session
    )
    idle_minutes: float = 0.0


class Continue(NamedTuple):
    thread: Thread
    same_turn: bool = False  # it already has the beginning of this turn


class Open(NamedTuple):
    parent: Thread | None = (
        None  # the thread that it was forked from, or that it continues because that one is full
    )
    is_fork: bool = True


class Leave(NamedTuple):  # the turn is not kept
    reason: str


Decision = Continue | Open | Leave


def subject_of(turn: Turn, record: Record) -> Subject:
    is_plan = turn.is_whole and (turn.acts[0].plan or bool(terms.plan_heading(turn.acts[0].text)))
    return Subject(
        record.asked,
        turn.conclusion,
        turn.files(ToolAction.EDIT),
        turn.files(ToolAction.READ),
        is_plan,
    )


def choose_thread(about: Subject, record: Record, candidates: Sequence[Candidate]) -> Decision:
    has_result, is_small_talk = bool(record.changed or record.ran), says_nothing(record.asked)
    if not has_result and is_small_talk and len(terms.content(record.said)) < _MIN_ANSWER_WORDS:
        return Leave("too little said")  # a "yes" with a short answer
    if about.is_plan:  # carried out again, or work of its own
        again = (
            one.thread
            for one in candidates
            if one.thread.title and one.thread.title in about.prompt
        )
        return next(map(Continue, again), Open())
    if repeated := _asked_before(about, record, candidates):
        return Continue(repeated.thread)
    rated = [(rating(about, one), one) for one in candidates]
    score, best = max(rated, key=lambda pair: pair[0], default=(-math.inf, None))
    if score < CONTINUES_AT and (current := _leans_on(about, record, candidates)):
        score, best = CONTINUES_AT, current
    if best is not None and score >= CONTINUES_AT:
        return (
            Open(best.thread, is_fork=False)
            if best.thread.activations >= MAX_TURNS
            else Continue(best.thread)
        )
    # It opens a thread if it has a subject and something came of it, or if something was changed or failed.
    named = len(set(terms.content(record.asked))) + len(terms.names(record.asked))
    is_answered = bool(record.ran or len(record.said) >= _MIN_ANSWER_CHARS)
    if not (
        record.changed
        or "(failed)" in record.ran
        or (is_answered and named >= 2 and not is_small_talk)
    ):
        return Leave("too little to open a thread")
    return Open(best.thread if best is not None and best.place == 0 and score >= FORKS_AT else None)


def _asked_before(
    about: Subject, record: Record, candidates: Sequence[Candidate]
) -> Candidate | None:
    """The thread that was begun by the same request, or would have the same title. A request that names nothing ("run
    the tests") belongs to the work at hand, where there is some."""
    names_nothing = len(set(terms.content(about.prompt))) < 2
    if says_nothing(about.prompt) or (names_nothing and any(one.place == 0 for one in candidates)):
        return None
    asked, title = _request_words(about.prompt), make_title([record]).casefold()
    for one in candidates:
        known = _request_words(_first_request(one.thread))
        is_same = bool(asked) and len(asked & known) >= _SAME_REQUEST * len(asked | known)
        if (is_same or one.thread.title.casefold() == title) and one.thread.activations < MAX_TURNS:
            return one
    return None


def _first_request(thread: Thread) -> str:
    record = read_record(thread.body)
    return record.asked if record else ""


def _request_words(request: str) -> frozenset[str]:
    """In the singular, without articles and the like."""
    first = next(terms.sentences(before_error(request)), "")
    said = terms.words(first)
    return frozenset(map(terms.singular, filter(terms.is_content, said))) or frozenset(said)


def _leans_on(about: Subject, record: Record, candidates: Sequence[Candidate]) -> Candidate | None:
    """A prompt that names nothing means the current thread; so does one that names little and comes right after it."""
    leans = dependence(about.prompt)
    came_of_it = record.changed or record.ran or record.said
    if leans < (LEANS_A_LITTLE if came_of_it else 1.0) or turns_away(about.prompt):
        return None
    minutes = LEANS_FOR_MINUTES if leans == 1.0 else LITTLE_FOR_MINUTES
    return next((one for one in candidates if one.place == 0 and one.idle_minutes <= minutes), None)


def rating(about: Subject, one: Candidate) -> float:
    """The odds that the turn belongs to it, as a logarithm: each thing that speaks for the thread, times its weight."""
    weights: dict[str, float] = table("thread_weights.json")[
        "words alone" if one.near is None else "with vectors"
    ]
    is_current, leans = one.place == 0, dependence(about.prompt)
    size = max(1.0, one.thread.activations / SMALL_TURNS)
    shared = terms.count_shared(about.prompt, one.thread.title)
    values = {
        "base": 1.0,
        "named": min(2, shared) / 2,  # two words of the title are enough
        "cover": min(1.0, one.cover / (COVERED * size)),
        "size": math.log2(size),
        "files": shared_files(about, one.thread),
        "near": 0.0 if one.near is None else one.near - NEAR_ZERO,
        "current": 0.5 ** (one.idle_minutes / 60) if is_current else 0.0,
        "leaning": leans if is_current else 0.0,
        "elsewhere": leans if one.place is None else 0.0,
        "of session": 1.0 if one.place else 0.0,
        "away": 1.0 if is_current and turns_away(about.prompt) else 0.0,
    }
    return sum(weights[name] * value for name, value in values.items())


def shared_files(about: Subject, thread: Thread) -> float:
    """From 0 to 1: the share of the turn's files that the thread knows."""
    known = {anchor.path for anchor in thread.anchors}
    touched = dict.fromkeys(about.read, 1.0) | dict.fromkeys(about.edited, 2.0)
    share = 0.0
    for file in touched.keys() & known:
        is_common = file.rsplit("/", 1)[-1].casefold().split(".")[0] in _WORDS.common_files
        share += touched[file] * (_COMMON_FILE_SHARE if is_common else 1.0)
    return share / (sum(touched.values()) or 1.0)


def turns_away(prompt: str) -> bool:
    return _CUES.switches.match(prompt) is not None


def dependence(prompt: str) -> float:
    """From 0 (stands alone) to 1 (says nothing without what came before)."""
    subject = len(set(terms.content(prompt))) + 2 * len(terms.names(prompt))
    if not subject or is_command(prompt):
        return 1.0
    if is_machine_text(prompt):
        return _PASTED_LEANS
    # "Why?" asks about what was just said, "why does the checkout total differ from the cart?" stands alone.
    is_own_question = subject > _MAX_LEANING_WORDS and _CUES.questions.match(prompt)
    leans = 0.45 if _CUES.follows.match(prompt) and not is_own_question else 0.0
    leans += 0.0 if _WORDS.pointing.isdisjoint(terms.words(prompt)) else 0.2
    return min(1.0, leans + max(0.0, 0.5 - 0.1 * subject))


class Entry(Struct):  # a turn that is to be kept
    id: str  # the id of its message
    at: Moment
    ended_at: Moment
    about: Subject
    record: Record

    @property
    def lane(self) -> Lane:
        if self.about.conclusion:
            return Lane.AGENT
        return Lane.TOOL if self.record.ran or self.record.changed else Lane.USER

    def message(self, thread_id: str) -> Message:
        return Message(self.id, thread_id, self.at, TURN, self.record.text())


def open_thread(id: str, session: str, entry: Entry) -> tuple[Thread, Message]:
    named = _topics(entry)
    thread = Thread(
        id=id, title=make_title([entry.record], named), body=summarize_records([entry.record]), topics=named,
        drift=named[:1], activations=1, origin=ORIGIN, lane=entry.lane, group=session,
        anchors=_anchors((), entry.about), created_at=entry.at, reinforced_at=entry.ended_at,
        last_active_at=entry.ended_at,
    )  # fmt: skip
    return thread, entry.message(id)


def continue_thread(
    thread: Thread, before: Sequence[Message], entry: Entry
) -> tuple[Thread, Message]:
    """A turn that the thread already has is replaced."""
    others = [message for message in before if message.id != entry.id]
    named = _topics(entry)
    topics = set(map(str.casefold, thread.topics))
    moved = bool(named) and topics.isdisjoint(map(str.casefold, named[:_LEADING_TOPICS]))
    known = (
        tuple(dict.fromkeys((*thread.topics[: MAX_TOPICS - 2], *named[:2])))
        if moved
        else thread.topics
    )
    said = [found for message in others if (found := read_record(message.content))]
    early = len(said) < FIRST_RECORDS and thread.title == make_title(said, thread.topics)
    grown = replace(
        thread, title=make_title([*said, entry.record], thread.topics) if early or not said else thread.title,
        status=Status.ACTIVE, activations=thread.activations + (len(others) == len(before)), topics=known,
        drift=(*thread.drift, named[0]) if moved else thread.drift, body=summarize_records([*said, entry.record]),
        lane=Lane.lowest(thread.lane, entry.lane), anchors=_anchors(thread.anchors, entry.about),
    )  # fmt: skip
    return grown, entry.message(thread.id)


def _topics(entry: Entry) -> tuple[str, ...]:
    made = entry.record
    ended = "" if is_error(made.ended) else made.ended
    asked = "" if is_machine_text(made.asked) else before_error(made.asked)
    texts = [(asked, 1.5), (made.found, 1.0), (ended, 1.0), (entry.about.conclusion, 0.5)]
    return find_topics(texts, entry.about.edited)


def _anchors(known: tuple[Anchor, ...], about: Subject) -> tuple[Anchor, ...]:
    paths = {anchor.path: anchor for anchor in known}
    for file in about.edited:  # by this very work: it is as the thread knows it
        paths[file] = Anchor(file)
    for file in about.read:
        paths.setdefault(file, Anchor(file))
    return tuple(paths.values())[:_MAX_FILES]


class ThreadLink(NamedTuple):
    target: Thread
    type: BridgeType
    weight: float


def thread_links(
    about: Subject, others: Sequence[Thread], decision: Continue | Open, *, session: str
) -> list[ThreadLink]:
    """From the turn's thread to others, at most one each, the surest first. Of one thread the last evidence counts."""
    links: list[ThreadLink] = []
    for other in others if about.edited else ():
        share = shared_files(about, other)
        if share >= _MIN_SHARED_FILES:
            type = BridgeType.SIBLING if other.group == session else BridgeType.EXTENDS
            links.append(ThreadLink(other, type, round(share, 2)))
    if isinstance(decision, Open) and decision.parent is not None:
        type = BridgeType.CHILD_OF if decision.is_fork else BridgeType.EXTENDS
        links.append(ThreadLink(decision.parent, type, 1.0))
    for pattern, type in (
        (_CUES.depends, BridgeType.DEPENDS),
        (_CUES.replaces, BridgeType.REPLACES),
        (_CUES.contradicts, BridgeType.CONTRADICTS),
    ):
        for found in islice(pattern.finditer(about.prompt), _MAX_NAMED):
            behind = about.prompt[found.end() : found.end() + _NAMED_CHARS]
            said = terms.content_and_names(next(terms.sentences(behind), ""))
            # The one thread that these words name by two words of its title or topics.
            hits = [
                one
                for one in others
                if len(said & terms.content_and_names(" ".join((one.title, *one.topics)))) >= 2
            ]
            links += [ThreadLink(hits[0], type, _NAMED_WEIGHT)] if len(hits) == 1 else []
    best = {link.target.id: link for link in links}
    return sorted(best.values(), key=lambda link: -link.weight)[:_MAX_LINKS]

"""What a thread becomes by a turn: opened or continued, with title, topics, summary, files, source and drift.

And how it is linked to others, where the evidence says so: files they share, and words that name another thread as what
this one depends on, replaces or contradicts. Never by likeness alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from recollect.base.moment import Moment
from recollect.capture import terms
from recollect.capture.records import summarize_records
from recollect.capture.tables import Patterns
from recollect.capture.thread_choice import Continue, Open, Subject, shared_files
from recollect.capture.titles import FIRST_RECORDS, MAX_TOPICS, find_topics, make_title
from recollect.model import record as records
from recollect.model.memory import Anchor, BridgeType, Lane, Message, Status, Thread
from recollect.model.record import TURN, Record

ORIGIN = "session"
MAX_FILES = 20
_LEADING_TOPICS = 3  # one of these first topics of a turn must be known, or the thread has drifted
MAX_LINKS = 3
_MIN_SHARED_FILES = 0.5  # sharing so many of the files it touches is no accident
_NAMED_CHARS = 60  # the other thread is named within so many characters after such words
_MAX_NAMED = 5
_NAMED_WEIGHT = 0.8
_CUES = Patterns("thread_growth")


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn that is to be kept."""

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


def continue_thread(thread: Thread, before: Sequence[Message], entry: Entry) -> tuple[Thread, Message]:
    """A turn that the thread already has is replaced."""
    others = [message for message in before if message.id != entry.id]
    named = _topics(entry)
    topics = set(map(str.casefold, thread.topics))
    moved = bool(named) and topics.isdisjoint(map(str.casefold, named[:_LEADING_TOPICS]))
    known = tuple(dict.fromkeys((*thread.topics[: MAX_TOPICS - 2], *named[:2]))) if moved else thread.topics
    said = [found for message in others if (found := records.read(message.content))]
    early = len(said) < FIRST_RECORDS and thread.title == make_title(said, thread.topics)
    grown = replace(
        thread,
        title=make_title([*said, entry.record], thread.topics) if early or not said else thread.title,
        status=Status.ACTIVE,
        activations=thread.activations + (len(others) == len(before)),
        topics=known,
        drift=(*thread.drift, named[0]) if moved else thread.drift,
        body=summarize_records([*said, entry.record]),
        lane=Lane.lowest(thread.lane, entry.lane),
        anchors=_anchors(thread.anchors, entry.about),
    )
    return grown, entry.message(thread.id)


def _topics(entry: Entry) -> tuple[str, ...]:
    made = entry.record
    texts = [(made.asked, 1.5), (made.found, 1.0), (made.ended, 1.0), (entry.about.conclusion, 0.5)]
    return find_topics(texts, entry.about.edited)


def _anchors(known: tuple[Anchor, ...], about: Subject) -> tuple[Anchor, ...]:
    paths = {anchor.path: anchor for anchor in known}
    for file in about.edited:  # by this very work: it is as the thread knows it
        paths[file] = Anchor(file)
    for file in about.read:
        paths.setdefault(file, Anchor(file))
    return tuple(paths.values())[:MAX_FILES]


@dataclass(frozen=True, slots=True)
class ThreadLink:
    target: Thread
    type: BridgeType
    weight: float


def thread_links(
    about: Subject, others: Iterable[Thread], decision: Continue | Open, *, session: str
) -> list[ThreadLink]:
    """From the turn's thread to others, at most one each, the surest first. Of one thread the last evidence counts."""
    others = list(others)
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
        for named in islice(pattern.finditer(about.prompt), _MAX_NAMED):
            behind = about.prompt[named.end() : named.end() + _NAMED_CHARS]
            target = _named_thread(next(terms.sentences(behind), ""), others)
            if target is not None:
                links.append(ThreadLink(target, type, _NAMED_WEIGHT))
    found = {link.target.id: link for link in links}
    return sorted(found.values(), key=lambda link: -link.weight)[:MAX_LINKS]


def _named_thread(words: str, others: list[Thread]) -> Thread | None:
    """The one thread that these words name by two words of its title or topics."""
    said = terms.content_and_names(words)
    hits = [one for one in others if len(said & terms.content_and_names(" ".join((one.title, *one.topics)))) >= 2]
    return hits[0] if len(hits) == 1 else None

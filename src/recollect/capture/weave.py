"""What a thread becomes by a turn: opened, or gone on with. Title, topics, summary, files, lane, drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.base.moment import Moment
from recollect.capture.summary import summary
from recollect.capture.threads import Subject
from recollect.capture.title import EARLY, title
from recollect.capture.topics import Source, topics
from recollect.model import record as records
from recollect.model.memory import Anchor, Lane, Message, Status, Thread
from recollect.model.record import TURN, Record

ORIGIN = "session"
MOST_FILES = 20
MOST_TOPICS = 8
_LEADING = 3
"""Topics of a turn of which one must be known, or the thread has moved on."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn that is to be kept."""

    id: str
    """Of its message."""
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


def opened(id: str, session: str, entry: Entry) -> tuple[Thread, Message]:
    named = _topics(entry)
    thread = Thread(
        id=id,
        title=title([entry.record], named),
        body=summary([entry.record]),
        topics=named,
        drift=named[:1],
        activations=1,
        origin=ORIGIN,
        lane=entry.lane,
        group=session,
        anchors=_anchors((), entry.about),
        created_at=entry.at,
        reinforced_at=entry.ended_at,
        last_active_at=entry.ended_at,
    )
    return thread, entry.message(id)


def gone_on(thread: Thread, before: Sequence[Message], entry: Entry) -> tuple[Thread, Message]:
    """A turn that is known already takes the place of what was known of it."""
    others = [message for message in before if message.id != entry.id]
    named = _topics(entry)
    moved = bool(named) and not _low(named[:_LEADING]) & _low(thread.topics)
    known = tuple(dict.fromkeys((*thread.topics[: MOST_TOPICS - 2], *named[:2]))) if moved else thread.topics
    said = [found for message in others if (found := records.read(message.content))]
    early = len(said) < EARLY and thread.title == title(said, thread.topics)
    grown = replace(
        thread,
        title=title([*said, entry.record], thread.topics) if early or not said else thread.title,
        status=Status.ACTIVE,
        activations=thread.activations + (len(others) == len(before)),
        topics=known,
        drift=(*thread.drift, named[0]) if moved else thread.drift,
        body=summary([*said, entry.record]),
        lane=Lane.lowest(thread.lane, entry.lane),
        anchors=_anchors(thread.anchors, entry.about),
    )
    return grown, entry.message(thread.id)


def _topics(entry: Entry) -> tuple[str, ...]:
    made = entry.record
    sources = [Source(made.asked, 1.5), Source(made.found), Source(made.ended), Source(entry.about.conclusion, 0.5)]
    return topics(sources, entry.about.edited)


def _anchors(known: tuple[Anchor, ...], about: Subject) -> tuple[Anchor, ...]:
    paths = {anchor.path: anchor for anchor in known}
    for file in about.edited:  # by this very work: it is as the thread knows it
        paths[file] = Anchor(file)
    for file in about.read:
        paths.setdefault(file, Anchor(file))
    return tuple(paths.values())[:MOST_FILES]


def _low(topics: Sequence[str]) -> set[str]:
    return {topic.casefold() for topic in topics}

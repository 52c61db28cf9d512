"""What a thread becomes by a turn: opened, or gone on with. Title, topics, summary, files, lane, drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.capture.piece import Piece, unheard
from recollect.capture.summary import Said, summary
from recollect.capture.threads import Subject
from recollect.capture.title import title
from recollect.capture.topics import Source, topics
from recollect.model.memory import Anchor, Lane, Message, Status, Thread

ORIGIN = "session"
MOST_FILES = 20
MOST_TOPICS = 12
_LEADING = 3
"""Topics of a turn of which one must be known, or the thread has moved on."""


def opened(id: str, session: str, about: Subject, kept: Sequence[Piece]) -> tuple[Thread, tuple[Message, ...]]:
    named = _topics(about, kept)
    prompts = [one.content for one in kept if one.source == "user"] or [about.prompt]
    thread = Thread(
        id=id,
        title=title(prompts, about.conclusion, named),
        body=summary([Said(one.source, one.content) for one in kept], named),
        topics=named,
        drift=named[:1],
        activations=1,
        origin=ORIGIN,
        lane=Lane.lowest(*(one.lane for one in kept)),
        group=session,
        anchors=_anchors((), about),
        created_at=kept[0].at,
        reinforced_at=kept[-1].at,
        last_active_at=kept[-1].at,
    )
    return thread, _messages(id, kept)


def gone_on(
    thread: Thread, before: Sequence[Message], about: Subject, kept: Sequence[Piece], *, same_turn: bool = False
) -> tuple[Thread, tuple[Message, ...]]:
    """What it said already is counted, not added; where that is all, it stays as it was."""
    new = list(unheard(kept, [(message.source, message.content) for message in before]))
    if not new:
        return thread, ()
    grown = replace(
        thread,
        status=Status.ACTIVE,
        activations=thread.activations + (not same_turn),
        seen=thread.seen + (len(new) < len(kept)),
    )
    named = _topics(about, new)
    moved = bool(named) and not _low(named[:_LEADING]) & _low(thread.topics)
    known = tuple(dict.fromkeys((*thread.topics, *named[:2])))[:MOST_TOPICS] if moved else thread.topics
    said = [Said(message.source, message.content) for message in before]
    said += [Said(one.source, one.content) for one in new]
    grown = replace(
        grown,
        topics=known,
        drift=(*thread.drift, named[0]) if moved else thread.drift,
        body=summary(said, known),
        lane=Lane.lowest(thread.lane, *(one.lane for one in new)),
        anchors=_anchors(thread.anchors, about),
    )
    return grown, _messages(thread.id, new)


def _topics(about: Subject, kept: Sequence[Piece]) -> tuple[str, ...]:
    sources = [Source(about.prompt, 2.0), Source(about.conclusion)]
    sources += [Source(one.content, 0.5) for one in kept if one.source == "tool" and one.failed]
    return topics(sources, about.edited)


def _anchors(known: tuple[Anchor, ...], about: Subject) -> tuple[Anchor, ...]:
    paths = {anchor.path: anchor for anchor in known}
    for file in about.edited:  # by this very work: it is as the thread knows it
        paths[file] = Anchor(file)
    for file in about.read:
        paths.setdefault(file, Anchor(file))
    return tuple(paths.values())[:MOST_FILES]


def _messages(thread_id: str, kept: Sequence[Piece]) -> tuple[Message, ...]:
    return tuple(Message(one.id, thread_id, one.at, one.source, one.content) for one in kept)


def _low(topics: Sequence[str]) -> set[str]:
    return {topic.casefold() for topic in topics}

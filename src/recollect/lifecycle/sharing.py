"""What leaves this machine when a memory is shared, and what others' changes do here. Pure.

A team shares what a memory says (SHARED_FIELDS). How useful it proved, how strong it is and whether it is in force is
each member's own, so anyone can mute, archive or accept it without a word to the others. Never sent: what a person
asked, decided or said in a session, the words that a rule was made from, which session it came from, and paths outside
the project."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import first_line_title
from recollect.lifecycle.edits import MAX_BOOST
from recollect.model.codec import FIELDS_OF, encode_field
from recollect.model.command import Lesson
from recollect.model.memory import (
    ACCEPTED_TAG,
    OFFERED_TAG,
    SHARED_TAG,
    Lane,
    Memory,
    Message,
    Note,
    Rule,
    RulePolicy,
    Status,
    Thread,
)
from recollect.model.passage import TURN, Role, read_record
from recollect.model.plan import Change, Create, Remove, Say, Unsay, Update

SHARED_FIELDS = ("title", "body", "topics", "tags", "anchors", "rule_type")
PRIVATE_TAG = "private"
_OUR_TAGS = frozenset({SHARED_TAG, OFFERED_TAG, ACCEPTED_TAG})  # each member's own
# Beginnings of tags that name a session, a call or another rule of one's own.
_SESSION_TAGS = ("session:", "refused:", "may contradict:")
_RECORD_STARTS = re.compile(rf"\n\n(?=(?:{'|'.join(role.capitalize() for role in Role)}): )")
_QUOTES = re.compile(r"\b(?:Asked|Decided|Said): ")
_PRIVATE_PATH = re.compile(r"(?:^|[\s='\"])(?:/|~|[A-Za-z]:\\)")
Whole = tuple[Memory, tuple[Message, ...]]


def why_not_shared(memory: Memory) -> str:
    """Why others may not have it; empty: they may."""
    if _is_private(memory):
        return "it is private"
    if memory.status is Status.CANDIDATE:
        return "it waits in the inbox"
    return f"it is {memory.status}" if memory.status in (Status.ARCHIVED, Status.SUPERSEDED) else ""


def _is_private(memory: Memory) -> bool:
    return PRIVATE_TAG in {word.casefold() for word in (*memory.tags, *memory.topics)}


def is_shared(memory: Memory) -> bool:
    """One that was replaced is no longer offered to others; whether its owner still uses it is the owner's matter."""
    is_tagged = SHARED_TAG in memory.tags or OFFERED_TAG in memory.tags
    return (
        is_tagged
        and memory.status not in (Status.SUPERSEDED, Status.CANDIDATE)
        and not _is_private(memory)
    )


def with_tag(memory: Memory, tag: str) -> Memory:
    return replace(memory, tags=tuple(dict.fromkeys((*memory.tags, tag))))


def without_tags(memory: Memory) -> Memory:
    return replace(
        memory, tags=tuple(tag for tag in memory.tags if tag not in (SHARED_TAG, OFFERED_TAG))
    )


def outgoing(whole: Whole, *, person: str, project: str) -> Whole:
    """As the team gets it."""
    memory, messages = whole
    is_offered = SHARED_TAG not in memory.tags and OFFERED_TAG in memory.tags
    sent = replace(
        _without_own(memory), status=Status.CANDIDATE if is_offered else Status.ACTIVE, group=project,
        origin=memory.origin if memory.origin == Lesson.ORIGIN else f"team:{person}",
    )  # fmt: skip
    said = tuple(_distil_messages(messages, memory.body))
    if isinstance(sent, Thread) and read_record(
        memory.body
    ):  # its title and topics were made from what was asked, too
        body = _distil(memory.body)
        texts = [text for text in (body, *(one.content for one in said)) if text]
        topics = tuple(
            topic for topic in memory.topics if topic.casefold() in "\n".join(texts).casefold()
        )
        first = texts[0].partition(": ")[2] if texts else "Shared work"
        sent = replace(sent, title=first_line_title(first), body=body, topics=topics)
    return sent, said


def _without_own(memory: Memory) -> Memory:
    """Without what is each member's own, and what only a file or a session here has."""
    kept = replace(
        memory, tags=_team_tags(memory), weight=1.0 + memory.boost, frequency=0, last_session=0, activations=0,
        ratings=(), outcomes="", appreciation=0.0, lane=Lane.TEAM, superseded_by=None,
        anchors=tuple(one for one in memory.anchors if not _PRIVATE_PATH.search(one.path)),
    )  # fmt: skip
    match kept:
        case Rule():
            return replace(kept, said="")
        case Note():
            return replace(kept, path="")
        case Thread():
            return replace(kept, drift=())
        case _:
            return kept


def _team_tags(memory: Memory) -> tuple[str, ...]:
    return tuple(
        tag for tag in memory.tags if tag not in _OUR_TAGS and not tag.startswith(_SESSION_TAGS)
    )


def _distil(text: str) -> str:
    """Turn records without the parts that quote a person or the session, and without paths outside the project; any
    other text as it is."""
    if read_record(text) is None:
        return text
    kept = []
    for piece in _RECORD_STARTS.split(text):  # a merged thread has several
        record = read_record(piece)
        if record is None:
            continue
        changed = ", ".join(
            path for path in record.changed.split(", ") if not _PRIVATE_PATH.search(path)
        )
        ran = "; ".join(
            command for command in record.ran.split("; ") if not _PRIVATE_PATH.search(command)
        )
        distilled = replace(record, asked="", decided="", said="", changed=changed, ran=ran).text()
        if distilled and not _QUOTES.search(distilled):
            kept.append(distilled)
    return "\n\n".join(kept)


def _distil_messages(messages: tuple[Message, ...], body: str) -> Iterator[Message]:
    for message in messages:
        is_record = message.source == TURN and read_record(message.content) is not None
        text = (
            _distil(message.content)
            if is_record
            else message.content
            if message.content in body
            else ""
        )
        if text and not (read_record(body) and not is_record):
            yield replace(message, content=text)


def difference(before: Whole | None, after: Whole | None) -> list[Change]:
    """What brings the one to the other, as far as it is shared."""
    if before is None or after is None:
        return [Remove(*before)] if before else [Create(*after)] if after else []
    (old, held), (new, said) = before, after
    shared = {
        one.name: getattr(new, one.name) for one in FIELDS_OF[old.kind] if one.name in SHARED_FIELDS
    }
    update = Update.between(old, replace(old, **shared))
    held_ids, said_ids = {one.id for one in held}, {one.id for one in said}
    gone = tuple(one for one in held if one.id not in said_ids)
    more = tuple(one for one in said if one.id not in held_ids)
    changes: list[Change] = [update] if update.after else []
    return [
        *changes,
        *([Unsay(old.id, gone)] if gone else []),
        *([Say(old.id, more)] if more else []),
    ]


def rebase(change: Change, now: Whole | None) -> list[Change]:
    """A change that was made here, for the team's store as it is now. A field that somebody else changed meanwhile gets
    our value, and the journal keeps theirs; what is already so, or gone, stays."""
    match change:
        case Create(memory, messages):
            return difference(now, (memory, messages))
        case Remove():
            return difference(now, None)
        case Update(id, _, after) if now:
            current = {name: encode_field(now[0], name) for name in after}
            names = [name for name in after if current[name] != after[name]]
            return (
                [Update(id, {n: current[n] for n in names}, {n: after[n] for n in names})]
                if names
                else []
            )
        case Say(id, messages) if now:
            held = {one.id for one in now[1]}
            new = tuple(one for one in messages if one.id not in held)
            return [Say(id, new)] if new else []
        case Unsay(id, messages) if now:
            ids = {one.id for one in messages}
            gone = tuple(one for one in now[1] if one.id in ids)
            return [Unsay(id, gone)] if gone else []
        case _:
            return []


def incoming(
    here: Whole | None, there: Whole | None, policy: RulePolicy, now: Moment
) -> list[Change]:
    """What a colleague's memory does to the copy of it here. Only what is shared is taken from the team's row; the copy
    begins to fade when it arrives."""
    if there is None or (here and here[0].kind is not there[0].kind):
        return difference(here, None)
    memory, messages = there
    if here is not None:
        kept = tuple(tag for tag in here[0].tags if tag in _OUR_TAGS)
        there = replace(memory, tags=(*_team_tags(memory), *kept)), messages
        changes = difference(here, there)
        is_in_force = isinstance(memory, Rule) and here[0].status is Status.ACTIVE
        if policy is RulePolicy.INBOX and is_in_force and memory.body != here[0].body:
            undecided = replace(
                here[0], status=Status.CANDIDATE
            )  # what was accepted were other words
            changes.insert(0, Update.between(here[0], undecided))
        return [one for one in changes if not isinstance(one, Update) or one.after]
    waits = isinstance(memory, Rule) and (
        policy is RulePolicy.INBOX
        or (policy is RulePolicy.SHARED and memory.status is Status.CANDIDATE)
    )
    boost = max(0.0, min(memory.boost, MAX_BOOST))
    is_known_origin = memory.origin == Lesson.ORIGIN or memory.origin.startswith("team:")
    taken = replace(
        _without_own(memory), boost=boost, weight=1.0 + boost, group="", reinforced_at=now,
        origin=memory.origin if is_known_origin else "team:", status=Status.CANDIDATE if waits else Status.ACTIVE,
    )  # fmt: skip
    return [Create(taken, messages)]


def incoming_to_own(here: Whole, there: Whole | None) -> list[Change]:
    """What the team's version does to a memory that was shared from here. One that colleagues removed stays, unshared.
    A note says what its file says, and a thread of which the team has only a part keeps its own words. What a colleague
    reworded is the colleague's word from then on."""
    memory, _ = here
    if there is None:
        new = without_tags(memory)
    elif isinstance(memory, Note) or memory.kind is not there[0].kind or read_record(memory.body):
        return []
    else:
        shared = {
            one.name: getattr(there[0], one.name)
            for one in FIELDS_OF[memory.kind]
            if one.name in SHARED_FIELDS
        }
        ours = [tag for tag in memory.tags if tag in _OUR_TAGS or tag.startswith(_SESSION_TAGS)]
        tags = (*_team_tags(there[0]), *ours)
        new = replace(
            memory, **shared | {"tags": memory.tags if set(tags) == set(memory.tags) else tags}
        )
        if (new.title, new.body) != (memory.title, memory.body):
            new = replace(new, lane=Lane.lowest(memory.lane, Lane.TEAM))
    return [Update.between(memory, new)] if new != memory else []

"""A memory: what is kept. One unit, three kinds: a kind is a policy (how it is loaded, how it ages), not a second
system."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import Struct, field

PINNED_TAG = "pinned"
PIN_SOURCE = "agent_pin"
LEARNING_TAG = "learning"
ACCEPTED_TAG = "accepted"  # put in force by a person, whatever its source
SHARED_TAG = "shared"  # with the team, on purpose
OFFERED_TAG = "offered"  # to the team, by a setting: it waits in the inbox of others


class Kind(StrEnum):
    THREAD = "thread"
    RULE = "rule"
    NOTE = "note"


class Status(StrEnum):
    """A stored `archived` was decided: by a person, a compaction, a review, or a file's place. That age has archived a
    thread is never stored but computed (lifecycle/strength.py)."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    CANDIDATE = "candidate"


class Condition(StrEnum):  # how a memory stands now, in a person's words
    ACTIVE = "active"
    WAITING = "waiting"  # for a person's decision
    ASLEEP = "asleep"  # not used for long; age alone did it
    ARCHIVED = "archived"  # on purpose
    REPLACED = "replaced"
    MUTED = "muted"  # shown only when asked for


class Lane(
    StrEnum
):  # where the words came from, most trusted first; a summary takes the lowest lane of its parts
    USER = "user"
    TEAM = "team"  # a colleague shared it
    TOOL = "tool"
    AGENT = "agent"
    REPOSITORY = "repository"
    WEB = "web"

    @staticmethod
    def lowest(*lanes: Lane) -> Lane:
        return max(lanes, key=list(Lane).index)


class RuleType(StrEnum):
    PREFERENCE = "preference"
    CORRECTION = "correction"
    FAILURE = "failure"
    DEVOPS = "devops"


class RulePolicy(
    StrEnum
):  # of a team: which of its rules are in force for a member who has not decided yet
    SHARED = (
        "shared"  # those that a member shared on purpose; lessons and the like wait in the inbox
    )
    INBOX = "inbox"  # none: each member accepts them
    ALL = "all"


class Rating(Struct):
    useful: bool
    timestamp: Moment
    reason: str | None = None
    never: bool = False  # a person wants not to see it again, unless asked for

    def as_json(self) -> dict[str, object]:
        """Without `never` where it is not so: journals from before it are compared with this."""
        data = {"useful": self.useful, "timestamp": self.timestamp.iso(), "reason": self.reason}
        return data | ({"never": True} if self.never else {})


class Anchor(Struct):  # a file the memory is about, with the hash it had then (empty: not hashed)
    path: str
    hash: str = ""


Count = Annotated[int, "a whole number from 0"]
Marks = Annotated[str, "only + and -"]

# Properties of fields; the codec, rows, hashes and redaction follow codec.FIELDS, the table of them.
USED = {"used": True}  # counts use: not part of the content
MADE = {"made": True}  # made by the program, never anyone's words
RARE = {"used": True, "rare": True}  # and most memories have none, so it has no column of its own
OPTIONAL = {"optional": True}  # left out of rows, JSON and hashes where it is empty


class Memory(Struct, kw_only=True):  # fields are in the order of the JSON and of the columns
    kind: ClassVar[Kind]

    id: str = field(metadata=MADE)
    title: str
    body: str
    topics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    status: Status = field(default=Status.ACTIVE, metadata=MADE)
    weight: float = field(
        default=1.0, metadata=USED
    )  # as of `reinforced_at`; lifecycle.strength computes it for now
    pinned: bool = False
    boost: float = 0.0  # what a pin adds above 1; survives every reinforcement
    seen: Count = 1  # how often it was said: duplicates are merged
    frequency: Count = field(default=0, metadata=USED)  # how often it was shown
    last_session: Count = field(default=0, metadata=USED)
    activations: Count = field(default=0, metadata=USED)
    ratings: tuple[Rating, ...] = ()
    outcomes: Marks = field(
        default="", metadata=RARE
    )  # each time it was shown unasked: + it went well, - badly
    appreciation: float = field(
        default=0.0, metadata=RARE
    )  # to its forgetting score, by a person or a review
    origin: str = ""
    lane: Lane = field(default=Lane.USER, metadata=MADE)
    superseded_by: str | None = field(default=None, metadata=MADE)
    group: str = ""  # the session, conversation or folder it came from
    anchors: tuple[Anchor, ...] = ()
    created_at: Moment = field(metadata=MADE)
    reinforced_at: Moment = field(metadata=MADE | USED)
    last_active_at: Moment = field(metadata=MADE | USED)


class Thread(Memory, kw_only=True):  # a strand of work: what happened
    kind: ClassVar[Kind] = Kind.THREAD
    drift: tuple[str, ...] = ()  # the topics it moved through, oldest first


class Rule(Memory, kw_only=True):  # what to do
    kind: ClassVar[Kind] = Kind.RULE
    rule_type: RuleType = field(default=RuleType.PREFERENCE, metadata=MADE)
    said: str = field(default="", metadata=OPTIONAL)  # the words of a person that it was made from


class Note(Memory, kw_only=True):  # what a person wrote down: a Markdown file in a vault
    kind: ClassVar[Kind] = Kind.NOTE
    path: str = ""


class Message(Struct):  # one thing said or shown in a thread; belongs to exactly one
    id: str
    thread_id: str
    at: Moment
    source: str
    content: str


class BridgeType(StrEnum):
    EXTENDS = "EXTENDS"
    CONTRADICTS = "CONTRADICTS"
    DEPENDS = "DEPENDS"
    REPLACES = "REPLACES"
    CHILD_OF = "CHILD_OF"
    SIBLING = "SIBLING"


class Bridge(Struct):  # a typed, weighted link between two memories of one store
    source: str
    target: str
    type: BridgeType
    weight: float
    created_at: Moment
    origin: str = "user"

    @property
    def key(self) -> tuple[str, str, str]:
        """At most one bridge of each type leads from one memory to another."""
        return (self.source, self.target, self.type)


class Sketch(
    NamedTuple
):  # what ageing needs to know about a thread: many are read at once, without their words
    seq: int
    id: str
    status: Status
    weight: float
    pinned: bool
    reinforced_us: int  # as Moment.micros: a hundred thousand Moments would cost too much
    active_us: int
    lane: Lane

    @property
    def reinforced_at(self) -> Moment:
        return Moment(self.reinforced_us)

    @property
    def kind(self) -> Kind:
        """Only threads age."""
        return Kind.THREAD


KINDS: dict[Kind, type[Memory]] = {Kind.THREAD: Thread, Kind.RULE: Rule, Kind.NOTE: Note}

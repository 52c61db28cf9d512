"""What operations answer. Values only: `render` words them, doors print them.

Told is for the small answers that have no shape worth a name: a sentence for people, the facts for programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from recollect.base.moment import Moment
from recollect.model.bridge import Bridge
from recollect.model.codec import Json
from recollect.model.memory import Memory, Message, Status
from recollect.model.plan import Plan
from recollect.model.query import Drop, Hit
from recollect.model.report import Counts, Entry, Finding


class Scope(StrEnum):
    """Which of the two stores: this project's, or the one that holds everywhere."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Card:
    """A memory with what can only be said of it now."""

    memory: Memory
    strength: float
    scope: Scope
    replaces: tuple[str, ...] = ()
    """Of a rule that waits: those in force that it may have been said to replace."""


@dataclass(frozen=True, slots=True)
class Cards:
    cards: tuple[Card, ...]
    what: str
    """What was listed, for the sentence when there is none: `threads`."""


@dataclass(frozen=True, slots=True)
class Shown:
    card: Card
    asked: str
    """The id that was asked for: another one when the memory was merged."""
    messages: tuple[Message, ...]
    bridges: tuple[tuple[Bridge, str], ...]
    """Each with the title at its other end."""
    merged: tuple[str, ...]
    content: bool = False
    """Only what it says was asked for."""

    @property
    def later(self) -> tuple[Message, ...]:
        """The messages that the body does not hold."""
        return tuple(message for message in self.messages if message.content not in self.card.memory.body)

    @property
    def said(self) -> str:
        return "\n\n".join(filter(None, (self.card.memory.body, *(message.content for message in self.later))))


@dataclass(frozen=True, slots=True)
class Recollection:
    """One hit of a recall, with what can only be said of it now."""

    scope: Scope
    hit: Hit
    strength: float
    reactivated: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a question brought, what was left out and why, and how it was searched."""

    id: str
    query: str
    """Its beginning, where it is very long; without secrets wherever an answer tells it."""
    at: Moment
    found: tuple[Recollection, ...]
    drops: tuple[Drop, ...]
    how: str
    """`words and vectors`, or `words alone` and why."""
    ms: float = 0.0
    explained: bool = False
    """Asked to show every component."""
    left_out: tuple[tuple[Status, int], ...] = ()
    """How many more would be among what was found, had the question not ruled out their status."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """For an agent: the same, and the bridges of what was found."""

    found: Found
    bridges: tuple[tuple[Bridge, str, str], ...]
    """Each with the titles at its ends."""
    all_bridges: int
    whole: Shown | None = None
    """The one memory that was asked for by its id."""
    offset: int = 0
    """Where to begin in its text: it was asked for before, and did not fit into one answer."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why things were shown: recalls, newest first, as they were logged."""

    recalls: tuple[Mapping[str, Json], ...]
    memory: str = ""
    now: tuple[tuple[str, float], ...] = ()
    """How useful that memory has proved by now, and what that is made of."""
    quiet: bool = False
    """It is no longer shown unasked."""


@dataclass(frozen=True, slots=True)
class Done:
    """A write, done or (dry run) only shown."""

    summary: str
    plan: Plan
    scope: Scope
    change: str | None
    dry_run: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    entries: tuple[tuple[Scope, Entry], ...]


@dataclass(frozen=True, slots=True)
class Embedding:
    """How far the vectors are."""

    setting: str
    model: str
    """Its id; empty where it cannot be used, and `problem` says why."""
    passages: int = 0
    vectors: int = 0
    """By this model."""
    others: int = 0
    """By models that were in use before; they go once every passage has its own."""
    problem: str = ""

    @property
    def waiting(self) -> int:
        return max(0, self.passages - self.vectors)


@dataclass(frozen=True, slots=True)
class Overview:
    version: str
    home: str
    project: str | None
    root: str | None
    stores: tuple[tuple[Scope, str, Counts], ...]
    backups: int
    set_aside: tuple[str, ...]
    problems: int
    captured: Mapping[str, int] = field(default_factory=dict)
    """Of the prompts heard here: how many were stored, put into the inbox, dropped and why."""
    quiet: int = 0
    """Memories that never helped and are no longer shown unasked."""
    mirrors: Mapping[str, str] = field(default_factory=dict)
    """Of each thing that is written where agents read by themselves: whether it is on, and when it was written."""
    focus: tuple[Mapping[str, Json], ...] = ()
    llm: Mapping[str, Json] = field(default_factory=dict)
    """Language models: whether they may be asked, what they cost today, and what they may cost."""
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    stores: tuple[tuple[Scope, str, tuple[Finding, ...]], ...]

    @property
    def clean(self) -> bool:
        return not any(findings for _, _, findings in self.stores)


class Mark(StrEnum):
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    mark: Mark
    detail: str
    repair: str = ""
    """The command that mends it."""


@dataclass(frozen=True, slots=True)
class Checkup:
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        return all(check.mark is not Mark.BAD for check in self.checks)


@dataclass(frozen=True, slots=True)
class SettingLine:
    name: str
    value: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Configured:
    settings: tuple[SettingLine, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggested:
    """What might be done, as an agent reads it; the first of each, and how many there are."""

    merges: tuple[Mapping[str, Json], ...]
    splits: tuple[Mapping[str, Json], ...]
    hints: tuple[Mapping[str, Json], ...]
    health: Mapping[str, Json]
    totals: Mapping[str, int]
    dry_run: bool
    applied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compacted:
    strategy: str
    dry_run: bool
    actions: tuple[Mapping[str, Json], ...]
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    """In a dry run: what would be."""
    scope: Scope
    change: str | None
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        said = "Dry run: nothing was written." if self.dry_run else "Compaction complete."
        return f"{said} {self.before['active_threads']} \u2192 {self.after['active_threads']} active threads."


@dataclass(frozen=True, slots=True)
class Told:
    summary: str
    facts: Mapping[str, Json]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the demo: why, the command a person would type, and what it answered."""

    why: str
    command: str
    result: Result


@dataclass(frozen=True, slots=True)
class Tour:
    steps: tuple[Step, ...]


Result = (
    Cards | Shown | Found | Recalled | Reasons | Done | History | Overview
    | Suggested | Compacted | Verified | Checkup | Configured | Told | Tour
)  # fmt: skip

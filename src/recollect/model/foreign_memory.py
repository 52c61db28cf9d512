"""What another program remembered, on its way into ours."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.model.memory import Kind, Lane, RuleType


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    key: str  # what it is called where it comes from; the same each time it is read
    title: str
    body: str
    kind: Kind = Kind.THREAD
    lane: Lane = Lane.AGENT
    rule_type: RuleType = RuleType.PREFERENCE
    topics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    at: Moment | None = None
    project: str = ""  # whose it is there, as that program spells it; empty where it is everybody's
    junk: str = ""  # why it is not worth having, where its own program says so


@dataclass(frozen=True, slots=True)
class ForeignLink:
    """How two of them hang together, by their keys."""

    source: str
    target: str
    word: str

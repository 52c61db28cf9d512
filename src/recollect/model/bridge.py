"""A typed, weighted link between two memories of one store."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment


class BridgeType(StrEnum):
    EXTENDS = "EXTENDS"
    CONTRADICTS = "CONTRADICTS"
    DEPENDS = "DEPENDS"
    REPLACES = "REPLACES"
    CHILD_OF = "CHILD_OF"
    SIBLING = "SIBLING"


@dataclass(frozen=True, slots=True)
class Bridge:
    source: str
    target: str
    type: BridgeType
    weight: float
    created_at: Moment
    origin: str = "user"

    @property
    def key(self) -> tuple[str, str, str]:
        """At most one bridge of a type from one memory to another."""
        return (self.source, self.target, self.type)

"""What a write will do, as a value.

Every change holds what was before and what comes after, so a plan can be shown without being run
(dry run), checked against the state it was made from (Conflict when that has moved on), journalled,
and turned round (undo). Applying it a second time changes nothing. A plan touches one store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recollect.model.bridge import Bridge
from recollect.model.codec import Json, encode_memory
from recollect.model.memory import Memory, Message

Fields = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Create:
    memory: Memory
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Remove:
    memory: Memory
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """Only the fields that differ, in their JSON form."""

    id: str
    before: Fields
    after: Fields

    @classmethod
    def between(cls, old: Memory, new: Memory) -> Update:
        before, after = encode_memory(old), encode_memory(new)
        changed = [name for name in after if before[name] != after[name]]
        return cls(old.id, {n: before[n] for n in changed}, {n: after[n] for n in changed})


@dataclass(frozen=True, slots=True)
class Move:
    """Messages change thread."""

    message_ids: tuple[str, ...]
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Say:
    """A thread goes on: messages are added to it."""

    thread_id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Unsay:
    thread_id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Link:
    bridge: Bridge


@dataclass(frozen=True, slots=True)
class Unlink:
    bridge: Bridge


@dataclass(frozen=True, slots=True)
class Alias:
    """From now on `old` answers as `new`: a merged memory is found under both ids."""

    old: str
    new: str
    was: str = ""
    """What it answered as until now, where that was already another."""


@dataclass(frozen=True, slots=True)
class Unalias:
    old: str
    new: str


Change = Create | Remove | Update | Move | Say | Unsay | Link | Unlink | Alias | Unalias


@dataclass(frozen=True, slots=True)
class Plan:
    changes: tuple[Change, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Plan:
        """Without the updates that would change nothing."""
        return cls(tuple([c for c in changes if not (isinstance(c, Update) and not c.after)]))

    @classmethod
    def empty(cls) -> Plan:
        return cls()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def touched(self) -> tuple[str, ...]:
        """The memories it speaks of, each once, in order."""
        return tuple(dict.fromkeys(id for change in self.changes for id in ids_of(change)))


def ids_of(change: Change) -> tuple[str, ...]:
    match change:
        case Create(memory) | Remove(memory):
            return (memory.id,)
        case Update(id) | Say(id) | Unsay(id):
            return (id,)
        case Move(_, source, target):
            return (source, target)
        case Link(bridge) | Unlink(bridge):
            return (bridge.source, bridge.target)
        case Alias(old, new) | Unalias(old, new):
            return (old, new)

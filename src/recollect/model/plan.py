"""What a write will do, as a value.

Every change holds what was before and what comes after, so a plan can be shown without being run
(dry run), checked against the state it was made from (Conflict when that has moved on), journalled,
and turned round (undo). Applying it a second time changes nothing. A plan touches one store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recollect.model.codec import FIELDS_OF, Json, encode, encode_field
from recollect.model.memory import Bridge, Memory, Message

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
        names = [one.name for one in FIELDS_OF[old.kind] if getattr(old, one.name) != getattr(new, one.name)]
        return cls(old.id, {n: encode_field(old, n) for n in names}, {n: encode_field(new, n) for n in names})


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
    was: str = ""  # what it answered as until now, where that was already another


@dataclass(frozen=True, slots=True)
class Unalias:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A note's file is made, changed, moved or removed. Only the part of its text that differs is held. The file is the
    truth for what a note says, so the change is made only where the file is what the plan was made from."""

    id: str  # the note
    old_path: str  # in the vault; empty: there was no file
    new_path: str  # empty: there is none afterwards
    old_hash: str
    new_hash: str
    at: int  # where the texts begin to differ
    old: str
    new: str
    is_kept: bool = True  # False: the texts hold a secret and are not journalled, so there is no way back

    @classmethod
    def between(cls, id: str, old_path: str, old: str, new_path: str, new: str) -> FileChange:
        most = min(len(old), len(new))
        at = next((n for n in range(most) if old[n] != new[n]), most)
        tail = next((n for n in range(most - at) if old[-1 - n] != new[-1 - n]), most - at)
        hashes = (text_hash(old) if old_path else "", text_hash(new) if new_path else "")
        return cls(id, old_path, new_path, *hashes, at, old[at : len(old) - tail], new[at : len(new) - tail])

    def inverse(self) -> FileChange:
        return FileChange(
            self.id, self.new_path, self.old_path, self.new_hash, self.old_hash, self.at, self.new, self.old
        )

    def apply(self, text: str) -> str:
        return text[: self.at] + self.new + text[self.at + len(self.old) :]


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


Change = Create | Remove | Update | Move | Say | Unsay | Link | Unlink | Alias | Unalias | FileChange


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

    @property
    def files(self) -> tuple[FileChange, ...]:
        return tuple(change for change in self.changes if isinstance(change, FileChange))

    def touched(self) -> tuple[str, ...]:
        """The memories it speaks of, each once, in order."""
        return tuple(dict.fromkeys(id for change in self.changes for id in ids_of(change)))


def ids_of(change: Change) -> tuple[str, ...]:
    match change:
        case Create(memory) | Remove(memory):
            return (memory.id,)
        case Update(id) | Say(id) | Unsay(id) | FileChange(id):
            return (id,)
        case Move(_, source, target):
            return (source, target)
        case Link(bridge) | Unlink(bridge):
            return (bridge.source, bridge.target)
        case Alias(old, new) | Unalias(old, new):
            return (old, new)


def verb_of(change: Change) -> str:
    """What it is called in the journal and in JSON."""
    return "file" if isinstance(change, FileChange) else type(change).__name__.lower()


def change_json(change: Change) -> dict[str, Json]:
    """As a person reads it: how many messages, not which."""
    said: dict[str, Json]
    match change:
        case Create(memory, messages) | Remove(memory, messages):
            said = {"id": memory.id, "title": memory.title, "messages": len(messages)}
        case Say(id, messages) | Unsay(id, messages):
            said = {"id": id, "messages": len(messages)}
        case Move(message_ids, source, target):
            said = {"messages": len(message_ids), "source": source, "target": target}
        case Link(bridge) | Unlink(bridge):
            said = encode(bridge)
        case Alias(old, new):
            said = {"old": old, "new": new}
        case FileChange(id, old_path, new_path):
            said = {"id": id, "old_path": old_path, "new_path": new_path}
        case Update() | Unalias():
            said = encode(change)
    return {"do": verb_of(change), **said}

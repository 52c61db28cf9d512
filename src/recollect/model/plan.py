"""What a write will do, as a value. Every change holds what was before and what comes after, so a plan can be shown
without being run, checked against the state it was made from, journalled and turned round (undo). Applying it a second
time changes nothing. A plan touches one store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from recollect.base.structs import Struct, fields
from recollect.model.codec import FIELDS_OF, Json, decode, encode, encode_field
from recollect.model.memory import Bridge, Memory, Message

Fields = Mapping[str, Json]


class Create(Struct):
    memory: Memory
    messages: tuple[Message, ...] = ()


class Remove(Struct):
    memory: Memory
    messages: tuple[Message, ...] = ()


class Update(Struct):  # a memory changes: only the fields that differ, in their JSON form
    id: str
    before: Fields
    after: Fields

    @classmethod
    def between(cls, old: Memory, new: Memory) -> Update:
        names = [
            one.name
            for one in FIELDS_OF[old.kind]
            if getattr(old, one.name) != getattr(new, one.name)
        ]
        return cls(
            old.id,
            {n: encode_field(old, n) for n in names},
            {n: encode_field(new, n) for n in names},
        )


class UpdateAll(Struct):  # many memories change alike: a compaction archives a hundred thousand
    ids: tuple[str, ...]
    before: Fields
    after: Fields


class Move(Struct):  # messages change thread
    ids: tuple[str, ...]
    source: str
    target: str


class Say(Struct):  # a thread grows: messages are added to it
    id: str
    messages: tuple[Message, ...]


class Unsay(Struct):
    id: str
    messages: tuple[Message, ...]


class Link(Struct):
    bridge: Bridge


class Unlink(Struct):
    bridge: Bridge


class Alias(Struct):  # from now on `old` answers as `new`: a merged memory is found under both ids
    old: str
    new: str
    was: str = ""  # what it answered as until now, where that was already another


class Unalias(Struct):
    old: str
    new: str


class FileChange(Struct):
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
    is_kept: bool = (
        True  # False: the texts hold a secret and are not journalled, so there is no way back
    )

    @classmethod
    def between(cls, id: str, old_path: str, old: str, new_path: str, new: str) -> FileChange:
        most = min(len(old), len(new))
        at = next((n for n in range(most) if old[n] != new[n]), most)
        tail = next((n for n in range(most - at) if old[-1 - n] != new[-1 - n]), most - at)
        hashes = (text_hash(old) if old_path else "", text_hash(new) if new_path else "")
        return cls(
            id,
            old_path,
            new_path,
            *hashes,
            at,
            old[at : len(old) - tail],
            new[at : len(new) - tail],
        )

    def inverse(self) -> FileChange:
        paths_and_hashes = (self.new_path, self.old_path, self.new_hash, self.old_hash)
        return FileChange(self.id, *paths_and_hashes, self.at, self.new, self.old)

    def apply(self, text: str) -> str:
        return text[: self.at] + self.new + text[self.at + len(self.old) :]


def text_hash(text: str) -> str:
    import hashlib  # a first prompt needs none

    return hashlib.sha256(text.encode()).hexdigest()


Change = (
    Create
    | Remove
    | Update
    | UpdateAll
    | Move
    | Say
    | Unsay
    | Link
    | Unlink
    | Alias
    | Unalias
    | FileChange
)


class Plan(Struct):
    changes: tuple[Change, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Plan:
        """The plan without updates that would change nothing."""
        return cls(tuple([c for c in changes if not (isinstance(c, Update) and not c.after)]))

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def files(self) -> tuple[FileChange, ...]:
        return tuple(change for change in self.changes if isinstance(change, FileChange))

    def touched(self) -> tuple[str, ...]:
        """The memories it speaks of, each once, in order."""
        return tuple(dict.fromkeys(id for change in self.changes for id in ids_of(change)))


_OPPOSITES: dict[Any, Any] = {
    Create: Remove,
    Remove: Create,
    Say: Unsay,
    Unsay: Say,
    Link: Unlink,
    Unlink: Link,
}
_KINDS = {
    "file" if kind is FileChange else kind.__name__.lower(): kind for kind in get_args(Change)
}
VERBS: dict[type[Change], str] = {
    kind: verb for verb, kind in _KINDS.items()
}  # in the journal and in JSON


def change_of(data: Mapping[str, Any]) -> Change:
    change: Change = decode(
        _KINDS[data["do"]], {name: value for name, value in data.items() if name != "do"}
    )
    return change


def inverse(change: Change) -> Change:
    match change:
        case Update(id, before, after):
            return Update(id, after, before)
        case UpdateAll(ids, before, after):
            return UpdateAll(ids, after, before)
        case Move(ids, source, target):
            return Move(ids, target, source)
        case Alias(old, new, was):
            return Alias(old, was, was=new) if was else Unalias(old, new)
        case Unalias(old, new):
            return Alias(old, new)
        case FileChange():
            return change.inverse()
        case _:
            undo: Change = _OPPOSITES[type(change)](
                *(getattr(change, field.name) for field in fields(change))
            )
            return undo


def ids_of(change: Change) -> tuple[str, ...]:
    match change:
        case Create(memory) | Remove(memory):
            return (memory.id,)
        case Update(id) | Say(id) | Unsay(id) | FileChange(id):
            return (id,)
        case UpdateAll(ids):
            return ids
        case Move(_, one, other) | Alias(one, other) | Unalias(one, other):
            return (one, other)
        case Link(bridge) | Unlink(bridge):
            return (bridge.source, bridge.target)


def change_json(change: Change) -> dict[str, Json]:
    """The change as a person reads it: how many messages, not which."""
    data: dict[str, Json]
    match change:
        case Create(memory, messages) | Remove(memory, messages):
            data = {"id": memory.id, "title": memory.title, "messages": len(messages)}
        case Say(id, messages) | Unsay(id, messages):
            data = {"id": id, "messages": len(messages)}
        case Move(ids, source, target):
            data = {"messages": len(ids), "source": source, "target": target}
        case Link(bridge) | Unlink(bridge):
            data = encode(bridge)
        case Alias(old, new):
            data = {"old": old, "new": new}
        case FileChange(id, old_path, new_path):
            data = {"id": id, "old_path": old_path, "new_path": new_path}
        case Update() | UpdateAll() | Unalias():
            data = encode(change)
    return {"do": VERBS[type(change)], **data}

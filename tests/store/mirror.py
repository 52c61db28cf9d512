"""A store of plain dictionaries: what the changes of a plan mean, without SQL, an index or a journal."""

from __future__ import annotations

from dataclasses import replace

from recollect.model.bridge import Bridge
from recollect.model.codec import decode_memory, encode_memory
from recollect.model.memory import Memory, Message
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update
from recollect.store import Store


class Mirror:
    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.messages: dict[str, Message] = {}
        self.bridges: dict[tuple[str, str, str], Bridge] = {}
        self.aliases: dict[str, str] = {}

    def apply(self, plan: Plan) -> None:
        for change in plan.changes:
            self._do(change)

    def _do(self, change: Change) -> None:
        match change:
            case Create(memory, messages):
                assert memory.id not in self.memories
                self.memories[memory.id] = memory
                self.messages |= {m.id: m for m in messages}
            case Remove(memory, messages):
                del self.memories[memory.id]
                for message in messages:
                    del self.messages[message.id]
            case Update(id, _, after):
                self.memories[id] = decode_memory(encode_memory(self.memories[id]) | dict(after))
            case Move(message_ids, _, target):
                for id in message_ids:
                    self.messages[id] = replace(self.messages[id], thread_id=target)
            case Say(_, messages):
                assert self.messages.keys().isdisjoint(m.id for m in messages)
                self.messages |= {m.id: m for m in messages}
            case Unsay(_, messages):
                for message in messages:
                    del self.messages[message.id]
            case Link(bridge):
                assert bridge.key not in self.bridges
                self.bridges[bridge.key] = bridge
            case Unlink(bridge):
                del self.bridges[bridge.key]
            case Alias(old, new):
                self.aliases[old] = new
            case Unalias(old, _):
                del self.aliases[old]

    def said(self, thread_id: str) -> tuple[Message, ...]:
        own = [m for m in self.messages.values() if m.thread_id == thread_id]
        return tuple(sorted(own, key=lambda m: (m.at, m.id)))

    def check_same(self, store: Store) -> None:
        everything = {memory.id: (memory, said) for memory, said in store.each()}
        assert everything == {id: (memory, self.said(id)) for id, memory in self.memories.items()}
        assert {b.key: b for b in store.bridges()} == self.bridges
        assert {old: new for new in self.memories for old in store.aliases(new)} == self.aliases
        for old, new in self.aliases.items():
            assert store.get(old) == self.memories[new]

"""All that can be seen of a store, as one value: two stores in the same state are equal."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.model.memory import Bridge, Memory, Message
from recollect.model.query import Query
from recollect.store import Store
from tests.store.asking import search

QUESTIONS = ("dark", "solana validators", "billing", "日本", "getUserName", "tabs", "about")


@dataclass(frozen=True)
class State:
    memories: dict[str, Memory]
    messages: dict[str, tuple[Message, ...]]
    bridges: frozenset[Bridge]
    aliases: dict[str, tuple[str, ...]]
    found: dict[str, dict[str, tuple[float, str]]]


def state(store: Store) -> State:
    everything = list(store.each())
    return State(
        memories={memory.id: memory for memory, _ in everything},
        messages={memory.id: said for memory, said in everything},
        bridges=frozenset(store.bridges()),
        aliases={memory.id: store.aliases(memory.id) for memory, _ in everything},
        found={
            asked: {hit.memory.id: (round(hit.score, 12), hit.passage) for hit in search(store, Query(text=asked))}
            for asked in QUESTIONS
        },
    )

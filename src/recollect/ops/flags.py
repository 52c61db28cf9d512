"""Memories that a review found out of date, by id and a hash of what they said then: once that changes, or the memory
is put away, the flag is gone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.model.codec import content_hash
from recollect.model.memory import Memory, Status

if TYPE_CHECKING:
    from recollect.store import Store

_NAME = "flagged"


def put(store: Store, memory: Memory) -> None:
    with store.together():
        _write(store, {**_read(store), memory.id: content_hash(memory)})


def standing(store: Store) -> frozenset[str]:
    return frozenset(id for id, hash in _read(store).items() if _stands(store, id, hash))


def forget(store: Store, ids: Iterable[str]) -> None:
    """Of memories that are erased."""
    gone = set(ids)
    with store.together():
        held = _read(store)
        if gone & held.keys():
            _write(store, {id: hash for id, hash in held.items() if id not in gone})


def _read(store: Store) -> dict[str, str]:
    try:
        held = json.loads(store.sessions.state(_NAME) or "{}")
    except ValueError:
        return {}
    return {str(id): str(hash) for id, hash in held.items()} if isinstance(held, dict) else {}


def _write(store: Store, flags: dict[str, str]) -> None:
    kept = {id: hash for id, hash in flags.items() if _stands(store, id, hash)}
    store.sessions.put_state(_NAME, json.dumps(kept))


def _stands(store: Store, id: str, hash: str) -> bool:
    memory = store.exact(id)
    return memory is not None and memory.status is Status.ACTIVE and content_hash(memory) == hash

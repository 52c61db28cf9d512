"""What was done, as rows: plans in their journalled form, and the plan that takes a change back.

A created memory is journalled by its id and content hash alone (it stands in the store); a removed one
with everything it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from recollect.base.errors import Conflict
from recollect.model.codec import (
    USAGE,
    Json,
    canonical,
    content_hash,
    decode_bridge,
    decode_memory,
    decode_message,
    encode_bridge,
    encode_memory,
    encode_message,
)
from recollect.model.memory import Memory, Message
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update

Current = Callable[[str], tuple[Memory, tuple[Message, ...]] | None]


def encode_plan(plan: Plan) -> str:
    return canonical([_encode(change) for change in plan.changes])


def _encode(change: Change) -> Json:
    match change:
        case Create(memory, messages):
            ids: list[Json] = [m.id for m in messages]
            return {"do": "create", "id": memory.id, "hash": content_hash(memory), "messages": ids}
        case Remove(memory, messages):
            said: list[Json] = [encode_message(m) for m in messages]
            return {"do": "remove", "memory": encode_memory(memory), "messages": said}
        case Update(id, before, after):
            return {"do": "update", "id": id, "before": dict(before), "after": dict(after)}
        case Move(message_ids, source, target):
            return {"do": "move", "ids": list(message_ids), "source": source, "target": target}
        case Say(id, messages):
            return {"do": "say", "id": id, "messages": [m.id for m in messages]}
        case Unsay(id, messages):
            return {"do": "unsay", "id": id, "messages": [encode_message(m) for m in messages]}
        case Link(bridge):
            return {"do": "link", "bridge": encode_bridge(bridge)}
        case Unlink(bridge):
            return {"do": "unlink", "bridge": encode_bridge(bridge)}
        case Alias(old, new, was):
            return {"do": "alias", "old": old, "new": new, "was": was}
        case Unalias(old, new):
            return {"do": "unalias", "old": old, "new": new}


def runs(changes: Iterable[Any]) -> Iterator[list[Any]]:
    """Journalled changes that may be turned round together: what takes them back does not depend on one another."""
    run: list[Any] = []
    for data in changes:
        if _looks_at_state(data):
            yield run
            yield [data]
            run = []
        else:
            run.append(data)
    yield run


def _looks_at_state(data: Any) -> bool:
    return data["do"] in ("create", "say") or (data["do"] == "update" and not USAGE.isdisjoint(data["after"]))


def inverse(data: Any, current: Current) -> Change:
    """What takes one journalled change back, given the state as it stands at that step."""
    match data["do"]:
        case "create":
            return _take_back(data, current)
        case "remove":
            return Create(decode_memory(data["memory"]), tuple(decode_message(m) for m in data["messages"]))
        case "update":
            return _take_back_update(data, current)
        case "move":
            return Move(tuple(data["ids"]), data["target"], data["source"])
        case "say":
            return _take_back_said(data, current)
        case "unsay":
            return Say(data["id"], tuple(decode_message(m) for m in data["messages"]))
        case "link":
            return Unlink(decode_bridge(data["bridge"]))
        case "unlink":
            return Link(decode_bridge(data["bridge"]))
        case "alias":
            if data["was"]:
                return Alias(data["old"], data["was"], was=data["new"])
            return Unalias(data["old"], data["new"])
        case "unalias":
            return Alias(data["old"], data["new"])
        case other:
            raise Conflict(f"The journal holds a change of an unknown kind: {other!r}.", hint="Nothing was written.")


def _take_back_update(data: Any, current: Current) -> Update:
    """What is counted as memories are used has perhaps gone on counting, which is no reason to refuse: it stays."""
    if not _looks_at_state(data):
        return Update(data["id"], data["after"], data["before"])
    found = current(data["id"])
    standing = encode_memory(found[0]) if found else {}
    gone_on = {name for name in USAGE & data["after"].keys() if standing.get(name) != data["after"][name]}
    kept = data["after"].keys() - gone_on
    return Update(data["id"], {n: data["after"][n] for n in kept}, {n: data["before"][n] for n in kept})


def _take_back(data: Any, current: Current) -> Remove:
    """A memory goes only as it came: with other words or other messages, something later stands on it."""
    found = current(data["id"])
    if found is None:
        raise Conflict(f"{data['id']} is no longer there.", hint="Nothing was written.")
    memory, messages = found
    if content_hash(memory) != data["hash"] or [m.id for m in messages] != data["messages"]:
        raise Conflict(
            f"{data['id']} has changed since.",
            hint=f"Undo what came later first: `recollect log {data['id']}`.",
        )
    return Remove(memory, messages)


def _take_back_said(data: Any, current: Current) -> Unsay:
    found = current(data["id"])
    standing = {m.id: m for m in found[1]} if found else {}
    if not standing.keys() >= set(data["messages"]):
        raise Conflict(
            f"{data['id']} no longer has what was added to it.",
            hint=f"Undo what came later first: `recollect log {data['id']}`.",
        )
    return Unsay(data["id"], tuple(standing[id] for id in data["messages"]))


def ids_in(changes: Any) -> set[str]:
    """The memories that journalled changes speak of."""
    found: set[str] = set()
    for data in changes:
        match data["do"]:
            case "create" | "update" | "say" | "unsay":
                found.add(data["id"])
            case "remove":
                found.add(data["memory"]["id"])
            case "move":
                found |= {data["source"], data["target"]}
            case "link" | "unlink":
                found |= {data["bridge"]["source"], data["bridge"]["target"]}
            case _:
                found |= {data["old"], data["new"]}
    return found

"""Every value as plain JSON, and back. One shape for the database, the journal, exports and `--json`.

Decoding is strict: it is the door for imported files. It raises ValueError naming the field.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from recollect.base.moment import Moment
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.memory import KINDS, Anchor, Kind, Lane, Memory, Message, Rating, RuleType, Status

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

# Counted as memories are used, not said by anyone: they change without a new content.
USAGE = frozenset(
    """frequency last_session activations outcomes appreciation weight reinforced_at last_active_at""".split()
)


def encode_memory(memory: Memory) -> dict[str, Json]:
    shared: dict[str, Json] = {
        "kind": str(memory.kind),
        "id": memory.id,
        "title": memory.title,
        "body": memory.body,
        "topics": list(memory.topics),
        "tags": list(memory.tags),
        "status": str(memory.status),
        "weight": memory.weight,
        "pinned": memory.pinned,
        "boost": memory.boost,
        "seen": memory.seen,
        "frequency": memory.frequency,
        "last_session": memory.last_session,
        "activations": memory.activations,
        "ratings": [{"useful": r.useful, "timestamp": r.at.iso(), "reason": r.reason} for r in memory.ratings],
        "outcomes": memory.outcomes,
        "appreciation": memory.appreciation,
        "origin": memory.origin,
        "lane": str(memory.lane),
        "superseded_by": memory.superseded_by,
        "group": memory.group,
        "anchors": [{"path": a.path, "hash": a.hash} for a in memory.anchors],
        "created_at": memory.created_at.iso(),
        "reinforced_at": memory.reinforced_at.iso(),
        "last_active_at": memory.last_active_at.iso(),
    }
    own = {name: getattr(memory, name) for name in _OWN[memory.kind]}
    return shared | {name: list(v) if isinstance(v, tuple) else str(v) for name, v in own.items()}


def decode_memory(data: Mapping[str, Any]) -> Memory:
    kind = _take(data, "kind", Kind)
    known = _SHARED | _OWN[kind]
    unknown = sorted(set(data) - set(known) - {"kind"})
    if unknown:
        raise ValueError(f"{unknown[0]}: no such field of a {kind}")
    read: dict[str, Any] = {name: _take(data, name, parse) for name, parse in known.items() if name in data}
    for name in ("id", "title", "body", "created_at"):
        if name not in read:
            raise ValueError(f"{name}: missing")
    read.setdefault("reinforced_at", read["created_at"])
    read.setdefault("last_active_at", read["reinforced_at"])
    return KINDS[kind](**read)


def check_field(name: str, value: Json) -> None:
    """ValueError where no memory could have it."""
    _take({name: value}, name, _SHARED[name])


def encode_message(message: Message) -> dict[str, Json]:
    return {
        "id": message.id,
        "thread_id": message.thread_id,
        "at": message.at.iso(),
        "source": message.source,
        "content": message.content,
    }


def decode_message(data: Mapping[str, Any]) -> Message:
    return Message(
        id=_take(data, "id", _text),
        thread_id=_take(data, "thread_id", _text),
        at=_take(data, "at", _moment),
        source=_take(data, "source", _text),
        content=_take(data, "content", _text),
    )


def encode_bridge(bridge: Bridge) -> dict[str, Json]:
    return {
        "source": bridge.source,
        "target": bridge.target,
        "type": str(bridge.type),
        "weight": bridge.weight,
        "created_at": bridge.created_at.iso(),
        "origin": bridge.origin,
    }


def decode_bridge(data: Mapping[str, Any]) -> Bridge:
    return Bridge(
        source=_take(data, "source", _text),
        target=_take(data, "target", _text),
        type=_take(data, "type", BridgeType),
        weight=_take(data, "weight", _figure),
        created_at=_take(data, "created_at", _moment),
        origin=_take(data, "origin", _text),
    )


def canonical(value: Json) -> str:
    """One spelling for one value: what hashes are made of."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def content_hash(memory: Memory) -> str:
    """What was said, apart from how often it was used."""
    said = {name: value for name, value in encode_memory(memory).items() if name not in USAGE}
    return hashlib.blake2b(canonical(said).encode(), digest_size=16).hexdigest()


def _take(data: Mapping[str, Any], name: str, parse: Callable[[Any], Any]) -> Any:
    if name not in data:
        raise ValueError(f"{name}: missing")
    try:
        return parse(data[name])
    except (ValueError, TypeError, OverflowError, KeyError) as problem:
        raise ValueError(f"{name}: {problem}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is wanted, not {type(value).__name__}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is wanted, not {value!r}")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise ValueError(f"a whole number from 0 is wanted, not {value!r}")
    return value


def _figure(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"a finite number is wanted, not {value!r}")
    return float(value)


def _moment(value: Any) -> Moment:
    moment = Moment.parse(_text(value))
    moment.iso()  # an offset can push the last day of the calendar past its end
    return moment


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(v) for v in _list(value))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"a list is wanted, not {type(value).__name__}")
    return value


def _ratings(value: Any) -> tuple[Rating, ...]:
    return tuple(
        Rating(
            useful=_take(r, "useful", _flag),
            at=_take(r, "timestamp", _moment),
            reason=_take(r, "reason", _optional_text),
        )
        for r in _list(value)
    )


def _outcomes(value: Any) -> str:
    if set(_text(value)) - {"+", "-"}:
        raise ValueError(f"only + and - are wanted, not {value!r}")
    return str(value)


def _anchors(value: Any) -> tuple[Anchor, ...]:
    return tuple(Anchor(_take(a, "path", _text), _take(a, "hash", _text)) for a in _list(value))


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)


_SHARED: dict[str, Callable[[Any], Any]] = {
    "id": _text,
    "title": _text,
    "body": _text,
    "topics": _texts,
    "tags": _texts,
    "status": Status,
    "weight": _figure,
    "pinned": _flag,
    "boost": _figure,
    "seen": _count,
    "frequency": _count,
    "last_session": _count,
    "activations": _count,
    "ratings": _ratings,
    "outcomes": _outcomes,
    "appreciation": _figure,
    "origin": _text,
    "lane": Lane,
    "superseded_by": _optional_text,
    "group": _text,
    "anchors": _anchors,
    "created_at": _moment,
    "reinforced_at": _moment,
    "last_active_at": _moment,
}
_OWN: dict[Kind, dict[str, Callable[[Any], Any]]] = {
    Kind.THREAD: {"drift": _texts},
    Kind.RULE: {"rule_type": RuleType},
    Kind.NOTE: {"path": _text},
}

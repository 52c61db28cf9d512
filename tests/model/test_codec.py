"""Every value as JSON and back, and what the door refuses."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from recollect.base.moment import Moment
from recollect.model.codec import USAGE, canonical, content_hash, decode, decode_memory, encode
from recollect.model.memory import Bridge, Memory, Message
from tests.model import strategies
from tests.values import bridge, messages, note, rule, thread


@given(strategies.memories)
def test_a_memory_comes_back_from_json_as_it_went(memory: Memory) -> None:
    assert decode_memory(json.loads(json.dumps(encode(memory)))) == memory


@given(strategies.messages | strategies.bridges)
def test_a_message_and_a_bridge_come_back_from_json_as_they_went(value: Message | Bridge) -> None:
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


@given(strategies.memories)
def test_the_order_of_fields_changes_no_spelling(memory: Memory) -> None:
    data = encode(memory)
    assert canonical(data) == canonical(dict(reversed(data.items())))


MEMORY_WRONGS: list[tuple[str, Any]] = [
    ("kind", "threads"), ("kind", 1), ("kind", None), ("kind", []),
    ("id", 7), ("title", None), ("title", ["a"]), ("body", {"a": 1}), ("body", True),
    ("topics", "a,b"), ("topics", [1]), ("topics", {"a": 1}), ("topics", None), ("tags", [None]),
    ("status", "asleep"), ("status", 1), ("lane", "root"), ("lane", None),
    ("weight", math.nan), ("weight", math.inf), ("weight", -math.inf),
    ("weight", "1"), ("weight", True), ("weight", None),
    ("weight", 10**400), ("boost", False), ("boost", [0.1]),
    ("pinned", 1), ("pinned", "true"), ("pinned", None),
    ("seen", True), ("seen", 1.0), ("seen", -1), ("seen", "1"), ("seen", 2**53), ("frequency", math.nan),
    ("ratings", {}), ("ratings", [1]), ("ratings", ["useful"]), ("ratings", [{}]),
    ("ratings", [{"useful": 1, "timestamp": "2026-02-01T00:00:00Z", "reason": None}]),
    ("ratings", [{"useful": True, "timestamp": "soon", "reason": None}]),
    ("anchors", [{"hash": "a"}]), ("anchors", [{"path": 1, "hash": ""}]), ("anchors", [[]]),
    ("superseded_by", 0), ("superseded_by", False), ("group", None), ("origin", 1),
    ("created_at", 0), ("created_at", ""), ("created_at", "yesterday"), ("created_at", "2026-13-01T00:00:00Z"),
    ("created_at", None), ("created_at", "9999-12-31T23:59:59-12:00"), ("created_at", "0001-01-01T00:00:00+12:00"),
    ("reinforced_at", []), ("last_active_at", 1.5), ("drift", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), MEMORY_WRONGS)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(field: str, value: Any) -> None:
    data: dict[str, Any] = encode(thread("release")) | {field: value}
    with pytest.raises(ValueError, match=f"^{field}: "):
        decode_memory(data)


@pytest.mark.parametrize("field", ["id", "title", "body", "created_at", "kind"])
def test_a_missing_field_is_named(field: str) -> None:
    data = encode(thread("release"))
    del data[field]
    with pytest.raises(ValueError, match=f"^{field}: missing$"):
        decode_memory(data)


@pytest.mark.parametrize(
    ("memory", "foreign"),
    [(thread("a"), "rule_type"), (rule("a"), "drift"), (note("a"), "drift"), (thread("a"), "hash"), (rule("a"), "")],
)
def test_a_field_of_another_kind_is_refused_by_name(memory: Memory, foreign: str) -> None:
    data: dict[str, Any] = encode(memory) | {foreign: []}
    with pytest.raises(ValueError, match=f"^{foreign}: no such field of a {memory.kind}$"):
        decode_memory(data)


def test_what_may_be_left_out_has_a_default() -> None:
    born = "2026-02-01T08:30:00Z"
    read = decode_memory({"kind": "rule", "id": "rule_1", "title": "t", "body": "b", "created_at": born})
    assert read.reinforced_at == read.last_active_at == read.created_at == Moment.parse(born)
    assert (read.weight, read.topics, read.pinned) == (1.0, (), False)


[MESSAGE], BRIDGE = messages(thread("release"), "hello"), bridge(thread("a"), thread("b"))


WRONGS: list[tuple[Any, str, Any]] = [
    (MESSAGE, "at", 5), (MESSAGE, "content", None), (MESSAGE, "thread_id", True), (MESSAGE, "source", []),
    (MESSAGE, "id", 1), (BRIDGE, "type", "LIKES"), (BRIDGE, "weight", True), (BRIDGE, "weight", math.nan),
    (BRIDGE, "source", None), (BRIDGE, "more", 1),
]  # fmt: skip


@pytest.mark.parametrize(("built", "field", "value"), WRONGS)
def test_a_wrong_message_or_bridge_is_refused_by_the_name_of_its_field(built: Any, field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        decode(type(built), encode(built) | {field: value})


def test_a_whole_number_is_a_figure_too() -> None:
    data: dict[str, Any] = encode(thread("a")) | {"weight": 1}
    assert decode_memory(data).weight == 1.0


@given(strategies.memories)
def test_use_does_not_change_what_was_said(memory: Memory) -> None:
    used = replace(memory, frequency=1, last_session=2, activations=3, weight=0.5)
    assert content_hash(used) == content_hash(memory)


@pytest.mark.parametrize("field", ["title", "body", "id", "origin", "group"])
def test_other_words_are_another_content(field: str) -> None:
    memory = thread("release")
    other: dict[str, Any] = {field: "other"}
    assert content_hash(replace(memory, **other)) != content_hash(memory)


def test_every_counted_field_exists() -> None:
    assert set(encode(thread("a"))) >= USAGE

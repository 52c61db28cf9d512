"""Every value as JSON and back, and what is refused."""

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

[MESSAGE], BRIDGE, THREAD = messages(thread("release"), "hello"), bridge(thread("a"), thread("b")), thread("release")


@given(strategies.memories)
def test_a_memory_comes_back_from_json_as_it_went(memory: Memory):
    data = encode(memory)
    assert decode_memory(json.loads(json.dumps(data))) == memory
    assert canonical(data) == canonical(dict(reversed(data.items())))
    assert decode_memory(data | {"weight": 1}).weight == 1.0, "a whole number is a figure, too"


@given(strategies.messages | strategies.bridges)
def test_a_message_and_a_bridge_come_back_from_json_as_they_went(value: Message | Bridge):
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


WRONGS: list[tuple[str, list[Any]]] = [
    ("kind", ["threads", 1, None, []]), ("id", [7]), ("title", [None, ["a"]]), ("body", [{"a": 1}, True]),
    ("topics", ["a,b", [1], {"a": 1}, None]), ("tags", [[None]]), ("status", ["asleep", 1]), ("lane", ["root", None]),
    ("weight", [math.nan, math.inf, -math.inf, "1", True, None, 10**400]), ("boost", [False, [0.1]]),
    ("pinned", [1, "true", None]), ("seen", [True, 1.0, -1, "1", 2**53]), ("frequency", [math.nan]),
    ("ratings", [{}, [1], ["useful"], [{}], [{"useful": 1, "timestamp": "2026-02-01T00:00:00Z", "reason": None}],
                 [{"useful": True, "timestamp": "soon", "reason": None}]]),
    ("anchors", [[{"hash": "a"}], [{"path": 1, "hash": ""}], [[]]]), ("superseded_by", [0, False]), ("group", [None]),
    ("origin", [1]), ("reinforced_at", [[]]), ("last_active_at", [1.5]), ("drift", ["a"]),
    ("created_at", [0, "", "yesterday", "2026-13-01T00:00:00Z", None, "9999-12-31T23:59:59-12:00",
                    "0001-01-01T00:00:00+12:00"]),
]  # fmt: skip
OTHER_WRONGS: list[tuple[Any, str, list[Any]]] = [
    (MESSAGE, "at", [5]), (MESSAGE, "content", [None]), (MESSAGE, "thread_id", [True]), (MESSAGE, "source", [[]]),
    (MESSAGE, "id", [1]), (BRIDGE, "type", ["LIKES"]), (BRIDGE, "weight", [True, math.nan]),
    (BRIDGE, "source", [None]), (BRIDGE, "more", [1]),
]  # fmt: skip


@pytest.mark.parametrize(("built", "field", "values"), [*((THREAD, *one) for one in WRONGS), *OTHER_WRONGS])
def test_a_wrong_value_is_refused_by_the_name_of_its_field(built: Any, field: str, values: list[Any]):
    kind = Memory if built is THREAD else type(built)
    for value in values:
        with pytest.raises(ValueError, match=f"^{field}: "):
            decode(kind, encode(built) | {field: value})


@pytest.mark.parametrize("field", ["id", "title", "body", "created_at", "kind"])
def test_a_missing_field_is_named(field: str):
    data = encode(THREAD)
    del data[field]
    with pytest.raises(ValueError, match=f"^{field}: missing$"):
        decode_memory(data)


@pytest.mark.parametrize(
    ("memory", "foreign"),
    [(thread("a"), "rule_type"), (rule("a"), "drift"), (note("a"), "drift"), (thread("a"), "hash"), (rule("a"), "")],
)
def test_a_field_of_another_kind_is_refused_by_name(memory: Memory, foreign: str):
    with pytest.raises(ValueError, match=f"^{foreign}: no such field of a {memory.kind}$"):
        decode_memory(encode(memory) | {foreign: []})


def test_what_may_be_left_out_has_a_default():
    born = "2026-02-01T08:30:00Z"
    read = decode_memory({"kind": "rule", "id": "rule_1", "title": "t", "body": "b", "created_at": born})
    assert read.reinforced_at == read.last_active_at == read.created_at == Moment.parse(born)
    assert (read.weight, read.topics, read.pinned) == (1.0, (), False)


@given(strategies.memories)
def test_use_does_not_change_the_content_and_other_words_do(memory: Memory):
    used = replace(memory, frequency=1, last_session=2, activations=3, weight=0.5)
    assert content_hash(used) == content_hash(memory)
    for field in ("title", "body", "id", "origin", "group"):
        other: dict[str, Any] = {field: getattr(memory, field) + "."}
        assert content_hash(replace(memory, **other)) != content_hash(memory)
    assert set(encode(memory)) >= USAGE

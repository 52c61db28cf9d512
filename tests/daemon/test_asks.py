"""Operations by name: what is asked for is checked before anything is done."""

from __future__ import annotations

import json

import pytest

from recollect.base.errors import BadInput
from recollect.daemon import asks
from recollect.model.memory import Kind
from recollect.ops.table import OPS


def read(op: object, **values: object) -> dict[str, object]:
    return asks.read(json.dumps({"op": op, "values": values}).encode())[1]


def test_values_become_what_the_operation_takes():
    assert read("search", query=["dark", "mode"], kind="rule", limit=3) == {
        "query": ("dark", "mode"),
        "kind": Kind.RULE,
        "limit": 3,
    }
    assert read("search", query=["x"], kind=None) == {"query": ("x",), "kind": None}


@pytest.mark.parametrize(
    ("op", "values"),
    [
        ("nonsense", {}),
        (None, {}),
        (["recall"], {}),
        ("recall", {}),
        ("recall", {"query": "one word"}),
        ("recall", {"query": [1]}),
        ("recall", {"query": ["x"], "limit": "5"}),
        ("recall", {"query": ["x"], "limit": True}),
        ("recall", {"query": ["x"], "colour": "red"}),
        ("search", {"query": ["x"], "kind": "nonsense"}),
    ],
)
def test_what_cannot_be_taken_is_refused(op: object, values: dict[str, object]):
    with pytest.raises(BadInput):
        read(op, **values)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b'{"op": "recall", "values": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_question_is_refused(body: bytes):
    with pytest.raises(BadInput):
        asks.read(body)


@pytest.mark.parametrize("op", [op.name for op in OPS if op.cli_only])
def test_what_is_for_a_person_alone_is_not_offered(op: str):
    with pytest.raises(BadInput):
        read(op)

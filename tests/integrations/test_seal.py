"""A file of ours says of itself whether it is still as we wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.integrations.pieces import is_intact, seal

texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("name", ["a.md", "a.js", "a.ts"])
@given(text=texts, more=texts.filter(bool))
def test_a_seal_breaks_when_anything_is_added(name: str, text: str, more: str):
    path, whole = Path(name), seal(Path(name), text)
    assert is_intact(path, whole.encode())
    for edited in (more + whole, whole + more, text):
        assert not is_intact(path, edited.encode())


@given(st.dictionaries(texts.filter(lambda key: key != "seal"), texts | st.integers(), max_size=4), texts)
def test_a_seal_of_json_stands_in_a_field(fields: dict[str, object], more: str):
    path = Path("a.json")
    whole = json.loads(seal(path, json.dumps(fields)))

    assert is_intact(path, json.dumps(whole, indent=4).encode())
    assert not is_intact(path, json.dumps({**whole, "more": [more]}).encode())
    for broken in (b"", b"[]", b"{", b"\xff", json.dumps(fields).encode()):
        assert not is_intact(path, broken)

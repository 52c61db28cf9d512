"""A section among lines of others leaves not a byte behind; a file of ours says whether it is as we wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.integrations.pieces import is_intact, seal
from recollect.integrations.text_section import Broken, put_in, split_off

ENTRIES = ("- [Preference](ours-1.md) — one", "- [Failure](ours-2.md) — two")


def is_ours(line: str) -> bool:
    return "(ours-" in line


def with_us(own: str, entries: tuple[str, ...] = ENTRIES) -> str:
    return put_in(split_off(own, is_ours), entries)


texts = st.text(st.sampled_from("ab \n\r\t-é\u2028\ufeff😀<!>"), max_size=30)


@given(texts)
def test_what_is_put_in_comes_out_without_a_trace(own: str):
    assert split_off(with_us(own), is_ours).own == own


@given(texts, st.lists(st.sampled_from(ENTRIES), max_size=2))
def test_renewing_is_the_same_as_putting_in_for_the_first_time(own: str, entries: list[str]):
    assert with_us(with_us(own), tuple(entries)) == with_us(own, tuple(entries))


@given(texts, texts)
def test_what_is_written_behind_the_section_stays_there(own: str, behind: str):
    found = split_off(with_us(own) + behind, is_ours)
    assert found.entries == ENTRIES
    assert found.own.replace("\n", "").replace("\r", "") == (own + behind).replace("\n", "").replace("\r", "")


def test_a_line_that_others_wrote_into_the_section_is_theirs():
    text = with_us("mine\n").replace(ENTRIES[1], f"- [Note](note.md) — theirs\n{ENTRIES[1]}")
    assert split_off(text, is_ours).own == "mine\n- [Note](note.md) — theirs\n"
    assert with_us(text).endswith("<!-- recollect end -->\n- [Note](note.md) — theirs\n")


def test_lines_end_as_the_others_do():
    assert with_us("a\r\nb\r\n").count("\r\n") == 5 + len(ENTRIES)


@pytest.mark.parametrize(
    "text",
    ["<!-- recollect begin -->\n", "<!-- recollect end -->\n", "<!-- recollect end -->\n<!-- recollect begin -->\n",
     with_us("") * 2],
)  # fmt: skip
def test_half_a_section_is_nobody_s(text: str):
    with pytest.raises(Broken):
        split_off(text, is_ours)


# Files of ours

any_texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("name", ["a.md", "a.js", "a.ts"])
@given(text=any_texts, more=any_texts.filter(bool))
def test_a_seal_breaks_when_anything_is_added(name: str, text: str, more: str):
    path, whole = Path(name), seal(Path(name), text)
    assert is_intact(path, whole.encode())
    for edited in (more + whole, whole + more, text):
        assert not is_intact(path, edited.encode())


@given(st.dictionaries(any_texts.filter(lambda key: key != "seal"), any_texts | st.integers(), max_size=4), any_texts)
def test_a_seal_of_json_stands_in_a_field(fields: dict[str, object], more: str):
    path = Path("a.json")
    whole = json.loads(seal(path, json.dumps(fields)))

    assert is_intact(path, json.dumps(whole, indent=4).encode())
    assert not is_intact(path, json.dumps({**whole, "more": [more]}).encode())
    for broken in (b"", b"[]", b"{", b"\xff", json.dumps(fields).encode()):
        assert not is_intact(path, broken)

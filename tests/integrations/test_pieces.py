"""A section among lines of others leaves not a byte behind; a file of ours says whether it is as we wrote it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.files import FileSnapshot
from recollect.integrations.pieces import LeftAlone, Section, is_intact, seal

ENTRIES = ("- [Preference](ours-1.md) — one", "- [Failure](ours-2.md) — two")
INDEX = Path("MEMORY.md")
THEIRS = "- [Note](note.md) — theirs\n"


def with_us(own: str, entries: tuple[str, ...] = ENTRIES) -> str:
    index = Section(
        kind="index", path=INDEX, entries=lambda _: entries, is_entry=lambda line: "(ours-" in line
    )
    return (
        index.edit(FileSnapshot(INDEX, INDEX, own.encode()), None, wanted=True).content or b""
    ).decode()


def without_us(text: str) -> str:
    return with_us(text, ())


texts = st.text(st.sampled_from("ab \n\r\t-é\u2028\ufeff😀<!>"), max_size=30)


@given(texts, st.lists(st.sampled_from(ENTRIES), max_size=2), texts)
def test_what_is_put_in_comes_out_without_a_trace(own: str, entries: list[str], behind: str):
    assert without_us(with_us(own)) == own
    assert with_us(with_us(own), tuple(entries)) == with_us(own, tuple(entries)), (
        "renewed as if for the first time"
    )
    found = without_us(with_us(own) + behind)
    assert found.replace("\n", "").replace("\r", "") == (own + behind).replace("\n", "").replace(
        "\r", ""
    )


def test_a_line_that_others_wrote_into_the_section_is_theirs():
    text = with_us("mine\n").replace(ENTRIES[1], f"{THEIRS}{ENTRIES[1]}")
    assert without_us(text) == f"mine\n{THEIRS}"
    assert with_us(text).endswith(f"<!-- recollect end -->\n{THEIRS}")
    assert with_us("a\r\nb\r\n").count("\r\n") == 5 + len(ENTRIES), "lines end as the others do"


BEGIN, END = "<!-- recollect begin -->\n", "<!-- recollect end -->\n"


@pytest.mark.parametrize("text", [BEGIN, END, END + BEGIN, with_us("") * 2])
def test_half_a_section_is_nobody_s(text: str):
    with pytest.raises(LeftAlone):
        with_us(text)


# Files of ours

any_texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("name", ["a.md", "a.js", "a.ts"])
@given(text=any_texts, more=any_texts.filter(bool))
def test_a_seal_breaks_when_anything_is_added(name: str, text: str, more: str):
    path, whole = Path(name), seal(Path(name), text)
    assert is_intact(path, whole.encode())
    for edited in (more + whole, whole + more, text):
        assert not is_intact(path, edited.encode())


@given(
    st.dictionaries(
        any_texts.filter(lambda key: key != "seal"), any_texts | st.integers(), max_size=4
    ),
    any_texts,
)
def test_a_seal_of_json_stands_in_a_field(fields: dict[str, object], more: str):
    path = Path("a.json")
    whole = json.loads(seal(path, json.dumps(fields)))

    assert is_intact(path, json.dumps(whole, indent=4).encode())
    assert not is_intact(path, json.dumps({**whole, "more": [more]}).encode())
    for broken in (b"", b"[]", b"{", b"\xff", json.dumps(fields).encode()):
        assert not is_intact(path, broken)

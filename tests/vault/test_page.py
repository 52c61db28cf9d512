"""Notes as they are written in the world, the laws of reading and changing them, and their files."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.base.errors import BadInput, Conflict
from recollect.vault import dialects, note_folder, page
from recollect.vault.note_folder import Refusal, Vault
from tests.naughty import NAUGHTY

FRONTED = """---
title: Release checklist
status: active
tags: [deploy, "two words", ops]
group: work
# a comment of the person's own
custom:
  nested: {a: 1}
supersedes: "[[Old list]]"
---
# Not the title

Ask [[Anna]] first, then see [[runbooks/deploy|the runbook]] and [[Anna#phone]].
"""
TAGGED = """<memory-metadata>
{
  "frequency": 5,
  "last_accessed_session": 42,
  "created_session": 30,
  "appreciation": 0,
  "pinned": true
}
</memory-metadata>

<conditional>
Recall if somebody deploys.
</conditional>

<fuzzy-match>
deploy, release,  staging
</fuzzy-match>

<memory>
Deploys go through staging.
A memory may speak of its own tags:
</memory>
and go on.
</memory>
"""


def test_both_dialects_are_read():
    note = page.read(FRONTED, "lists/release.md")
    assert (note.title, note.tags) == ("Release checklist", ("deploy", "two words", "ops"))
    assert (note.group, note.superseded, note.supersedes) == ("work", False, ("Old list",))
    assert note.body.startswith("# Not the title")
    assert page.links_in(note.body) == ("Anna", "runbooks/deploy")
    assert note.problems == ()
    note = page.read(TAGGED, "memory/deploy.md")
    assert (note.title, note.pinned) == ("Recall if somebody deploys.", True)
    assert note.words == ("deploy", "release", "staging")
    assert note.body.endswith("and go on.")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("<conditional>\nWhen it rains.\n</conditional>\n<memory>\nTake a coat.\n</memory>\n", "When it rains."),
        ("<memory>\n\nTake a coat.\n</memory>\n", "Take a coat."),
        ("<memory>\n</memory>\nAfterwards.\n", "Afterwards."), ("# Coats\n\nTake one.\n", "Coats"),
        ("", "coat"), ("\n---\n\n", "coat"),
    ],
)  # fmt: skip
def test_a_note_is_titled_by_its_condition_else_its_first_line_else_its_name(text: str, title: str):
    assert page.read(text, "memory/coat.md").title == title


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("tags: [a, b]", ("a", "b")), ("tags:\n  - a\n  - 'b c'", ("a", "b c")), ("tags: a, b", ("a", "b")),
        ('tags:\n- a\n- "b \\" c"', ("a", 'b " c')), ("tags: '#a'", ("a",)), ("tags: []", ()), ("tags:", ()),
        ("tag: one # why", ("one",)), ("tags: [unclosed, b", ("unclosed", "b")), ('tags: ["a, b", c]', ("a, b", "c")),
    ],
)  # fmt: skip
def test_tags_are_read_in_every_shape_that_editors_write(line: str, value: tuple[str, ...]):
    assert page.read(f"---\n{line}\n---\nText\n", "a.md").tags == value


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_field_is_changed_and_every_other_byte_stays(newline: str, bom: str):
    text = bom + FRONTED.replace("\n", newline)
    changed = dialects.with_field(text, "status", "superseded")
    assert changed == text.replace("status: active", "status: superseded")
    assert page.read(changed, "a.md").superseded


def test_broken_front_matter_is_told_and_the_rest_is_read_and_what_never_ends_is_text():
    note = page.read(
        "---\nstatus: superseded\n}} what is this\n: : :\ntags: [a]\n---\nText\n", "a.md"
    )
    assert (note.superseded, note.tags, len(note.problems)) == (True, ("a",), 2)
    note = page.read("---\nstatus: superseded\nText\n", "a.md")
    assert (note.body, note.superseded) == ("---\nstatus: superseded\nText", False)


def test_missing_tags_are_added_and_what_a_note_says_stays_word_for_word():
    text = "<conditional>\nWhen it rains.\n</conditional>\n\nTake a coat.\r\nOr stay in."
    done = dialects.complete(text, session=7)
    assert list(dialects.find_blocks(done)) == [*dialects.BLOCKS]
    assert "Take a coat.\r\nOr stay in." in done
    assert dialects.metadata(done) == {**dialects.DEFAULTS, "created_session": 7}
    assert dialects.complete(done, session=9) == done


@pytest.mark.parametrize(
    "text",
    [
        "# Coats\n\nTake one.\n",
        "# How to\n\n```\n<memory>\nText\n</memory>\n```\n",
        "---\ntags: [a]\n---\n<memory>\nText\n</memory>\n",
        "<memory-metadata>\n{broken\n</memory-metadata>\n<memory>\nText\n</memory>\n",
        "<conditional>\nnever closed\n<memory>\nText\n</memory>\n",
        "<memory>\nnever closed\n",
    ],
)
def test_a_note_of_another_dialect_or_a_broken_one_is_never_completed(text: str):
    assert dialects.complete(text, session=1) == text


@pytest.mark.parametrize(
    "held", ['{"x": 1e999}', '{"x": NaN}', "{broken", '{"a": 1, "a": 2}', "[]"]
)
def test_metadata_that_cannot_be_written_again_is_left_alone(held: str):
    text = f"<memory-metadata>\n{held}\n</memory-metadata>\n<memory>\nText\n</memory>\n"
    assert dialects.with_metadata(text, {"frequency": 1}) == text
    assert bool(page.read(text, "a.md").problems) is (not held.startswith('{"x"'))


@pytest.mark.parametrize("held", ['"mine": "x"', '"half a character": "\\ud800"'])
def test_figures_that_metadata_lacks_are_added_and_the_others_stay(held: str):
    text = f'<memory>\nText\n</memory>\n<memory-metadata>\n{{"frequency": 4, {held}}}\n</memory-metadata>\n'
    done = dialects.complete(text, session=7)
    assert (held in done, done.count("<memory>")) == (True, 1)
    own = json.loads(f'{{"frequency": 4, {held}}}')
    assert dialects.metadata(done) == {**dialects.DEFAULTS, "created_session": 7, **own}


def test_a_file_of_nothing_but_tags_is_read_in_one_go():
    text = "<conditional>\n<fuzzy-match>\n" * 40_000
    assert page.read(text, "a.md").body == text.strip()


def test_metadata_goes_behind_front_matter():
    changed = dialects.with_metadata(
        "---\ntags: [a]\n---\n<memory>\nText\n</memory>\n", {"status": "superseded"}
    )
    assert changed.startswith("---\ntags: [a]\n---\n<memory-metadata>")


@pytest.mark.parametrize("text", [FRONTED, TAGGED, "Just text.\n"])
def test_a_superseded_note_can_be_put_in_force_again(text: str):
    gone = page.with_superseded(text, "newer")
    assert page.read(gone, "a.md").superseded
    assert page.read(gone, "a.md").body == page.read(text, "a.md").body
    assert not page.read(page.with_active(gone), "a.md").superseded
    assert page.with_active(text) == text


def test_a_new_note_reads_back_as_it_was_given():
    text = page.new_text(
        "Ask Anna.", id="note_1", title='A "title": 1', tags=("a", "b: c"), group="", created="2026-02-01",
        supersedes="old list",
    )  # fmt: skip
    read = page.Page(
        'A "title": 1', "Ask Anna.", id="note_1", tags=("a", "b: c"), supersedes=("old list",)
    )
    assert page.read(text, "x.md") == read


# Laws

WORD = st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=30)
LINE = st.one_of(
    WORD,
    st.sampled_from([
        "---", "...", "<memory>", "</memory>", "<memory-metadata>", "</memory-metadata>", "<conditional>",
        "</conditional>", "<fuzzy-match>", "</fuzzy-match>", "tags: [a", "tags:", "- x", "status: superseded",
        '{"pinned": 1}', "# h", "[[a]]", "id: \"", "a: |", "  b", "\ufeff", "",
    ]),
)  # fmt: skip
FILES = st.builds(
    lambda head, lines, newline: head + newline.join(lines),
    st.sampled_from(["", "\ufeff", "---\n", "---\r\n", "<memory>\n"]),
    st.lists(LINE, max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@given(FILES)
def test_any_file_is_read(text: str):
    note = page.read(text, "folder/a.md")
    assert note.title
    assert note.body in text


@given(FILES, st.one_of(WORD, st.lists(WORD, max_size=3).map(tuple)))
@example("---\n---\n", "\x85")
def test_a_field_that_was_set_is_read_back_and_the_text_after_it_is_the_same(
    text: str, value: dialects.Value
):
    before = dialects.find_front(text)
    changed = dialects.with_field(text, "group", value)
    after = dialects.find_front(changed)
    assert after is not None
    assert after.fields["group"].value == (
        tuple(part for part in value if part) if isinstance(value, tuple) else value
    )
    assert changed.endswith(
        text[before.after if before else (1 if text.startswith("\ufeff") else 0) :]
    )
    assert dialects.with_field(changed, "group", value) == changed


@given(FILES)
def test_completing_twice_is_completing_once(text: str):
    done = dialects.complete(text, session=1)
    assert dialects.complete(done, session=2) == done
    before, after = page.read(text, "a.md"), page.read(done, "a.md")
    assert (after.body, after.words) == (before.body, before.words)


def test_strings_that_break_programs_are_notes_too():
    for text in NAUGHTY:
        for written in (
            text,
            f"---\ntags: [{text}]\n---\n{text}",
            f"<memory>\n{text}\n</memory>\n",
        ):
            assert page.read(written, "a.md").body in written


# Files


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    base = tmp_path / "vault"
    base.mkdir()
    return Vault(base)


def test_links_are_told_and_never_followed(vault: Vault, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.md").write_text("secret")
    (vault.base / "link.md").symlink_to(tmp_path / "elsewhere" / "x.md")
    (vault.base / "folder").symlink_to(tmp_path / "elsewhere")
    (vault.base / "round").symlink_to(vault.base)
    found = note_folder.scan(vault)
    assert found.stamps == {} == note_folder.scan(Vault(tmp_path / "none")).stamps
    assert {refusal.path for refusal in found.refused} == {"link.md", "folder", "round"}
    for path in ("link.md", "folder/x.md", "round/link.md"):
        assert isinstance(note_folder.read(vault, path), Refusal)


def test_a_project_vault_that_leads_out_of_the_project_is_refused(tmp_path: Path):
    project, other = tmp_path / "project", tmp_path / "other"
    (project / ".ai").mkdir(parents=True)
    other.mkdir()
    (other / "x.md").write_text("not ours")
    (project / ".ai" / "memory").symlink_to(other)
    vault = Vault(project / ".ai", ("memory",), within=project)
    refused = [Refusal("memory", "it leads out of the project")]
    assert note_folder.scan(vault) == note_folder.Scan({}, refused)
    with pytest.raises(BadInput):
        note_folder.create(vault, "memory/x.md", "text")
    assert [one.name for one in other.iterdir()] == ["x.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_never_hangs(vault: Vault):
    os.mkfifo(vault.base / "pipe.md")
    assert note_folder.scan(vault).stamps == {}
    assert isinstance(note_folder.read(vault, "pipe.md"), Refusal)


def test_neither_a_new_nor_a_moved_note_takes_the_place_of_another(vault: Vault):
    written = "\ufeffone\r\n"
    note_folder.create(vault, "work/a.md", written)
    note_folder.create(vault, "_archive/a.md", "older")

    with pytest.raises(Conflict):
        note_folder.create(vault, "work/a.md", "two")
    with pytest.raises(Conflict):
        note_folder.move(vault, "work/a.md", "_archive/a.md")
    assert note_folder.free_path(vault, "_archive", "a.md") == "_archive/a-2.md"
    note_folder.move(vault, "work/a.md", "_archive/a-2.md")

    assert (vault.base / "_archive/a-2.md").read_bytes() == written.encode()
    assert (vault.base / "_archive/a-2.md").stat().st_mode & 0o777 == 0o600
    assert (vault.base / "_archive/a.md").read_bytes() == b"older"
    assert not (vault.base / "work/a.md").exists()


@pytest.mark.parametrize(
    "title", ["", "///", "../../etc/passwd", "con", "a" * 500, "\u00fc\u4e16\u754c" * 99, "A: b?"]
)
def test_any_title_makes_a_name_that_stays_in_its_folder(vault: Vault, title: str):
    path = note_folder.free_path(vault, "", note_folder.name_for(title))
    note_folder.create(vault, path, "x")
    assert (vault.base / path).parent == vault.base
    assert path in note_folder.scan(vault).stamps

"""Notes in `_always-load/` are told when a session starts: the user's always, a repository's once allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.base.errors import NotFound
from recollect.ops import always, notes
from recollect.ops.app import App
from tests.hooks.talk import Talk


def put(place: Path, path: str, text: str) -> None:
    target = place / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


@pytest.fixture
def shared() -> Path:
    return Path.cwd() / ".ai" / "memory"


def test_the_users_notes_are_told_whole_and_first(app: App, talk: Talk):
    put(app.home.vault, "_always-load/style.md", "# Style\n\n" + "Short sentences. " * 50 + "The end.\n")
    put(app.home.vault, "other.md", "The zebra approves.\n")

    context = talk.start().context

    lines = context.splitlines()
    assert lines[1] == "Loaded 1 always-load entries"
    assert lines[2].startswith("- [user] Style (note_")
    assert "The end." in lines[2]
    assert "zebra" not in context


def test_a_note_told_at_the_start_is_not_brought_by_a_prompt(app: App, talk: Talk):
    put(app.home.vault, "_always-load/zebra.md", "The zebra approves every release.\n")
    talk.start()

    assert "zebra" not in talk.say("who approves a release, the zebra?").context


def test_notes_are_told_again_after_compaction(app: App, talk: Talk):
    put(app.home.vault, "_always-load/zebra.md", "The zebra approves every release.\n")
    talk.start()

    heard = talk.start("compact")

    assert "The zebra approves" in heard.context
    assert heard.notice == ""


def test_a_repositorys_notes_wait_until_they_are_allowed(app: App, talk: Talk, shared: Path):
    put(shared, "_always-load/house.md", "The giraffe approves.\n")

    first = talk.start()
    assert "giraffe" not in first.context
    assert "1 note of this repository would be always loaded" in first.notice
    assert "giraffe" not in first.notice

    always.allow(app)
    second = talk.start("clear")
    assert "- [repository] house" in second.context
    assert "would be always loaded" not in second.notice


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename"])
def test_what_was_allowed_is_this_text_and_no_other(app: App, talk: Talk, shared: Path, change: str):
    put(shared, "_always-load/a.md", "The giraffe approves.\n")
    put(shared, "_always-load/b.md", "The zebra approves.\n")
    always.allow(app)

    match change:
        case "edit":
            put(shared, "_always-load/a.md", "The wolf approves.\n")
        case "add":
            put(shared, "_always-load/c.md", "The wolf approves.\n")
        case "remove":
            (shared / "_always-load/a.md").unlink()
        case _:
            (shared / "_always-load/a.md").rename(shared / "_always-load/x.md")
    heard = talk.start()

    assert "approves" not in heard.context
    assert "changed since you allowed them" in heard.notice


def test_what_was_allowed_can_be_taken_back(app: App, talk: Talk, shared: Path):
    put(shared, "_always-load/a.md", "The giraffe approves.\n")
    always.allow(app)
    always.allow(app, off=True)

    assert "giraffe" not in talk.start().context


def test_there_must_be_something_to_allow(app: App):
    with pytest.raises(NotFound):
        always.allow(app)


def test_a_tag_or_a_field_does_not_make_a_note_always_loaded(app: App, talk: Talk, shared: Path):
    put(shared, "_always-load/a.md", "The giraffe approves.\n")
    always.allow(app)
    put(shared, "sly.md", "---\nalways_load: true\ntags: [_always-load]\n---\nThe wolf approves.\n")
    put(shared, "_archive/_always-load/b.md", "The wolf approves.\n")

    context = talk.start().context

    assert "giraffe" in context
    assert "wolf" not in context


def test_a_vault_that_cannot_be_read_does_not_keep_a_session_from_starting(app: App, talk: Talk):
    notes.save(app, "The zebra approves.", title="Zebra", always=True)
    (app.home.vault / "broken.md").write_bytes(b"\xff\xfe")

    assert "zebra" in talk.start().context

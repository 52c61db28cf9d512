"""Undo of what a command did to a note brings its file back byte for byte, or says why not and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.app import note_files
from recollect.app.core import App
from recollect.base.errors import BadInput, Conflict
from recollect.model.memory import Note, Status
from recollect.model.result import Done
from recollect.ops import history, notes
from recollect.vault import tags
from tests.ops.ask import files, holding
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import all_notes, links, looked, put

TAGGED = "<memory>\r\nThe zebra.\r\n</memory>\r\n"
COMMANDS: dict[str, Callable[[App], Done]] = {
    "save": lambda app: notes.save(app, "Another.", title="Another"),
    "evolve": lambda app: notes.evolve(app, "zebra", "The giraffe."),
    "archive": lambda app: notes.archive(app, ("zebra",)),
    "restore": lambda app: notes.restore(app, ("later",)),
}
KINDS = {
    "front matter": "---\r\nstatus: draft # mine\r\ntags: [a]\r\n---\r\nThe zebra.\r\n",
    "tags": tags.complete(TAGGED, session=0),
    "bare tags": TAGGED,
    "plain": "The zebra.",
    "bom": "\ufeffThe zebra.\n",
}


def standing(app: App) -> dict[str, tuple[str, str, Status, str | None]]:
    def of(note: Note) -> tuple[str, str, Status, str | None]:
        return note.id, note.body, note.status, note.superseded_by

    return {path: of(note) for path, note in all_notes(app).items()}


def put_both(app: App, vault: Path, text: str = "The zebra.") -> None:
    put(vault, "deep/zebra.md", text)
    put(vault, "_inbox/later.md", text)
    looked(app)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_undo_puts_the_file_back_byte_for_byte_and_can_itself_be_undone(app: App, vault: Path, command: str, kind: str):
    put_both(app, vault, KINDS[kind])
    before, memories = files(vault), standing(app)

    done = COMMANDS[command](app)
    assert files(vault) != before
    notes.sync(app)
    after = files(vault), standing(app)
    undone = history.undo(app, done.change)

    assert (files(vault), standing(app)) == (before, memories)
    looked(app)
    notes.sync(app)
    assert standing(app) == memories
    history.undo(app, undone.change)
    assert (files(vault), standing(app)) == after


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_was_edited_since_stays_and_undo_says_so(app: App, vault: Path, command: str):
    put_both(app, vault)
    done = COMMANDS[command](app)
    for path in vault.rglob("*.md"):
        path.write_text("the editor's")
    before = files(vault)

    with pytest.raises(Conflict, match="changed since"):
        history.undo(app, done.change)

    assert files(vault) == before


def test_another_file_in_the_old_place_stays(app: App, vault: Path):
    put(vault, "zebra.md", "The zebra.")
    looked(app)
    done = notes.archive(app, ("zebra",))
    put(vault, "zebra.md", "another zebra")

    with pytest.raises(Conflict, match="another file"):
        history.undo(app, done.change)

    assert (vault / "zebra.md").read_text() == "another zebra"
    assert (vault / "_archive/zebra.md").read_text() == "The zebra."


@pytest.mark.parametrize("command", COMMANDS)
def test_a_process_that_ends_between_the_files_and_the_database_loses_neither(
    app: App, vault: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    put_both(app, vault)
    write = note_files.write

    def write_and_end(*given: Any) -> None:
        write(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(note_files, "write", write_and_end)
    with pytest.raises(KeyboardInterrupt):
        COMMANDS[command](app)
    after, texts = looked(app), files(vault)

    monkeypatch.setattr(note_files, "write", write)
    assert set(after) >= {str(path.relative_to(vault)) for path in vault.rglob("*.md")}
    notes.sync(app)
    assert (looked(app), files(vault)) == (after, texts)


def test_links_to_a_note_that_goes_go_with_it_and_wait_for_the_next(app: App, vault: Path):
    put(vault, "a.md", "See [[another]].\n")
    looked(app)
    done = COMMANDS["save"](app)
    assert links(app) == {("a.md", "another.md")}
    history.undo(app, done.change)
    assert (set(looked(app)), links(app)) == ({"a.md"}, set())
    put(vault, "deep/another.md", "Another.\n")
    looked(app)
    assert links(app) == {("a.md", "deep/another.md")}


def test_no_agent_moves_a_persons_files_by_undo(app: App, open_app: Opens):
    done = COMMANDS["save"](app)
    with pytest.raises(BadInput, match="person"):
        history.undo(open_app(actor="agent"), done.change)


def test_a_secret_that_stood_in_a_file_is_not_kept_for_the_way_back(app: App, vault: Path):
    secret = "hunter2-Xk99qLmz"
    put(vault, "a.md", f"---\nstatus: password={secret}\n---\nThe zebra.\n")
    looked(app)
    done = notes.evolve(app, "a", "The giraffe.")
    app.close()

    assert {path.parent.name for path in holding(app.home.root, secret)} <= {"vault"}
    with pytest.raises(Conflict, match="secret"):
        history.undo(app, done.change)

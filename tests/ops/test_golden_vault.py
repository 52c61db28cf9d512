"""Notes as they are met survive everything byte for byte where they are not meant."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base import swap
from recollect.base.errors import RecollectError
from recollect.jobs import vault_sync
from recollect.lifecycle import strength
from recollect.model.result import Scope
from recollect.ops import memories, notes
from recollect.vault import dialects, note_folder, page
from tests.ops import golden
from tests.ops.test_vault_sync import all_notes, looked, put

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names and links of Unix")


def test_a_vault_survives_save_sync_edit_sync_byte_for_byte(app: App, vault: Path, tmp_path: Path):
    golden.build(vault, tmp_path / "outside")
    before = golden.standing(vault)

    told = notes.sync(app)
    taken = set(all_notes(app))
    notes.save(app, "Another.", title="Another")
    put(vault, "crlf.md", b"one\r\nedited\r\n")
    notes.sync(app)
    for _ in notes.evolve(app, "another", "Yet another."), notes.archive(app, ("yet-another",)):
        looked(app)
    memories.undo(app)
    notes.sync(app)

    after = golden.standing(vault)
    assert {name for name in before if before[name] != after.get(name)} == {"crlf.md"}
    assert set(after) - set(before) == {"another.md", "yet-another.md"}
    refused = told.facts["refused"]
    assert isinstance(refused, list)
    assert {one[0] for one in refused if isinstance(one, list)} == golden.REFUSED
    assert any("link in.md" in note for note in told.notes)
    assert any(check.name == "user vault" and "link in.md" in check.detail for check in notes.checks(app))
    assert taken == set(golden.FILES) - golden.REFUSED - golden.NOT_NOTES


@pytest.mark.parametrize("name", sorted(set(golden.FILES) - golden.REFUSED - golden.NOT_NOTES))
def test_what_is_spliced_into_a_note_leaves_every_other_byte(name: str):
    text = golden.FILES[name].decode()
    was = page.read(text, name)

    changed = page.with_superseded(text, "newer")
    if name != "tags broken.md":  # what cannot be read cannot be changed
        assert page.read(changed, name).superseded
    assert page.read(changed, name).body == was.body
    kept = [
        line
        for line in text.removeprefix("\ufeff").splitlines(keepends=True)
        if "status" not in line and "mine" not in line
    ]
    rest = iter(changed.splitlines(keepends=True))
    assert all(any(line in other for other in rest) for line in kept)
    completed = dialects.complete(text, session=1)
    assert completed == text or dialects.begins_with_tag(text)


def _in_place(path: Path, text: str) -> None:
    with path.open("r+") as file:
        file.truncate()
        file.write(text)


def _by_rename(path: Path, text: str) -> None:
    spare = path.with_name("~editor.tmp")
    spare.write_text(text)
    os.replace(spare, path)


def _away(path: Path, _text: str) -> None:
    path.unlink()


TAGGED = dialects.complete("<memory>\nThe zebra.\n</memory>\n", session=0)
BARE = "<memory>\nThe zebra.\n</memory>\n"


@pytest.mark.parametrize("save", [_in_place, _by_rename, _away])
@pytest.mark.parametrize("moment", ["before it is written", "at the swap"])
@pytest.mark.parametrize("work", ["evolve", "archive", "tend", "undo"])
def test_a_save_while_we_write_is_never_lost(
    app: App, vault: Path, work: str, moment: str, save: type[object], monkeypatch: pytest.MonkeyPatch
):
    put(vault, "zebra.md", BARE if work == "tend" else TAGGED)
    looked(app)
    done = notes.evolve(app, "zebra", "The giraffe.", title="Giraffe") if work == "undo" else None
    app.writer(Scope.USER).use([all_notes(app)["zebra.md"].id], partial(strength.count_shown, session=1))
    before = set(golden.standing(vault))
    editor = iter([save])

    def saved(place: Path) -> None:
        for each in editor:
            each(place, "the editor's")  # type: ignore[call-arg]

    change, exchanged = note_folder.change, swap._exchange_names

    def changing(at: note_folder.Vault, path: str, old: str, new: str) -> None:
        if moment == "before it is written":
            saved(at.base / path)
        change(at, path, old, new)

    def exchanging(one: Path, other: Path) -> bool:
        saved(other)
        return exchanged(one, other)

    monkeypatch.setattr(note_folder, "change", changing)
    if moment == "at the swap":
        monkeypatch.setattr(swap, "_exchange_names", exchanging)
    works = {
        "evolve": lambda: notes.evolve(app, "zebra", "The giraffe.", title="Giraffe"),
        "archive": lambda: notes.archive(app, ("zebra",)),
        "tend": lambda: vault_sync.write_some(app, vault_sync.Pending(session_began=True)),
        "undo": lambda: memories.undo(app, done.change if done else ""),
    }

    told = False
    try:
        works[work]()
    except RecollectError:
        told = True

    standing = golden.standing(vault)
    assert next(editor, None) is None
    assert told is (work != "tend")
    assert not [name for name in standing if name.endswith(".tmp")]
    if save is not _away:
        assert b"the editor's" in standing.values()
        assert set(standing) == before
    looked(app)
    notes.sync(app)

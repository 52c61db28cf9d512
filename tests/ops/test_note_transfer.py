"""Memory in the shapes that others read."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound
from recollect.model.plan import Create, Link
from recollect.model.result import Scope
from recollect.ops import history, memories, notes, rules, transfer
from recollect.ops.transfer import Shape
from tests.ops.ask import files, made
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import all_notes, put
from tests.values import act, bridge, messages, plan, thread

OWN = "# Shop\n\n- Ours is a tea shop"


def test_every_memory_is_a_note_that_leads_to_its_neighbours(app: App, tmp_path: Path):
    one, other = thread("Login: the cookie", topics=("auth flow",)), thread("Cookie/../audit")
    app.writer(Scope.PROJECT).apply(
        plan(Create(one, messages(one, "It is set late.")), Create(other), Link(bridge(one, other))), act()
    )
    folder = tmp_path / "notes"

    transfer.export(app, str(folder), shape=Shape.MARKDOWN)

    login = (folder / "threads" / f"login-the-cookie-{one.id[-6:]}.md").read_text(encoding="utf-8")
    assert login.startswith(f'---\nid: "{one.id}"\nkind: "thread"\nstatus: "active"\ntags: ["auth-flow"]\n')
    assert "# Login: the cookie\n\nAbout Login: the cookie." in login
    assert "It is set late." in login
    assert f"- EXTENDS [[cookie-audit-{other.id[-6:]}]]" in login
    assert len(list(folder.rglob("*.md"))) == 2
    with pytest.raises(BadInput, match="already exists"):
        transfer.export(app, str(folder), shape=Shape.MARKDOWN)


def test_rules_stand_in_a_section_and_the_rest_of_the_file_stays(app: App, tmp_path: Path):
    file = tmp_path / "AGENTS.md"
    file.write_text(OWN, encoding="utf-8")
    first = made(rules.add(app, "Use pnpm, never npm"))

    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    once = file.read_text(encoding="utf-8")
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    assert file.read_text(encoding="utf-8") == once
    assert once.startswith(OWN)
    assert f"- Use pnpm, never npm <!-- {first[-6:]} -->" in once

    memories.archive(app, (first,))
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    assert file.read_text(encoding="utf-8") == OWN


@pytest.mark.parametrize("shape", [Shape.MARKDOWN, Shape.AGENTS_MD])
def test_a_dry_run_writes_no_file(app: App, open_app: Opens, tmp_path: Path, shape: Shape):
    rules.add(app, "Use pnpm, never npm")
    told = transfer.export(open_app(dry_run=True), str(tmp_path / "x"), shape=shape)
    assert told.summary.startswith("Would write 1 ")
    assert not (tmp_path / "x").exists()


def test_half_of_our_marks_is_left_alone(app: App, tmp_path: Path):
    file = tmp_path / "AGENTS.md"
    file.write_text("<!-- recollect begin -->\n- a\n", encoding="utf-8")
    rules.add(app, "Use pnpm, never npm")
    with pytest.raises(BadInput, match="one of our two marks"):
        transfer.export(app, str(file), shape=Shape.AGENTS_MD)


# A folder of notes read


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "obsidian"
    put(folder, "deploy.md", "---\ntags: [ops]\ntitle: Deploying\n---\nThe zebra approves. See [[work/anna]].\n")
    put(folder, "work/anna.md", "<conditional>\nWho decides.\n</conditional>\n<memory>\nAnna.\n</memory>\n")
    put(folder, ".obsidian/app.md", "not a note")
    put(folder, "bad.md", b"\xff")
    return folder


def test_a_folder_of_notes_is_one_change_and_one_undo(app: App, theirs: Path):
    notes.save(app, "Mine.", title="Deploy")
    before = files(app.home.vault)

    told = notes.import_notes(app, str(theirs))

    assert told.summary == f"Imported 2 notes from {theirs}."
    assert any("bad.md" in note for note in told.notes)
    found = all_notes(app)
    assert set(found) == {"deploy.md", "deploy-2.md", "work/anna.md"}
    assert (found["deploy-2.md"].title, found["deploy-2.md"].tags) == ("Deploying", ("ops",))
    assert found["work/anna.md"].title == "Who decides."
    assert len(app.reader(Scope.USER).bridges(found["deploy-2.md"].id)) == 1
    assert "0 notes" in notes.import_notes(app, str(theirs)).summary

    history.undo(app, str(told.facts["change"]))
    assert (files(app.home.vault), set(all_notes(app))) == (before, {"deploy.md"})


def test_imported_notes_go_to_the_project_where_asked_and_without_secrets(app: App, theirs: Path):
    put(theirs, "door.md", "password=hunter2-Xk99qLmz opens it")
    told = notes.import_notes(app, str(theirs), project=True)
    assert "hunter2" not in (Path.cwd() / ".ai/memory/door.md").read_text()
    history.undo(app, str(told.facts["change"]))
    assert not list((Path.cwd() / ".ai/memory").rglob("*.md"))


def test_what_was_exported_as_notes_can_be_imported(app: App, tmp_path: Path):
    memories.pin(app, "Deploys go through staging")
    transfer.export(app, str(tmp_path / "out"), shape=Shape.MARKDOWN)

    notes.import_notes(app, str(tmp_path / "out"))

    assert any("Deploys go through staging" in note.body for note in all_notes(app).values())
    with pytest.raises(NotFound):
        notes.import_notes(app, str(tmp_path / "missing"))

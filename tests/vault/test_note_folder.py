from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.base.errors import BadInput, Conflict
from recollect.vault import note_folder
from recollect.vault.note_folder import Refusal, Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    base = tmp_path / "vault"
    base.mkdir()
    return Vault(base)


def test_a_vault_that_is_not_there_is_empty(tmp_path: Path):
    assert note_folder.scan(Vault(tmp_path / "none")) == note_folder.Scan({})


def test_links_are_told_and_never_followed(vault: Vault, tmp_path: Path):
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.md").write_text("secret")
    (vault.base / "link.md").symlink_to(tmp_path / "secret.md")
    (vault.base / "folder").symlink_to(tmp_path / "elsewhere")
    (vault.base / "round").symlink_to(vault.base)

    found = note_folder.scan(vault)

    assert found.stamps == {}
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

    found = note_folder.scan(vault)

    assert found.stamps == {}
    assert found.refused == [Refusal("memory", "it leads out of the project")]
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


@pytest.mark.parametrize("title", ["", "///", "../../etc/passwd", "con", "a" * 500, "\u00fc\u4e16\u754c" * 99, "A: b?"])
def test_any_title_makes_a_name_that_stays_in_its_folder(vault: Vault, title: str):
    path = note_folder.free_path(vault, "", note_folder.name_for(title))
    note_folder.create(vault, path, "x")
    assert (vault.base / path).parent == vault.base
    assert path in note_folder.scan(vault).stamps

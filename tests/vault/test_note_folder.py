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


def put(vault: Vault, path: str, content: bytes = b"Text\n") -> None:
    place = vault.base / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


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


def test_a_new_note_never_takes_the_name_of_another(vault: Vault):
    note_folder.create(vault, "_inbox/a.md", "one")
    with pytest.raises(Conflict):
        note_folder.create(vault, "_inbox/a.md", "two")

    assert note_folder.free_path(vault, "_inbox", "a.md") == "_inbox/a-2.md"
    assert note_folder.read(vault, "_inbox/a.md") == "one"
    assert (vault.base / "_inbox" / "a.md").stat().st_mode & 0o777 == 0o600


def test_a_moved_note_keeps_its_bytes_and_never_takes_the_place_of_another(vault: Vault):
    put(vault, "work/a.md", b"\xef\xbb\xbfone\r\n")
    put(vault, "_archive/a.md", b"older")

    with pytest.raises(Conflict):
        note_folder.move(vault, "work/a.md", "_archive/a.md")
    note_folder.move(vault, "work/a.md", "_archive/a-2.md")

    assert (vault.base / "_archive/a-2.md").read_bytes() == b"\xef\xbb\xbfone\r\n"
    assert (vault.base / "_archive/a.md").read_bytes() == b"older"
    assert not (vault.base / "work/a.md").exists()


@pytest.mark.parametrize("title", ["", "///", "../../etc/passwd", "con", "a" * 500, "\u00fc\u4e16\u754c" * 99, "A: b?"])
def test_any_title_makes_a_name_that_stays_in_its_folder(vault: Vault, title: str):
    path = note_folder.free_path(vault, "", note_folder.name_for(title))
    note_folder.create(vault, path, "x")
    assert (vault.base / path).parent == vault.base
    assert path in note_folder.scan(vault).stamps

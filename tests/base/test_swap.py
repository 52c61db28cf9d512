from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from recollect.base import swap
from recollect.base.errors import BadInput, Conflict
from recollect.base.swap import read_snapshot, remove, replace

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links are another matter there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Empty: the test's own home stands beside it."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


def file(folder: Path, content: bytes = b"{}", mode: int = 0o644) -> Path:
    path = folder / "settings.json"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def alone(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@posix
def test_a_file_is_replaced_whole_and_keeps_its_mode(folder: Path):
    for mode in (0o600, 0o644, 0o664):
        path = file(folder, mode=mode)
        replace(read_snapshot(path), b"new")
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)
        assert alone(folder) == ["settings.json"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name attributes otherwise")
def test_attributes_stay(folder: Path):
    path = file(folder)
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no attributes")

    replace(read_snapshot(path), b"new")

    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"new", b"mine")


@posix
def test_a_new_file_gets_the_mode_that_was_asked_for(folder: Path):
    path = folder / "settings.json"
    found = read_snapshot(path)
    replace(found, b"new", new_mode=0o640)
    assert (found.content, path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (None, b"new", 0o640)


@posix
@pytest.mark.parametrize("is_there", [True, False], ids=["a dotfile", "a file that is not there yet"])
def test_a_link_stays_a_link_and_is_written_through(folder: Path, is_there: bool):
    dotfiles = folder / "dotfiles"
    dotfiles.mkdir()
    if is_there:
        file(dotfiles)
    path = folder / "settings.json"
    path.symlink_to(Path("dotfiles") / "settings.json")
    replace(read_snapshot(path), b"new")
    assert path.is_symlink()
    assert ((dotfiles / "settings.json").read_bytes(), alone(dotfiles)) == (b"new", ["settings.json"])


@posix
def test_a_link_out_of_a_project_is_refused(folder: Path):
    project = folder / "shop"
    project.mkdir()
    outside = file(folder)
    (project / "settings.json").symlink_to(outside)

    with pytest.raises(BadInput, match="leads out of the project"):
        read_snapshot(project / "settings.json", within=project)
    assert read_snapshot(project / "settings.json", within=folder).content == b"{}"


@posix
def test_what_is_no_file_is_refused(folder: Path):
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    for name in ("loop", "folder", "pipe"):
        with pytest.raises(BadInput, match="cannot be read"):
            read_snapshot(folder / name)


@posix
@pytest.mark.parametrize(("mode", "names", "says"), [(0o444, 1, "not to be written"), (0o644, 2, "other names")])
def test_a_file_that_is_not_to_be_written_or_has_other_names_is_left(folder: Path, mode: int, names: int, says: str):
    path = file(folder, mode=mode)
    if names == 2:
        os.link(path, folder / "other")
    with pytest.raises(BadInput, match=says):
        replace(read_snapshot(path), b"new")
    assert (path.read_bytes(), len(alone(folder))) == (b"{}", names)


def test_what_is_too_large_or_not_utf8_is_refused(folder: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_snapshot(file(folder, b" " * (swap.MAX_BYTES + 1)))
    with pytest.raises(BadInput, match="not UTF-8"):
        _ = read_snapshot(file(folder, b"\xff")).text


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_an_error_not_a_crash(folder: Path):
    path = file(folder)
    folder.chmod(0o500)
    try:
        with pytest.raises(BadInput, match="cannot be written"):
            replace(read_snapshot(path), b"new")
    finally:
        folder.chmod(0o700)


# Others write too


@pytest.mark.parametrize("was", [b"{}", None])
@pytest.mark.parametrize("now", [b"theirs", None])
@pytest.mark.parametrize("can_swap_names", [True, False])
def test_a_file_that_came_went_or_was_changed_meanwhile_is_theirs(
    folder: Path, was: bytes | None, now: bytes | None, can_swap_names: bool, monkeypatch: pytest.MonkeyPatch
):
    if not can_swap_names:
        monkeypatch.setattr(swap, "_exchange_names", lambda one, other: False)
    path = folder / "settings.json"
    if was is not None:
        file(folder, was)
    found = read_snapshot(path)
    if now is not None:
        path.write_bytes(now)
    else:
        path.unlink(missing_ok=True)

    if was is now is None:
        replace(found, b"ours")
        replace(read_snapshot(path), b"again")
        now = b"again"
    else:
        with pytest.raises(Conflict):
            replace(found, b"ours")

    assert (path.read_bytes() if path.exists() else None) == now
    assert alone(folder) == (["settings.json"] if now else [])


@pytest.mark.parametrize("has_hard_links", [True, False], ids=["a disk", "some network mounts"])
def test_a_file_is_removed_only_if_it_is_what_was_found(
    folder: Path, has_hard_links: bool, monkeypatch: pytest.MonkeyPatch
):
    """Another's file gets its name back."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    if not has_hard_links:
        monkeypatch.setattr(os, "link", refuse)
    path = file(folder)
    found = read_snapshot(path)
    path.write_bytes(b"theirs")
    with pytest.raises(Conflict):
        remove(found)
    assert (path.read_bytes(), alone(folder)) == (b"theirs", ["settings.json"])

    found = read_snapshot(path)
    remove(found)
    assert alone(folder) == []
    remove(found)  # somebody else was faster: no harm


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names cannot be swapped there")
@pytest.mark.parametrize("moment", ["before the names are swapped", "into the file that was open", "over ours"])
def test_no_edit_of_another_writer_is_lost(folder: Path, moment: str, monkeypatch: pytest.MonkeyPatch):
    path, calls = file(folder), 0

    def exchange(spare: Path, target: Path) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1 and moment != "into the file that was open":
            target.write_bytes(b"theirs")
        if calls == 2 and moment == "over ours":
            target.write_bytes(b"their next")
        done = swap_names(spare, target)
        if calls == 1 and moment == "into the file that was open":
            spare.write_bytes(b"theirs")
        return done

    swap_names = swap._exchange_names
    monkeypatch.setattr(swap, "_exchange_names", exchange)
    with pytest.raises(Conflict):
        replace(read_snapshot(path), b"ours")

    assert path.read_bytes() == (b"their next" if moment == "over ours" else b"theirs")
    assert alone(folder) == ["settings.json"]

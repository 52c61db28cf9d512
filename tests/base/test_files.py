"""A private file is written whole, is ours alone, and never goes through a link."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.base import files
from recollect.base.errors import HomeRefused
from recollect.base.files import create_new, make_private_folder, read_limited, write_private, write_spare

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and pipes of POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_written_file_is_private_whatever_the_umask_and_whoever_could_read_it_before(tmp_path: Path, umask: int):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o666)
    os.umask(umask)
    for name in ("a", "old"):
        write_private(tmp_path / name, "text")
    make_private_folder(tmp_path / "b")
    assert [mode(tmp_path / name) for name in ("a", "old", "b")] == [0o600, 0o600, 0o700]


def test_writing_again_replaces_the_whole_or_changes_nothing(tmp_path: Path):
    folder = tmp_path / "home"
    write_private(folder / "a", "a long first text")
    write_private(folder / "a", "ä\r\n")
    with pytest.raises(UnicodeEncodeError):
        write_private(folder / "a", "\ud800")
    assert (folder / "a").read_bytes() == "ä\r\n".encode()
    assert os.listdir(folder) == ["a"]


NO_PLAIN_FILE = {
    "link": lambda target, root: target.symlink_to(root / "outside"),
    "dangling": lambda target, root: target.symlink_to(root / "nowhere"),
    "loop": lambda target, root: target.symlink_to(target),
    "hard link": lambda target, root: target.hardlink_to(root / "outside"),
    "folder": lambda target, root: target.mkdir(),
    "pipe": lambda target, root: os.mkfifo(target),
}


@posix
@pytest.mark.parametrize("make", NO_PLAIN_FILE.values(), ids=NO_PLAIN_FILE)
def test_what_is_no_plain_file_is_refused_and_left_as_it_was(tmp_path: Path, make: Callable[[Path, Path], None]):
    outside, target = tmp_path / "outside", tmp_path / "home" / "a"
    outside.write_text("theirs")
    make(target, tmp_path)
    before = target.lstat()

    with pytest.raises(HomeRefused) as refused:
        write_private(target, "ours")

    assert refused.value.hint
    assert outside.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()
    assert os.listdir(target.parent) == ["a"]
    assert (target.lstat().st_ino, target.lstat().st_mode) == (before.st_ino, before.st_mode)


@posix
def test_a_new_file_never_overwrites_nor_is_made_through_a_link(tmp_path: Path):
    (tmp_path / "work" / "a").symlink_to(tmp_path / "nowhere")
    (tmp_path / "linked").symlink_to(tmp_path / "home")

    assert [create_new(tmp_path / "work" / "b", text, mode=0o644) for text in ("first", "second")] == [True, False]
    assert not create_new(tmp_path / "work" / "a", "ours", mode=0o644)
    with pytest.raises(OSError, match=r".*"):
        create_new(tmp_path / "linked" / "b", "ours", mode=0o644)

    assert (tmp_path / "work" / "b").read_text() == "first"
    assert not (tmp_path / "nowhere").exists()
    assert os.listdir(tmp_path / "home") == []


def test_of_many_that_make_a_file_at_once_one_wins_and_nobody_sees_half(tmp_path: Path):
    target = tmp_path / "home" / "id"
    texts = [str(number) * 5_000 for number in range(8)]
    won: list[str] = []
    start = threading.Barrier(len(texts))

    def make(text: str) -> None:
        start.wait()
        if create_new(target, text, mode=0o600):
            won.append(text)
        assert target.read_text() in texts

    threads = [threading.Thread(target=make, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [target.read_text()] == won
    assert os.listdir(target.parent) == ["id"]


@posix
def test_a_folder_swapped_for_a_link_meanwhile_lets_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, aside, outside = tmp_path / "view", tmp_path / "aside", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()

    def swap_folder(*given: object, **how: object) -> object:
        folder.rename(aside)
        folder.symlink_to(outside)
        return write_spare(*given, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "write_spare", swap_folder)

    assert create_new(folder / "a", "ours", mode=0o644)
    assert (os.listdir(outside), os.listdir(aside)) == ([], ["a"])


@posix
def test_a_plain_file_is_read_up_to_a_limit_and_a_link_only_where_that_was_asked_for(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")

    assert read_limited(tmp_path / "a", 5) == read_limited(tmp_path / "link", 5, follow=True) == b"12345"
    with pytest.raises(OSError, match="Larger"):
        read_limited(tmp_path / "a", 4)
    with pytest.raises(OSError, match=r".*"):
        read_limited(tmp_path / "link", 10)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError, match=r"regular|directory"):
            read_limited(path, 10)


def test_a_folder_is_made_but_not_the_path_to_it(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        make_private_folder(tmp_path / "not" / "there")
    assert not (tmp_path / "not").exists()

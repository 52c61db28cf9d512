"""Files that are ours alone, a home that is safely ours, and files of others, replaced only if they are as we read."""

import errno
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from recollect.base import files
from recollect.base.errors import BadInput, Conflict, HomeRefused
from recollect.base.files import (
    create_new,
    make_private_folder,
    read_limited,
    read_snapshot,
    remove,
    replace,
    write_private,
    write_spare,
)
from recollect.base.paths import Home, home, user_home

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and pipes of POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_written_file_is_private_whatever_the_umask_and_whoever_could_read_it_before(
    tmp_path: Path, umask: int
):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o666)
    os.umask(umask)
    for name in ("a", "old"):
        write_private(tmp_path / name, "text")
    make_private_folder(tmp_path / "b")
    with pytest.raises(FileNotFoundError):  # a folder is made, but not the path to it
        make_private_folder(tmp_path / "not" / "there")
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
def test_what_is_no_plain_file_is_refused_and_left_as_it_was(
    tmp_path: Path, make: Callable[[Path, Path], None]
):
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

    assert [
        create_new(tmp_path / "work" / "b", text, mode=0o644) for text in ("first", "second")
    ] == [True, False]
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
def test_a_folder_swapped_for_a_link_meanwhile_lets_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
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
def test_a_plain_file_is_read_up_to_a_limit_and_a_link_only_where_that_was_asked_for(
    tmp_path: Path,
):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")

    assert (
        read_limited(tmp_path / "a", 5)
        == read_limited(tmp_path / "link", 5, follow=True)
        == b"12345"
    )
    with pytest.raises(OSError, match="Larger"):
        read_limited(tmp_path / "a", 4)
    with pytest.raises(OSError, match=r".*"):
        read_limited(tmp_path / "link", 10)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError, match=r"regular|directory"):
            read_limited(path, 10)


# The home

as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a folder away"
)


@posix
@pytest.mark.parametrize(
    ("environ", "expected"),
    [({"HOME": "/h"}, "/h/.recollect"), ({"HOME": "/h", "RECOLLECT_HOME": ""}, "/h/.recollect"),
     ({"HOME": "/h", "RECOLLECT_HOME": "~/mem"}, "/h/mem"), ({"HOME": "/h", "RECOLLECT_HOME": "~"}, "/h"),
     ({"HOME": "/h/../i/"}, "/i/.recollect"), ({"RECOLLECT_HOME": "/x", "HOME": "/h"}, "/x"),
     ({"RECOLLECT_HOME": "mem"}, "mem")],
)  # fmt: skip
def test_the_home_is_what_the_environment_names_or_stands_in_the_users(
    environ: dict[str, str], expected: str
):
    assert home(environ) == Path.cwd() / expected


@posix
def test_without_home_the_list_of_users_is_asked_and_who_has_none_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
):
    import pwd

    listed: dict[int, SimpleNamespace] = {}
    monkeypatch.setattr(pwd, "getpwuid", listed.__getitem__)
    for folder in (None, "", "relative"):
        if folder is not None:
            listed[os.getuid()] = SimpleNamespace(pw_dir=folder)
        with pytest.raises(HomeRefused) as refused:
            home({})
        assert "RECOLLECT_HOME" in refused.value.hint
    assert home({"RECOLLECT_HOME": "/x"}) == Path("/x")
    listed[os.getuid()] = SimpleNamespace(pw_dir="/listed")
    assert [user_home(environ) for environ in ({}, {"HOME": ""}, {"HOME": "relative"})] == [
        Path("/listed")
    ] * 3


def test_naming_and_checking_a_home_makes_nothing(tmp_path: Path):
    there = Home(tmp_path / "home" / ".recollect")
    assert there.check() is False
    assert (there.conf.name, there.user_store.parts[-2:]) == ("agent.conf", ("user", "memory.db"))
    assert {there.projects.name, there.logs.name, there.vault.name} == {"projects", "logs", "vault"}
    assert os.listdir(tmp_path / "home") == []


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_a_prepared_home_is_private_whatever_the_umask_and_one_that_others_can_enter_is_shut(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
):
    os.umask(umask)
    there = Home(tmp_path / "home" / ".recollect")
    for _ in range(2):
        there.prepare()
        assert {mode(path) for path in (there.root, *there.root.rglob("*"))} == {0o700}
        there.root.chmod(0o777)
        there.logs.chmod(0o755)
    assert all(folder.is_dir() for folder in (there.projects, there.logs, there.user_store.parent))
    assert there.check() is True
    there.prepare()
    monkeypatch.setattr(
        os, "chmod", lambda *_: pytest.fail("some file systems allow no change of modes")
    )
    there.prepare()


def check_refused(root: Path, *, says: str) -> None:
    with pytest.raises(HomeRefused, match=says) as refused:
        Home(root).prepare()
    assert refused.value.hint
    assert refused.value.exit_code == 10


@posix
def test_a_home_may_be_a_link_and_where_it_cannot_be_it_is_refused_and_the_path_to_one_is_never_made(
    tmp_path: Path,
):
    (tmp_path / "disk").mkdir()
    (tmp_path / "mem").write_text("mine")
    for name, target in (("linked", "disk"), ("dangling", "nowhere"), ("loop", "loop")):
        (tmp_path / name).symlink_to(tmp_path / target)
    Home(tmp_path / "linked").prepare()
    assert (tmp_path / "disk" / "projects").is_dir()
    check_refused(tmp_path / "mem", says="not a folder")
    check_refused(tmp_path / "mem" / "deeper", says="cannot be used")
    check_refused(tmp_path / "dangling", says="link to a place that does not exist")
    check_refused(tmp_path / "loop", says="cannot be used")
    check_refused(tmp_path / "nonexistent" / ".recollect", says="nonexistent does not exist")
    check_refused(Path("/dev/null/.recollect"), says="/dev/null")
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "nonexistent").exists()


@as_root
def test_another_users_home_is_refused_for_reading_too(tmp_path: Path):
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 54321, 54321)
    check_refused(tmp_path / "theirs", says="belongs to user 54321")
    with pytest.raises(HomeRefused):
        Home(tmp_path / "theirs").check()
    assert os.listdir(tmp_path / "theirs") == []


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root can write everywhere"
)
def test_a_read_only_home_is_refused(tmp_path: Path):
    (tmp_path / "sealed").mkdir(mode=0o500)
    check_refused(tmp_path / "sealed" / "mem", says="cannot be used")


# Files of others


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
def test_a_file_is_replaced_whole_and_keeps_its_mode_and_a_new_one_gets_what_was_asked_for(
    folder: Path,
):
    for kept in (None, 0o600, 0o644, 0o664):
        path = file(folder, mode=kept) if kept else folder / "settings.json"
        replace(read_snapshot(path), b"new", new_mode=0o640)
        assert (path.read_bytes(), mode(path)) == (b"new", kept or 0o640)
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
@pytest.mark.parametrize(
    "is_there", [True, False], ids=["a dotfile", "a file that is not there yet"]
)
def test_a_link_stays_a_link_and_is_written_through(folder: Path, is_there: bool):
    dotfiles = folder / "dotfiles"
    dotfiles.mkdir()
    if is_there:
        file(dotfiles)
    path = folder / "settings.json"
    path.symlink_to(Path("dotfiles") / "settings.json")
    replace(read_snapshot(path), b"new")
    assert path.is_symlink()
    assert ((dotfiles / "settings.json").read_bytes(), alone(dotfiles)) == (
        b"new",
        ["settings.json"],
    )


@posix
def test_what_leads_out_of_a_project_is_no_file_too_large_or_not_utf8_is_refused(folder: Path):
    outside = file(folder)
    (folder / "shop").mkdir()
    (folder / "shop" / "link").symlink_to(outside)
    assert read_snapshot(folder / "shop" / "link", within=folder).content == b"{}"
    with pytest.raises(BadInput, match="leads out of the project"):
        read_snapshot(folder / "shop" / "link", within=folder / "shop")
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    (folder / "large").write_bytes(b" " * (files.MAX_BYTES + 1))
    for name in ("loop", "shop", "pipe", "large"):
        with pytest.raises(BadInput, match="cannot be read"):
            read_snapshot(folder / name)
    with pytest.raises(BadInput, match="not UTF-8"):
        _ = read_snapshot(file(folder, b"\xff")).text


@posix
@pytest.mark.parametrize(
    ("mode", "names", "says"), [(0o444, 1, "not to be written"), (0o644, 2, "other names")]
)
def test_a_file_that_is_not_to_be_written_or_has_other_names_is_left(
    folder: Path, mode: int, names: int, says: str
):
    path = file(folder, mode=mode)
    if names == 2:
        os.link(path, folder / "other")
    with pytest.raises(BadInput, match=says):
        replace(read_snapshot(path), b"new")
    assert (path.read_bytes(), len(alone(folder))) == (b"{}", names)


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
    folder: Path,
    was: bytes | None,
    now: bytes | None,
    can_swap_names: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    if not can_swap_names:
        monkeypatch.setattr(files, "_exchange_names", lambda one, other: False)
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
@pytest.mark.parametrize(
    "moment", ["before the names are swapped", "into the file that was open", "over ours"]
)
def test_no_edit_of_another_writer_is_lost(
    folder: Path, moment: str, monkeypatch: pytest.MonkeyPatch
):
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

    swap_names = files._exchange_names
    monkeypatch.setattr(files, "_exchange_names", exchange)
    with pytest.raises(Conflict):
        replace(read_snapshot(path), b"ours")

    assert path.read_bytes() == (b"their next" if moment == "over ours" else b"theirs")
    assert alone(folder) == ["settings.json"]

"""Where a daemon is met: the same for everyone who asks, and never in a folder that others can touch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.wire.place import MAX_SOCKET_BYTES, expected_runtime, find_place, is_private, is_usable, make_private


@pytest.mark.parametrize(("mode", "is_used"), [(0o700, True), (0o755, False)])
def test_the_session_s_runtime_folder_is_used_where_it_is_private(runtime: str, mode: int, is_used: bool):
    os.chmod(runtime, mode)
    found = [find_place(home, {"XDG_RUNTIME_DIR": runtime, "TMPDIR": "/var/tmp"}) for home in ("/ann/a", "/ann/b")]
    assert [os.path.dirname(place.runtime) for place in found] == [runtime if is_used else "/var/tmp"] * 2
    assert found[0].socket != found[1].socket, "two homes are two places"


def test_a_named_runtime_folder_counts_only_if_it_is_this_home_s(runtime: str):
    other = find_place("/home/ann/.recollect", {"TMPDIR": "/var/tmp"}).runtime
    assert find_place("/home/ann/.recollect", {"RECOLLECT_RUNTIME": other, "XDG_RUNTIME_DIR": runtime}).runtime == other
    for home, named in (("/home/bo/.recollect", other), ("/home/ann/.recollect", "/home/ann/.ssh")):
        found = find_place(home, {"RECOLLECT_RUNTIME": named, "XDG_RUNTIME_DIR": runtime})
        assert os.path.dirname(found.runtime) == runtime


PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(PATHS, PATHS)
def test_a_socket_s_path_is_always_short_enough_or_there_is_none(home: str, temp: str):
    environ = {"XDG_RUNTIME_DIR": "/" + temp, "TMPDIR": "/" + temp}
    found = find_place("/" + home, environ)
    assert len(os.fsencode(expected_runtime("/" + home, environ) + "/socket")) <= MAX_SOCKET_BYTES
    assert found.tcp or len(os.fsencode(found.socket)) <= MAX_SOCKET_BYTES


def test_a_link_to_a_private_folder_is_not_private(tmp_path: Path):
    make_private(str(tmp_path / "real"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_private(str(tmp_path / "real"))
    assert not is_private(str(tmp_path / "link"))
    with pytest.raises(PermissionError):
        make_private(str(tmp_path / "link"))


def squat(folder: str, how: str) -> None:
    """What another user, or an accident, can leave in the place of the runtime folder."""
    match how:
        case "another user's":
            if os.geteuid() != 0:
                pytest.skip("only root can give folders away")
            os.mkdir(folder, 0o700)
            os.chown(folder, 65534, 65534)
        case "a link":
            make_private(folder + ".real")
            os.symlink(folder + ".real", folder)
        case "a dangling link":
            os.symlink(folder + ".nowhere", folder)
        case "open to all":
            os.mkdir(folder)
            os.chmod(folder, 0o777)
        case _:
            Path(folder).write_text("")


SQUATTED = pytest.mark.parametrize("how", ["another user's", "a link", "a dangling link", "open to all", "a file"])


@SQUATTED
def test_a_runtime_folder_that_somebody_else_made_first_is_not_used(tmp_path: Path, runtime: str, how: str):
    home = str(tmp_path / "home")
    environ = {"TMPDIR": runtime}
    squat(expected_runtime(home, environ), how)

    assert find_place(home, environ).runtime == home + "/run"
    named = {"RECOLLECT_RUNTIME": expected_runtime(home, environ)}
    assert find_place(home, environ | named).runtime == home + "/run", "a daemon that was told of it finds the same"
    assert find_place(home, {"RECOLLECT_RUNTIME": home + "/run"}).runtime == home + "/run"


def test_a_missing_folder_is_usable_where_it_can_be_made(tmp_path: Path):
    home = str(tmp_path / "home")
    assert is_usable(str(tmp_path / "new"))
    assert not is_usable(str(tmp_path / "no" / "new"))
    assert not (tmp_path / "new").exists()
    assert find_place(home, {"TMPDIR": "/nonexistent"}).runtime == home + "/run"

"""Where and how a daemon is met: never in a folder that others can touch; locks, frames, and both kinds of line."""

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.daemon.control import find_holder
from recollect.wire import client, frame, lockfile
from recollect.wire.frame import BadFrame, encode_reply, encode_request, read_reply, read_request
from recollect.wire.place import (
    MAX_SOCKET_BYTES,
    Place,
    connect,
    expected_runtime,
    find_place,
    is_private,
    is_usable,
    listen,
    make_private,
    remove_socket,
)
from tests.daemon.real import LINUX, soon
from tests.wire.echo import TOKEN, EchoServer


@pytest.mark.parametrize(("mode", "is_used"), [(0o700, True), (0o755, False)])
def test_the_session_s_runtime_folder_is_used_where_it_is_private(
    runtime: str, mode: int, is_used: bool
):
    os.chmod(runtime, mode)
    found = [
        find_place(home, {"XDG_RUNTIME_DIR": runtime, "TMPDIR": "/var/tmp"})
        for home in ("/ann/a", "/ann/b")
    ]
    assert [os.path.dirname(place.runtime) for place in found] == [
        runtime if is_used else "/var/tmp"
    ] * 2
    assert found[0].socket != found[1].socket, "two homes are two places"


def test_a_named_runtime_folder_counts_only_if_it_is_this_home_s(runtime: str):
    other = find_place("/home/ann/.recollect", {"TMPDIR": "/var/tmp"}).runtime
    assert (
        find_place(
            "/home/ann/.recollect", {"RECOLLECT_RUNTIME": other, "XDG_RUNTIME_DIR": runtime}
        ).runtime
        == other
    )
    for home, named in (("/home/bo/.recollect", other), ("/home/ann/.recollect", "/home/ann/.ssh")):
        found = find_place(home, {"RECOLLECT_RUNTIME": named, "XDG_RUNTIME_DIR": runtime})
        assert os.path.dirname(found.runtime) == runtime


@given(*2 * [st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))])
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


SQUATTED = pytest.mark.parametrize(
    "how", ["another user's", "a link", "a dangling link", "open to all", "a file"]
)


@SQUATTED
def test_a_runtime_folder_that_somebody_else_made_first_is_not_used(
    tmp_path: Path, runtime: str, how: str
):
    home = str(tmp_path / "home")
    environ = {"TMPDIR": runtime}
    squat(expected_runtime(home, environ), how)

    assert find_place(home, environ).runtime == home + "/run"
    named = {"RECOLLECT_RUNTIME": expected_runtime(home, environ)}
    assert find_place(home, environ | named).runtime == home + "/run", (
        "a daemon that was told of it finds the same"
    )
    assert find_place(home, {"RECOLLECT_RUNTIME": home + "/run"}).runtime == home + "/run"


def test_a_missing_folder_is_usable_where_it_can_be_made(tmp_path: Path):
    home = str(tmp_path / "home")
    assert is_usable(str(tmp_path / "new"))
    assert not is_usable(str(tmp_path / "no" / "new"))
    assert not (tmp_path / "new").exists()
    assert find_place(home, {"TMPDIR": "/nonexistent"}).runtime == home + "/run"


# Locks


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


def test_one_at_a_time(path: str):
    assert not lockfile.is_held(path)
    for _ in range(2):
        held = lockfile.acquire(path)
        assert held
        assert lockfile.acquire(path) is None
        assert lockfile.is_held(path)
        lockfile.release(held)


def test_a_deleted_or_replaced_file_is_another(path: str):
    held = lockfile.acquire(path)
    assert held
    assert lockfile.is_same_file(path, held)
    os.unlink(path)
    assert not lockfile.is_same_file(path, held)
    Path(path).touch()
    assert not lockfile.is_same_file(path, held)
    lockfile.release(held)


def test_a_link_is_not_followed(path: str, tmp_path: Path):
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(OSError, match="symbolic links"):
        lockfile.acquire(path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(not LINUX, reason="asks /proc")
def test_the_holder_is_known_and_a_kill_frees_it(path: str):
    assert find_holder(path) is None
    hold = "import sys, time; from recollect.wire import lockfile; "
    hold += "assert lockfile.acquire(sys.argv[1]); print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold, path], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        assert find_holder(path) == process.pid
        process.kill()
    assert soon(lambda: find_holder(path) is None)
    mine = lockfile.acquire(path)
    assert mine
    assert find_holder(path) == os.getpid()
    lockfile.release(mine)


# Frames

# What the system's bytes can become in Python: any character, and lone halves for bytes that are no UTF-8.
TEXT = st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")) | st.text(
    st.characters(exclude_categories=["Cs"])
)
HEADERS = st.dictionaries(TEXT, TEXT, max_size=frame.MAX_HEADERS)


def arriving(sent: bytes, step: int = 1 << 16) -> Callable[[int], bytes]:
    parts = [sent[at : at + step] for at in range(0, len(sent), step)]
    return lambda most: parts.pop(0) if parts else b""


@given(HEADERS, st.binary(), st.integers(1, 40))
def test_a_request_and_a_reply_arrive_as_they_were_sent(
    header: dict[str, str], body: bytes, step: int
):
    assert read_request(arriving(encode_request(header, body), step)) == (header, body)
    assert read_reply(arriving(encode_reply(frame.BUSY, body), step)) == (frame.BUSY, body)


@given(HEADERS, st.binary(), st.data())
def test_a_frame_that_ends_early_is_refused(
    header: dict[str, str], body: bytes, data: st.DataObject
):
    whole = encode_request(header, body)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(BadFrame):
        read_request(arriving(whole[:cut]))


@given(st.binary())
def test_any_bytes_are_a_frame_or_refused(noise: bytes):
    for sent in (noise, frame.MAGIC + noise, frame.MAGIC + noise + b"\n\n" + bytes(8)):
        try:
            read_request(arriving(sent))
        except BadFrame:
            pass


def test_a_frame_of_the_largest_size_passes_and_one_byte_or_header_more_does_not():
    most, header = bytes(frame.MAX_BODY_BYTES), {str(n): "" for n in range(frame.MAX_HEADERS)}
    assert read_request(arriving(encode_request(header, most))) == (header, most)
    for larger in (
        encode_request(header, most + b"1"),
        encode_request(header | {"one": "more"}, b""),
    ):
        with pytest.raises(BadFrame):
            read_request(arriving(larger))


def test_a_head_without_end_is_refused_before_it_fills_the_memory():
    taken = []

    def endless(most: int) -> bytes:
        taken.append(most)
        return frame.MAGIC if len(taken) == 1 else b"a" * most

    with pytest.raises(BadFrame):
        read_request(endless)

    assert sum(taken) < 2 * frame.MAX_HEAD_BYTES


# The line


@pytest.fixture(params=["unix", "tcp"])
def place(request: pytest.FixtureRequest, runtime: str, tmp_path: Path) -> Place:
    return Place(str(tmp_path), runtime + "/r", tcp=request.param == "tcp")


def test_what_is_asked_is_answered(place: Place):
    with EchoServer(place) as server:
        assert client.ask(place, {"op": "ask"}, b"hello", 5) == (frame.OK, b"hello")
    header, _ = server.requests[0]
    assert header == {"protocol": "1", "home": place.home, "op": "ask"}


def test_everything_in_the_folder_is_the_user_s_alone(place: Place):
    with EchoServer(place):
        modes = {
            path.name: stat.S_IMODE(path.lstat().st_mode) for path in Path(place.runtime).iterdir()
        }
    assert modes == {"address" if place.tcp else "socket": 0o600}


def test_nobody_there_is_told_apart(place: Place):
    with pytest.raises(FileNotFoundError):
        connect(place, 1)
    Path(place.runtime).mkdir(mode=0o700)
    with pytest.raises(FileNotFoundError):
        connect(place, 1)
    listen(place, TOKEN).close()
    with pytest.raises(ConnectionRefusedError):
        connect(place, 1)
    remove_socket(place)
    with pytest.raises(FileNotFoundError):
        connect(place, 1)


def test_a_folder_that_others_can_touch_is_neither_used_nor_mended(place: Place):
    Path(place.runtime).mkdir()
    os.chmod(place.runtime, 0o777)

    with pytest.raises(PermissionError):
        connect(place, 1)
    with pytest.raises(PermissionError):
        listen(place, TOKEN)
    assert stat.S_IMODE(os.stat(place.runtime).st_mode) == 0o777


def test_a_port_that_is_another_s_by_now_is_told_nothing_more(runtime: str, tmp_path: Path):
    """A daemon that was killed leaves its address, and anybody may listen at its port then."""
    place = Place(str(tmp_path), runtime + "/r", tcp=True)
    listen(place, TOKEN).close()
    heard = bytearray()

    def overhear() -> None:
        line, _ = stranger.accept()
        with line:
            line.settimeout(60)
            line.sendall(b"t" * 32)
            while part := line.recv(100):
                heard.extend(part)

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        Path(place.address).write_text(f"{stranger.getsockname()[1]} {TOKEN}")
        thread = threading.Thread(target=overhear)
        thread.start()
        with pytest.raises(client.Unanswered):
            client.ask(place, {"op": "ask"}, b"a prompt", 60)
        thread.join(60)

    assert bytes(heard) == TOKEN[:32].encode()


@pytest.mark.parametrize("said", ["", "1234", "1234 ", "x " + TOKEN, "1234 " + TOKEN[:32]])
def test_an_address_that_is_cut_or_broken_is_none(runtime: str, tmp_path: Path, said: str):
    place = Place(str(tmp_path), runtime + "/r", tcp=True)
    listen(place, TOKEN).close()
    Path(place.address).write_text(said)
    with pytest.raises(FileNotFoundError):
        connect(place, 1)

"""The seam: both kinds of line carry frames, and let nobody else in."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from recollect.wire import client, frame, transport
from recollect.wire.place import Place
from tests.wire.echo import TOKEN, EchoServer


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
        modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in Path(place.runtime).iterdir()}
    assert modes == {"address" if place.tcp else "socket": 0o600}


def test_nobody_there_is_told_apart(place: Place):
    with pytest.raises(FileNotFoundError):
        transport.connect(place, 1)
    Path(place.runtime).mkdir(mode=0o700)
    with pytest.raises(FileNotFoundError):
        transport.connect(place, 1)
    transport.listen(place, TOKEN).close()
    with pytest.raises(ConnectionRefusedError):
        transport.connect(place, 1)
    transport.remove_socket(place)
    with pytest.raises(FileNotFoundError):
        transport.connect(place, 1)


def test_a_folder_that_others_can_touch_is_neither_used_nor_mended(place: Place):
    Path(place.runtime).mkdir()
    os.chmod(place.runtime, 0o777)

    with pytest.raises(PermissionError):
        transport.connect(place, 1)
    with pytest.raises(PermissionError):
        transport.listen(place, TOKEN)
    assert stat.S_IMODE(os.stat(place.runtime).st_mode) == 0o777


def test_a_port_that_is_another_s_by_now_is_told_nothing_more(runtime: str, tmp_path: Path):
    """A daemon that was killed leaves its address, and anybody may listen at its port then."""
    place = Place(str(tmp_path), runtime + "/r", tcp=True)
    transport.listen(place, TOKEN).close()
    heard = bytearray()

    def listen() -> None:
        line, _ = stranger.accept()
        with line:
            line.settimeout(60)
            line.sendall(b"t" * 32)
            while part := line.recv(100):
                heard.extend(part)

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        Path(place.address).write_text(f"{stranger.getsockname()[1]} {TOKEN}")
        thread = threading.Thread(target=listen)
        thread.start()
        with pytest.raises(client.Unanswered):
            client.ask(place, {"op": "ask"}, b"a prompt", 60)
        thread.join(60)

    assert bytes(heard) == TOKEN[:32].encode()


@pytest.mark.parametrize("said", ["", "1234", "1234 ", "x " + TOKEN, "1234 " + TOKEN[:32]])
def test_an_address_that_is_cut_or_broken_is_none(runtime: str, tmp_path: Path, said: str):
    place = Place(str(tmp_path), runtime + "/r", tcp=True)
    transport.listen(place, TOKEN).close()
    Path(place.address).write_text(said)
    with pytest.raises(FileNotFoundError):
        transport.connect(place, 1)

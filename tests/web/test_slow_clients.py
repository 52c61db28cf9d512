"""Connections that are held and not used, by somebody without the keys: they cost the person nothing."""

import contextlib
import resource
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.real import soon
from tests.web.served import WAIT_S, Ui, World, running

MANY = 500
_FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
# What each sends, with `{host}` and `{home}` filled in, before it only holds the line.
SLOW = {
    "nothing": "",
    "half a request line": "GET / HT",
    "half a head": "GET / HTTP/1.1\r\nHost: {host}\r\nX-",
    "half a body": "POST /enter HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n" + _FORM
    + "Content-Length: 90\r\n\r\ncode=A",
    "a body without an end": "POST /enter HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n" + _FORM
    + "Transfer-Encoding: chunked\r\n\r\n5\r\ncode=\r\n",
    "half a write": "POST {home} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n" + _FORM
    + "Content-Length: 90\r\n\r\ntext=A",
    "an answer that is not read": "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "answers that are not read": "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n" * 200,
    "an idle line after an answer": "GET /static/page.css HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "noise": "\x16\x03\x01\x02",
    "an upgrade": "GET {home} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
}  # fmt: skip


@pytest.fixture(autouse=True)
def enough_files() -> Iterator[None]:
    """For the 500 ends that this process holds."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def held(ui: Ui, many: int, sent: str) -> Iterator[list[socket.socket]]:
    host, _, port = ui.host.partition(":")
    with contextlib.ExitStack() as stack:
        lines = []
        for _ in range(many):
            line = socket.socket()
            stack.callback(line.close)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_304)  # little is read unasked
            line.settimeout(WAIT_S)
            line.connect((host, int(port)))
            with contextlib.suppress(OSError):  # some are cut off already
                line.sendall(sent.format(host=ui.host, home=ui.home).encode("latin-1"))
            lines.append(line)
        yield lines


def is_cut_off(line: socket.socket) -> bool:
    """Whether the other end has given it up."""
    line.settimeout(WAIT_S)
    try:
        while line.recv(65_536):
            pass
    except OSError as problem:
        return not isinstance(problem, TimeoutError)
    return True


@pytest.mark.parametrize("name", SLOW)
def test_many_slow_strangers_keep_nobody_from_the_page(ui: Ui, name: str):
    with held(ui, MANY, SLOW[name]):
        with ThreadPoolExecutor(6) as workers:  # as many as a browser opens
            answers = list(workers.map(lambda _: ui.get(ui.home).status, range(12)))
        assert answers == [200] * 12
        assert ui.get("/").status == 200, "and others still see the login page"


def test_a_stranger_is_cut_off_after_a_while_and_one_byte_at_a_time_is_no_way_around(ui: Ui):
    with held(ui, 20, "GET / HTTP/1.1\r\nX-Slow: ") as lines:
        for line in lines:
            line.settimeout(WAIT_S)

        def is_over(line: socket.socket) -> bool:
            try:
                line.sendall(b"a")
            except OSError:
                return True
            return False

        assert soon(lambda: all(is_over(line) for line in lines), within_s=WAIT_S)


def test_every_kind_of_slow_stranger_is_cut_off(ui: Ui):
    with contextlib.ExitStack() as stack:
        lines = {name: stack.enter_context(held(ui, 1, sent))[0] for name, sent in SLOW.items()}
        with ThreadPoolExecutor(len(lines)) as workers:
            over = dict(zip(lines, workers.map(is_cut_off, lines.values()), strict=True))
        assert all(over.values()), over


def test_a_page_that_is_open_stays_open_however_many_strangers_come(ui: Ui):
    """Its live stream is neither cut off for them nor after their time."""
    stream = ui.connect(f"{ui.project}/live")
    answer = stream.getresponse()
    assert answer.readline() == b": here\n"
    with held(ui, MANY, SLOW["half a head"]) as lines:
        assert is_cut_off(lines[-1])
        while answer.readline() != b": here\n":  # the next sign of life
            pass
    stream.close()


def test_live_streams_have_a_limit_of_their_own(ui: Ui):
    with contextlib.ExitStack() as stack:
        statuses = []
        for _ in range(30):
            stream = ui.connect(f"{ui.project}/live")
            stack.callback(stream.close)
            answer = stream.getresponse()
            if answer.status == 200:
                answer.readline()
            statuses.append(answer.status)
        assert 0 < statuses.count(200) <= 20
        assert set(statuses) == {200, 204}
        assert ui.get(ui.home).status == 200
    assert soon(lambda: _opens_stream(ui)), "once they are closed there is room again"


def _opens_stream(ui: Ui) -> bool:
    with contextlib.closing(ui.connect(f"{ui.project}/live")) as stream:
        return stream.getresponse().status == 200


class FewFiles(World):
    """The same home, with a limit that cannot be raised."""

    def __init__(self, world: World, files: int) -> None:
        self.__dict__.update(world.__dict__)
        self._files = files

    def popen(self, *args: str, cwd: Path | None = None, **more: Any) -> subprocess.Popen[str]:
        limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (self._files, self._files))
        return super().popen(*args, cwd=cwd, preexec_fn=limit, **more)


@pytest.mark.parametrize(("files", "many"), [(128, 100), (1_024, MANY)])
def test_few_open_files_are_enough(shop: World, files: int, many: int):
    """Where no more may be had, as many strangers wait as there is room for."""
    with running(FewFiles(shop, files)) as ui:
        ui.sign_in()
        with held(ui, many, SLOW["half a request line"]):
            assert [ui.get(ui.home).status for _ in range(3)] == [200] * 3

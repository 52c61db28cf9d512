"""The server answers whole requests, whatever other clients do, and nothing it holds grows without limit."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from recollect.daemon import socket_server as servers
from recollect.daemon.socket_server import HOOK_GONE, STARTING, Answer, Request, Server
from recollect.wire import frame
from recollect.wire.place import Place, connect, listen, remove_socket
from tests.daemon.real import FORKS, PATIENCE_S, soon

TOKEN = "0123456789abcdef" * 4


class Echo:
    """Answers with the body; the event says how."""

    def __init__(self) -> None:
        self.shown: list[bytes] = []
        self.unshown: list[bytes] = []
        self.afterwards: list[bytes] = []
        self.problems: list[str] = []
        self.go_on = threading.Event()
        self.held: list[bool] = []

    def answer(self, request: Request) -> Answer:
        match request.header.get("event"):
            case "break":
                raise ZeroDivisionError
            case "wait":
                self.go_on.wait(PATIENCE_S)
            case "hold":
                granted = request.wait(30)
                self.held.append(granted)
                self.go_on.wait(PATIENCE_S if granted else 0)
            case "after":
                return Answer("ok", request.body, lambda _confirmed: self._after(request.body))
            case "show":
                return Answer("ok", request.body, partial(self._show, request.body))
            case _:
                pass
        return Answer("ok", request.body)

    def _show(self, body: bytes, confirmed: bool) -> None:
        (self.shown if confirmed else self.unshown).append(body)

    def _after(self, body: bytes) -> None:
        self.go_on.wait(PATIENCE_S)
        if body == b"break":
            raise ZeroDivisionError
        self.afterwards.append(body)

    def failed(self, problem: Exception) -> None:
        self.problems.append(type(problem).__name__)


def open_line(place: Place) -> socket.socket:
    line = socket.socket(fileno=connect(place, PATIENCE_S).detach())
    line.settimeout(PATIENCE_S)
    return line


class Running:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.desk = Echo()
        self.server = Server(place, listen(place, TOKEN), TOKEN, self.desk.answer, self.desk.failed)
        self.thread = threading.Thread(
            target=self.server.serve, args=(lambda: "", lambda: remove_socket(place))
        )
        self.thread.start()

    def line(self) -> socket.socket:
        return open_line(self.place)

    def ask(self, body: bytes = b"", **header: str) -> tuple[str, bytes]:
        with self.line() as line:
            line.sendall(frame.encode_request(header, body))
            return frame.read_reply(line.recv)

    def end(self) -> None:
        self.server.stop("the test is over")
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        assert soon(lambda: count_threads() == 0)  # or they would count in the next test


@pytest.fixture(params=["unix", "tcp"])
def running(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    """Nobody is given up because the machine is busy."""
    for name in ("REQUEST_WITHIN_S", "CONFIRM_WITHIN_S", "REPLY_WITHIN_S", "STOP_WITHIN_S"):
        monkeypatch.setattr(servers, name, PATIENCE_S)
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    found = Running(Place(str(tmp_path), str(runtime), tcp=request.param == "tcp"))
    yield found
    found.desk.go_on.set()
    found.end()


def count_threads() -> int:
    return sum(thread.name == "connections" for thread in threading.enumerate())


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_000, frame.MAX_BODY_BYTES])
def test_a_body_comes_back_whole_whatever_its_size(running: Running, size: int):
    body = bytes(range(256)) * (size // 256 + 1)
    assert running.ask(body[:size]) == ("ok", body[:size])


def test_what_is_printed_counts_as_shown_only_when_it_is_confirmed(running: Running):
    for body, confirmation in ((b"first", frame.SHOWN), (b"second", b""), (b"third", b"?")):
        with running.line() as line:
            line.sendall(frame.encode_request({"event": "show"}, body))
            frame.read_reply(line.recv)
            line.sendall(confirmation)

    assert soon(lambda: running.desk.shown == [b"first"] and not running.server.connections)
    assert soon(lambda: sorted(running.desk.unshown) == [b"second", b"third"])
    assert (running.server.counters["answered"], running.server.counters["late"]) == (1, 2)
    assert running.server.late_because == {HOOK_GONE: 2}


def test_who_asks_does_not_wait_for_what_comes_after_which_is_done_for_who_has_gone_and_may_fail(
    running: Running,
):
    assert running.ask(b"x", event="after") == ("ok", b"x")
    assert running.desk.afterwards == []
    running.desk.go_on.set()
    assert soon(lambda: running.desk.afterwards == [b"x"])
    running.ask(b"break", event="after")
    with running.line() as line:
        line.sendall(frame.encode_request({"event": "after"}, b"gone"))
    assert soon(lambda: running.desk.afterwards == [b"x", b"gone"])
    assert soon(lambda: running.desk.problems == ["ZeroDivisionError"])


def test_a_server_that_stops_does_first_what_comes_after(running: Running):
    running.ask(b"x", event="after")
    threading.Timer(0.1, running.desk.go_on.set).start()
    running.end()
    assert running.desk.afterwards == [b"x"]


def test_an_answer_that_fails_is_an_error_and_the_next_one_is_served(running: Running):
    assert running.ask(event="break") == ("error", b"")
    assert running.ask(b"x") == ("ok", b"x")
    assert running.desk.problems == ["ZeroDivisionError"]


@pytest.mark.parametrize(
    "said",
    [b"", b"R", b"GET / HTTP/1.1\r\n\r\n", b"RCL1\n", b"RCL1\nx\n\n" + bytes(8), b"RCL1\na: %zz\n\n" + bytes(8),
     b"RCL1\n\n" + b"\xff" * 8, b"RCL1\n" + b"a: b\n" * 100 + b"\n" + bytes(8), b"\0" * 1000],
)  # fmt: skip
def test_what_is_no_request_is_ended_and_harms_nobody(running: Running, said: bytes):
    with running.line() as line:
        line.sendall(said)
        line.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            assert line.recv(100) == b""

    assert running.ask(b"x") == ("ok", b"x")
    assert soon(lambda: running.server.connections == 0)


def test_clients_that_send_slowly_or_nothing_keep_nobody_waiting(running: Running):
    slow = [running.line() for _ in range(100)]
    for line in slow[:50]:
        line.sendall(b"RCL1\nevent: ec")

    assert running.ask(b"x") == ("ok", b"x")
    assert (running.server.connections >= len(slow), running.server.counters["slow"]) == (
        True,
        0,
    ), "they are still there"

    slow[0].sendall(b"ho\n\n" + (1).to_bytes(8, "big") + b"y")
    assert frame.read_reply(slow[0].recv) == ("ok", b"y")
    for line in slow:
        line.close()


def test_a_request_that_never_becomes_whole_is_ended(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(servers, "REQUEST_WITHIN_S", 0.2)
    with running.line() as line:
        line.sendall(b"RCL1\n")
        assert line.recv(1) == b""
    assert soon(lambda: running.server.counters["slow"] == 1)


def test_beyond_the_limit_of_connections_the_answer_is_busy(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(servers, "MAX_CONNECTIONS", 3)
    idle = [running.line() for _ in range(3)]
    assert soon(lambda: running.server.connections == 3)

    for _ in range(20):
        if (
            running.place.tcp
        ):  # it has not even proved who it is: a hook tries again until its time is over
            with pytest.raises(ConnectionRefusedError):
                running.line()
        else:
            with running.line() as line:
                assert frame.read_reply(line.recv) == ("busy", b"")
    assert running.server.counters["busy"] == 20
    assert count_threads() <= 3 + servers.MAX_WAITING_THREADS
    for one in idle:
        one.close()
    assert soon(lambda: running.server.connections == 0)
    assert running.ask(b"x") == ("ok", b"x")


def test_beyond_the_limit_of_bytes_the_answer_is_busy_and_requests_that_wait_for_their_turn_count(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(servers, "MAX_BUFFERED_BYTES", 100_000)
    with running.line() as line:
        with suppress(ConnectionError):
            line.sendall(frame.encode_request({}, bytes(1_000_000))[:-1])
        with suppress(ConnectionError):
            assert frame.read_reply(line.recv) == ("busy", b"")
    assert soon(lambda: running.server.counters["busy"] == 1)
    assert running.ask(b"x") == ("ok", b"x")
    # A request ends, and its bytes no longer count, a moment after its answer.
    assert soon(lambda: running.server.active == running.server.connections == 0)

    with running.line() as line:
        line.sendall(frame.encode_request({"event": "wait"}, bytes(60_000)))
        assert soon(lambda: running.server.active == 1)
        with suppress(ConnectionError):
            assert running.ask(bytes(60_000)) == ("busy", b"")
        assert soon(lambda: running.server.counters["busy"] == 2)
        running.desk.go_on.set()
        assert frame.read_reply(line.recv) == ("ok", bytes(60_000))
    assert soon(lambda: running.server.active == running.server.connections == 0)
    assert running.ask(bytes(60_000)) == ("ok", bytes(60_000))


def test_a_request_whose_client_gave_up_before_its_turn_is_late_and_not_answered(running: Running):
    waiting = [
        threading.Thread(target=running.ask, kwargs={"event": "wait"})
        for _ in range(servers.MAX_ANSWERING)
    ]
    for thread in waiting:
        thread.start()
    assert soon(lambda: running.server.active == servers.MAX_ANSWERING)
    with running.line() as line:
        line.sendall(frame.encode_request({"event": "show", "deadline_ms": "50"}, b"late"))
        assert soon(lambda: running.server.active == servers.MAX_ANSWERING + 1)
        time.sleep(0.2)  # its time passes
        running.desk.go_on.set()
        assert line.recv(100) == b""
    for thread in waiting:
        thread.join(PATIENCE_S)

    assert (running.server.counters["late"], running.server.late_because) == (1, {STARTING: 1})
    assert running.desk.shown == running.desk.unshown == []


def test_a_stop_answers_who_is_connected_and_then_ends(running: Running):
    done: list[tuple[str, bytes]] = []
    asking = threading.Thread(target=lambda: done.append(running.ask(b"last", event="wait")))
    asking.start()
    assert soon(lambda: running.server.active == 1)
    with running.line() as line:
        running.server.stop("asked")
        line.sendall(frame.encode_request({}, b"also"))
        running.desk.go_on.set()

        assert frame.read_reply(line.recv) == ("ok", b"also")
    asking.join(PATIENCE_S)
    assert done == [("ok", b"last")]
    running.end()
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        connect(running.place, 1)


def test_some_thousands_of_requests_leave_no_descriptor_behind(running: Running):
    running.ask(b"x")
    before = len(os.listdir("/dev/fd"))

    for number in range(1_500):
        with running.line() as line:
            line.sendall(frame.encode_request({"event": "show"}, b"x"))
            if number % 3:
                frame.read_reply(line.recv)
            if number % 3 == 1:
                line.sendall(frame.SHOWN)

    assert soon(lambda: running.server.connections == 0 and running.server.active == 0)
    assert soon(lambda: len(os.listdir("/dev/fd")) <= before)
    assert running.server.counters["answered"] == len(running.desk.shown) == 500


@pytest.mark.parametrize("running", ["tcp"], indirect=True)
def test_over_tcp_a_wrong_token_is_refused(running: Running):
    port = int(Path(running.place.address).read_text().split()[0])
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"f" * 32 + frame.encode_request({}, b"secret?"))
        with suppress(ConnectionError):
            assert line.recv(100) == b""
    assert soon(lambda: running.server.counters["refused"] == 1)
    assert running.server.counters["requests"] == 0


@FORKS
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("running", ["unix"], indirect=True)
def test_another_user_is_refused(running: Running, tmp_path: Path):
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o011)
    os.chmod(running.place.runtime, 0o711)
    os.chmod(running.place.socket, 0o666)
    child = os.fork()
    if child == 0:
        os.setuid(65_534)
        with suppress(OSError):
            line = socket.socket(socket.AF_UNIX)
            line.connect(running.place.socket)
            line.sendall(frame.encode_request({}, b"let me in"))
            os._exit(1 if line.recv(100) else 0)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert soon(lambda: running.server.counters["refused"] == 1)


def test_however_many_wait_for_long_others_are_answered_at_once(running: Running):
    most = servers.MAX_LONG_WAITS
    with ExitStack() as stack:
        lines = [stack.enter_context(running.line()) for _ in range(most + 3)]
        for number, line in enumerate(lines):
            line.sendall(
                frame.encode_request({"event": "hold", "deadline_ms": "60000"}, b"%d" % number)
            )
        told = [frame.read_reply(line.recv) for line in lines]
        waiting = [line for line, (kind, _) in zip(lines, told, strict=True) if kind == "wait"]

        assert running.ask(b"hello") == ("ok", b"hello")
        assert [body for kind, body in told if kind == "wait"] == [b"30000"] * most
        assert soon(lambda: sorted(running.desk.held) == [False] * 3 + [True] * most)
        # Those who think do not keep chores waiting.
        assert soon(lambda: running.server.active == 0)

        running.desk.go_on.set()
        assert [frame.read_reply(line.recv)[0] for line in waiting] == ["ok"] * most
    assert soon(lambda: count_threads() <= servers.MAX_WAITING_THREADS)
    assert running.ask(b"again") == ("ok", b"again")


class SlowStart(Server):
    """Its first thread has answered everybody before the others are started."""

    has_started = False

    def _start_thread(self) -> None:
        if self.has_started and threading.current_thread().name == "serve":
            assert soon(lambda: self.counters["requests"] == 20)
            assert soon(lambda: self.connections == self.active == 0)
        self.has_started = True
        super()._start_thread()


def test_whoever_comes_while_a_server_starts_leaves_no_more_threads_than_the_limit(tmp_path: Path):
    (tmp_path / "r").mkdir(mode=0o700)
    place = Place(str(tmp_path), str(tmp_path / "r"), tcp=False)
    desk = Echo()
    server = SlowStart(place, listen(place, TOKEN), TOKEN, desk.answer, desk.failed)
    thread = threading.Thread(
        target=server.serve, args=(lambda: "", lambda: remove_socket(place)), name="serve"
    )
    with ExitStack() as stack:
        lines = [stack.enter_context(open_line(place)) for _ in range(20)]
        for line in lines:
            line.sendall(frame.encode_request({}, b"early"))
        thread.start()
        assert [frame.read_reply(line.recv) for line in lines] == [("ok", b"early")] * 20

    assert soon(lambda: count_threads() == servers.MAX_WAITING_THREADS)
    server.stop("the test is over")
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert soon(lambda: count_threads() == 0)


def test_who_waits_for_long_does_not_keep_a_server_from_ending(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(servers, "STOP_WITHIN_S", 0.1)
    with running.line() as line:
        line.sendall(frame.encode_request({"event": "hold", "deadline_ms": "60000"}, b""))
        assert frame.read_reply(line.recv)[0] == "wait"
        running.server.stop("enough")
        assert soon(lambda: not running.thread.is_alive(), PATIENCE_S / 2)


def test_a_client_that_goes_while_it_is_waited_for_costs_nothing(running: Running):
    with running.line() as line:
        line.sendall(frame.encode_request({"event": "hold", "deadline_ms": "60000"}, b""))
        frame.read_reply(line.recv)
    running.desk.go_on.set()
    assert soon(lambda: running.ask(b"x") == ("ok", b"x"))
    assert running.desk.problems == []

"""Takes requests off the socket and sends answers back. Knows frames, not what is asked for (service.py).

A few threads wait for connections, and each serves one at a time; where none is left to wait, one more is started. So a
client that sends slowly, or nothing, costs a thread that sleeps. Over a limit of connections or bytes the answer is
`busy`. A thread that has to wait for long says so (`Request.wait`): its client is told, and another may answer."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from recollect.base.structs import Struct
from recollect.wire import frame
from recollect.wire.place import SHOWN_CHARS, Place, peer_uid, prove

MAX_ANSWERING = 4  # of which mostly one runs: the rest wait for SQLite, numpy or a lock
MAX_WRITING = (
    2  # of those that have answered: what they still write must keep nobody from being answered
)
MAX_WAITING_THREADS = 8  # threads that wait for connections
MAX_CONNECTIONS = 256
MAX_LONG_WAITS = 16  # each of them waits for a language model
MAX_BUFFERED_BYTES = 64_000_000
REQUEST_WITHIN_S = 5.0
CONFIRM_WITHIN_S = 2.0
REPLY_WITHIN_S = 2.0
STOP_WITHIN_S = 1.5
_RETRY_S = 0.02
STARTING_S = 5.0  # how long after its start a daemon still loads what it needs, and is slow
STARTING = "the daemon was still starting"
SLOW = "answering took longer than a hook waits: the machine is busy, or the daemon was paused"
HOOK_GONE = "the hook ended before it could print the answer"

# answered: hooks that printed their answer and confirmed it. late: those that had given up when their turn or their
# answer came, or could not print it. slow: connections that sent nothing in time.
COUNTED = "requests answered late busy slow refused broken failed".split()


class Request(Struct):
    header: Mapping[str, str]
    body: bytes
    until_s: float  # on the monotonic clock: when nobody waits for the answer any more
    wait: Callable[[float], bool]  # asks the client for more seconds; False: they are not granted
    reply: Callable[[str, bytes], None]  # answers at once; whatever comes later is not sent


class Answer(Struct):
    kind: str
    body: bytes = b""
    # For a client that confirms: called once, with whether it did. Work that nobody has to wait for belongs here.
    after: Callable[[bool], None] | None = None


Handler = Callable[[Request], Answer]


class Server:
    def __init__(
        self,
        place: Place,
        listener: socket.socket,
        token: str,
        handler: Handler,
        report: Callable[[Exception], None],
    ) -> None:
        self._place = place
        self._listener = listener
        self._token = token
        self._handler = handler
        self._report_failure = report
        self._lock = threading.Lock()  # guards what follows
        self._connections: set[socket.socket] = set()
        self._idle = 0
        self._buffered_bytes = 0
        self._long_waits = 0
        self.active = 0  # requests that are being answered or wait for it
        self.counters: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        self.late_because: Counter[str] = Counter()
        self._turns = threading.Semaphore(MAX_ANSWERING)
        self._writers = threading.Semaphore(MAX_WRITING)
        self._stopping = ""
        self._is_closed = False
        self._woken, self._waker = socket.socketpair()
        self._began_s = time.monotonic()

    @property
    def connections(self) -> int:
        """Connections whose request, or whose confirmation, is still to come."""
        return len(self._connections) - self.active

    def stop(self, reason: str) -> None:
        """From any thread, or a signal's handler. The first reason stands; an empty one is none."""
        self._stopping = self._stopping or reason
        if reason:
            with suppress(OSError):
                self._waker.send(b"\0")

    def serve(self, tick: Callable[[], str], stop_listening: Callable[[], None]) -> str:
        """Until told to stop, or until `tick` (called every few seconds) names a reason; returns the reason.
        `stop_listening` removes the socket's name, so that nobody new comes while the last are answered."""
        self._listener.setblocking(True)
        self._woken.settimeout(2.0)
        with self._lock:
            self._idle = MAX_WAITING_THREADS
        for _ in range(MAX_WAITING_THREADS):
            self._start_thread()
        while not self._stopping:
            with suppress(TimeoutError):
                self._woken.recv(1)
            self.stop(tick())
        stop_listening()
        until_s = time.monotonic() + STOP_WITHIN_S
        while time.monotonic() < until_s:  # clients that had connected already are still answered
            time.sleep(_RETRY_S)
            if not self._connections and not select.select([self._listener], [], [], 0)[0]:
                break
        self._is_closed = True
        for sock in (self._listener, *list(self._connections)):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
        for end in (self._listener, self._woken, self._waker):
            end.close()
        return self._stopping

    def _start_thread(self) -> None:
        """It counts as idle before it is started, so that no connection that comes meanwhile starts one more."""
        threading.Thread(target=self._work, name="connections", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                if self._is_closed:
                    return
                time.sleep(_RETRY_S)  # no descriptor is left: without a pause this would spin
                continue
            with self._lock:
                self._connections.add(sock)
                is_last = self._idle == 1
                if not is_last:
                    self._idle -= 1
            if is_last:
                self._start_successor()
            try:
                self._serve_connection(sock)
            except Exception as problem:  # noqa: BLE001 the outermost edge: one bad request ends no daemon
                self._fail(problem)
            sock.close()
            with self._lock:
                self._connections.discard(sock)
                if self._idle >= MAX_WAITING_THREADS:
                    return
                self._idle += 1

    def _start_successor(self) -> None:
        """One that waits in this thread's place, and counts as idle for it."""
        try:
            self._start_thread()
        except RuntimeError:  # there can be no more threads
            with self._lock:
                self._idle -= 1

    def _serve_connection(self, sock: socket.socket) -> None:
        if sys.platform != "win32" and not self._place.tcp and peer_uid(sock) != os.geteuid():
            self._count("refused")
        elif len(self._connections) > MAX_CONNECTIONS:
            self._refuse_as_busy(sock)
        elif received := self._receive(sock):
            try:
                self._answer(sock, *received)
            finally:
                with self._lock:
                    self._buffered_bytes -= len(received[1])

    def _count(self, name: str) -> None:
        with self._lock:
            self.counters[name] += 1

    def _fail(self, problem: Exception) -> None:
        self._count("failed")
        self._report_failure(problem)

    def _count_late(self, *, is_slow: bool = True) -> None:
        why = STARTING if time.monotonic() - self._began_s < STARTING_S else SLOW
        with self._lock:
            self.counters["late"] += 1
            self.late_because[why if is_slow else HOOK_GONE] += 1

    def _refuse_as_busy(self, sock: socket.socket) -> None:
        self._count("busy")
        with suppress(OSError):
            sock.setblocking(False)
            sock.send(frame.encode_reply(frame.BUSY))

    def _receive(self, sock: socket.socket) -> tuple[Mapping[str, str], bytes] | None:
        until_s = time.monotonic() + REQUEST_WITHIN_S
        size = 0

        def receive(most: int) -> bytes:
            nonlocal size
            sock.settimeout(max(until_s - time.monotonic(), 0.001))
            chunk = sock.recv(most)
            with self._lock:
                size += len(chunk)
                self._buffered_bytes += len(chunk)
                if self._buffered_bytes > MAX_BUFFERED_BYTES:
                    raise MemoryError
            return chunk

        try:
            if not self._place.tcp or self._is_admitted(sock, receive):
                header, body = frame.read_request(receive)
                size -= len(body)  # which counts until it is answered
                return header, body
        except TimeoutError:
            self._count("slow")
        except MemoryError:
            self._refuse_as_busy(sock)
        except (OSError, frame.CutFrame):
            pass  # gone
        except frame.BadFrame:
            self._count("broken")
        finally:
            with self._lock:
                self._buffered_bytes -= size
        return None

    def _is_admitted(self, sock: socket.socket, receive: Callable[[int], bytes]) -> bool:
        """Over TCP the first bytes must be a secret that only this user can read."""
        shown = b""
        while len(shown) < SHOWN_CHARS and (part := receive(SHOWN_CHARS - len(shown))):
            shown += part
        proof = prove(shown, self._token)
        if not proof and shown:
            self._count("refused")
        sock.sendall(proof)
        return bool(proof)

    def _answer(self, sock: socket.socket, header: Mapping[str, str], body: bytes) -> None:
        until_s = (
            time.monotonic() + min(read_number(header, "deadline_ms") or 1_000, 600_000) / 1_000
        )
        waits_long = is_answered = is_slow = is_sent = is_writing = False

        def grant_wait(seconds: float) -> bool:
            """The thread then counts as neither free nor active."""
            nonlocal waits_long
            with self._lock:
                if waits_long or self._stopping or self._long_waits >= MAX_LONG_WAITS:
                    return False
                waits_long = True
                self._long_waits += 1
                self.active -= 1
                self._connections.discard(sock)
            self._turns.release()
            with suppress(OSError):  # it is noticed below that it is gone
                _send(sock, frame.encode_reply(frame.WAIT, b"%d" % (seconds * 1_000)))
            return True

        def send_reply(kind: str, said: bytes) -> None:
            nonlocal is_answered, is_slow, is_sent
            if not is_answered:
                is_answered, is_slow = True, time.monotonic() > until_s
                with suppress(OSError):
                    _send(sock, frame.encode_reply(kind, said))
                    is_sent = True

        def reply(kind: str, said: bytes) -> None:
            """What follows is written while others are answered."""
            nonlocal is_writing
            send_reply(kind, said)
            if not (is_writing or waits_long):
                self._turns.release()
                self._writers.acquire()
                is_writing = True

        with self._lock:
            self.counters["requests"] += 1
            self.active += 1
        self._turns.acquire()
        try:
            if time.monotonic() > until_s:  # the hook has gone, and its pointer is in the spool
                self._count_late()
                return
            try:
                answer = self._handler(Request(header, body, until_s, grant_wait, reply))
            except Exception as problem:  # noqa: BLE001 as above, and the client is told
                self._fail(problem)
                answer = Answer(frame.ERROR)
            if answer.kind == frame.BUSY and not is_answered:
                self._count("busy")
            send_reply(answer.kind, answer.body)
        finally:
            with self._lock:
                self._long_waits -= waits_long
                self.active -= not waits_long
                self._connections.add(sock)
            if is_writing:
                self._writers.release()
            elif not waits_long:
                self._turns.release()
        if answer.after is None:
            return
        confirmed = False
        with suppress(OSError):
            sock.settimeout(CONFIRM_WITHIN_S)
            confirmed = is_sent and sock.recv(1) == frame.SHOWN
        with self._turns:
            answer.after(confirmed)
        # Counted when that is done: a reader of the count then finds in the ledger what was shown.
        if confirmed:
            self._count("answered")
        else:
            self._count_late(is_slow=is_slow)


def read_number(header: Mapping[str, str], name: str) -> int:
    text = header.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _send(sock: socket.socket, data: bytes) -> None:
    sock.settimeout(REPLY_WITHIN_S)
    sock.sendall(data)

"""Takes requests off the socket and sends answers back.

One thread waits on every connection at once and collects what comes, so a client that sends slowly, or nothing, costs
a buffer and no more; whole requests go to a few threads that answer them. Everything has a limit: connections, bytes,
seconds. Over a limit the answer is `busy`, and the hook's pointer stays in the spool. A thread that has to wait for
long says so (`Request.wait`): its client is told, and another thread takes its place.

Knows frames, not what is asked for (requests.py).
"""

from __future__ import annotations

import errno
import os
import queue
import selectors
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from recollect.wire import frame
from recollect.wire.place import Place
from recollect.wire.transport import SHOWN_CHARS, peer_uid, prove

WORKERS = 4  # of which mostly one runs: the rest wait for SQLite, numpy or a lock
MAX_CONNECTIONS = 256
MAX_LONG_WAITS = 16  # each of them waits for a language model
MAX_BUFFERED_BYTES = 64_000_000
REQUEST_WITHIN_S = 5.0
CONFIRM_WITHIN_S = 2.0
REPLY_WITHIN_S = 2.0
STOP_WITHIN_S = 1.5
TICK_S = 2.0
STARTING_S = 5.0  # how long after its start a daemon still loads what it needs, and is slow
STARTING = "the daemon was still starting"
SLOW = "answering took longer than a hook waits: the machine is busy, or the daemon was paused"
HOOK_GONE = "the hook ended before it could print the answer"
_CHUNK_BYTES = 262_144
_SWEEP_S = 0.25


@dataclass(frozen=True, slots=True)
class Request:
    header: Mapping[str, str]
    body: bytes
    until_s: float  # on the monotonic clock: when nobody waits for the answer any more
    wait: Callable[[float], bool] = lambda _seconds: False
    """Asks the client for more seconds, where it can be asked. False: they are not granted."""


@dataclass(frozen=True, slots=True)
class Answer:
    kind: str
    body: bytes = b""
    after: Callable[[bool], None] | None = None
    """For a client that confirms: called once, with whether it did. Work that nobody has to wait for belongs here."""


@dataclass(slots=True, eq=False)
class _Connection:
    sock: socket.socket
    admitted: bool  # over TCP only once it has shown the token
    expires_s: float = 0.0
    received: bytearray = field(default_factory=bytearray)
    after: Callable[[bool], None] | None = None  # called when the client has confirmed, or will not any more
    due_s: float = 0.0  # when the answer had to be there
    answered_s: float = 0.0
    waits_long: bool = False  # the thread that answers it asked for time; another has taken its place


@dataclass
class Counters:
    """What `status` shows."""

    requests: int = 0
    answered: int = 0  # of hooks: printed and confirmed
    late: int = 0  # hooks that had given up when their turn or their answer came, and those that could not print it
    late_because: Counter[str] = field(default_factory=Counter)
    busy: int = 0
    slow: int = 0  # connections that sent nothing in time
    refused: int = 0
    broken: int = 0
    failed: int = 0


class Server:
    def __init__(
        self,
        place: Place,
        listener: socket.socket,
        token: str,
        handler: Callable[[Request], Answer],
        report_failure: Callable[[Exception], None],
    ) -> None:
        self._place = place
        self._listener = listener
        self._token = token
        self._handler = handler
        self._report_failure = report_failure
        self._connections: set[_Connection] = set()
        self.active = 0  # requests that are being answered or wait for it
        self._long_waits = 0
        self._queue: queue.SimpleQueue[tuple[_Connection, Request] | Callable[[], None] | None] = queue.SimpleQueue()
        self._answered: queue.SimpleQueue[_Connection] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopping = ""
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._threads = [self._new_worker(number) for number in range(WORKERS)]
        self._began_s = time.monotonic()
        self.counters = Counters()

    def stop(self, reason: str) -> None:
        """From any thread, or a signal's handler. The first reason stands; an empty one is none."""
        self._stopping = self._stopping or reason
        self._wake()

    @property
    def connections(self) -> int:
        return len(self._connections)

    # The loop

    def serve(self, tick: Callable[[], str], stop_listening: Callable[[], None]) -> str:
        """Until told to stop, or until `tick` (called every few seconds) names a reason; returns the reason.

        `stop_listening` removes the socket's name, so that nobody new comes while the last are answered.
        """
        for end in (self._listener, self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        for thread in self._threads:
            thread.start()
        next_tick_s = time.monotonic() + TICK_S
        while not self._stopping:
            self._poll(_SWEEP_S if self._connections else max(0.0, next_tick_s - time.monotonic()))
            if time.monotonic() >= next_tick_s:
                self.stop(tick())
                next_tick_s = time.monotonic() + TICK_S
        self._finish(stop_listening)
        return self._stopping

    def _finish(self, stop_listening: Callable[[], None]) -> None:
        stop_listening()
        self._accept()  # clients that had connected already are still answered
        self._selector.unregister(self._listener)
        self._listener.close()
        until_s = time.monotonic() + STOP_WITHIN_S
        while (self._connections or self.active) and time.monotonic() < until_s:
            self._poll(0.05)
        for connection in list(self._connections):
            self._close(connection)
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def _poll(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._woken:
                with suppress(OSError):
                    self._woken.recv(4096)
            else:
                self._receive(key.data)
        while not self._answered.empty():
            self._watch(self._answered.get(), CONFIRM_WITHIN_S)
        now_s = time.monotonic()
        for connection in [one for one in self._connections if one.expires_s < now_s]:
            self.counters.slow += connection.after is None
            self._close(connection)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as problem:
                if problem.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    time.sleep(0.02)  # the listener stays readable: without a pause this would spin
                return
            sock.setblocking(False)
            if sys.platform != "win32" and not self._place.tcp and peer_uid(sock) != os.geteuid():
                self.counters.refused += 1
                sock.close()
            elif len(self._connections) >= MAX_CONNECTIONS:
                self._refuse_as_busy(sock)
            else:
                self._watch(_Connection(sock, admitted=not self._place.tcp), REQUEST_WITHIN_S)

    def _watch(self, connection: _Connection, within_s: float) -> None:
        """Wait for the next bytes of a connection."""
        connection.expires_s = time.monotonic() + within_s
        self._connections.add(connection)
        try:
            self._selector.register(connection.sock, selectors.EVENT_READ, connection)
        except (OSError, ValueError):
            self._close(connection)

    def _refuse_as_busy(self, sock: socket.socket) -> None:
        self.counters.busy += 1
        with suppress(OSError):
            sock.send(frame.encode_reply(frame.BUSY))
        sock.close()

    def _receive(self, connection: _Connection) -> None:
        try:
            chunk = connection.sock.recv(_CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:  # gone: what it was sent does not count as shown
            self._close(connection)
        elif connection.after is not None:
            self._close(connection, confirmed=chunk[:1] == frame.SHOWN)
        else:
            connection.received += chunk
            if connection.admitted or self._check_token(connection):
                self._parse_request(connection)

    def _check_token(self, connection: _Connection) -> bool:
        """Over TCP the first bytes must be a secret that only this user can read."""
        if len(connection.received) < SHOWN_CHARS:
            return False
        proof = prove(bytes(connection.received[:SHOWN_CHARS]), self._token)
        del connection.received[:SHOWN_CHARS]
        with suppress(OSError):
            connection.admitted = bool(proof) and connection.sock.send(proof) == len(proof)
        if not connection.admitted:
            self.counters.refused += 1
            self._close(connection)
        return connection.admitted

    def _parse_request(self, connection: _Connection) -> None:
        try:
            parsed = frame.parse(connection.received)
        except frame.BadFrame:
            self.counters.broken += 1
            self._close(connection)
            return
        if parsed is None:
            if sum(len(one.received) for one in self._connections) > MAX_BUFFERED_BYTES:
                self._unregister(connection)
                self._refuse_as_busy(connection.sock)
            return
        header, body, _ = parsed
        self.counters.requests += 1
        self._unregister(connection)
        connection.received = bytearray()
        with self._lock:
            self.active += 1
        until_s = time.monotonic() + _deadline_s(header)
        self._queue.put((connection, Request(header, body, until_s, partial(self._grant_wait, connection))))

    def _unregister(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection.sock)

    def _close(self, connection: _Connection, *, confirmed: bool = False) -> None:
        self._unregister(connection)
        connection.sock.close()
        after, connection.after = connection.after, None
        if after is not None:
            self._queue.put(partial(self._run_after, connection, after, confirmed))

    def _run_after(self, connection: _Connection, after: Callable[[bool], None], confirmed: bool) -> None:
        """Counted when it is done: a reader of the count then finds in the ledger what was shown."""
        after(confirmed)
        if confirmed:
            self.counters.answered += 1
        else:
            self._count_late(is_slow=connection.answered_s > connection.due_s)

    def _count_late(self, *, is_slow: bool = True) -> None:
        why = STARTING if time.monotonic() - self._began_s < STARTING_S else SLOW
        self.counters.late += 1
        self.counters.late_because[why if is_slow else HOOK_GONE] += 1

    def _wake(self) -> None:
        with suppress(OSError):
            self._waker.send(b"\0")

    # The threads that answer

    def _new_worker(self, number: int) -> threading.Thread:
        return threading.Thread(target=self._work, name=f"answer-{number}", daemon=True)

    def _work(self) -> None:
        while True:
            work = self._queue.get()
            if work is None:
                return
            if callable(work):
                self._run_guarded(work)
                continue
            connection, request = work
            try:
                self._answer(connection, request)
            finally:
                with self._lock:
                    self._long_waits -= connection.waits_long
                    self.active -= not connection.waits_long
                self._wake()
            if connection.waits_long:
                return

    def _answer(self, connection: _Connection, request: Request) -> None:
        if time.monotonic() > request.until_s:  # the hook has gone, and its pointer is in the spool
            self._count_late()
            connection.sock.close()
            return
        try:
            answer = self._handler(request)
        except Exception as problem:  # noqa: BLE001 the loop's edge: one bad request ends no daemon
            self.counters.failed += 1
            self._report_failure(problem)
            answer = Answer(frame.ERROR)
        if answer.kind == frame.BUSY:
            self.counters.busy += 1
        connection.due_s = request.until_s
        if not self._reply(connection, answer) and answer.after is not None:
            self._run_guarded(partial(self._run_after, connection, answer.after, False))

    def _grant_wait(self, connection: _Connection, seconds: float) -> bool:
        """Called by the thread that answers, which then counts as neither free nor active."""
        with self._lock:
            if connection.waits_long or self._stopping or self._long_waits >= MAX_LONG_WAITS:
                return False
            self._long_waits += 1
            self.active -= 1
            connection.waits_long = True
        with suppress(OSError):  # `_reply` notices that it is gone
            connection.sock.settimeout(REPLY_WITHIN_S)
            connection.sock.sendall(frame.encode_reply(frame.WAIT, b"%d" % (seconds * 1_000)))
        stand_in = self._new_worker(WORKERS + self._long_waits)
        stand_in.start()
        with self._lock:
            self._threads = [*(thread for thread in self._threads if thread.is_alive()), stand_in]
        return True

    def _reply(self, connection: _Connection, answer: Answer) -> bool:
        """True: the client has to confirm it, and `after` waits for that."""
        connection.answered_s = time.monotonic()
        try:
            connection.sock.settimeout(REPLY_WITHIN_S)
            connection.sock.sendall(frame.encode_reply(answer.kind, answer.body))
            connection.sock.setblocking(False)
        except OSError:
            connection.sock.close()
            return False
        if answer.after is None:
            connection.sock.close()
            return False
        connection.after = answer.after
        self._answered.put(connection)
        self._wake()
        return True

    def _run_guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as problem:  # noqa: BLE001 the loop's edge, as above
            self.counters.failed += 1
            self._report_failure(problem)


def _deadline_s(header: Mapping[str, str]) -> float:
    try:
        return min(max(int(header.get("deadline_ms", "1000")), 1), 600_000) / 1_000
    except ValueError:
        return 1.0

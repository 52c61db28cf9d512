"""Takes requests off the socket and gives answers back.

One thread waits on every connection at once and gathers what comes, so a client that sends slowly, or nothing,
costs a buffer and no more; whole requests go to a few threads that answer them. Everything has a limit: connections,
bytes, seconds. Over a limit the answer is `busy`, and the hook's pointer stays in the spool. A thread that has to
wait for long says so (`Request.wait`): its client is told, and another thread takes its place.

Knows frames, not what is asked for (desk.py).
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
from typing import Protocol

from recollect.wire import frame
from recollect.wire.place import Place
from recollect.wire.transport import SHOWN_CHARS, peer_uid, prove

WORKERS = 4  # of which mostly one runs: the rest wait for SQLite, numpy or a lock
MOST_TALKS = 256
MOST_HELD = 16  # each of them waits for a language model
MOST_BUFFERED_BYTES = 64_000_000
REQUEST_WITHIN_S = 5.0
CONFIRM_WITHIN_S = 2.0
REPLY_WITHIN_S = 2.0
STOP_WITHIN_S = 1.5
TICK_S = 2.0
STARTING_S = 5.0
"""So long after its start a daemon loads what it needs, and is slow."""
STARTING = "the daemon was still starting"
SLOW = "answering took longer than a hook waits: the machine is busy, or the daemon was paused"
HOOK_GONE = "the hook ended before it could print the answer"
_CHUNK_BYTES = 262_144
_SWEEP_S = 0.25


@dataclass(frozen=True, slots=True)
class Request:
    header: Mapping[str, str]
    body: bytes
    until_s: float
    """On the monotonic clock: when nobody waits for the answer any more."""
    wait: Callable[[float], bool] = lambda _seconds: False
    """Asks the client for so many seconds more, for a client that can be asked. False: they are not granted."""


@dataclass(frozen=True, slots=True)
class Answer:
    kind: str
    body: bytes = b""
    after: Callable[[bool], None] | None = None
    """For a client that confirms: called once, with whether it did. What nobody has to wait for is done then."""


class Desk(Protocol):
    def answer(self, request: Request) -> Answer: ...

    def failed(self, problem: Exception) -> None: ...


@dataclass(slots=True, eq=False)
class _Talk:
    """One connection, from its first byte to its end."""

    sock: socket.socket
    expires_s: float
    admitted: bool
    got: bytearray = field(default_factory=bytearray)
    after: Callable[[bool], None] | None = None
    """What waits for the client's confirmation."""
    due_s: float = 0.0
    """When the answer had to be there, and when it was."""
    answered_s: float = 0.0
    held: bool = False
    """Whoever answers it asked for time; its place was taken by another."""

    def close(self) -> None:
        self.got = bytearray()
        self.sock.close()


@dataclass(slots=True)
class Tally:
    """What `status` tells."""

    requests: int = 0
    busy: int = 0
    late: int = 0
    """Hooks that had given up when their turn or their answer came, and those that could not print it."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why they were late."""
    slow: int = 0
    """Connections that said nothing in time."""
    refused: int = 0
    broken: int = 0
    failed: int = 0
    confirmed: int = 0


class Server:
    def __init__(
        self, place: Place, listener: socket.socket, token: str, desk: Desk, *, workers: int = WORKERS
    ) -> None:
        self._place = place
        self._listener = listener
        self._token = token
        self._desk = desk
        self._talks: set[_Talk] = set()
        self._working = 0
        self._held = 0
        self._work: queue.SimpleQueue[tuple[_Talk, Request] | Callable[[], None] | None] = queue.SimpleQueue()
        self._answered: queue.SimpleQueue[_Talk] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._stopping = ""
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._threads = [
            threading.Thread(target=self._worker, name=f"answer-{number}", daemon=True) for number in range(workers)
        ]
        self._began_s = time.monotonic()
        self.tally = Tally()

    # Asked by others

    def stop(self, reason: str) -> None:
        """From any thread, or a signal's handler. The first reason stands; an empty one is none."""
        self._stopping = self._stopping or reason
        self._wake()

    @property
    def waiting(self) -> int:
        """Requests that are being answered or wait for it."""
        return self._working

    @property
    def connections(self) -> int:
        return len(self._talks)

    # The loop

    def serve(self, tick: Callable[[], str], hang_up: Callable[[], None]) -> str:
        """Until told to stop, or until `tick` (called every few seconds) names a reason; returns the reason.

        `hang_up` takes the socket's name away, so that nobody new comes while the last are answered.
        """
        for end in (self._listener, self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        for thread in self._threads:
            thread.start()
        next_tick_s = time.monotonic() + TICK_S
        while not self._stopping:
            self._pass(_SWEEP_S if self._talks else max(0.0, next_tick_s - time.monotonic()))
            if time.monotonic() >= next_tick_s:
                self.stop(tick())
                next_tick_s = time.monotonic() + TICK_S
        self._finish(hang_up)
        return self._stopping

    def _finish(self, hang_up: Callable[[], None]) -> None:
        hang_up()
        self._accept()  # who had connected already is still answered
        self._selector.unregister(self._listener)
        self._listener.close()
        until_s = time.monotonic() + STOP_WITHIN_S
        while (self._talks or self._working) and time.monotonic() < until_s:
            self._pass(0.05)
        for talk in list(self._talks):
            self._end(talk)
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def _pass(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._woken:
                with suppress(OSError):
                    self._woken.recv(4096)
            else:
                self._hear(key.data)
        self._take_answered()
        now_s = time.monotonic()
        for talk in [talk for talk in self._talks if talk.expires_s < now_s]:
            self.tally.slow += talk.after is None
            self._end(talk)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as problem:
                if problem.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    time.sleep(0.02)  # the name stays readable: without a pause this would spin
                return
            sock.setblocking(False)
            if sys.platform != "win32" and not self._place.tcp and peer_uid(sock) != os.geteuid():
                self.tally.refused += 1
                sock.close()
            elif len(self._talks) >= MOST_TALKS:
                self._turn_away(sock)
            else:
                talk = _Talk(sock, time.monotonic() + REQUEST_WITHIN_S, admitted=not self._place.tcp)
                self._talks.add(talk)
                self._selector.register(sock, selectors.EVENT_READ, talk)

    def _turn_away(self, sock: socket.socket) -> None:
        self.tally.busy += 1
        with suppress(OSError):
            sock.send(frame.encode_reply(frame.BUSY))
        sock.close()

    def _hear(self, talk: _Talk) -> None:
        try:
            chunk = talk.sock.recv(_CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:  # gone: what it was shown stays uncounted
            self._end(talk)
        elif talk.after is not None:
            self._end(talk, confirmed=chunk[:1] == frame.SHOWN)
        else:
            talk.got += chunk
            if talk.admitted or self._has_token(talk):
                self._try_to_read(talk)

    def _has_token(self, talk: _Talk) -> bool:
        """Over TCP the first bytes have to be what only this user can read."""
        if len(talk.got) < SHOWN_CHARS:
            return False
        proof = prove(bytes(talk.got[:SHOWN_CHARS]), self._token)
        del talk.got[:SHOWN_CHARS]
        with suppress(OSError):
            talk.admitted = bool(proof) and talk.sock.send(proof) == len(proof)
        if not talk.admitted:
            self.tally.refused += 1
            self._end(talk)
        return talk.admitted

    def _try_to_read(self, talk: _Talk) -> None:
        try:
            header, body = frame.read_request(_Reader(talk.got).recv)
        except _More:
            if self._buffered() > MOST_BUFFERED_BYTES:
                self._take_off(talk)
                self._turn_away(talk.sock)
            return
        except (frame.BadFrame, ValueError):
            self.tally.broken += 1
            self._end(talk)
            return
        now_s = time.monotonic()
        self.tally.requests += 1
        self._take_off(talk)
        talk.got = bytearray()
        with self._guard:
            self._working += 1
        self._work.put((talk, Request(header, body, now_s + _deadline_s(header), partial(self._hold, talk))))

    def _buffered(self) -> int:
        return sum(len(talk.got) for talk in self._talks)

    def _take_answered(self) -> None:
        """Connections whose answer was sent and which now have to confirm it."""
        while not self._answered.empty():
            talk = self._answered.get()
            talk.expires_s = time.monotonic() + CONFIRM_WITHIN_S
            self._talks.add(talk)
            try:
                self._selector.register(talk.sock, selectors.EVENT_READ, talk)
            except (OSError, ValueError):
                self._end(talk)

    def _take_off(self, talk: _Talk) -> None:
        self._talks.discard(talk)
        with suppress(KeyError, ValueError):
            self._selector.unregister(talk.sock)

    def _end(self, talk: _Talk, *, confirmed: bool = False) -> None:
        self._take_off(talk)
        talk.close()
        if talk.after is not None:
            self._work.put(partial(self._after, talk, talk.after, confirmed))
            talk.after = None

    def _after(self, talk: _Talk, after: Callable[[bool], None], confirmed: bool) -> None:
        """Counted when it is done: who reads the count then finds what was shown in the ledger."""
        after(confirmed)
        self._count_confirmation(talk, confirmed)

    def _count_confirmation(self, talk: _Talk, confirmed: bool) -> None:
        if confirmed:
            self.tally.confirmed += 1
            return
        self._count_late(self._why_late() if talk.answered_s > talk.due_s else HOOK_GONE)

    def _count_late(self, why: str) -> None:
        self.tally.late += 1
        self.tally.reasons[why] += 1

    def _why_late(self) -> str:
        return STARTING if time.monotonic() - self._began_s < STARTING_S else SLOW

    def _wake(self) -> None:
        with suppress(OSError):
            self._waker.send(b"\0")

    # The threads that answer

    def _worker(self) -> None:
        while True:
            work = self._work.get()
            if work is None:
                return
            if callable(work):
                self._do(work)
                continue
            talk, request = work
            try:
                self._answer(talk, request)
            finally:
                with self._guard:
                    self._held -= talk.held
                    self._working -= not talk.held
                self._wake()
            if talk.held:
                return

    def _answer(self, talk: _Talk, request: Request) -> None:
        if time.monotonic() > request.until_s:  # the hook has gone, and its pointer is in the spool
            self._count_late(self._why_late())
            talk.close()
            return
        try:
            answer = self._desk.answer(request)
        except Exception as problem:  # noqa: BLE001 the loop's edge: one bad request ends no daemon
            self.tally.failed += 1
            self._desk.failed(problem)
            answer = Answer(frame.ERROR)
        if answer.kind == frame.BUSY:
            self.tally.busy += 1
        talk.due_s = request.until_s
        if not self._reply(talk, answer) and answer.after is not None:
            self._do(partial(self._after, talk, answer.after, False))

    def _hold(self, talk: _Talk, seconds: float) -> bool:
        """Called by the thread that answers it, which then counts neither as one that can answer nor as one that is
        waited for."""
        with self._guard:
            if talk.held or self._stopping or self._held >= MOST_HELD:
                return False
            self._held += 1
            self._working -= 1
            talk.held = True
        with suppress(OSError):  # its end is seen by who replies
            talk.sock.settimeout(REPLY_WITHIN_S)
            talk.sock.sendall(frame.encode_reply(frame.WAIT, b"%d" % (seconds * 1_000)))
        stand_in = threading.Thread(target=self._worker, name=f"answer-+{self._held}", daemon=True)
        stand_in.start()
        with self._guard:
            self._threads = [*(thread for thread in self._threads if thread.is_alive()), stand_in]
        return True

    def _reply(self, talk: _Talk, answer: Answer) -> bool:
        """True: it is to be confirmed, and what comes after comes after that."""
        talk.answered_s = time.monotonic()
        try:
            talk.sock.settimeout(REPLY_WITHIN_S)
            talk.sock.sendall(frame.encode_reply(answer.kind, answer.body))
            talk.sock.setblocking(False)
        except OSError:
            talk.close()
            return False
        if answer.after is None:
            talk.close()
            return False
        talk.after = answer.after
        self._answered.put(talk)
        self._wake()
        return True

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as problem:  # noqa: BLE001 the loop's edge, as above
            self.tally.failed += 1
            self._desk.failed(problem)


class _More(Exception):
    """The request is not whole yet."""


class _Reader:
    """Hands out what has come so far, as a socket would."""

    def __init__(self, got: bytearray) -> None:
        self._got = got
        self._at = 0

    def recv(self, most: int) -> bytes:
        found = bytes(self._got[self._at : self._at + most])
        if not found and most:
            raise _More
        self._at += len(found)
        return found


def _deadline_s(header: Mapping[str, str]) -> float:
    try:
        return min(max(int(header.get("deadline_ms", "1000")), 1), 600_000) / 1_000
    except ValueError:
        return 1.0

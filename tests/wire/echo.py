"""The daemon's stand-in: a real socket, the real frames, and whatever answer a test wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from recollect.wire import frame
from recollect.wire.place import SHOWN_CHARS, Place, listen, prove

TOKEN = "t" * 32 + "p" * 32
PATIENCE_S = (
    60  # Longer than any hook may take: one that waits for the end of this was not done in time
)
Answer = Callable[[dict[str, str], bytes], bytes | None]
"""The bytes of a reply; none: hang up; None: say nothing, and keep the line open."""


def echo(header: dict[str, str], body: bytes) -> bytes:
    return frame.encode_reply(frame.OK, body)


class EchoServer:
    def __init__(self, place: Place, answer: Answer = echo, first: bytes = b"") -> None:
        """`first` is sent as soon as a request is there."""
        self.place = place
        self.first = first
        self.answer = answer
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.shown: list[bool] = []
        self._open: list[threading.Thread] = []
        self._over = threading.Event()
        self._line = listen(place, TOKEN)
        self._line.settimeout(0.05)
        self._main = threading.Thread(target=self._accept)
        self._main.start()

    def __enter__(self) -> EchoServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._over.set()
        self._main.join()
        for thread in self._open:
            thread.join()
        self._line.close()

    def settle(self) -> None:
        """Wait until every line that was taken has ended."""
        for thread in list(self._open):
            thread.join(PATIENCE_S)

    def _accept(self) -> None:
        while not self._over.is_set():
            with suppress(TimeoutError):
                line, _ = self._line.accept()
                thread = threading.Thread(target=self._serve, args=(line,))
                thread.start()
                self._open.append(thread)  # one that has not begun cannot be waited for

    def _serve(self, line: socket.socket) -> None:
        line.settimeout(PATIENCE_S)
        with line, suppress(OSError, frame.BadFrame):
            if self.place.tcp:
                proof = prove(line.recv(SHOWN_CHARS), TOKEN)
                line.sendall(proof)
                if not proof:
                    return
            header, body = frame.read_request(line.recv)
            self.requests.append((header, body))
            if self.first:
                line.sendall(self.first)
            reply = self.answer(header, body)
            if reply is None:
                self._over.wait(PATIENCE_S)
                return
            line.sendall(reply)
            if not reply:
                return
            self.shown.append(line.recv(1) == frame.SHOWN)

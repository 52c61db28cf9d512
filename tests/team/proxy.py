"""A way to the server that can be slowed, hung and cut: a Unix socket that passes bytes on, as a network would."""

import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

SOCKET = ".s.PGSQL.5432"


class Proxy:
    """Named as PostgreSQL names its sockets, so that `?host=<folder>` leads here."""

    def __init__(self, target: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rcp"))
        self._target = str(target)
        self.delay_s = 0.0  # of what goes each way
        self.is_hung = False  # bytes are taken and go nowhere
        self.has_taken = False  # of what went nowhere
        self.cut_at = b""  # as soon as a client sends this, the connection is cut before it arrives
        self.cut_after = b""  # the same, once it has arrived and before the answer
        self.cuts = 0
        self._last_words: set[socket.socket] = set()
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / SOCKET))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.refuse()

    def refuse(self) -> None:
        """From now on nobody answers."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        (self.folder / SOCKET).unlink(missing_ok=True)
        self.cut()

    def cut(self) -> None:
        """Every connection that is open now."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(self._target)
                except OSError:
                    near.close()
                    far.close()
                    continue
                self._open += [near, far]
                for one, other, is_up in ((near, far, True), (far, near, False)):
                    threading.Thread(
                        target=self._pass_on, args=(one, other, is_up), daemon=True
                    ).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_up: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if self.delay_s:
                    time.sleep(self.delay_s)
                if is_up and self.cut_at and self.cut_at in data:
                    self.cuts += 1
                    break
                if self.is_hung:
                    self.has_taken = True
                    continue
                if is_up and self.cut_after and self.cut_after in data:
                    self._last_words.add(target)
                elif source in self._last_words:  # the answer: nobody hears it
                    self.cuts += 1
                    break
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        source.close()

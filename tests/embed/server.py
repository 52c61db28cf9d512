"""An embedding server on loopback that answers as it is told to: well, late, wrongly, or a byte at a time."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIM = 48


def vector(text: str, dim: int = DIM) -> list[float]:
    """Of its words: texts that share some are near."""
    found = np.zeros(dim)
    for word in text.lower().split():
        found += np.random.default_rng(sum(word.encode()) * len(word)).normal(size=dim)
    return [float(value) for value in found]


def well(texts: list[str]) -> Any:
    """Out of order, as the protocol allows: the index counts."""
    rows = [
        {"object": "embedding", "index": place, "embedding": vector(text)}
        for place, text in enumerate(texts)
    ]
    return {"object": "list", "data": rows[::-1], "model": "test"}


class Server:
    def __init__(self) -> None:
        self.answer: Callable[[list[str]], Any] = well
        """A value is sent as JSON, bytes as they are."""
        self.status = 200
        self.waits_s = 0.0
        self.drips_s = 0.0
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.go_on = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(said)
                outer.headers.append(dict(self.headers))
                outer.paths.append(self.path)
                outer.go_on.wait(outer.waits_s)
                made = outer.answer(said["input"])
                body = made if isinstance(made, bytes) else json.dumps(made).encode()
                try:
                    self._send(body)
                except OSError:
                    pass  # who asked has hung up

            def _send(self, body: bytes) -> None:
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                for at in range(0, len(body), 1 if outer.drips_s else len(body) or 1):
                    self.wfile.write(body[at : at + 1] if outer.drips_s else body)
                    time.sleep(outer.drips_s)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#test-model"

    def stop(self) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.stop()

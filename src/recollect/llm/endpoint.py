"""Asks over HTTP: an endpoint that speaks the OpenAI chat protocol (servers of local models do), or the messages
protocol with a key.

One request, no redirects followed, no proxy looked for; the whole of it within its seconds, the answer within its
bytes. Which address, and whether it may be asked, is the caller's to say.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from recollect.model.ask import Heard

MOST_BYTES = 1_000_000
MOST_TOKENS = 4_096
"""Of an answer."""
_VERSION = "2023-06-01"
_CHUNK = 65_536
_LATE = "no answer in time"


def chat(url: str, *, key: str, model: str, text: str, seconds: float) -> Heard:
    """`url` is what stands before `/chat/completions`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": MOST_TOKENS, "stream": False}
    said, problem = _posted(url, "/chat/completions", headers, body, seconds)
    if problem:
        return Heard(problem=problem)
    tokens = _sum(said.get("usage"), "prompt_tokens", "completion_tokens")
    match said:
        case {"choices": [{"message": {"content": str(answer)}}, *_]}:
            return Heard(answer, tokens)
        case _:
            return Heard(tokens=tokens, problem="an answer of another shape")


def messages(url: str, *, key: str, model: str, text: str, seconds: float) -> Heard:
    """`url` is what stands before `/v1/messages`."""
    headers = {"x-api-key": key, "anthropic-version": _VERSION}
    body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": MOST_TOKENS}
    said, problem = _posted(url, "/v1/messages", headers, body, seconds)
    if problem:
        return Heard(problem=problem)
    counted = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    tokens = _sum(said.get("usage"), *counted)
    parts = said.get("content")
    if not isinstance(parts, list):
        return Heard(tokens=tokens, problem="an answer of another shape")
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return Heard("".join(text for text in texts if isinstance(text, str)), tokens)


def _posted(
    url: str, path: str, headers: Mapping[str, str], body: Mapping[str, object], seconds: float
) -> tuple[dict[str, object], str]:
    try:
        line, prefix = _line(url, seconds)
    except ValueError:
        return {}, "the address is none of http or https"
    watch = _Watch(line, seconds)
    try:
        line.connect()
        watch.held = line.sock
        line.request("POST", prefix + path, json.dumps(body), {"Content-Type": "application/json", **headers})
        answer = line.getresponse()
        said, problem = _read(answer) if answer.status == http.client.OK else ({}, f"status {answer.status}")
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        # AttributeError: the line was hung up between two steps of http.client.
        late = isinstance(error, TimeoutError)
        said, problem = {}, _LATE if late else f"cannot be asked ({type(error).__name__})"
    finally:
        watch.timer.cancel()
        line.close()
    return ({}, _LATE) if watch.rang else (said, problem)


class _Watch:
    """A socket's time-out is for each step; this one is for all of them."""

    def __init__(self, line: http.client.HTTPConnection, seconds: float) -> None:
        self._line = line
        self.held: socket.socket | None = None
        """The connection lets go of its socket once the headers are read; we do not."""
        self.rang = False
        self.timer = threading.Timer(seconds, self._ring)
        self.timer.daemon = True
        self.timer.start()

    def _ring(self) -> None:
        self.rang = True
        for sock in (self._line.sock, self.held):
            if sock is not None:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)


def _line(url: str, seconds: float) -> tuple[http.client.HTTPConnection, str]:
    parts = urlsplit(url)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname:
        raise ValueError(url)
    return kinds[parts.scheme](parts.hostname, parts.port, timeout=seconds), parts.path.rstrip("/")


def _read(answer: http.client.HTTPResponse) -> tuple[dict[str, object], str]:
    found = bytearray()
    while piece := answer.read1(_CHUNK):
        found += piece
        if len(found) > MOST_BYTES:
            return {}, f"more than {MOST_BYTES:,} bytes of answer"
    try:
        said = json.loads(found)
    except (ValueError, RecursionError):
        return {}, "an answer that cannot be read"
    return (said, "") if isinstance(said, dict) else ({}, "an answer of another shape")


def _sum(usage: object, *names: str) -> int | None:
    if not isinstance(usage, dict):
        return None
    return sum(count for name in names if isinstance(count := usage.get(name), int) and count >= 0)

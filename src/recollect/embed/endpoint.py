"""Vectors from a server that speaks as OpenAI's does: POST /v1/embeddings.

`http://127.0.0.1:11434/v1#name` asks the server there for the model of that name. No redirect is followed and no proxy
asked. Who waits for a question gives up after a second; whoever else waits, gives up too, at a limit for the whole
call. A server that does not answer is left alone for a while, so that nobody waits for it again and again. What it
answers is a stranger's: measured before it is read, checked before it is used.

Where texts may go is the settings' affair (base/settings.py): another machine only by the user's own file.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from recollect.base.errors import BadInput, EndpointFailed
from recollect.base.files import read_limited
from recollect.base.setting import is_loopback
from recollect.base.text import clip
from recollect.embed.layers import Floats

HURRIED_S = 1.0  # longer than any hook waits
QUESTION_S = 10.0
BATCH_S = 20.0  # other chores wait so long for one that hangs
LEFT_ALONE_S = (2.0, 60.0)  # at first, and at most
_BATCH_TEXTS = 8
_BATCH_CHARS = 60_000
_TEXT_CHARS = 8_000  # of a text: longer than any passage
_CHARS_A_TOKEN = 4
_MOST_ANSWER_BYTES = 64_000_000
_MOST_DIM = 8_192
_MOST_KEY_BYTES = 10_000
_HINT = "It is tried again by itself. Does it run, and is the address right?"


class Endpoint:
    at_once = 8  # not our processor

    def __init__(self, setting: str, key_file: Path | None = None) -> None:
        self._url = _address(setting)
        self._name = self._url.fragment or "default"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        key = _key(key_file)
        if key and self._url.scheme == "http" and not is_loopback(self._url.hostname or ""):
            raise BadInput(f"{self._where} is not encrypted: the key would be sent in the open.", hint="Use https.")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._problem = ""
        self._alone_until_s = 0.0
        self._alone_s = 0.0
        self.dim = 0
        self.dim = self.vectors(["word"], None).shape[1]

    @property
    def _where(self) -> str:
        return f"{self._url.scheme}://{self._url.netloc}"

    @property
    def id(self) -> str:
        """No file to take a hash of: that of the address, the name and the size stands for it."""
        said = f"{self._url.geturl()}\0{self._name}\0{self.dim}"
        return f"{clip(self._name, 60)}@endpoint:{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        if not texts:
            return np.empty((0, self.dim), np.float32)
        if most_tokens is not None:
            texts = [_ends(text, most_tokens * _CHARS_A_TOKEN) for text in texts]
        alone_s = QUESTION_S if most_tokens is None else HURRIED_S
        within_s = alone_s if len(texts) == 1 else BATCH_S
        return np.concatenate([self._asked(batch, within_s) for batch in _batches(texts)])

    def _asked(self, texts: list[str], within_s: float) -> Floats:
        if time.monotonic() < self._alone_until_s:
            raise EndpointFailed(self._problem, hint=_HINT)
        try:
            made = _read(self._call(texts, within_s), len(texts), self.dim)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            why = str(problem) if isinstance(problem, ValueError) else _in_words(problem)
            said = f"The embedding endpoint {self._where} {why}."
            if within_s > HURRIED_S or not isinstance(problem, TimeoutError):  # slow for a hook may do for the rest
                self._leave_alone(said)
            raise EndpointFailed(said, hint=_HINT) from None
        self._alone_s = 0.0
        return made

    def _leave_alone(self, problem: str) -> None:
        least, most = LEFT_ALONE_S
        self._alone_s = min(max(least, 2 * self._alone_s), most)
        self._problem = problem
        self._alone_until_s = time.monotonic() + self._alone_s

    def _call(self, texts: list[str], within_s: float) -> bytes:
        safe = [text.encode("utf-8", "replace").decode() for text in texts]
        body = json.dumps({"model": self._name, "input": safe, "encoding_format": "float"}).encode()
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        line = kind(self._url.hostname or "", self._url.port, timeout=within_s)
        over = threading.Event()
        timer: threading.Timer | None = None
        try:
            line.connect()
            timer = _hang_up_after(within_s, line.sock, over)  # one that sends a byte at a time is never late by itself
            line.request("POST", _path(self._url), body, self._headers)
            answer = line.getresponse()
            content = answer.read(_MOST_ANSWER_BYTES + 1)
            if over.is_set():
                raise TimeoutError
            if answer.status != http.client.OK:
                raise ValueError(f"answered {answer.status} {clip(answer.reason, 40)}{_why(answer.status)}".rstrip())
            return content
        except (OSError, http.client.HTTPException):
            if over.is_set():
                raise TimeoutError from None
            raise
        finally:
            if timer is not None:
                timer.cancel()
            line.close()


def _hang_up_after(within_s: float, line: socket.socket, over: threading.Event) -> threading.Timer:
    def hang_up() -> None:
        over.set()
        try:
            line.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    timer = threading.Timer(within_s, hang_up)
    timer.daemon = True
    timer.start()
    return timer


def _address(setting: str) -> SplitResult:
    try:
        url = urlsplit(setting)
        sound = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        url, sound = urlsplit(""), False
    if not sound or url.username or url.password or url.query:
        raise BadInput(
            f"MEMORY_EMBEDDING_MODEL cannot be {clip(setting, 100)!r}.",
            hint="An endpoint is written as http://127.0.0.1:11434/v1#model, a key never into it.",
        )
    return url


def _path(url: SplitResult) -> str:
    path = url.path.rstrip("/")
    return path if path.endswith("/embeddings") else f"{path or '/v1'}/embeddings"


def _key(file: Path | None) -> str:
    if file is None or not file.exists():
        return ""
    try:
        if sys.platform != "win32" and stat.S_IMODE(os.stat(file).st_mode) & 0o077:
            raise BadInput(f"{file} can be read by others.", hint=f"chmod 600 {file}")
        key = read_limited(file, _MOST_KEY_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        raise BadInput(f"The key in {file} cannot be read.", hint="One line of plain text is expected.") from None
    if not key.isprintable() or " " in key:
        raise BadInput(f"{file} does not hold a key.", hint="One line of plain text is expected.")
    return key


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        text = text[:_TEXT_CHARS]
        if batch and (len(batch) >= _BATCH_TEXTS or sum(map(len, batch)) + len(text) > _BATCH_CHARS):
            yield batch
            batch = []
        batch.append(text)
    yield batch


def _ends(text: str, most_chars: int) -> str:
    if len(text) <= most_chars:
        return text
    end = most_chars // 3
    return f"{text[: most_chars - end]}\n{text[-end:]}"


def _read(content: bytes, count: int, dim: int) -> Floats:
    """ValueError, in words, where it is not what was asked for."""
    if len(content) > _MOST_ANSWER_BYTES:
        raise ValueError("answered with far too much")
    try:
        said = json.loads(content)
        rows = sorted(said["data"], key=lambda row: row.get("index", 0))
        lists = [row["embedding"] for row in rows]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("answered with something that holds no vectors") from None
    if len(lists) != count:
        raise ValueError(f"gave {len(lists)} vectors for {count} texts")
    if not all(isinstance(one, list) and one and _is_numbers(one) for one in lists):
        raise ValueError("gave something that is no vector")
    sizes = {len(one) for one in lists}
    if len(sizes) > 1 or max(sizes) > _MOST_DIM or (dim and sizes != {dim}):
        wanted = f", where {dim} were expected: another model may stand behind it now" if dim else ""
        raise ValueError(f"gave vectors of {' and '.join(map(str, sorted(sizes)))} numbers{wanted}")
    return np.array(lists, np.float32)


def _is_numbers(values: list[Any]) -> bool:
    return all(type(value) in (int, float) and abs(value) < 1e30 and math.isfinite(value) for value in values)


def _why(status: int) -> str:
    return " (is the key in embedding.key the right one?)" if status in (401, 403) else ""


def _in_words(problem: Exception) -> str:
    match problem:
        case TimeoutError():
            return "did not answer in time"
        case ConnectionRefusedError():
            return "cannot be reached: nothing listens there"
        case OSError():
            return f"cannot be reached ({problem.strerror or type(problem).__name__})"
        case _:
            return f"does not speak HTTP as it should ({type(problem).__name__})"

"""Vectors from a server that speaks as OpenAI's does: POST /v1/embeddings.

`http://127.0.0.1:11434/v1#name` asks the server there for the model of that name. A question is given up after a
second where a hook waits for it, and otherwise at a limit for the whole call. A server that does not answer is left
alone for a while, so that nobody waits for it again and again. Its answer is a stranger's: measured before it is read,
checked before it is used.

Where texts may go is decided by the settings (base/settings.py): to another machine only by the user's own file.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from recollect.base.errors import BadInput, EndpointFailed
from recollect.base.post import post_json, read_key
from recollect.base.settings import is_loopback
from recollect.base.text import clip
from recollect.embed.tensors import Floats

HURRIED_S = 1.0  # longer than any hook waits
QUESTION_S = 10.0
BATCH_S = 20.0  # other work waits this long for one that hangs
LEFT_ALONE_S = (2.0, 60.0)  # at first, and at most
_BATCH_TEXTS = 8
_BATCH_CHARS = 60_000
_TEXT_CHARS = 8_000  # of a text: longer than any passage
_CHARS_PER_TOKEN = 4
_MAX_ANSWER_BYTES = 64_000_000
_MAX_DIM = 8_192
_HINT = "It is tried again automatically. Is it running, and is the address right?"


class Endpoint:
    at_once = 8  # not our processor

    def __init__(self, setting: str, key_file: Path | None = None) -> None:
        self._url = _address(setting)
        self._name = self._url.fragment or "default"
        key = read_key(key_file) if key_file else ""
        if key and self._url.scheme == "http" and not is_loopback(self._url.hostname or ""):
            raise BadInput(f"{self._where} is not encrypted: the key would be sent in the open.", hint="Use https.")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
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
        """There is no file to hash: the address, the name and the size stand for it."""
        said = f"{self._url.geturl()}\0{self._name}\0{self.dim}"
        return f"{clip(self._name, 60)}@endpoint:{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        if not texts:
            return np.empty((0, self.dim), np.float32)
        if most_tokens is not None:
            texts = [_ends(text, most_tokens * _CHARS_PER_TOKEN) for text in texts]
        alone_s = QUESTION_S if most_tokens is None else HURRIED_S
        within_s = alone_s if len(texts) == 1 else BATCH_S
        return np.concatenate([self._ask(batch, within_s) for batch in _batches(texts)])

    def _ask(self, texts: list[str], within_s: float) -> Floats:
        if time.monotonic() < self._alone_until_s:
            raise EndpointFailed(self._problem, hint=_HINT)
        try:
            found = _read(self._post(texts, within_s), len(texts), self.dim)
        except (OSError, http.client.HTTPException, _BadReply) as problem:
            said = f"The embedding endpoint {self._where} {_in_words(problem)}."
            if within_s > HURRIED_S or not isinstance(problem, TimeoutError):  # slow for a hook may do for the rest
                least, most = LEFT_ALONE_S
                self._alone_s = min(max(least, 2 * self._alone_s), most)
                self._problem = said
                self._alone_until_s = time.monotonic() + self._alone_s
            raise EndpointFailed(said, hint=_HINT) from None
        self._alone_s = 0.0
        return found

    def _post(self, texts: list[str], within_s: float) -> bytes:
        path = self._url.path.rstrip("/")
        path = path if path.endswith("/embeddings") else f"{path or '/v1'}/embeddings"
        safe = [text.encode("utf-8", "replace").decode() for text in texts]
        body = {"model": self._name, "input": safe, "encoding_format": "float"}
        url = self._where + path
        reply = post_json(url, body, self._headers, timeout_s=within_s, max_bytes=_MAX_ANSWER_BYTES)
        if reply.status != http.client.OK:
            why = " (is the key in embedding.key the right one?)" if reply.status in (401, 403) else ""
            raise _BadReply(f"answered {reply.status} {clip(reply.reason, 40)}{why}".rstrip())
        return reply.content


class _BadReply(Exception):
    """Says in words what is wrong with it."""


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
    if len(content) > _MAX_ANSWER_BYTES:
        raise _BadReply("answered with far too much")
    try:
        said = json.loads(content)
        rows = sorted(said["data"], key=lambda row: row.get("index", 0))
        lists = [row["embedding"] for row in rows]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _BadReply("answered with something that holds no vectors") from None
    if len(lists) != count:
        raise _BadReply(f"gave {len(lists)} vectors for {count} texts")
    if not all(isinstance(one, list) and one and _is_numbers(one) for one in lists):
        raise _BadReply("gave something that is no vector")
    sizes = {len(one) for one in lists}
    if len(sizes) > 1 or max(sizes) > _MAX_DIM or (dim and sizes != {dim}):
        wanted = f", where {dim} were expected: there may be another model behind it now" if dim else ""
        raise _BadReply(f"gave vectors of {' and '.join(map(str, sorted(sizes)))} numbers{wanted}")
    return np.array(lists, np.float32)


def _is_numbers(values: list[Any]) -> bool:
    return all(type(value) in (int, float) and abs(value) < 1e30 and math.isfinite(value) for value in values)


def _in_words(problem: Exception) -> str:
    match problem:
        case _BadReply():
            return str(problem)
        case TimeoutError():
            return "did not answer in time"
        case ConnectionRefusedError():
            return "cannot be reached: nothing listens there"
        case OSError():
            return f"cannot be reached ({problem.strerror or type(problem).__name__})"
        case _:
            return f"does not speak HTTP as it should ({type(problem).__name__})"

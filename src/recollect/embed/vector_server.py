"""Vectors from a server that speaks OpenAI's protocol: `http://127.0.0.1:11434/v1#model`. One that fails is left alone
for a while, so that nobody waits for it again and again. Its answer is checked before it is used."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import numpy as np

from recollect.base.errors import BadInput, EndpointFailed
from recollect.base.post import post_json, read_key
from recollect.base.settings import is_loopback
from recollect.base.text import clip
from recollect.embed.folder import Floats

HURRIED_S = 1.0  # longer than any hook waits
QUESTION_S = 10.0
BATCH_S = 20.0  # other work waits this long for a server that hangs
LEFT_ALONE_S = 20.0
_BATCH_TEXTS = 8
_MAX_ANSWER_BYTES = 64_000_000
_HINT = "It is tried again automatically. Is it running, and is the address right?"


class _BadReply(Exception):
    """Says what is wrong with the answer."""


class Endpoint:
    at_once = _BATCH_TEXTS  # not our processor

    def __init__(self, setting: str, key_file: Path | None = None) -> None:
        self._url = _parse_address(setting)
        self._name = self._url.fragment or "default"
        self._where = f"{self._url.scheme}://{self._url.netloc}"
        key = read_key(key_file) if key_file else ""
        if key and self._url.scheme == "http" and not is_loopback(self._url.hostname or ""):
            raise BadInput(
                f"{self._where} is not encrypted: the key would be sent in the open.",
                hint="Use https.",
            )
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._problem = ""
        self._left_alone_until_s = 0.0
        self.dim = 0
        self.dim = self.vectors(["word"], None).shape[1]

    @property
    def id(self) -> str:
        """There is no file to hash: the address, the name and the size stand for it."""
        digest = hashlib.sha256(
            f"{self._url.geturl()}\0{self._name}\0{self.dim}".encode()
        ).hexdigest()
        return f"{clip(self._name, 60)}@endpoint:{digest[:12]}"

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        most_chars = (
            8_000 if most_tokens is None else most_tokens * 4
        )  # longer than any passage; of a few letters each
        end = most_chars // 3
        cut = [
            text if len(text) <= most_chars else f"{text[: most_chars - end]}\n{text[-end:]}"
            for text in texts
        ]
        sent = [text.encode("utf-8", "replace").decode() for text in cut]
        timeout_s = BATCH_S if len(texts) > 1 else QUESTION_S if most_tokens is None else HURRIED_S
        batches = [
            sent[start : start + _BATCH_TEXTS] for start in range(0, len(sent), _BATCH_TEXTS)
        ]
        made = [self._ask(batch, timeout_s) for batch in batches]
        return np.concatenate(made) if made else np.empty((0, self.dim), np.float32)

    def _ask(self, texts: list[str], timeout_s: float) -> Floats:
        if time.monotonic() < self._left_alone_until_s:
            raise EndpointFailed(self._problem, hint=_HINT)
        url = f"{self._where}{self._url.path.rstrip('/').removesuffix('/embeddings') or '/v1'}/embeddings"
        body = {"model": self._name, "input": texts, "encoding_format": "float"}
        try:
            status, reason, content = post_json(
                url, body, self._headers, timeout_s=timeout_s, max_bytes=_MAX_ANSWER_BYTES
            )
            if status != http.client.OK:
                why = (
                    " (is the key in embedding.key the right one?)" if status in (401, 403) else ""
                )
                raise _BadReply(f"answered {status} {clip(reason, 40)}{why}".rstrip())
            return _read_vectors(content, len(texts), self.dim)
        except (OSError, http.client.HTTPException, _BadReply) as problem:
            message = f"The embedding endpoint {self._where} {_describe(problem)}."
            # A server too slow for a hook may still do for other work.
            if timeout_s > HURRIED_S or not isinstance(problem, TimeoutError):
                self._problem, self._left_alone_until_s = message, time.monotonic() + LEFT_ALONE_S
            raise EndpointFailed(message, hint=_HINT) from None


def _parse_address(setting: str) -> SplitResult:
    try:
        url = urlsplit(setting)
        if url.hostname and url.port != 0 and not (url.username or url.password or url.query):
            return url
    except ValueError:
        pass
    hint = "Write an endpoint as http://127.0.0.1:11434/v1#model, and never put a key into it."
    raise BadInput(f"MEMORY_EMBEDDING_MODEL cannot be {clip(setting, 100)!r}.", hint=hint)


def _read_vectors(content: bytes, count: int, dim: int) -> Floats:
    """`dim`: how long each vector must be; 0 where that is not known yet."""
    if len(content) > _MAX_ANSWER_BYTES:
        raise _BadReply("answered with far too much")
    try:
        rows = sorted(json.loads(content)["data"], key=lambda row: row.get("index", 0))
        vectors = [row["embedding"] for row in rows]
        sound = all(
            type(value) in (int, float) and abs(value) < 1e30 for one in vectors for value in one
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _BadReply("answered with something that holds no vectors") from None
    sizes = {len(vector) for vector in vectors}
    if not sound or len(vectors) != count or len(sizes) != 1 or not 0 < max(sizes) <= 8_192:
        raise _BadReply(f"did not give a vector of finite numbers for each of {count} texts")
    if dim and sizes != {dim}:
        raise _BadReply(
            f"gave vectors of {max(sizes)} numbers, not {dim}: there may be another model behind it now"
        )
    return np.array(vectors, np.float32)


def _describe(problem: Exception) -> str:
    if isinstance(problem, _BadReply):
        return str(problem)
    if isinstance(problem, TimeoutError):
        return "did not answer in time"
    refused = isinstance(problem, ConnectionRefusedError)
    why = getattr(problem, "strerror", None) or type(problem).__name__
    return "cannot be reached" + (": nothing listens there" if refused else f" ({why})")

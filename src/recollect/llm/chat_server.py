"""Models over HTTP: an endpoint that speaks the OpenAI chat protocol (servers of local models do), or the messages
protocol with a key. Which address, and whether it may be asked, is for the caller."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from recollect.base.post import BadAddress, post_json
from recollect.model.ask import Answer

MAX_BYTES = 1_000_000
MAX_TOKENS = 4_096  # of an answer


class Protocol(NamedTuple):
    path: str
    headers: Callable[[str], dict[str, str]]  # made of the key, which may be empty
    counted: tuple[str, ...]  # which numbers of `usage` add up to the cost


CHAT = Protocol(
    "/chat/completions",
    lambda key: {"Authorization": f"Bearer {key}"} if key else {},
    ("prompt_tokens", "completion_tokens"),
)
MESSAGES = Protocol(
    "/v1/messages",
    lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
    ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
)


def ask(protocol: Protocol, url: str, *, key: str, model: str, text: str, seconds: float) -> Answer:
    """`url` is what stands before the protocol's path."""
    body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": MAX_TOKENS, "stream": False}
    address = url.partition("?")[0].rstrip("/") + protocol.path
    try:
        reply = post_json(address, body, protocol.headers(key), timeout_s=seconds, max_bytes=MAX_BYTES)
    except TimeoutError:
        return Answer(problem="no answer in time")
    except BadAddress as problem:
        return Answer(problem=str(problem))
    except (OSError, http.client.HTTPException, ValueError) as problem:
        return Answer(problem=f"cannot be asked ({type(problem).__name__})")
    if reply.status != http.client.OK:
        return Answer(problem=f"status {reply.status}")
    if len(reply.content) > MAX_BYTES:
        return Answer(problem=f"more than {MAX_BYTES:,} bytes of answer")
    try:
        answer = json.loads(reply.content)
    except (ValueError, RecursionError):
        return Answer(problem="an answer that cannot be read")
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counts = [usage.get(name) for name in protocol.counted] if isinstance(usage, dict) else []
    tokens = sum(count for count in counts if isinstance(count, int) and count >= 0) if counts else None
    match answer:
        case {"choices": [{"message": {"content": str(said)}}, *_]}:
            return Answer(said, tokens)
        case {"content": [*parts]}:
            return Answer("".join(map(_part_text, parts)), tokens)
        case _:
            return Answer(tokens=tokens, problem="an answer of another shape")


def _part_text(part: Any) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return ""

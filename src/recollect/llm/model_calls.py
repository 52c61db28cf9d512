"""The two ways to a language model: a program that is run, and an address that is asked.

A program gets text on its standard input and answers on its standard output, without a shell. Its time and its output
are limited, and when the call returns, nothing that it started is still running (keeper.py). It gets nothing of ours
but the text: descriptors are closed, the environment is passed in. An address speaks the OpenAI chat protocol (servers
of local models do), or the messages protocol with a key.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recollect.base.post import BadAddress, post_json
from recollect.model.ask import Answer

MAX_BYTES = 1_000_000  # of an answer: hundreds of times what any use asks for
MAX_TOKENS = 4_096  # of an answer
_ENDS_WITHIN_S = 8.0  # more than the keeper takes to sweep
_KEEPER = str(Path(__file__).with_name("keeper.py"))
_CHUNK = 65_536
_CODES = {127: "not found", 126: "cannot be run"}


class Run(NamedTuple):
    out: bytes = b""  # all that it printed, also if it failed; empty if it was stopped
    problem: str = ""


def run_program(
    argv: Sequence[str], *, text: str, environ: Mapping[str, str], folder: str, seconds: float
) -> Run:
    """`argv[0]` is an absolute path."""
    if sys.platform == "win32":
        return Run(problem="programs are not run on this system")
    deadline_s = time.monotonic() + seconds
    lifeline, ours = os.pipe()  # nothing is ever written: closing our end tells the keeper to stop
    try:
        # A file, not a pipe: a program that does not read, or stops reading, cannot make us wait.
        with tempfile.TemporaryFile() as question:
            question.write(text.encode("utf-8", "replace"))
            question.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, str(lifeline), *argv], stdin=question, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=dict(environ), cwd=folder, pass_fds=(lifeline,), start_new_session=True,
            )  # fmt: skip
    except (OSError, ValueError) as error:
        os.close(ours)
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Run(problem=f"cannot be started ({why or type(error).__name__})")
    finally:
        os.close(lifeline)
    try:
        return _read(process, deadline_s)
    except subprocess.TimeoutExpired:
        return Run(problem="no answer in time")
    finally:
        os.close(ours)
        with process:  # closes its output
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()  # the kernel then kills the program


def _read(process: subprocess.Popen[bytes], deadline_s: float) -> Run:
    """Reads until the end or the limit. TimeoutExpired at the deadline."""
    assert process.stdout is not None  # noqa: S101 for the type: it was asked for
    read, fd, piece = bytearray(), process.stdout.fileno(), b"begin"
    while piece and len(read) <= MAX_BYTES:
        if not select.select([fd], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
            raise subprocess.TimeoutExpired(process.args, deadline_s)
        piece = os.read(fd, _CHUNK)
        read += piece
    if len(read) > MAX_BYTES:
        return Run(problem=f"more than {MAX_BYTES:,} bytes of output")
    code = process.wait(max(0.0, deadline_s - time.monotonic()))
    return Run(bytes(read), "" if code == 0 else _CODES.get(code, f"exit code {code}"))


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


def ask_server(
    protocol: Protocol, url: str, *, key: str, model: str, text: str, seconds: float
) -> Answer:
    """`url` is what stands before the protocol's path."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": text}],
        "max_tokens": MAX_TOKENS,
        "stream": False,
    }
    address = url.partition("?")[0].rstrip("/") + protocol.path
    try:
        status, _, content = post_json(
            address, body, protocol.headers(key), timeout_s=seconds, max_bytes=MAX_BYTES
        )
    except TimeoutError:
        return Answer(problem="no answer in time")
    except BadAddress as problem:
        return Answer(problem=str(problem))
    except (OSError, http.client.HTTPException, ValueError) as problem:
        return Answer(problem=f"cannot be asked ({type(problem).__name__})")
    if status != http.client.OK:
        return Answer(problem=f"status {status}")
    if len(content) > MAX_BYTES:
        return Answer(problem=f"more than {MAX_BYTES:,} bytes of answer")
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return Answer(problem="an answer that cannot be read")
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counts = [usage.get(name) for name in protocol.counted] if isinstance(usage, dict) else []
    tokens = (
        sum(count for count in counts if isinstance(count, int) and count >= 0) if counts else None
    )
    match answer:
        case {"choices": [{"message": {"content": str(said)}}, *_]}:
            return Answer(said, tokens)
        case {"content": [*parts]}:
            texts = (
                part.get("text")
                for part in parts
                if isinstance(part, dict) and part.get("type") == "text"
            )
            return Answer("".join(text for text in texts if isinstance(text, str)), tokens)
        case _:
            return Answer(tokens=tokens, problem="an answer of another shape")

"""Stand-ins for the model services of Codex (Responses), Gemini CLI (generateContent) and OpenCode (Messages).

As with tests/e2e/stand_in.py, the script says what the model says, what it was asked is kept, and everything else that
the program reaches for is refused. Only requests that carry tools play the script: the others are the program's own.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Self

from tests.e2e.stand_in import Turn, Use

AT_A_LOSS = Turn(("OK.",))


@dataclass(frozen=True, slots=True)
class Heard:
    """One request."""

    path: str
    body: Mapping[str, Any] = field(repr=False)

    def texts(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every part that the model reads."""
        return tuple(_texts(self.body))

    def holds(self, marker: str) -> int:
        return sum(text.count(marker) for _, text in self.texts())

    def roles(self, marker: str) -> set[str]:
        """In which roles a marker stands."""
        return {role for role, text in self.texts() if marker in text}


class Service:
    def __init__(self, script: Iterable[Turn] = ()) -> None:
        self.asked: list[Heard] = []
        self.refused: list[str] = []
        self._turns = deque(script)
        self._lock = threading.Lock()
        self._ids = count(1)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def unsaid(self) -> list[Turn]:
        return list(self._turns)

    def answer(self, heard: Heard) -> Turn:
        with self._lock:
            if not heard.body.get("tools"):
                return AT_A_LOSS
            self.asked.append(heard)
            return self._turns.popleft() if self._turns else AT_A_LOSS

    def next_id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids):08d}"


def _texts(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for item in body.get("input", ()):  # Responses
        role = item.get("role", item.get("type", ""))
        parts = item.get("content", ())
        yield from ((role, part.get("text", "")) for part in parts if isinstance(part, dict))
        if isinstance(item.get("output"), str):
            yield role, item["output"]
    for item in body.get("messages", ()):  # Messages
        parts = item["content"] if isinstance(item["content"], list) else [{"type": "text", "text": item["content"]}]
        for part in parts:
            answered = part.get("content", ()) if part.get("type") == "tool_result" else ()
            blocks = [{"text": answered}] if isinstance(answered, str) else answered
            yield from (("tool", block.get("text", "")) for block in blocks)
            yield item["role"], part.get("text", "")
    for item in body.get("contents", ()):  # generateContent
        for part in item.get("parts", ()):
            if "functionResponse" in part:
                yield "tool", "\n".join(str(one) for one in part["functionResponse"]["response"].values())
            yield item.get("role", ""), part.get("text", "")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, service: Service) -> None:
        super().__init__(("127.0.0.1", 0), _Door)
        self.service = service

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that goes away in mid-sentence is nothing to report."""


class _Door(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        if path.endswith("/responses"):
            self._responses(self.server.service.answer(Heard(path, json.loads(raw))))
        elif path.endswith(("GenerateContent", ":generateContent")):
            self._contents(self.server.service.answer(Heard(path, json.loads(raw))), is_stream="stream" in path)
        elif path.endswith("/messages"):
            self._messages(self.server.service.answer(Heard(path, json.loads(raw))))
        else:
            self._refuse()

    def _refuse(self) -> None:
        self.server.service.refused.append(f"{self.command} {self.path}")
        self._json({"error": "a stand-in"}, 403 if self.command == "CONNECT" else 404)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_CONNECT = do_OPTIONS = do_PATCH = _refuse

    def _json(self, told: object, status: int = 200) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

    def _responses(self, turn: Turn) -> None:
        self._stream()
        name = self.server.service.next_id
        response = name("resp")
        self._event("response.created", response={"id": response})
        for index, part in enumerate(turn.says):
            item: dict[str, object]
            if isinstance(part, Use):
                item = {
                    "type": "function_call", "id": name("fc"), "call_id": name("call"), "name": part.tool,
                    "arguments": json.dumps(part.input),
                }  # fmt: skip
            else:
                content = [{"type": "output_text", "text": part, "annotations": []}]
                item = {"type": "message", "id": name("msg"), "role": "assistant", "content": content}
            self._event("response.output_item.done", output_index=index, item=item)
        tokens = turn.tokens or 10
        usage = {
            "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 5,
        }  # fmt: skip
        self._event("response.completed", response={"id": response, "usage": usage})

    def _messages(self, turn: Turn) -> None:
        self._stream()
        usage = {"input_tokens": 10, "output_tokens": 5}
        message: dict[str, object] = {
            "id": self.server.service.next_id("msg"), "type": "message", "role": "assistant", "model": "claude",
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        self._event("message_start", message=message)
        for index, part in enumerate(turn.says):
            if isinstance(part, Use):
                id = self.server.service.next_id("toolu")
                opening: dict[str, object] = {"type": "tool_use", "id": id, "name": part.tool, "input": {}}
                piece = {"type": "input_json_delta", "partial_json": json.dumps(part.input)}
            else:
                opening = {"type": "text", "text": ""}
                piece = {"type": "text_delta", "text": part}
            self._event("content_block_start", index=index, content_block=opening)
            self._event("content_block_delta", index=index, delta=piece)
            self._event("content_block_stop", index=index)
        wants_tools = any(isinstance(part, Use) for part in turn.says)
        end = {"stop_reason": "tool_use" if wants_tools else "end_turn", "stop_sequence": None}
        self._event("message_delta", delta=end, usage=usage)
        self._event("message_stop")

    def _contents(self, turn: Turn, *, is_stream: bool) -> None:
        parts = [
            {"functionCall": {"name": part.tool, "args": part.input}} if isinstance(part, Use) else {"text": part}
            for part in turn.says
        ]
        told = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "gemini",
        }
        if not is_stream:
            return self._json(told)
        self._stream()
        self.wfile.write(f"data: {json.dumps(told)}\r\n\r\n".encode())

    def _event(self, kind: str, **told: object) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **told})}\n\n".encode())
        self.wfile.flush()

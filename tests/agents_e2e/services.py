"""Stand-ins for the model services of Codex (Responses), Gemini CLI (generateContent) and OpenCode (Messages).

As with tests/e2e/stand_in.py, the script says what the model says, what it was asked is kept, and everything else that
the program reaches for is refused. Only requests that carry tools play the script: the others are the program's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.e2e.stand_in import Asked, Door, Lane, StandIn, Turn, Use


class Heard(Asked):
    """One request."""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every part that the model reads."""
        return tuple(_texts(self.body))

    def roles(self, marker: str) -> set[str]:
        """In which roles a marker stands."""
        return {role for role, text in self.messages if marker in text}


class Service(StandIn):
    @staticmethod
    def door() -> type[Door]:
        return _AgentDoor

    @property
    def heard(self) -> list[Heard]:
        """What was asked with tools at hand."""
        return [Heard(Lane.MAIN, asked.body) for asked in self.of(Lane.MAIN)]


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


class _AgentDoor(Door):
    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        is_contents = path.endswith(("GenerateContent", ":generateContent"))
        if not is_contents and not path.endswith(("/responses", "/messages")):
            return self._refuse()
        body = json.loads(raw)
        turn = self.server.stand_in.answer(Heard(Lane.MAIN if body.get("tools") else Lane.ASIDE, body))
        if is_contents:
            self._contents(turn, is_stream="stream" in path)
        elif path.endswith("/messages"):
            self._stream(turn, "claude", tokens=10)
        else:
            self._responses(turn)

    def _responses(self, turn: Turn) -> None:
        self._head(200, "text/event-stream")
        name = self.server.stand_in.next_id
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
        self._head(200, "text/event-stream")
        self.wfile.write(f"data: {json.dumps(told)}\r\n\r\n".encode())

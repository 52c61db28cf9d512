"""A stand-in for the model service: says what a script says, and keeps what it was asked. It speaks the one call that
the real client makes, a streamed `POST /v1/messages`, on loopback, and is the proxy for everything else: that is
written down and refused, so that a test never leaves the machine. What memory put in front of a model stands in
`Asked.messages`; where depends on the model, so look with `Asked.holds`, which looks everywhere."""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple, Self

SUMMARY_ASKED_FOR = "Your task is to create a detailed summary"
AGENT_HEADERS = {"x-claude-code-agent-id", "x-claude-code-parent-agent-id"}
OF_A_SUBAGENT = "cc_is_subagent=true"
HELD_S = 60
_TOKENS_LEFT = re.compile(
    r"\s*<system-reminder>\s*<total_tokens>[^<]*</total_tokens>\s*</system-reminder>"
)


class Lane(StrEnum):
    """Who is asking."""

    MAIN = "main"
    SUB = "sub"  # A subagent
    COMPACT = "compact"  # the client, for a summary to go on with
    ASIDE = "aside"  # the client, for itself: a title, say. Such a request carries no tools.


class Use(NamedTuple):
    """The model's wish to use a tool."""

    tool: str
    input: Mapping[str, object]


class Turn(NamedTuple):
    """What the model says when its lane is asked next."""

    says: tuple[str | Use, ...]
    lane: Lane = Lane.MAIN
    tokens: int = 0  # Claimed as read, when not 0: a figure near the model's limit makes the client compact by itself


def says(*parts: str | Use, lane: Lane = Lane.MAIN, tokens: int = 0) -> Turn:
    return Turn(parts, lane, tokens)


def use(tool: str, /, **given: object) -> Use:
    return Use(tool, given)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    lane: Lane
    body: Mapping[str, Any] = field(repr=False)

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every part of every message, tool calls and results included."""
        return tuple(
            (one["role"], text) for one in self.body["messages"] for text in _texts(one["content"])
        )

    @property
    def model(self) -> str:
        return str(self.body["model"])

    def holds(self, marker: str) -> int:
        """How often a marker stands in the messages, whatever the role."""
        return sum(text.count(marker) for _, text in self.messages)

    def results(self) -> tuple[tuple[str, bool], ...]:
        """Text of every tool's result, and whether it is an error, in the order in which the tools were asked for.
        Without the count of tokens left: the client adds it to whichever came back last."""
        found = {}
        for content in (message["content"] for message in self.body["messages"]):
            for part in content if not isinstance(content, str) else ():
                if part["type"] == "tool_result":
                    text = _TOKENS_LEFT.sub("", "\n".join(_texts(part.get("content", ""))))
                    found[part["tool_use_id"]] = (text, bool(part.get("is_error")))
        return tuple(found[id] for id in sorted(found))


class StandIn:
    """The service. Each lane plays its own turns in order, and says `at_a_loss` when it has none left."""

    at_a_loss = "OK."

    def __init__(self, script: Iterable[Turn] = ()) -> None:
        self.asked: list[Asked] = []
        self.refused: list[str] = []
        self._turns: dict[Lane, deque[Turn]] = {lane: deque() for lane in Lane}
        self._may_speak = {lane: threading.Event() for lane in Lane}
        for may_speak in self._may_speak.values():
            may_speak.set()
        self._lock = threading.Lock()
        self.script(*script)
        self._ids = count(1)
        self._server = _Server(self, self.door())
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    def script(self, *turns: Turn) -> None:
        """What is said next, after all that is still to be said."""
        with self._lock:
            for turn in turns:
                self._turns[turn.lane].append(turn)

    @staticmethod
    def door() -> type[Door]:
        """What speaks to the client."""
        return Door

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def unsaid(self) -> list[Turn]:
        """Turns of the script that nobody asked for: the session did not go as the test thinks."""
        return [turn for turns in self._turns.values() for turn in turns]

    def of(self, lane: Lane) -> list[Asked]:
        return [asked for asked in self.asked if asked.lane is lane]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def hold(self, lane: Lane) -> None:
        """Lets whoever asks in this lane wait, until it is released."""
        self._may_speak[lane].clear()

    def release(self, lane: Lane) -> None:
        self._may_speak[lane].set()

    def answer(self, asked: Asked) -> Turn:
        self._may_speak[asked.lane].wait(HELD_S)
        with self._lock:
            self.asked.append(asked)
            turns = self._turns[asked.lane]
            return turns.popleft() if turns else Turn((self.at_a_loss,), asked.lane)

    def next_id(self, kind: str) -> str:
        """Ids that sort as they were given."""
        return f"{kind}_{next(self._ids):022d}"


def _texts(content: str | Iterable[Mapping[str, Any]]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for part in content:
        match part["type"]:
            case "text":
                yield part["text"]
            case "tool_result":
                yield from _texts(part.get("content", ""))
            case _:
                yield json.dumps(part, ensure_ascii=False)


def _lane(body: Mapping[str, Any], headers: frozenset[str]) -> Lane:
    # The last two: a system message may follow the one that asks for the summary.
    if any(
        SUMMARY_ASKED_FOR in text
        for message in body["messages"][-2:]
        for text in _texts(message["content"])
    ):
        return Lane.COMPACT
    if not body.get("tools"):
        return Lane.ASIDE
    if headers & AGENT_HEADERS or OF_A_SUBAGENT in "".join(_texts(body.get("system", ""))):
        return Lane.SUB
    return Lane.MAIN


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, stand_in: StandIn, door: type[Door]) -> None:
        super().__init__(("127.0.0.1", 0), door)
        self.stand_in = stand_in

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in mid-sentence is nothing to report."""


class Door(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.loads(raw) if self.path.partition("?")[0] == "/v1/messages" else {}
        if not body.get("stream"):
            return self._refuse()
        lane = _lane(body, frozenset(name.lower() for name in self.headers))
        turn = self.server.stand_in.answer(Asked(lane, body))
        self._stream(turn, body["model"], tokens=turn.tokens or len(raw) // 4)

    def _refuse(self) -> None:
        self.server.stand_in.refused.append(f"{self.command} {self.path}")
        refusal = {"type": "error", "error": {"type": "not_found_error", "message": "a stand-in"}}
        self._json(refusal, 403 if self.command == "CONNECT" else 404)

    def _json(self, told: object, status: int = 200) -> None:
        body = json.dumps(told).encode()
        self._head(status, "application/json", **{"content-length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, kind: str, **more: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "connection": "close", **more}.items():
            self.send_header(name, value)
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_DELETE = do_CONNECT = do_OPTIONS = do_PATCH = _refuse

    def _stream(self, turn: Turn, model: str, *, tokens: int) -> None:
        self._head(200, "text/event-stream")
        usage = {"input_tokens": tokens, "output_tokens": 20}
        message: dict[str, object] = {
            "id": self.server.stand_in.next_id("msg"), "type": "message", "role": "assistant", "model": model,
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        self._event("message_start", message=message)
        for index, part in enumerate(turn.says):
            self._part(index, part)
        wants_tools = any(isinstance(part, Use) for part in turn.says)
        end = {"stop_reason": "tool_use" if wants_tools else "end_turn", "stop_sequence": None}
        self._event("message_delta", delta=end, usage=usage)
        self._event("message_stop")

    def _part(self, index: int, part: str | Use) -> None:
        opening: dict[str, object] = {"type": "text", "text": ""}
        piece = {"type": "text_delta", "text": part}
        if isinstance(part, Use):
            opening = {
                "type": "tool_use",
                "id": self.server.stand_in.next_id("toolu"),
                "name": part.tool,
                "input": {},
            }
            piece = {"type": "input_json_delta", "partial_json": json.dumps(part.input)}
        self._event("content_block_start", index=index, content_block=opening)
        self._event("content_block_delta", index=index, delta=piece)
        self._event("content_block_stop", index=index)

    def _event(self, kind: str, **told: object) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **told})}\n\n".encode())
        self.wfile.flush()

"""Made-up past sessions, in the very lines that an agent writes: the proportions were measured on its transcripts.

`AS_NOW` is how the client writes since it keeps whole requests (every message stands there a second time, beside
snapshots of its own instructions); `AS_BEFORE` has only what was said and done. Prompts are the labelled ones that
capture was tuned on; what tools print is source text of the standard library.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.corpus import Corpus
from bench.secret_cost import sources
from recollect.base.moment import Moment

_PROMPTS = Path(__file__).parent / "data" / "prompts-tune.jsonl"
_CALLS_A_PROMPT = 6
_SNAPSHOT_CHARS = 28_000
_SHAPE_CHARS = 73_000
_USUAL_OUTPUT_CHARS = 1_500
_MOST_OUTPUT_CHARS = 30_000
_SPREAD = 1.4
_COMMANDS = (
    "pytest -q tests",
    "git status",
    "ls -la src",
    "cat setup.py",
    "make build",
    "grep -rn TODO src",
)


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    keeps_requests: bool


AS_NOW = Shape("as now", keeps_requests=True)
AS_BEFORE = Shape("as before", keeps_requests=False)


class Sessions:
    """The same seed, the same sessions."""

    def __init__(self, seed: int, cwd: str, shape: Shape) -> None:
        self._chance = random.Random(f"{seed} sessions")
        self._corpus = Corpus(seed)
        self._cwd, self._shape = cwd, shape
        self._now, self._session = Moment(0), ""
        rows = _PROMPTS.read_text(encoding="utf-8").splitlines()
        self._prompts = [str(json.loads(row)["prompt"]) for row in rows]
        self._source = "".join(text for _, text in zip(range(60), _texts(), strict=False))

    def write(self, path: Path, begun: Moment, size_bytes: int) -> int:
        """One transcript of about this size; how many bytes it has."""
        path.parent.mkdir(parents=True, exist_ok=True)
        written = 0
        with path.open("w", encoding="utf-8") as out:
            for line in self._lines(path.stem, begun):
                text = json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
                out.write(text)
                written += len(text.encode())
                if written >= size_bytes:
                    break
        os.utime(path, (self._now.micros / 1e6,) * 2)
        return written

    def _lines(self, session: str, begun: Moment) -> Iterator[dict[str, Any]]:
        self._now, self._session = begun, session
        yield {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": begun.iso(),
            "sessionId": session,
        }
        first = True
        while True:
            prompt = self._chance.choice(self._prompts)
            yield self._line("user", {"role": "user", "content": prompt}, promptSource="typed")
            if self._shape.keeps_requests and first:
                yield self._attached("prompt_snapshot", systemPrompt=[self._text(_SNAPSHOT_CHARS)])
                yield {
                    "type": "api-request-shape",
                    "sessionId": session,
                    "shape": self._text(_SHAPE_CHARS),
                }
            first = False
            yield from self._requested(
                {"role": "user", "content": [{"type": "text", "text": prompt}]}
            )
            for _ in range(self._chance.randint(0, 2 * _CALLS_A_PROMPT)):
                yield from self._call()
            yield self._answer([{"type": "text", "text": self._corpus.text(80)}])

    def _call(self) -> Iterator[dict[str, Any]]:
        id = f"toolu_{self._chance.getrandbits(88):022x}"
        command = self._chance.choice(_COMMANDS)
        yield self._answer(
            [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]
        )
        size = min(
            _MOST_OUTPUT_CHARS, int(self._chance.lognormvariate(0, _SPREAD) * _USUAL_OUTPUT_CHARS)
        )
        printed, failed = self._text(size), self._chance.random() < 0.1
        result = {"tool_use_id": id, "type": "tool_result", "content": printed, "is_error": failed}
        said = {"role": "user", "content": [result]}
        yield self._line(
            "user", said, toolUseResult={"stdout": printed, "stderr": "", "interrupted": False}
        )
        yield self._attached(
            "total_tokens_reminder", text="<total_tokens>14978566 tokens left</total_tokens>"
        )
        yield from self._requested(said)

    def _requested(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self._shape.keeps_requests:
            yield {
                "type": "api-request-blob",
                "sessionId": self._session,
                "hash": "ac55" * 16,
                "message": message,
            }
            yield {
                "type": "api-request",
                "sessionId": self._session,
                "params": {"betas": ["x" * 900]},
            }

    def _answer(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {
            "input_tokens": 21_414,
            "output_tokens": 20,
            "service_tier": "standard",
            "iterations": [],
        }
        return self._line(
            "assistant", {"id": "msg_1", "type": "message", "content": content, "usage": usage}
        )

    def _attached(self, type: str, **held: Any) -> dict[str, Any]:
        return {
            "parentUuid": self._uuid(), "isSidechain": False, "attachment": {"type": type, **held},
            "type": "attachment", "uuid": self._uuid(), "timestamp": self._now.iso(),
        }  # fmt: skip

    def _line(self, type: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The type stands before what a person said, and after what the agent did."""
        self._now = self._now.plus(seconds=self._chance.uniform(1, 60))
        begins: dict[str, Any] = {"parentUuid": self._uuid(), "isSidechain": False}
        spoken = (
            {"type": type, "message": message}
            if type == "user"
            else {"message": message, "type": type}
        )
        ends = {
            "cwd": self._cwd,
            "sessionId": self._session,
            "version": "2.1.325",
            "gitBranch": "main",
        }
        return begins | spoken | {"uuid": self._uuid(), "timestamp": self._now.iso()} | more | ends

    def _uuid(self) -> str:
        digits = f"{self._chance.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _text(self, chars: int) -> str:
        start = self._chance.randrange(max(1, len(self._source) - chars))
        return self._source[start : start + chars]


def _texts() -> Iterator[str]:
    for path in sources():
        yield path.read_text(encoding="utf-8", errors="replace")

"""Input that no agent should write stops nobody: every value of recorded events and transcript lines replaced by every
kind of odd value, and files whose lines are cut, rewritten, endless, deep, or no JSON at all."""

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from recollect.agents import Tail, agent, utterances
from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops.past_sessions import catch_up
from tests.hooks.talk import Talk
from tests.hostile.odd_values import recorded_events, recorded_lines, with_odd_values
from tests.ops.ask import pinned
from tests.ops.transcript import Transcript

EVERY_NTH = 13  # of 19,261 events and 95,387 lines; all of them were tried when this was written
# What clients may write and the recorded sessions do not hold.
RARE_LINES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("claude-code", {
        "type": "user", "uuid": "u", "toolDenialKind": "user-rejected", "userFeedback": "no", "isSidechain": False,
        "isMeta": False, "isCompactSummary": False, "promptSource": "typed",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "no"}]},
    }),
    ("claude-code", {"type": "queue-operation", "operation": "enqueue", "content": "hello"}),
    ("claude-code", {
        "type": "attachment",
        "attachment": {"type": "queued_command", "commandMode": "prompt", "isMeta": False, "prompt": "hello"},
    }),
    ("codex", {
        "type": "response_item", "timestamp": "2026-01-01T00:00:00Z",
        "payload": {"type": "local_shell_call", "id": "c", "action": {"command": ["bash", "-lc", "ls"]}},
    }),
    ("codex", {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c", "output": f"Exit code: {'9' * 10_000}\nOutput:\n"},
    }),
    ("gemini", {
        "type": "user", "id": "x",
        "content": [{"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"output": "x"}}}],
    }),
    ("opencode", {
        "role": "user", "at": 1, "id": "p",
        "part": {"type": "text", "text": "hello", "synthetic": False, "time": {"end": 3}},
    }),
    ("opencode", {
        "role": "assistant", "at": 1, "id": "p",
        "part": {
            "type": "tool", "callID": "c", "tool": "bash",
            "state": {
                "status": "completed", "input": {"command": "ls"}, "output": "x", "metadata": {"exit": 1},
                "time": {"end": 3},
            },
        },
    }),
)  # fmt: skip


def odd_lines(host: str) -> Iterator[str]:
    for known, line in recorded_lines():
        if known == host:
            yield from map(json.dumps, islice(with_odd_values(line), 0, None, EVERY_NTH))
    for known, line in RARE_LINES:
        if known == host:
            odd = islice(with_odd_values(line), 0, None, 3)
            yield from map(json.dumps, (line, *odd))


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "copilot", "pi", "opencode"])
def test_no_value_in_a_line_of_a_transcript_is_beyond_an_agents_reader(host: str):
    served, tried = agent(host), 0
    for text in odd_lines(host):
        line = json.loads(text)
        for said in served.utterances(line):
            if said.call is not None:
                served.describe_call(said.call)
        tried += 1
    assert tried > 100


def test_a_line_that_its_reader_cannot_take_costs_that_line_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whatever form comes next: the lines after it are read, and it is counted."""
    served, path = agent("claude-code"), tmp_path / "s.jsonl"
    read_line = served.utterances

    def fails(line: dict[str, Any]) -> Any:
        if line["uuid"] == "u2":
            raise TypeError
        return read_line(line)

    monkeypatch.setattr(served, "utterances", fails)
    lines = [
        {"type": "user", "uuid": f"u{number}", "message": {"content": f"prompt {number}"}}
        for number in (1, 2, 3)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tail = Tail(path)

    assert [said.text for said in utterances("claude-code", tail)] == ["prompt 1", "prompt 3"]
    assert tail.skipped == 1


def test_every_odd_event_is_answered_or_refused(app: App):
    talk, cwd = Talk(app), str(Path.cwd())
    pinned(app, "We use pnpm here, not npm.")
    everything = (
        (host, event, changed)
        for host, event, payload in recorded_events()
        for changed in with_odd_values(payload)
    )
    for host, event, payload in islice(everything, 0, None, EVERY_NTH):
        body, until_s = json.dumps(payload).encode(), time.monotonic() + 60
        try:
            answer = talk.hooks.answer(host, event, body, {"CLAUDE_PROJECT_DIR": cwd}, cwd, until_s)
        except BadInput:
            continue
        answer.after(True)
        assert not answer.stdout or isinstance(json.loads(answer.stdout), dict)


def test_a_session_that_starts_with_an_impossible_transcript_is_answered(app: App):
    pinned(app, "We use pnpm here, not npm.")
    for path in ("../" * 2_000, "a\x00b", "/dev/null/x", "x" * 300):
        talk = Talk(app, session=f"s-{len(path)}")
        talk.transcript = path
        for source in ("startup", "resume", "fork", "compact"):
            talk.start(source, seconds_since_last_response=3)


# Lines around which everything else is still read.


GARBAGE = {
    "not JSON": b"{not json at all\n",
    "not UTF-8": b'{"type":"user","message":{"content":"\xff\xfe"}}\n',
    "half a character": '{"type":"user","message":{"content":"ä'.encode()[:-1] + b"\n",
    "NUL bytes": bytes(5_000) + b"\n",
    "a lone surrogate": b'{"type":"user","uuid":"x","message":{"content":"\\ud800 hello"}}\n',
    "deep": b'{"type":"user","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "as deep as can be read": b'{"type":"user","message":{"content":' + b"[" * 900 + b"]" * 900 + b"}}\n",
    "a number without end": b'{"type":"user","x":1e999999,"message":{"content":1e999999}}\n',
    "an integer of 10,000 digits": b'{"type":"user","x":' + b"9" * 10_000 + b',"message":{"content":"x"}}\n',
    "the same key twice": b'{"type":"user","type":"assistant","message":{},"message":{"content":[]}}\n',
    "five megabytes": b'{"type":"user","message":{"content":"' + b"a" * 5_000_000 + b'"}}\n',
    "a list": b"[1, 2]\n",
    "a refusal of no kind": b'{"type":"user","toolDenialKind":[],"message":{"content":[{"type":"tool_result"}]}}\n',
}  # fmt: skip


@pytest.mark.parametrize("kind", GARBAGE)
def test_the_lines_around_garbage_are_read_and_so_are_other_sessions(
    kind: str, app: App, transcript: Transcript, tmp_path: Path
):
    other = Transcript(app, tmp_path, session="s-2")
    transcript.line("user", "From now on, put tests in tests/unit.")
    transcript.path.write_bytes(transcript.path.read_bytes() + GARBAGE[kind])
    transcript.line("user", "Never push to main directly.")
    transcript.event(EventName.TURN_ENDED)
    other.line("user", "Always use Decimal for money, never float.")
    other.event(EventName.TURN_ENDED)

    catch_up(app)

    assert rules_of(app) == [
        "Always use Decimal for money, never float.",
        "Never push to main directly.",
        "Put tests in tests/unit.",
    ]


def rules_of(app: App) -> list[str]:
    return sorted(one.body for one in app.reader(Scope.PROJECT).find(Query(kinds=(Kind.RULE,))))


@pytest.mark.parametrize(
    "change", ["same size", "smaller", "larger", "cut in a line", "cut in a character"]
)
def test_a_transcript_that_was_rewritten_is_read_anew_and_nothing_twice(
    change: str, app: App, transcript: Transcript
):
    transcript.line("user", "From now on, put tests in tests/unit.")
    transcript.line("user", "Grüße! Never push to main directly.")
    transcript.event(EventName.TURN_ENDED)
    catch_up(app)
    before, content = rules_of(app), transcript.path.read_bytes()
    other = content.replace(b"put tests in tests/unit", b"put files in other/dirs")
    cuts = {
        "same size": other,
        "smaller": other[: other.find(b"\n") + 1],
        "larger": other + b"\n" * 100,
        "cut in a line": content[: len(content) - 30],
        "cut in a character": content[: content.find(b"\\u00fc") + 3],
    }
    transcript.path.write_bytes(cuts[change])
    transcript.event(EventName.TURN_ENDED)
    catch_up(app)
    transcript.path.write_bytes(content)
    transcript.line("user", "Always use Decimal for money, never float.")
    transcript.event(EventName.TURN_ENDED)
    catch_up(app)

    after = rules_of(app)
    assert len(after) == len(set(after))
    assert {*before, "Always use Decimal for money, never float."} <= set(after)

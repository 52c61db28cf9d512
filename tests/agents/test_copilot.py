"""Past sessions of agents other than the usual one: where they stand, whose they are, and what Copilot's lines say."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from recollect.agents import Places, Tail, agent, utterances
from recollect.agents.transcript import Voice
from recollect.base.moment import Moment
from recollect.model.act import Deed
from recollect.model.session import ToolCall

PAYLOADS = Path(__file__).parent / "payloads"
WHERE = {
    "codex": ".codex/sessions/2026/11/15/rollout-2026-11-15T19-04-52-00000001.jsonl",
    "gemini": ".gemini/tmp/0123/chats/session-2026-11-15T19-05-00000001.jsonl",
    "copilot": ".copilot/session-state/00000001/events.jsonl",
}


@pytest.mark.parametrize("host", WHERE)
def test_a_session_says_where_and_when_it_was_begun(tmp_path: Path, host: str):
    path = tmp_path / WHERE[host]
    path.parent.mkdir(parents=True)
    shutil.copy(PAYLOADS / host / "transcript.jsonl", path)
    shop = Path("/home/ada/shop")
    if host == "gemini":  # it names a project by a checksum alone
        first, *rest = path.read_text().splitlines()
        head = {**json.loads(first), "projectHash": hashlib.sha256(str(shop).encode()).hexdigest()}
        path.write_text("\n".join([json.dumps(head), *rest]) + "\n")

    [found] = agent(host).transcripts(Places(tmp_path, shop, {}))

    assert (found.path, found.cwd, found.problem) == (path, str(shop), "")
    assert found.session == "00000001-0000-4000-8000-000000000000"
    assert found.began is not None
    assert found.began > Moment.parse("2026-11-15T19:00:00Z")
    if host == "gemini":
        [other] = agent(host).transcripts(Places(tmp_path, Path("/home/ada/other"), {}))
        assert other.cwd == ""


def test_what_copilot_wrote_down_is_read():
    said = list(utterances("copilot", Tail(PAYLOADS / "copilot" / "transcript.jsonl")))

    assert [(one.voice, one.text) for one in said] == [
        (Voice.PROMPT, "Run the tests"),
        (Voice.REPLY, "I run them."),
        (Voice.TOOL_CALL, ""),
        (Voice.TOOL_RESULT, "No rule to make target 'test'."),
        (Voice.REPLY, "There is no such target."),
    ]
    asked, result = said[2].call, said[3].call
    assert isinstance(asked, ToolCall)
    assert isinstance(result, ToolCall)
    assert (asked.id, result.id, result.failed) == ("t1", "t1", True)
    doing = agent("copilot").doing(asked)
    assert (doing.deed, doing.what) == (Deed.RUN, "make test")

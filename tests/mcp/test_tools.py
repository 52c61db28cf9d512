"""The tool list is made from the table of operations, and costs little."""

from __future__ import annotations

import json
import re

import pytest

from recollect.mcp.tool_list import BY_NAME, TOOLS, BadCall, Tool, instructions, request
from recollect.ops.table import OPS, Effect
from tools import mcp_tools

# As the issue that asked for them spells them: name, argument and default.
SIGNATURES = {
    "ai_recall": {"query": ..., "limit": 8, "include_suspended": True, "archived": False},
    "ai_focus": {"topic": ..., "weight": 0.8},
    "ai_unfocus": {"topic": None},
    "ai_pin": {"content": ..., "title": None, "topics": None, "weight_boost": 0.3},
    "ai_suggestions": {"context": None},
    "ai_rate_context": {"thread_id": ..., "useful": ..., "reason": None},
    "ai_compact": {"strategy": "normal", "dry_run": False},
    "ai_merge": {"a": ..., "b": ...},
    "ai_split": {"thread_id": ..., "topics": None, "dry_run": False},
    "ai_status": {},
    "ai_undo": {"change": None},
}
MAX_LIST_BYTES = 8_400
ID = "thread_20260201_083000_abc123"


def test_the_file_is_what_the_operations_say():
    assert mcp_tools.FILE.read_text(encoding="utf-8") == mcp_tools.tools_file(), "run: python tools/mcp_tools.py"


def test_the_tools_and_their_arguments_are_these():
    found = {tool.name: {name: schema.get("default", ...) for name, schema in tool.arguments.items()} for tool in TOOLS}
    assert found == SIGNATURES
    assert list(BY_NAME) == list(SIGNATURES)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_offered_only_where_an_agent_may_and_says_what_it_does(tool: Tool):
    op = next(op for op in OPS if op.name == tool.op)
    assert not op.cli_only
    assert not (tool.tool["annotations"]["destructiveHint"] and (op.effect is Effect.READ or tool.only_reads))
    assert 20 < len(tool.description) < 300


def test_what_leads_every_prompt_is_short():
    assert len(json.dumps([tool.tool for tool in TOOLS], separators=(",", ":"))) <= MAX_LIST_BYTES
    assert len(instructions().encode()) < 2_048
    assert len(TOOLS) <= 12
    assert all(tool.name in instructions() for tool in TOOLS if tool.name != "ai_status")
    assert ".ai/recall/" in instructions()


def test_values_go_to_the_operation_under_its_own_names():
    pin = request("ai_pin", {"content": "x", "weight_boost": 0.5, "title": None})
    rate = request("ai_rate_context", {"thread_id": ID, "useful": False})
    split = request("ai_split", {"thread_id": ID, "topics": ["a"], "dry_run": True})
    assert pin.call == {"op": "pin", "values": {"text": "x", "boost": 0.5}, "dry_run": False}
    assert rate.call["values"] == {"thread_id": ID, "verdict": "not-useful"}
    assert split.call == {"op": "split", "values": {"thread_id": ID, "topics": ["a"]}, "dry_run": True}


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("ai_forget", {}, "There is no tool 'ai_forget'"),
        ("ai_recal", {"query": "x"}, "Did you mean ai_recall?"),
        ("ai_recall", {}, "needs 'query'"),
        ("ai_recall", {"query": 7}, "'query' has to be a text"),
        ("ai_recall", {"query": "x", "limit": "5"}, "'limit' has to be a whole number"),
        ("ai_recall", {"query": "x", "limit": True}, "'limit' has to be a whole number"),
        ("ai_pin", {"content": None}, "needs 'content'"),
        ("ai_pin", {"content": "x", "topics": "a,b"}, "'topics' has to be a list of texts"),
        ("ai_pin", {"content": "x", "topics": [1]}, "'topics' has to be a list of texts"),
        ("ai_focus", {"topic": "x", "weight": "much"}, "'weight' has to be a number"),
        ("ai_rate_context", {"thread_id": ID, "useful": "no"}, "'useful' has to be true or false"),
        ("ai_status", {"verbose": True}, "ai_status takes no 'verbose'"),
    ],
)
def test_bad_arguments_are_named_in_words_to_act_on(tool: str, given: dict[str, object], says: str):
    with pytest.raises(BadCall, match=re.escape(says)):
        request(tool, given)

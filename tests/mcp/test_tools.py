"""The tool list is made from the table of operations, and costs little."""

import json
import re
from pathlib import Path

import pytest

import recollect
from recollect.base.errors import BadInput
from recollect.mcp.server import (
    BY_NAME,
    INSTRUCTIONS,
    TOOLS,
    Tool,
    make_call,
    name_arguments,
    why_refused,
)
from recollect.ops.calls import parse_call
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
    assert mcp_tools.FILE.read_text(encoding="utf-8") == mcp_tools.tools_file(), (
        "run: python tools/mcp_tools.py"
    )


def test_the_tools_and_their_arguments_are_these():
    found = {
        tool.name: {name: schema.get("default", ...) for name, schema in tool.arguments.items()}
        for tool in TOOLS
    }
    assert found == SIGNATURES
    assert list(BY_NAME) == list(SIGNATURES)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_offered_only_where_an_agent_may_and_says_what_it_does(tool: Tool):
    op = next(op for op in OPS if op.name == tool.op)
    assert not op.cli_only
    hints = tool.tool["annotations"]
    assert not (hints["destructiveHint"] and (op.effect is Effect.READ or hints["readOnlyHint"]))
    assert 20 < len(tool.tool["description"]) < 300


def test_what_leads_every_prompt_is_short():
    assert len(json.dumps([tool.tool for tool in TOOLS], separators=(",", ":"))) <= MAX_LIST_BYTES
    assert len(INSTRUCTIONS.encode()) < 2_048
    assert len(TOOLS) <= 12
    assert all(tool.name in INSTRUCTIONS for tool in TOOLS if tool.name != "ai_status")
    assert ".ai/recall/" in INSTRUCTIONS


def ask(tool: str, **arguments: object) -> bytes:
    return json.dumps(make_call(BY_NAME[tool], arguments)).encode()


def test_values_go_to_the_operation_under_its_own_names():
    pin = parse_call(ask("ai_pin", content="x", weight_boost=0.5, title=None))
    rate = parse_call(ask("ai_rate_context", thread_id=ID, useful=False))
    split = parse_call(ask("ai_split", thread_id=ID, topics=["a"], dry_run=True))
    assert (pin.op.name, pin.values, pin.dry_run) == ("pin", {"text": "x", "boost": 0.5}, False)
    assert rate.values == {"thread_id": ID, "verdict": "not-useful"}
    assert (split.values, split.dry_run) == ({"thread_id": ID, "topics": ("a",)}, True)


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("ai_recall", {}, "'query' is missing"),
        ("ai_pin", {"content": None}, "'content' is missing"),
        ("ai_pin", {"content": "x", "topics": "a,b"}, "Invalid value for 'topics'"),
        ("ai_pin", {"content": "x", "weight_boost": "much"}, "Invalid value for 'weight_boost'"),
        ("ai_rate_context", {"thread_id": ID, "useful": "no"}, "no verdict 'no'"),
        ("ai_status", {"verbose": True}, "Unknown argument 'verbose'"),
    ],
)
def test_a_bad_argument_is_refused_under_the_name_the_tool_gives_it(
    tool: str, given: dict[str, object], says: str
):
    with pytest.raises(BadInput) as refused:
        parse_call(ask(tool, **given))
    assert says in name_arguments(BY_NAME[tool], refused.value.message)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_argument_that_no_schema_has_is_refused_with_those_that_the_schema_has(tool: Tool):
    assert why_refused(tool, dict.fromkeys(tool.arguments)) == ""
    refusal = why_refused(tool, {"question": "x"})
    assert "Unknown argument 'question'." in refusal
    assert refusal.endswith(f"Known: {', '.join(tool.arguments) or 'none'}.")


# What agents are told of the tools, wherever it stands, is what the tools take.

_SOURCES = Path(recollect.__file__).parent
_REPOSITORY = Path(__file__).parents[2]
_TOLD = [
    _SOURCES / "mcp" / "instructions.md",
    *sorted((_REPOSITORY / "plugins" / "claude-code").rglob("*.md")),
    *(path for path in sorted(_SOURCES.rglob("*")) if path.suffix in (".py", ".md", ".ts", ".js")),
]
_MENTIONED = re.compile(r"\b(ai_[a-z_]+)\b(?:\(([^)\n]*)\))?")


def named_arguments(given: str) -> list[str]:
    return re.findall(r"(?:^|,)\s*(\w+)\s*=", re.sub(r"\"[^\"]*\"|'[^']*'", "''", given))


@pytest.mark.parametrize("path", _TOLD, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_tool_and_argument_that_a_text_names_is_in_the_schemas(path: Path):
    for name, given in _MENTIONED.findall(path.read_text(encoding="utf-8")):
        assert name in BY_NAME, f"{path.name} names {name}"
        unknown = set(named_arguments(given)) - BY_NAME[name].arguments.keys()
        assert not unknown, f"{path.name}: {name} takes no {unknown}"


def test_the_instructions_call_every_tool_by_the_names_of_its_arguments():
    text = INSTRUCTIONS + (_SOURCES / "agents" / "skill.md").read_text(encoding="utf-8")
    for name, given in _MENTIONED.findall(text):
        missing = set(BY_NAME[name].tool["inputSchema"]["required"]) - set(named_arguments(given))
        assert not given or not missing, f"{name}({given}) lacks {missing}"


def test_dry_run_is_advised_for_tools_that_take_it_alone():
    [advice] = [line for line in INSTRUCTIONS.splitlines() if "dry_run" in line]
    *_, one, other = _MENTIONED.findall(advice)
    assert "the last two with dry_run=true" in advice
    assert {"dry_run"} <= BY_NAME[one[0]].arguments.keys() & BY_NAME[other[0]].arguments.keys()

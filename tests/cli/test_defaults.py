"""One default for one parameter: the command line, the tools and the help say what the function says."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from recollect.cli.op_command import command_of, values_from
from recollect.mcp.server import TOOLS, Tool, make_call
from recollect.ops.calls import parse_call
from recollect.ops.table import OPS, Op, Parameter

BY_OP = {op.name: op for op in OPS}

# Deliberate differences. A tool that is told null leaves the value out, so that the function's own default holds.
SPELT_AS_NULL: dict[tuple[str, str], Any] = {("ai_pin", "topics"): (), ("ai_split", "topics"): ()}


def function_defaults(op: Op) -> dict[str, Any]:
    given = list(inspect.signature(op.function).parameters.values())[1:]
    return {one.name: one.default for one in given if one.default is not inspect.Parameter.empty}


def parsed(op: Op, *options: str) -> dict[str, Any]:
    """What a command hands to its function when nothing but what it must have is given."""
    wanted = op.parameters
    needed = [_sample(one) for one in wanted if one.required and one.positional]
    needed += [part for one in wanted if one.required and not one.positional for part in (_flag(one), _sample(one))]
    command = command_of(op)
    params = command.make_context(op.name, [*options, *needed]).params
    return values_from(wanted, params)


def _sample(one: Parameter) -> str:
    choices = [str(member) for member in one.type] if hasattr(one.type, "__members__") else []
    return choices[0] if choices else "1"


def _flag(one: Parameter) -> str:
    return f"--{one.name.replace('_', '-')}"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_command_uses_its_functions_defaults_and_every_switch_can_be_set_both_ways(
    op: Op, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("recollect.cli.op_command._from_stdin", lambda: "-")  # which `-` stands for
    taken = parsed(op)
    assert {name: taken[name] for name in function_defaults(op)} == function_defaults(op)
    for one in op.parameters:
        if one.type is bool:
            flag = _flag(one).replace("--", "--no-", 1) if one.default else _flag(one)
            assert parsed(op, flag)[one.name] is not one.default


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_names_the_functions_own_defaults(tool: Tool):
    defaults = function_defaults(BY_OP[tool.op])
    for name, schema in tool.arguments.items():
        if "default" not in schema or name == "dry_run":  # a mode of every write: off unless it is asked for
            assert schema.get("default", False) is False
            continue
        wanted = defaults[tool.renamed.get(name, name)]
        if schema["default"] != wanted:
            assert SPELT_AS_NULL[tool.name, name] == wanted
            assert schema["default"] is None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_without_options_calls_its_function_with_the_functions_own_defaults(tool: Tool):
    needed: dict[str, Any] = {
        name: schema["type"] == "boolean" or "x" for name, schema in tool.arguments.items() if "default" not in schema
    }
    defaults = function_defaults(BY_OP[tool.op])
    as_null = {name: None for name, schema in tool.arguments.items() if schema.get("default", ...) is None}
    for given in (needed, needed | as_null):
        call = parse_call(json.dumps(make_call(tool, given)).encode())
        assert not call.dry_run
        assert {name: value for name, value in call.values.items() if name in defaults} == {}

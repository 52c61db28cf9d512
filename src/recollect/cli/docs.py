"""Makes docs/operations.md from the tables it documents: operations, settings, errors.

`python -m recollect.cli.docs > docs/operations.md`. A test fails when the file says something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum

import click

from recollect.base import errors
from recollect.base.errors import RecollectError
from recollect.base.setting import SETTINGS, Narrow, Setting
from recollect.base.settings import expected
from recollect.cli.command import Parameter, command_of, flags_of, parameters
from recollect.mcp.tools import TOOLS, Tool
from recollect.ops.table import OPS, Effect, Op

_HEAD = """\
# Operations

<!-- Made by `python -m recollect.cli.docs > docs/operations.md`. Do not edit. -->

Every operation prints JSON with `--json` (errors too, on standard error). Every one that writes takes
`--dry-run`, which shows what would be done and writes nothing. `recollect COMMAND --help` says what stands here.
"""
_TOOLS = """\
# Tools

What an agent is offered over MCP (`recollect mcp`, which `recollect install` names to it), each with the operation
behind it. An answer stays under 8,000 characters; a memory's id as the query of `ai_recall` gives it whole,
`ID+OFFSET` goes on in a long one. Memories are also resources: `recollect://memory/ID`.
"""
_SETTINGS = """\
# Settings

Lines of `KEY=value` in `agent.conf` of the home folder, or environment variables of the same name. A project's
`.ai/agent.conf`, and the environment that reaches a hook, may be a stranger's: they may only do what the column
*project* says. `recollect config` shows each value and where it comes from; what cannot be taken is reported
with file and line, and the value below it stands.
"""
_EXIT_CODES = """\
# Exit codes

0 means done. `verify` ends with 5 when it found damage, `doctor` with 1 when something is bad, and 130 means
stopped from the keyboard. The rest is the tree of errors; a hint on standard error says what to do next.
"""
_MAY: dict[Narrow, str] = {"off_only": "may switch it off", "lower_only": "may lower it", "never": "may not set it"}


def operations_page() -> str:
    parts = [
        _HEAD,
        *map(_operation, OPS),
        _TOOLS,
        _tools_table(),
        _SETTINGS,
        _settings_table(),
        _EXIT_CODES,
        _errors_table(),
    ]
    return "\n".join(parts)


def _operation(op: Op) -> str:
    command = command_of(op)
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    lines = [f"## {op.name}", "", op.summary, "", "```console", f"recollect {op.name} {usage}", "```", ""]
    wanted = parameters(op.function)
    if wanted or op.effect is Effect.ERASE:
        lines += ["| | | default |", "|---|---|---|", *map(_parameter, wanted)]
        lines += ["| `--yes` | Do not ask. | |"] if op.effect is Effect.ERASE else []
        lines.append("")
    lines += [f"Effect: {op.effect}. Example: `recollect {op.example}`", ""]
    if op.cli_only:
        lines += [f"Command line only: {op.cli_only}.", ""]
    return "\n".join(lines)


def _parameter(p: Parameter) -> str:
    name = p.arg.metavar or p.name.upper() if p.positional else flags_of(p).replace("/", " / ")
    takes = f" {p.arg.metavar}" if p.arg.metavar and not p.positional else ""
    choices = [str(member) for member in p.type] if isinstance(p.type, type) and issubclass(p.type, Enum) else []
    meaning = f"{p.arg.help} One of {', '.join(choices)}." if choices else p.arg.help
    shown = flags_of(p).partition("/")[0] if p.default is True else p.default
    default = f"`{shown}`" if shown not in (None, False, ()) else ""
    return _row(f"`{name}{takes}`", meaning, default)


def _tools_table() -> str:
    rows = [_row("tool", "operation", "when"), _row("---", "---", "---")]
    return "\n".join([*rows, *(_row(f"`{_signature(tool)}`", f"`{tool.op}`", tool.description) for tool in TOOLS), ""])


def _signature(tool: Tool) -> str:
    given = [
        name if name in tool.required else f"{name}={json.dumps(schema['default'])}"
        for name, schema in tool.arguments.items()
    ]
    return f"{tool.name}({', '.join(given)})"


def _settings_table() -> str:
    rows = [_row("setting", "default", "takes", "project", "why"), _row("---", "---", "---", "---", "---")]
    return "\n".join([*rows, *map(_setting, SETTINGS), ""])


def _setting(setting: Setting) -> str:
    name, default = f"`{setting.name}`", f"`{setting.default}`"
    return _row(name, default, expected(setting), _MAY[setting.narrow], setting.reason)


def _errors_table() -> str:
    said = dict(re.findall(r"(\w+) +\d+ +(\S.*)", errors.__doc__ or ""))
    rows = [_row("exit code", "error", "meaning"), _row("---", "---", "---")]
    return "\n".join([*rows, *(_row(str(e.exit_code), f"`{e.__name__}`", said[e.__name__]) for e in _tree()), ""])


def _tree(top: type[RecollectError] = RecollectError) -> Iterator[type[RecollectError]]:
    yield top
    for below in top.__subclasses__():
        yield from _tree(below)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


if __name__ == "__main__":
    click.echo(operations_page(), nl=False)

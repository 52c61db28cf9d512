"""Makes docs/operations.md and the man page from the tables they document: operations, settings, errors.

`python tools/make_docs.py > docs/operations.md`, `python tools/make_docs.py man > docs/recollect.1`. A test fails
when a file says something else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import Enum

import click

from recollect import __version__
from recollect.base.errors import RecollectError
from recollect.base.settings import SETTINGS, Narrow, Setting, expected
from recollect.cli.main import group_rows, program
from recollect.cli.op_command import command_of, flags_of
from recollect.mcp.server import TOOLS, Tool
from recollect.ops.table import OPS, Group, Op, Parameter

_HEAD = """\
# Operations

<!-- Made by `python tools/make_docs.py > docs/operations.md`. Do not edit. -->

Every operation prints JSON with `--json` (errors too, on standard error). Every one that writes takes
`--dry-run`, which shows what would be done and writes nothing. `recollect COMMAND --help` says the same as this page.

A memory is named by its id, any part of its id (the six digits that lists show), part of its title, `last` (the one
made, changed or shown last) or its number in the list printed last. What fits several is refused with a list of them.
"""
_TOOLS = """\
# Tools

What an agent is offered over MCP (`recollect mcp`, which `recollect install` tells it about), each with the operation
behind it. An answer has fewer than 8,000 characters; a memory's id as the query of `ai_recall` gives it whole,
`ID+OFFSET` goes on in a long one. Memories are also resources: `recollect://memory/ID`.
"""
_SETTINGS = """\
# Settings

Lines of `KEY=value` in `agent.conf` of the home folder, or environment variables of the same name. A project's
`.ai/agent.conf`, and the environment that reaches a hook, may be a stranger's: the column *project* says what they may
do. `recollect config` shows each value and where it comes from; a line that cannot be used is reported with its
file and number, and the value below it holds.
"""
_EXIT_CODES = """\
# Exit codes

0 means done. `verify` ends with 5 when it found damage, `doctor` with 1 when something is broken, and 130 means
stopped from the keyboard. The rest is the tree of errors; a hint on standard error says what to do next.
"""
_URL = "https://github.com/recollect-memory/recollect"
_MAY: dict[Narrow, str] = {
    "off_only": "may switch it off",
    "lower_only": "may lower it",
    "never": "may not set it",
}


def operations_page() -> str:
    groups = [
        part
        for group in Group
        for part in (_group_head(group), *(_operation(op) for op in _ops_of(group)))
    ]
    tables = [_TOOLS, _tools_table(), _SETTINGS, _settings_table(), _EXIT_CODES, _errors_table()]
    return "\n".join([_HEAD, *groups, *tables])


def _group_head(group: Group) -> str:
    return f"# {group.name.capitalize()}\n\n{group.value}\n"


def _ops_of(group: Group) -> list[Op]:
    return [op for op in OPS if op.group is group]


def _operation(op: Op) -> str:
    command = command_of(op)
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    lines = [
        f"## {op.name}",
        "",
        op.summary,
        "",
        "```console",
        f"recollect {op.name} {usage}",
        "```",
        "",
    ]
    wanted = op.parameters
    if wanted:
        lines += ["| | | default |", "|---|---|---|", *map(_parameter, wanted)]
        lines += ["| `--yes` | Do not ask. | |"] if op.erases else []
        lines.append("")
    lines += [f"Effect: {op.effect}. Example: `recollect {op.example}`", ""]
    if op.cli_only:
        lines += [f"Command line only: {op.cli_only}.", ""]
    return "\n".join(lines)


def _parameter(p: Parameter) -> str:
    name = p.arg.metavar or p.name.upper() if p.positional else flags_of(p).replace("/", " / ")
    takes = f" {p.arg.metavar}" if p.arg.metavar and not p.positional else ""
    choices = (
        [str(member) for member in p.type]
        if isinstance(p.type, type) and issubclass(p.type, Enum)
        else []
    )
    meaning = f"{p.arg.help} One of {', '.join(choices)}." if choices else p.arg.help
    shown = flags_of(p).partition("/")[0] if p.default is True else p.default
    default = f"`{shown}`" if shown not in (None, False, ()) else ""
    return _row(f"`{name}{takes}`", meaning, default)


def _tools_table() -> str:
    rows = [_row("tool", "operation", "when"), _row("---", "---", "---")]
    about = (
        _row(f"`{_signature(tool)}`", f"`{tool.op}`", tool.tool["description"]) for tool in TOOLS
    )
    return "\n".join([*rows, *about, ""])


def _signature(tool: Tool) -> str:
    given = [
        f"{name}={json.dumps(schema['default'])}" if "default" in schema else name
        for name, schema in tool.arguments.items()
    ]
    return f"{tool.name}({', '.join(given)})"


def _settings_table() -> str:
    rows = [
        _row("setting", "default", "takes", "project", "why"),
        _row("---", "---", "---", "---", "---"),
    ]
    return "\n".join([*rows, *map(_setting, SETTINGS), ""])


def _setting(setting: Setting) -> str:
    name, default = f"`{setting.name}`", f"`{setting.default}`"
    return _row(name, default, expected(setting), _MAY[setting.narrow], setting.reason)


def _errors_table() -> str:
    rows = [_row("exit code", "error", "meaning"), _row("---", "---", "---")]
    return "\n".join(
        [*rows, *(_row(str(e.exit_code), f"`{e.__name__}`", e.__doc__ or "") for e in _tree()), ""]
    )


def _tree(top: type[RecollectError] = RecollectError) -> Iterator[type[RecollectError]]:
    yield top
    for below in top.__subclasses__():
        yield from _tree(below)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def man_page() -> str:
    """In the language of man pages; every backslash and leading dot of ours is escaped."""
    lines = [
        f'.TH RECOLLECT 1 "" "recollect {__version__}" "User Commands"', ".SH NAME",
        r"recollect \- memory for coding agents", ".SH SYNOPSIS", ".B recollect", r".I COMMAND", "[OPTIONS]",
        ".SH DESCRIPTION", *map(_roff, (program.help or "").splitlines()), ".PP",
        _roff("A memory is named by part of its id or title, by last, or by its number in the list printed last."),
        ".SH EVERYDAY COMMANDS", *(line for op in OPS if op.everyday for line in _man_entry(op.name, op.summary)),
    ]  # fmt: skip
    for group in Group:
        lines += [
            f".SH {group.name}",
            *(line for row in group_rows(group) for line in _man_entry(*row)),
        ]
    lines += [
        ".SH FILES", *_man_entry("~/.recollect", "Memory, settings and logs; RECOLLECT_HOME names another folder."),
        *_man_entry("~/.recollect/agent.conf", "Settings, KEY=value; `recollect config` explains each."),
        ".SH EXIT STATUS", "0 if it was done; the others are listed in docs/operations.md.",
        ".SH SEE ALSO", _URL,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _man_entry(name: str, summary: str) -> list[str]:
    return [".TP", f".B {_roff(name)}", _roff(summary)]


def _roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    click.echo(man_page() if sys.argv[1:] == ["man"] else operations_page(), nl=False)

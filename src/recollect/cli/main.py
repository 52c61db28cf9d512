"""The program: finds the command, runs it, and turns every error into one message and an exit code. The tree of
commands is made from OPS: help is printed from the table alone, and a command is built when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NoReturn

import click

from recollect import __version__
from recollect.base.errors import RecollectError
from recollect.base.text import json_visible
from recollect.ops.table import OPS, Group, Op

# Commands that are not operations: they run a process, or show how Recollect works.
EXTRAS = {
    "ui": (Group.MEMORIES, "Open a page: what memory knows, what it told your agent, and why."),
    "daemon": (Group.AGENTS, "The process that answers hooks: start, stop, status, run."),
    "mcp": (Group.AGENTS, "Serve memory to an agent over MCP; agents start this themselves."),
    "logs": (Group.AGENTS, "What was decided and when, one line per decision; -f follows."),
    "hook": (Group.DEVELOPERS, "Answer one event from standard input, as an agent would get it."),
    "bench": (Group.DEVELOPERS, "Measure speed, recall, crashes and damage (in a clone only)."),
    "completion": (Group.DEVELOPERS, "Print the completion script for a shell."),
}
# Commands that have commands below them.
PARENTS = {
    "import": "Read past sessions, or what another memory kept.",
    "inbox": "Decide on the rules that wait for you.",
    "note": "Write, show and archive notes.",
    "rule": "Add a rule; `recollect rules` lists them.",
    "team": "Make, join and leave a team; `recollect share` shares with it.",
}
_HELP = "help"


class Tree(click.Group):
    """One level of the tree; `path` holds the words that lead to it."""

    path: tuple[str, ...] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = dict.fromkeys(op.name.split()[len(self.path)] for op in _below(self.path))
        return [*names, *EXTRAS, _HELP] if not self.path else [*names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = (*self.path, cmd_name)
        if named := _find_op(path):
            from recollect.cli.op_command import command_of

            return command_of(named[0], cmd_name)
        if _below(path):
            parent = Tree(name=cmd_name, help=PARENTS[path[0]])
            parent.path = path
            if path == ("inbox",):
                from recollect.cli.op_command import add_review

                add_review(parent)
            return parent
        if cmd_name in EXTRAS:
            found: click.Command | Callable[[], click.Command]
            found = getattr(import_module("recollect.cli.extras"), cmd_name)
            return found if isinstance(found, click.Command) else found()
        return _help if cmd_name == _HELP else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.path:
            with formatter.section("Commands"):
                formatter.write_dl([(op.name.split()[-1], op.summary) for op in _below(self.path)])
            return
        with formatter.section("Everyday commands"):
            firsts = [
                ("ui", EXTRAS["ui"][1]),
                *((op.name.split()[0], op.summary) for op in OPS if op.everyday),
            ]
            formatter.write_dl([(first, PARENTS.get(first, summary)) for first, summary in firsts])
        with formatter.section("The rest, by group (recollect help GROUP)"):
            formatter.write_dl([(group.name.lower(), group.value) for group in Group])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if (
            name in ("rules", "notes")
            and args[1:]
            and any(op.name == f"{name[:-1]} {args[1]}" for op in OPS)
        ):
            name, args = name[:-1], [name[:-1], *args[1:]]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise _no_command(ctx, name, self.list_commands(ctx))
        found, command, rest = super().resolve_command(ctx, args)
        named = _find_op((*self.path, name))
        return found, command, [*(named[1] if named else ()), *rest]


def group_rows(group: Group) -> list[tuple[str, str]]:
    every = {op.name: (op.group, op.summary) for op in OPS} | EXTRAS
    return [(name, summary) for name, (of, summary) in every.items() if of is group]


def _no_command(ctx: click.Context, name: str, known: Iterable[str]) -> click.UsageError:
    """Says which were near."""
    import difflib  # like JSON below, not loaded for `--help`

    near = difflib.get_close_matches(name, dict.fromkeys(known), n=2)
    meant = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return click.UsageError(f"There is no command {name!r}.{meant}", ctx)


@click.command(_HELP)
@click.argument("words", nargs=-1, metavar="[GROUP | COMMAND]")
@click.pass_context
def _help(ctx: click.Context, words: tuple[str, ...]) -> None:
    """List the commands of a group, each with what it does, or show how a command is used.

    \b
    Groups: memories, notes, maintenance, teams, agents, developers.
    """
    if not words:
        click.echo(ctx.find_root().get_help())
    elif words[0].upper() in Group.__members__:
        _print_group(ctx, Group[words[0].upper()])
    else:
        _print_command(ctx.find_root(), words)


def _print_command(root: click.Context, words: tuple[str, ...]) -> None:
    """Its own help, as `--help` prints it."""
    ctx, command = root, root.command
    for word in words:
        if not isinstance(command, click.Group):
            break
        below = command.get_command(ctx, word)
        if below is None:
            groups = [] if ctx.parent else [group.name.lower() for group in Group]
            raise _no_command(ctx, word, [*command.list_commands(ctx), *groups])
        command = below
        ctx = click.Context(command, info_name=word, parent=ctx)
    click.echo(ctx.get_help())


def _print_group(ctx: click.Context, chosen: Group) -> None:
    formatter = click.HelpFormatter(width=min(100, ctx.make_formatter().width))
    formatter.write_text(chosen.value)
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl(group_rows(chosen))
    formatter.write_paragraph()
    formatter.write_text("`recollect COMMAND --help` shows a command's options and an example.")
    click.echo(formatter.getvalue(), nl=False)


def _find_op(path: tuple[str, ...]) -> tuple[Op, list[str]] | None:
    """Finds it by its name or an alias, with the options that an alias implies (`delete --delete`)."""
    spelt = ((op, alias.split(" --")) for op in OPS for alias in (op.name, *op.aliases))
    wanted = " ".join(path)
    return next(
        ((op, [f"--{one}" for one in implied]) for op, (name, *implied) in spelt if name == wanted),
        None,
    )


def _below(path: tuple[str, ...]) -> list[Op]:
    prefix = " ".join((*path, ""))
    return [op for op in OPS if op.name.startswith(prefix)]


_EPILOG = (
    "First steps: `recollect demo` shows what it does; `recollect install` connects your agents."
)


@click.group(cls=Tree, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, "-V", "--version", prog_name="recollect", message="%(prog)s %(version)s"
)
def program() -> None:
    """Memory for coding agents: what you state or dictate, they know next time."""


def main() -> NoReturn:
    # UTF-8 whatever the locale: what cannot be spelt is escaped. A stream that was closed is empty.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    out = sys.stdout
    try:
        sys.exit(program.main(prog_name="recollect", standalone_mode=False) or 0)
    except (
        SystemExit
    ) as end:  # click puts other streams there when a pipe was closed, which is no failure
        sys.exit(end.code if sys.stdout is out else 0)
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        click.echo(help_wanted.format_message())
        sys.exit(0)
    except click.UsageError as problem:
        hint = f"`{problem.ctx.command_path} --help` shows how." if problem.ctx else ""
        _fail(problem.format_message(), hint, 2, "BadInput")
    except click.ClickException as problem:
        _fail(problem.format_message(), "", problem.exit_code, "BadInput")
    except (click.Abort, KeyboardInterrupt):
        _fail("Stopped. What was finished stays; `recollect log` shows it.", "", 130, "Stopped")
    except RecollectError as problem:
        _fail(problem.message, problem.hint, problem.exit_code, type(problem).__name__)
    except Exception as problem:
        from recollect.base.settings import environment

        if environment().get("RECOLLECT_DEBUG"):
            raise
        message = f"Something unexpected went wrong: {type(problem).__name__}: {problem}"
        _fail(message, "Set RECOLLECT_DEBUG=1 to see where, and please report it.", 1, "Bug")


def _fail(message: str, hint: str, code: int, name: str) -> NoReturn:
    if "--json" in sys.argv:
        import json

        document = {"error": {"type": name, "message": message, "hint": hint, "exit_code": code}}
        click.echo(json_visible(json.dumps(document, ensure_ascii=False)), err=True)
    else:
        from recollect.cli.wrapping import tell

        tell(f"recollect: {message}" + (f"\n  {hint}" if hint else ""))
    sys.exit(code)

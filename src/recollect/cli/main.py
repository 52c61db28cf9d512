"""The program: finds the command, runs it, and turns every error into one message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Literal, NoReturn, TextIO

import click

from recollect import __version__
from recollect.base.errors import RecollectError
from recollect.base.text import json_visible, visible
from recollect.cli.tree import Tree

_EPILOG = "First steps: `recollect demo` shows what it does; `recollect install` connects your agents."


@click.group(cls=Tree, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="recollect", message="%(prog)s %(version)s")
def program() -> None:
    """Memory for coding agents: corrected once, they do not repeat the mistake."""


def main() -> NoReturn:
    _speak_utf8()
    as_json = "--json" in sys.argv
    try:
        sys.exit(program.main(prog_name="recollect", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        click.echo(help_wanted.format_message())
        sys.exit(0)
    except click.UsageError as problem:
        hint = f"`{problem.ctx.command_path} --help` shows how." if problem.ctx else ""
        _fail(problem.format_message(), hint, 2, "BadInput", as_json)
    except click.ClickException as problem:
        _fail(problem.format_message(), "", problem.exit_code, "BadInput", as_json)
    except (click.Abort, KeyboardInterrupt):
        _fail("Stopped. What was finished stays; `recollect log` shows it.", "", 130, "Stopped", as_json)
    except RecollectError as problem:
        _fail(problem.message, problem.hint, problem.exit_code, type(problem).__name__, as_json)
    except Exception as problem:
        from recollect.base.settings import environment

        if environment().get("RECOLLECT_DEBUG"):
            raise
        said = f"Something went wrong that should not: {type(problem).__name__}: {problem}"
        _fail(said, "Set RECOLLECT_DEBUG=1 to see where, and please report it.", 1, "Bug", as_json)


def _fail(message: str, hint: str, code: int, name: str, as_json: bool) -> NoReturn:
    if as_json:
        import json

        document = {"error": {"type": name, "message": message, "hint": hint, "exit_code": code}}
        click.echo(json_visible(json.dumps(document, ensure_ascii=False)), err=True)
    else:
        click.echo(visible(f"recollect: {message}"), err=True)
        if hint:
            click.echo(visible(f"  {hint}"), err=True)
    sys.exit(code)


def _speak_utf8() -> None:
    """Whatever the locale: what cannot be spelt is escaped, never a crash. A stream that was closed is empty."""
    sys.stdin = sys.stdin or _nothing("r")
    sys.stdout = sys.stdout or _nothing("w")
    sys.stderr = sys.stderr or _nothing("w")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _nothing(mode: Literal["r", "w"]) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")

"""Commands that are not operations: ui, completion, mcp, logs, hook, bench, daemon."""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.base.errors import NotFound, RecollectError
from recollect.base.local_time import local_minute, local_second
from recollect.base.moment import Moment
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.base.text import json_visible, visible
from recollect.cli.wrapping import tell
from recollect.wire.place import Place, find_place

if TYPE_CHECKING:
    from recollect.web.entrance import Invitation

_TIMEOUT_S = (
    10.0  # for the daemon to start, or a hook to answer: loading the model takes most of it
)
_LINES = click.IntRange(1, 1_000_000)
_CLONE = Path(__file__).resolve().parents[3]
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash   eval "$(recollect completion bash)"   in ~/.bashrc
    zsh    eval "$(recollect completion zsh)"    in ~/.zshrc
    fish   recollect completion fish | source    in config.fish
    """
    from click import shell_completion

    from recollect.cli.main import program

    kind = getattr(shell_completion, f"{shell.title()}Complete")
    click.echo(kind(program, {}, "recollect", "_RECOLLECT_COMPLETE").source())


@click.command()
@click.option(
    "--port", default=0, metavar="N", help="The port on 127.0.0.1; by default any free one."
)
@click.option(
    "--browser/--no-browser",
    default=True,
    help="Open the page in your browser; without, only print how to.",
)
@click.option(
    "--project",
    default="",
    metavar="FOLDER",
    help="A project's folder; by default the current one.",
)
@click.option("--until-input-ends", is_flag=True, hidden=True)
def ui(port: int, browser: bool, project: str, until_input_ends: bool) -> None:
    """Open a page in the browser: what memory knows, what it told your agent and why, and how to correct it.

    It is there while this command runs, only on this machine; Ctrl-C ends it. The address alone opens nothing: your
    browser is let in by a private file, and any other by the code that is printed, once, within ten minutes.

    From another machine, forward the port (the same number at both ends) and enter the code:

    \b
    ssh -L 8123:127.0.0.1:8123 HOST recollect ui --no-browser --port 8123
    """
    from recollect.cli.op_command import current_folder

    folder = Path(project).expanduser().absolute() if project else current_folder()
    if not folder.is_dir():
        raise NotFound(
            f"There is no folder {project}.", hint="`recollect projects` lists the projects."
        )
    from recollect.web.site import serve

    serve(
        folder,
        port=port,
        announce=lambda invitation: announce_page(invitation, browser=browser),
        warn=tell,
        until_input_ends=until_input_ends,
    )


def announce_page(invitation: Invitation, *, browser: bool = True) -> None:
    """Prints the address and the code. A browser is started with the private file: others can read what it is
    started with, and not the file."""
    import threading
    import webbrowser

    file = invitation.file
    click.echo(invitation.address)
    click.echo(f"Code: {invitation.code}")
    tell("Ctrl-C ends the page. The code works once, within ten minutes.")
    if not browser or file is None:
        tell("Open the address in a browser and enter the code.")
        return

    def open_file() -> None:
        if not webbrowser.open(file.as_uri()):
            tell("No browser could be started.")

    tell(
        "It opens in your browser. If it does not, or the browser may not read the file (as those from snap or "
        "flatpak), open the address and enter the code."
    )
    # Some browsers keep whoever opened them waiting until they are closed.
    threading.Thread(target=open_file, daemon=True).start()


@click.command()
def mcp() -> None:
    """Serve memory to an agent over MCP, on standard input and output. Agents start this themselves."""
    from recollect.mcp.server import main

    main()


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines until stopped.")
@click.option(
    "--session",
    default="",
    metavar="ID",
    help="Only this session; the beginning of its id is enough.",
)
@click.option(
    "-n", "--limit", default=50, show_default=True, type=_LINES, help="Lines to begin with."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
def logs(follow: bool, session: str, limit: int, as_json: bool) -> None:
    """What was decided, one line per decision, newest last."""
    from recollect.base import log

    folder = Home(home()).logs
    coming = log.LogFollower(
        folder, session
    )  # first, so that no line is lost while the rest is printed
    earlier = log.read_last(folder, limit=limit, session=session)
    for line in itertools.chain(earlier, coming if follow else ()):
        click.echo(
            json_visible(json.dumps(log.parse_line(line), ensure_ascii=False))
            if as_json
            else visible(_at_local_time(line))
        )


def _at_local_time(line: str) -> str:
    """A line of the log as a person reads it; one that begins with no moment stays as it is."""
    stamp, _, rest = line.partition(" ")
    try:
        return f"{local_second(Moment.parse(stamp))}  {rest}"
    except ValueError:
        return line


@click.command()
@click.argument("event", default="")
@click.option("--host", default="", metavar="NAME", help="The agent that the event comes from.")
@click.option(
    "--record/--no-record",
    "--keep/--look",
    default=True,
    help="Record the printed memories as shown to this session.",
)
@click.option(
    "--prepare",
    is_flag=True,
    help="Only write the program that agents call (<home>/bin); change no settings.",
)
def hook(event: str, host: str, record: bool, prepare: bool) -> None:
    """Answer one event from standard input in this process. Agents call `<home>/bin/hook`, which asks the daemon."""
    if prepare:  # for a plugin that finds the program and no hook to call yet
        from recollect.wire import stub

        at = Home(home())
        at.prepare()
        if not stub.is_current(str(at.root), sys.executable):
            stub.write_hook(str(at.root), sys.executable)
        return
    if not event:
        raise click.UsageError("Missing argument 'EVENT'.")

    from recollect.cli.op_command import current_folder
    from recollect.hooks.answer import Hooks, open_once

    given, folder = sys.stdin.buffer.read(), str(current_folder())
    deadline = time.monotonic() + _TIMEOUT_S
    answer = Hooks(open_once).answer(
        host,
        event,
        given,
        environment(),
        folder,
        deadline,
        lambda seconds: time.monotonic() + seconds,
    )
    if answer.stdout:
        click.echo(answer.stdout)
    answer.after(record)


def bench() -> click.Command:
    """The benchmarks stand beside the package in a clone, and are not installed with it."""
    if not (_CLONE / "bench" / "cli.py").is_file():
        hint = "Clone the repository and run `./recollect bench` there."
        raise RecollectError("The benchmarks are not part of an installed Recollect.", hint=hint)
    if str(_CLONE) not in sys.path:
        sys.path.append(str(_CLONE))
    from bench.cli import bench as commands

    return commands


@click.group()
def daemon() -> None:
    """The process that answers hooks: one per user. It starts with the first hook and ends when nobody needs it."""


@daemon.command()
@_as_json
def start(as_json: bool) -> None:
    """Start it now, rather than at the next hook, and without the pause that follows repeated failures."""
    from recollect.daemon import control
    from recollect.wire import client, stub

    Home(home()).prepare()
    place = _place()
    client.forget_starts(place)
    if not client.ensure_daemon(place, sys.executable, stub.PACKAGE, time.monotonic() + _TIMEOUT_S):
        why = client.read_starts(place).why
        message = f"The daemon did not start{': ' if why else '.'}{why}"
        raise RecollectError(message, hint="`recollect daemon run` shows more; so may the log.")
    found = control.status(place)
    if found is None:
        raise RecollectError("The daemon does not answer.", hint="`recollect daemon stop` ends it.")
    _show(found, as_json)


@daemon.command()
@_as_json
def stop(as_json: bool) -> None:
    """Stop it; the next hook starts a new one."""
    from recollect.daemon import control

    ended = control.stop(_place())
    if ended is control.Ended.ALIVE:
        raise RecollectError(
            "The daemon does not answer and was not ended.", hint="End the process by hand."
        )
    if as_json:
        click.echo(json.dumps({"daemon": str(ended)}))
    else:
        click.echo(f"The daemon {'is' if ended is control.Ended.NOT_RUNNING else 'was'} {ended}.")


@daemon.command()
@_as_json
def status(as_json: bool) -> None:
    """What it holds and what it did; exit code 3 if none is running."""
    from recollect.daemon import control
    from recollect.wire import client, lockfile

    found = control.status(_place())
    slow = client.explain_starts(_place())
    if found is None and lockfile.is_held(_place().lock):
        raise RecollectError(
            "A daemon is running, but does not answer.",
            hint="`recollect daemon stop` ends it; the next hook starts a new one.",
        )
    if found is None:
        hint = (
            "`recollect daemon start` starts one at once." if slow else "The next hook starts one."
        )
        raise NotFound(f"No daemon is running{f'; {slow}' if slow else ''}.", hint=hint)
    _show(found | ({"restarts": slow} if slow else {}), as_json)


@daemon.command()
def run() -> int:
    """Be the daemon, in the foreground, until Ctrl-C."""
    from recollect.daemon.startup import run_daemon

    return run_daemon(environment())


def _place() -> Place:
    return find_place(str(home()), environment())


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json_visible(json.dumps(found, ensure_ascii=False, indent=2)))
        return
    projects = [
        f"{one['name'] or 'no project'}{'' if one['warm'] else ' (words alone so far)'}"
        for one in found.pop("projects", [])
    ]
    click.echo(f"The daemon is running, process {found.pop('pid')}.")
    for name, value in (found | {"projects": ", ".join(projects) or "none open"}).items():
        if isinstance(value, dict):
            value = "; ".join(f"{why} ({count})" for why, count in value.items())
        if name == "started_at":
            value = local_minute(Moment.parse(value))
        if value != "":
            click.echo(visible(f"{name.replace('_', ' '):<16} {value}"))

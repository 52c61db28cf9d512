"""Whether agents reach us: what `doctor` checks. Each hook that is installed is run as the agent would run it, with an
event that names no session, so that nothing is remembered of it; what it prints and how long it takes is judged.

Repairs nothing: every complaint names the command that does.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect import __version__
from recollect.agents import DEFAULT_HOST, Addon, Level, agent, callers
from recollect.app.agent_places import places
from recollect.app.core import App
from recollect.base.errors import NoProject, RecollectError
from recollect.base.settings import environment
from recollect.base.text import clip, counted, one_line
from recollect.integrations import agent_pieces, settings_text
from recollect.integrations.pieces import Entries, LeftAlone, Piece, State
from recollect.integrations.receipts import Receipts
from recollect.model.result import Check, Mark
from recollect.wire import client, frame, place, spawn, stub

_SHELL = "/bin/sh"
_MAX_SHOWN_CHARS = 120
_ANSWER_S = 2.0
_ONE_IN = 20  # a late hook as rare as this is no complaint
_SERVER_S = 30  # it ends with its input, and loads the SDK first
# The agent's own time-out, where a hook has none of its own.
_DEFAULT_TIMEOUT_S = 60


Hooks = list[tuple[str, Mapping[str, Any]]]  # each with its event


def checks(app: App) -> Iterator[Check]:
    called: list[tuple[Entries, Hooks]] = []
    offering: list[Piece] = []
    plugged: list[Check] = []
    for piece in _calling_pieces(app):
        is_server = piece.kind == agent_pieces.SERVER
        try:
            if not isinstance(piece, Entries):
                plugged += _plugin(app, piece)
                continue
            found = piece.look()
            standing = piece.standing(found)
            if standing and is_server:
                offering.append(piece)
            elif standing:
                called.append((piece, agent_pieces.hooks_in(standing)))
                switch = agent(piece.host).OFF_SWITCH
                if switch and settings_text.load(piece.form, found.text).get(switch) is True:
                    yield Check("hooks", Mark.WARN, f"switched off in {piece.path}", f"remove {switch} there")
        except (RecollectError, LeftAlone) as problem:
            said = str(problem.message if isinstance(problem, RecollectError) else problem)
            detail = said if str(piece.path) in said else f"{piece.path}, {said}"
            yield Check("tools" if is_server else "hooks", Mark.WARN, detail, f"correct {piece.path}")
    through = agent_pieces.plugins_here(app)
    yield from (_through_plugin(one, is_beside=bool(called)) for one in through)
    if through and not called:
        yield from map(_plugin_runs, through)
    if not called and not plugged and not through:
        yield Check("hooks", Mark.WARN, "no agent calls Recollect here", "recollect install")
        return
    script = _script(app)
    yield script
    for entries, hooks in called:
        yield _completeness(entries, dict(hooks))
        yield from _approval(app, entries)
    yield from plugged
    if script.mark is not Mark.BAD:
        yield from _runs(app, called)
        yield _daemon(app)
    if called or not through:
        yield _server(app, offering)


def _calling_pieces(app: App) -> Iterator[Piece]:
    for host in callers():
        for level in agent(host).LEVELS:
            try:
                yield from (one for one in agent_pieces.pieces(app, host, level) if one.kind in agent_pieces.CALLING)
            except NoProject:
                continue


def _install(piece: Piece) -> str:
    return f"recollect install {'' if piece.host == DEFAULT_HOST else f'--agent {piece.host} '}--{piece.level}"


def _name(piece: Piece) -> str:
    return f"{agent(piece.host).TITLE} ({piece.level})"


# Settings files


def _completeness(piece: Entries, there: Mapping[str, Mapping[str, Any]]) -> Check:
    wanted = {one.keys[-1]: one.value["hooks"][0] for one in piece.additions if isinstance(one.value, dict)}
    missing = [event for event in wanted if event not in there]
    older = [event for event in there if there[event] != wanted.get(event)]
    if not missing and not older:
        return Check(_name(piece), Mark.GOOD, f"{counted(len(there), 'hook')} in {piece.path}")
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has an older {', '.join(older)}"] if older else []
    return Check(_name(piece), Mark.WARN, f"{piece.path} {' and '.join(parts)}", _install(piece))


def _approval(app: App, piece: Piece) -> Iterator[Check]:
    """Some agents run nothing that the person has not approved."""
    lacking = agent(piece.host).unapproved(Level(piece.level), places(app))
    if lacking:
        yield Check(_name(piece), Mark.WARN, lacking)


def _runs(app: App, called: list[tuple[Entries, Hooks]]) -> Iterator[Check]:
    """One check for all that are well, one for each that is not."""
    # The agent runs equal commands once.
    hooks = {str(hook["command"]): (event, piece) for piece, found in called for event, hook in found}
    hosts_called = {piece.host for _, piece in hooks.values()}
    limits = {host: {one.event: one.timeout_s for one in agent(host).hooks(places(app))} for host in hosts_called}
    well = 0
    for command, (event, piece) in hooks.items():
        problem = _run(command, event, limits[piece.host].get(event, _DEFAULT_TIMEOUT_S))
        if problem:
            yield Check(f"{event} hook", Mark.BAD, problem, _install(piece))
        else:
            well += 1
    if well:
        yield Check("hook runs", Mark.GOOD, f"{counted(well, 'hook')} ran and ended well")


# Plugins: a file of ours that the agent loads, or one that the agent itself manages


def _plugin(app: App, piece: Piece) -> list[Check]:
    match piece.state(Receipts(app)):
        case State.CURRENT:
            return [Check(_name(piece), Mark.GOOD, f"plugin in {piece.path}"), *_approval(app, piece)]
        case State.OUTDATED:
            detail = f"{piece.path} is of another version of Recollect"
            return [Check(_name(piece), Mark.WARN, detail, _install(piece))]
        case State.EDITED:
            return [Check(_name(piece), Mark.WARN, f"{piece.path} was edited", f"move it away; {_install(piece)}")]
        case _:
            return []


def _through_plugin(one: Addon, *, is_beside: bool) -> Check:
    """`is_beside`: settings call us too."""
    if one.version != __version__:
        return Check("plugin", Mark.WARN, f"{one.name} is {one.version}, Recollect {__version__}", one.update)
    beside = "; its settings call too, and an event is answered once" if is_beside else ""
    return Check("plugin", Mark.GOOD, f"{agent(one.host).TITLE} calls through {one.name} {one.version}{beside}")


def _plugin_runs(one: Addon) -> Check:
    """As its agent would run it. The first run makes the script that it calls."""
    problem = _run(f"{_SHELL} {shlex.quote(str(one.call))} hook SessionStart", "SessionStart", _DEFAULT_TIMEOUT_S)
    if not problem and (wrong := _server_problem(_SHELL, str(one.call), "mcp")):
        problem = f"its server {wrong}"
    return Check("plugin runs", Mark.BAD if problem else Mark.GOOD, problem or "its hook and its server answer")


# What they call


def _server(app: App, offering: list[Piece]) -> Check:
    """It is started as an agent would start it, and has to answer."""
    if not offering:
        return Check("tools", Mark.WARN, "no agent is offered the tools here", "recollect install")
    wrong = _server_problem(agent_pieces.server_command(app))
    if wrong:
        return Check("tools", Mark.BAD, f"the server {wrong}", _install(offering[0]))
    return Check("tools", Mark.GOOD, f"the server answers; offered in {', '.join(str(one.path) for one in offering)}")


def _server_problem(*command: str) -> str:
    """What is wrong with the server; nothing where it says who it is."""
    client_info = {"name": "doctor", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    ended = _execute(command, json.dumps(hello) + "\n", _SERVER_S)
    if isinstance(ended, str):
        return ended
    try:
        name = json.loads(ended.stdout.splitlines()[0])["result"]["serverInfo"]["name"]
    except (ValueError, KeyError, IndexError, TypeError):
        return f"did not answer ({_shown(ended.stderr) or 'it said nothing'})"
    return "" if name == agent_pieces.SERVER_NAME else f"is another one: {clip(one_line(str(name)), 40)}"


def _script(app: App) -> Check:
    home, repair = str(app.home.root), "recollect install"
    path = stub.script_path(home)
    if not os.access(path, os.X_OK):
        return Check("hook script", Mark.BAD, f"{path} is not there or cannot be run", repair)
    if not stub.is_current(home, sys.executable):
        detail = f"{path} is of another version of Recollect, or of another Python"
        return Check("hook script", Mark.WARN, detail, repair)
    return Check("hook script", Mark.GOOD, path)


def _daemon(app: App) -> Check:
    """Asked last: the hooks that just ran have started one. They say nothing of it themselves."""
    at = place.find_place(str(app.home.root), environment())
    slow = spawn.explain_starts(at)
    try:
        kind, body = client.ask(at, {"op": "status"}, b"", _ANSWER_S)
    except client.Unanswered as problem:
        why = slow or one_line(str(problem)) or "no answer"
        return Check("daemon", Mark.WARN, f"hooks run, but nobody answers them: {why}", "recollect daemon start")
    if kind != frame.OK:
        return Check("daemon", Mark.WARN, f"answers with {kind}", "recollect daemon stop")
    if slow:
        return Check("daemon", Mark.WARN, f"answers, but {slow}", "recollect logs")
    return _answered_in_time(json.loads(body)) or Check("daemon", Mark.GOOD, "answers")


def _answered_in_time(status: Mapping[str, object]) -> Check | None:
    """None where hooks were answered, or nearly all of them: a machine is busy now and then."""
    counts = {name: value for name, value in status.items() if isinstance(value, int)}
    late, unanswered, lost = (counts.get(name, 0) for name in ("late", "unanswered", "lost"))
    missed, total = late + unanswered, counts.get("answered", 0) + late + unanswered
    if lost:
        told = f"{counted(lost, 'event')} lost: no transcript holds them"
        return Check("daemon", Mark.WARN, told, "look at the disk and the log: recollect logs")
    if missed * _ONE_IN < total or not missed:
        return None
    because = status.get("late_because")
    reasons = sorted(because.items(), key=lambda one: -one[1]) if isinstance(because, dict) else []
    why = reasons[0][0] if reasons else "no daemon was running when they came"
    detail = f"{missed:,} of {total:,} hooks were not answered in time: {why}."
    after = "if it goes on: recollect daemon stop, then recollect daemon start"
    return Check("daemon", Mark.WARN, f"{detail} What they told is read from the transcript.", after)


def _run(command: str, event: str, limit_s: int) -> str:
    """What is wrong with it. The law: exit 0, one JSON document or nothing at all, no complaint, in time."""
    ended = _execute((_SHELL, "-c", command), json.dumps({"hook_event_name": event}), limit_s)
    if isinstance(ended, str):
        return ended
    if ended.returncode:
        return f"ended with {ended.returncode}"
    if ended.stderr.strip():
        return f"complained: {_shown(ended.stderr)}"
    try:
        is_reply = not ended.stdout or isinstance(json.loads(ended.stdout), dict)
    except ValueError:
        is_reply = False
    return "" if is_reply else f"printed what no agent can read: {_shown(ended.stdout)}"


def _execute(command: Sequence[str], said: str, limit_s: int) -> subprocess.CompletedProcess[bytes] | str:
    """As an agent would run it, or why it cannot be. Our own switch against calls within calls would make every run a
    success."""
    environ = {name: value for name, value in environment().items() if name != "BLOCK_HOOK_AGENTS"}
    try:
        return subprocess.run(command, input=said.encode(), capture_output=True, timeout=limit_s, env=environ)
    except subprocess.TimeoutExpired:
        return f"did not end within its {limit_s} s"
    except OSError as error:
        return f"cannot be run: {error.strerror}"


def _shown(printed: bytes) -> str:
    return clip(one_line(printed.decode("utf-8", "replace")), _MAX_SHOWN_CHARS)

"""Whether agents reach us: `doctor`'s look at hooks. Each one that is installed is run as the agent would run it, with
an event that names no session, so that nothing is remembered of it; what it prints and how long it takes is judged.

Repairs nothing: every complaint names the command that does.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from recollect.agents import DEFAULT_HOST, Ability, Addon, Level, agent, hosts, splice
from recollect.base.errors import NoProject, RecollectError
from recollect.base.settings import environment
from recollect.base.text import clip, counted, one_line
from recollect.model.result import Check, Mark
from recollect.ops import addons, plugging, serving
from recollect.ops.app import App
from recollect.ops.install import Site, is_ours, places, site, wanted
from recollect.wire import client, frame, place, spawn, stub

_SHELL = "/bin/sh"
_MAX_SHOWN_CHARS = 120
_ANSWER_S = 2.0
_ONE_IN = 20
"""So rare a late hook is no complaint."""
_SERVER_S = 30  # it ends with its input, and loads the SDK first
# The agent's own time-out, where a hook has none of its own.
_DEFAULT_TIMEOUT_S = 60


class _Called(NamedTuple):
    """A settings file that calls us, and how."""

    at: Site
    hooks: tuple[splice.Standing, ...]


def checks(app: App) -> Iterator[Check]:
    called = []
    for at in _sites(app):
        try:
            text = at.look().text
            hooks = at.form.standing(text, is_ours(app))
            off = bool(hooks and at.agent.OFF_SWITCH) and at.form.is_on(text, at.agent.OFF_SWITCH)
        except RecollectError as problem:
            yield Check("hooks", Mark.WARN, _named(at, problem.message), f"mend {at.path}")
            continue
        if off:
            yield Check("hooks", Mark.WARN, f"switched off in {at.path}", f"remove {at.agent.OFF_SWITCH} there")
        if hooks:
            called.append(_Called(at, hooks))
    through = addons.found(app)
    yield from (addons.check(one, is_beside=bool(called)) for one in through)
    if through and not called:
        yield from _addon_runs(through)
    plugged = list(_plugged(app))
    if not called and not plugged and not through:
        yield Check("hooks", Mark.WARN, "no agent calls Recollect here", "recollect install")
        return
    script = _script(app)
    yield script
    for one in called:
        yield _complete(app, one)
        yield from _allowed(app, one.at.host, one.at.level)
    yield from plugged
    if script.mark is not Mark.BAD:
        yield from _runs(app, called)
        yield _daemon(app)
    if called or not through:
        yield from _server(app)


def _addon_runs(through: tuple[Addon, ...]) -> Iterator[Check]:
    """As its agent would run it. The first run makes the script that it calls."""
    for one in through:
        problem = _ran(f"{_SHELL} {shlex.quote(str(one.call))} hook SessionStart", "SessionStart", _DEFAULT_TIMEOUT_S)
        if not problem and (wrong := _answers(_SHELL, str(one.call), "mcp")):
            problem = f"its server {wrong}"
        yield Check("plugin runs", Mark.BAD if problem else Mark.GOOD, problem or "its hook and its server answer")


def _plugged(app: App) -> Iterator[Check]:
    for host, level in _levels(Ability.PLUGIN):
        with suppress(NoProject):
            name = f"{agent(host).TITLE} ({level})"
            try:
                path = plugging.plugin(app, host, level).path
                match plugging.state(app, host, level):
                    case plugging.State.CURRENT:
                        yield Check(name, Mark.GOOD, f"plugin in {path}")
                        yield from _allowed(app, host, level)
                    case plugging.State.OLDER:
                        yield Check(name, Mark.WARN, f"{path} is of another Recollect", _install(host, level))
                    case plugging.State.EDITED:
                        yield Check(name, Mark.WARN, f"{path} was edited", f"move it away; {_install(host, level)}")
                    case _:
                        pass
            except RecollectError as problem:
                if not isinstance(problem, NoProject):
                    yield Check(name, Mark.WARN, problem.message, _install(host, level))


def _allowed(app: App, host: str, level: Level) -> Iterator[Check]:
    """Some agents call nobody whom the person has not looked at."""
    lacking = agent(host).unapproved(level, places(app))
    if lacking:
        yield Check(f"{agent(host).TITLE} ({level})", Mark.WARN, lacking)


def _levels(ability: Ability) -> Iterator[tuple[str, Level]]:
    for host in hosts(ability):
        for level in agent(host).LEVELS:
            yield host, level


def _install(host: str, level: Level) -> str:
    return f"recollect install {'' if host == DEFAULT_HOST else f'--agent {host} '}--{level}"


def _server(app: App) -> Iterator[Check]:
    """It is started as an agent would start it, and has to answer."""
    offered = []
    for host, level in _levels(Ability.SERVER):
        with suppress(NoProject):
            at = serving.spot(app, host, level)
            try:
                if serving.is_registered(app, at.look().text, at):
                    offered.append(at)
            except RecollectError as problem:
                yield Check("tools", Mark.WARN, f"{at.path}: {problem.message}", f"mend {at.path}")
    if not offered:
        yield Check("tools", Mark.WARN, "no agent is offered the tools here", "recollect install")
        return
    wrong = _answers(serving.command(app))
    where = ", ".join(str(at.path) for at in offered)
    if wrong:
        yield Check("tools", Mark.BAD, f"the server {wrong}", _install(offered[0].host, offered[0].level))
    else:
        yield Check("tools", Mark.GOOD, f"the server answers; offered in {where}")


def _answers(*command: str) -> str:
    """What is wrong with the server; nothing where it says who it is."""
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "doctor", "version": "1"},
        },
    }  # fmt: skip
    try:
        ended = subprocess.run(
            command, input=(json.dumps(hello) + "\n").encode(), capture_output=True, timeout=_SERVER_S,
            env=_environ(), check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"did not end within {_SERVER_S} s"
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    try:
        told = json.loads(ended.stdout.splitlines()[0])["result"]["serverInfo"]["name"]
    except (ValueError, KeyError, IndexError, TypeError):
        said = clip(one_line(ended.stderr.decode("utf-8", "replace")), _MAX_SHOWN_CHARS)
        return f"did not answer ({said or 'it said nothing'})"
    return "" if told == serving.NAME else f"is another one: {clip(one_line(str(told)), 40)}"


def _sites(app: App) -> Iterator[Site]:
    for host, level in _levels(Ability.HOOKS):
        try:
            yield site(app, host, level)
        except NoProject:
            continue


def _named(at: Site, message: str) -> str:
    return message if str(at.path) in message else f"{at.path}, {message}"


def _script(app: App) -> Check:
    home, repair = str(app.home.root), "recollect install"
    path = stub.script_path(home)
    if not os.access(path, os.X_OK):
        return Check("hook script", Mark.BAD, f"{path} is not there or cannot be run", repair)
    if not stub.is_current(home, sys.executable):
        return Check("hook script", Mark.WARN, f"{path} is of another Recollect, or of another Python", repair)
    return Check("hook script", Mark.GOOD, path)


def _complete(app: App, called: _Called) -> Check:
    at, name = called.at, f"{called.at.agent.TITLE} ({called.at.level})"
    there = {one.event: one.hook for one in called.hooks}
    asked = dict(wanted(app, at.host))
    missing = [event for event in asked if event not in there]
    other = [event for event in there if dict(there[event]) != dict(asked.get(event, {}))]
    if not missing and not other:
        return Check(name, Mark.GOOD, f"{counted(len(there), 'hook')} in {at.path}")
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has an older {', '.join(other)}"] if other else []
    return Check(name, Mark.WARN, f"{at.path} {' and '.join(parts)}", _install(at.host, at.level))


def _runs(app: App, called: list[_Called]) -> Iterator[Check]:
    """One check for all that are well, one for each that is not."""
    # The agent runs equal commands once.
    hooks = {str(one.hook["command"]): (one, file.at) for file in called for one in file.hooks}
    limits = {at.host: {one.event: one.timeout_s for one in at.agent.hooks(places(app))} for _, at in hooks.values()}
    well = 0
    for command, (one, at) in hooks.items():
        problem = _ran(command, one.event, limits[at.host].get(one.event, _DEFAULT_TIMEOUT_S))
        if problem:
            yield Check(f"{one.event} hook", Mark.BAD, problem, _install(at.host, at.level))
        else:
            well += 1
    if well:
        yield Check("hook runs", Mark.GOOD, f"{counted(well, 'hook')} ran and ended well")


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

    def number(name: str) -> int:
        value = status.get(name)
        return value if isinstance(value, int) else 0

    late, unanswered, lost = number("late"), number("unanswered"), number("lost")
    missed, total = late + unanswered, number("answered") + late + unanswered
    if lost:
        told = f"{counted(lost, 'event')} lost: no transcript holds them"
        return Check("daemon", Mark.WARN, told, "look at the disk and the log: recollect logs")
    if missed * _ONE_IN < total or not missed:
        return None
    because = status.get("late_because")
    reasons = sorted(because.items(), key=lambda one: -one[1]) if isinstance(because, dict) else []
    why = reasons[0][0] if reasons else "no daemon was running when they came"
    return Check(
        "daemon", Mark.WARN,
        f"{missed:,} of {total:,} hooks were not answered in time: {why}. What they told is read from the transcript.",
        "if it goes on: recollect daemon stop, then recollect daemon start",
    )  # fmt: skip


def _ran(command: str, event: str, limit_s: int) -> str:
    """What is wrong with it. The law: exit 0, one JSON document or nothing at all, no complaint, in time."""
    try:
        ended = subprocess.run(
            [_SHELL, "-c", command], input=json.dumps({"hook_event_name": event}).encode(), capture_output=True,
            timeout=limit_s, env=_environ(), check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"did not end within its {limit_s} s"
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    if ended.returncode:
        return f"ended with {ended.returncode}"
    if ended.stderr.strip():
        return f"complained: {_shown(ended.stderr)}"
    return "" if _is_reply(ended.stdout) else f"printed what no agent can read: {_shown(ended.stdout)}"


def _environ() -> Mapping[str, str]:
    """As the agent's; our own switch against calls within calls would make every run a success."""
    return {name: value for name, value in environment().items() if name != "BLOCK_HOOK_AGENTS"}


def _is_reply(printed: bytes) -> bool:
    if not printed:
        return True
    try:
        return isinstance(json.loads(printed), dict)
    except ValueError:
        return False


def _shown(printed: bytes) -> str:
    return clip(one_line(printed.decode("utf-8", "replace")), _MAX_SHOWN_CHARS)

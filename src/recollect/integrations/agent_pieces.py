"""What makes an agent call us, as managed pieces (hooks in its settings, the entry of our MCP server, a plugin file
that it loads, a skill that explains the tools, the short command `ai`), and what `doctor` checks of them. It repairs
nothing, and every complaint names the command that does."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any

from recollect import __version__
from recollect.agents import DEFAULT_HOST, Ability, Addon, Level, agent, callers, default_agent
from recollect.app.core import App
from recollect.base.errors import BadInput, RecollectError
from recollect.base.paths import find_program, user_home
from recollect.base.settings import environment
from recollect.base.text import clip, counted, one_line
from recollect.integrations import settings_text
from recollect.integrations.pieces import Change, Entries, OwnFile, Piece, Receipts, preview
from recollect.integrations.settings_text import KeyPath, Tree, value_at
from recollect.model.result import Check, Mark
from recollect.wire import client, frame, lockfile, place, stub
from recollect.wire.place import program_path

HOOKS, SERVER, PLUGIN, SKILL, COMMAND = "hooks", "server", "plugin", "skill", "command"
CALLING = (HOOKS, SERVER, PLUGIN)  # kinds of pieces through which an agent calls us
SERVER_NAME = "recollect"
SHORT_NAME = "ai"
_SPINNER = "Recalling memories..."
_SHELL = "/bin/sh"
_REPAIR = "recollect install"
_UPGRADE = "pip install --upgrade recollect"
_MAX_SHOWN_CHARS = 120
_ANSWER_S = 2.0
_ONE_IN = 20  # a late hook as rare as this is no complaint: every machine is busy now and then
_SERVER_S = 30  # it ends with its input, and loads the SDK first
_PLUGIN_S = 60


def pieces(app: App, host: str, level: Level) -> Iterator[Piece]:
    """The agent's pieces, in the order they are added. NoProject if the level needs a project and there is none."""
    check_level(host, level)
    at, served, root = app.places, agent(host), str(app.home.root)
    ours: dict[str, Any] = {"host": host, "level": level}
    in_tree = {**ours, "root": at.project, "mode": 0o644} if level is not Level.USER else ours
    if Ability.HOOKS in served.ABILITIES:
        # Quoted like this in every version: our hooks are known by how their command begins.
        script = "'" + stub.script_path(root).replace("'", "'\\''") + "'"
        tree = {
            "hooks": {
                event: [{"hooks": [hook]}] for event, hook in _wanted_hooks(app, host, script)
            }
        }
        yield Entries(
            kind=HOOKS, path=served.settings_path(level, at), what=counted(len(tree["hooks"]), "hook"),
            form=served.SETTINGS_FORM, tree=tree, find=partial(find_hooks, f"{script} "), **in_tree,
        )  # fmt: skip
    if Ability.PLUGIN in served.ABILITIES:
        path, text = served.plugin(level, at, app.home.root)
        yield OwnFile(
            kind=PLUGIN, path=path, what="a plugin that calls Recollect", text=text, **in_tree
        )
    if Ability.SERVER in served.ABILITIES:
        place, command = served.server_place(level, at), stub.server_path(root)
        way = (*place.keys, SERVER_NAME)
        entry: Tree = reduce(
            lambda inner, key: {key: inner}, reversed(way), served.server_json(command)
        )

        def find_server(settings: Mapping[str, Any]) -> list[KeyPath]:
            return [way] if value_at(settings, (*way, "command")) in (command, [command]) else []

        yield Entries(
            kind=SERVER, path=place.path, what=f"the MCP server {SERVER_NAME!r}", form=place.form, tree=entry,
            find=find_server, name=way, **(in_tree if level is Level.PROJECT else ours),
        )  # fmt: skip
    if Ability.TEACHING in served.ABILITIES:
        for path, text in served.skills(level, at, program_path(root)).items():
            what = f"the /{path.parent.name} command: how the agent uses memory"
            yield OwnFile(kind=SKILL, path=path, what=what, text=text, **in_tree)


def check_level(host: str, level: Level) -> None:
    if level not in agent(host).LEVELS:
        message = f"{agent(host).TITLE} has no settings of a project on this machine alone."
        raise BadInput(message, hint="Use --user or --project instead.")


def _wanted_hooks(app: App, host: str, script: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Each event that this agent can report, with its hook. The command is a constant text: no part of it is made from
    what an event holds. Whatever happens to the script, the agent goes on, and the shell does not complain about it."""
    served, settings = agent(host), app.settings
    waits = settings.switch("MEMORY_LLM") and settings.text("MEMORY_RECALL_SCHEME") != "off"
    wait_s = settings.count("MEMORY_RECALL_SECONDS") if waits else 0
    for hook in served.hooks(app.places):
        words = [script, *([] if host == DEFAULT_HOST else [host]), hook.event]
        words += ["--deadline-ms", str(hook.deadline_ms)] if hook.deadline_ms else []
        if hook.is_prompt and wait_s:
            hook = hook._replace(timeout_s=wait_s + hook.timeout_s, spinner=_SPINNER)
            words += ["--patience-ms", str(wait_s * 1_000)]
        yield hook.event, served.hook_json(f"{' '.join(words)} 2>/dev/null || :", hook)


def find_hooks(prefix: str, settings: Mapping[str, Any]) -> list[KeyPath]:
    """By how their command begins; a whole group where it holds no other."""
    found: list[KeyPath] = []
    events = settings.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for at, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = value_at(group, ("hooks",))
            commands = (
                [str(value_at(hook, ("command",))) for hook in hooks]
                if isinstance(hooks, list)
                else []
            )
            ours = [one for one, command in enumerate(commands) if command.startswith(prefix)]
            way: KeyPath = ("hooks", event, at)
            found += (
                [way]
                if ours and len(ours) == len(commands)
                else [(*way, "hooks", one) for one in ours]
            )
    return found


def short_command(receipts: Receipts) -> OwnFile | None:
    """`ai` beside `recollect`, unless that name means something to this person already."""
    path = environment().get("PATH", os.defpath)
    home = user_home(environment())
    program = find_program("recollect", path, home)
    known = shutil.which(SHORT_NAME, path=path)
    if sys.platform == "win32" or not program or known is not None or receipts.of(COMMAND):
        return None
    place = Path(os.path.abspath(program)).with_name(SHORT_NAME)
    return short_command_at(place) if os.access(place.parent, os.W_OK) else None


def short_command_at(path: Path) -> OwnFile:
    text = '#!/bin/sh\nexec "${0%/*}/recollect" "$@"'
    return OwnFile(
        kind=COMMAND, path=path, what="a short name for `recollect`", text=text, mode=0o755
    )


def agents_here(app: App) -> tuple[str, ...]:
    """Agents whose program is on the PATH, or which left a folder in the home folder."""
    at = app.places
    path, known = at.environ.get("PATH", os.defpath), [(host, agent(host)) for host in callers()]
    receipts = Receipts(app)
    return tuple(
        host
        for host, one in known
        if find_program(one.PROGRAM or host, path, at.user_home)
        or _is_of_an_agent(one.folder(at), receipts)
    )


def _is_of_an_agent(folder: Path, receipts: Receipts) -> bool:
    """Whether anything but what `install` wrote is in it."""
    if not folder.is_dir():
        return False
    if str(folder) not in receipts.made:
        return True
    ours = {Path(piece.path) for piece in receipts.pieces.values()}
    made = {Path(path) for path in receipts.made}
    return any(path not in ours and path not in made for path in folder.iterdir())


def calls_us(app: App, host: str, level: Level, kinds: Collection[str] = CALLING) -> bool:
    """Whether anything of ours is in its settings of this level."""
    receipts = Receipts(app)
    with suppress(RecollectError):
        found = [
            preview(piece, receipts) for piece in pieces(app, host, level) if piece.kind in kinds
        ]
        return any(one.change in (Change.SAME, Change.RENEWED) for one in found)
    return False


def is_second_server(folder: Path) -> bool:
    """For a server that a plugin started: whether the agent's own settings start one too."""
    with closing(App.open(folder, actor="agent")) as app:
        return any(calls_us(app, DEFAULT_HOST, level, (SERVER,)) for level in Level)


def checks(app: App) -> Iterator[Check]:
    """For `doctor`. A hook is run as an agent runs it, with an event of no session: nothing of it is remembered."""
    calling, offering = list[Piece](), list[Piece]()
    yield from _installed(app, calling, offering)
    if addon := default_agent().addon(app.places):
        yield from _addon_checks(addon, is_alone=not calling)
    elif not calling:
        yield Check("hooks", Mark.WARN, "no agent calls Recollect here", _REPAIR)
        return
    home = str(app.home.root)
    script, can_run = stub.script_path(home), os.access(stub.script_path(home), os.X_OK)
    if not can_run:
        yield Check("hook script", Mark.BAD, f"{script} is missing or cannot be run", _REPAIR)
    elif stub.is_current(home, sys.executable):
        yield Check("hook script", Mark.GOOD, script)
    else:
        detail = f"{script} is of another version of Recollect, or of another Python"
        yield Check("hook script", Mark.WARN, detail, _REPAIR)
    if can_run:
        yield from _run_hooks(calling)
        yield _daemon(home)
    if calling and not offering:
        yield Check("tools", Mark.WARN, "no agent is offered the tools here", _REPAIR)
    elif calling and (wrong := _server_problem(stub.server_path(home))):
        yield Check("tools", Mark.BAD, f"the server {wrong}", _install(offering[0]))
    elif calling:
        paths = ", ".join(str(one.path) for one in offering)
        yield Check("tools", Mark.GOOD, f"the server answers; offered in {paths}")


def _installed(app: App, calling: list[Piece], offering: list[Piece]) -> Iterator[Check]:
    """What is in the agents' settings; adds the pieces that are there to the two lists."""
    receipts, levels = (
        Receipts(app),
        [level for level in Level if app.project or level is Level.USER],
    )
    agents = [
        (host, level) for host in callers() for level in levels if level in agent(host).LEVELS
    ]
    every = [piece for host, level in agents for piece in pieces(app, host, level)]
    for piece in (one for one in every if one.kind in CALLING):
        is_server = piece.kind == SERVER
        name = "tools" if is_server else _name(piece)
        try:
            _, change, reason, _ = preview(piece, receipts)
        except RecollectError as problem:
            change, reason = Change.LEFT, problem.message
        if change in (Change.SAME, Change.RENEWED):
            (offering if is_server else calling).append(piece)
        if change is Change.LEFT:
            yield Check(
                name,
                Mark.WARN,
                reason,
                f"correct {piece.path}, or move it away; then {_install(piece)}",
            )
        elif change is Change.RENEWED:
            yield Check(
                name, Mark.WARN, f"{piece.path} is of another version of Recollect", _install(piece)
            )
        elif change is Change.SAME and not is_server:
            yield Check(name, Mark.GOOD, f"{piece.what} in {piece.path}")
    for piece in calling:  # why an agent does not call us although it is told to
        served = agent(piece.host)
        settings = (
            settings_text.load(piece.form, piece.look().text) if isinstance(piece, Entries) else {}
        )
        if served.OFF_SWITCH and settings.get(served.OFF_SWITCH) is True:
            yield Check(
                "hooks",
                Mark.WARN,
                f"switched off in {piece.path}",
                f"remove {served.OFF_SWITCH} there",
            )
        if unapproved := served.unapproved(Level(piece.level), app.places):
            yield Check(_name(piece), Mark.WARN, unapproved)


def _install(piece: Piece) -> str:
    return f"recollect install {'' if piece.host == DEFAULT_HOST else f'--agent {piece.host} '}--{piece.level}"


def _name(piece: Piece) -> str:
    return f"{agent(piece.host).TITLE} ({piece.level})"


def _addon_checks(one: Addon, *, is_alone: bool) -> Iterator[Check]:
    """`is_alone`: no settings call us, so the plugin is run. Its first run makes the script that it calls."""
    if one.version != __version__:
        yield Check(
            "plugin", Mark.WARN, f"{one.name} is {one.version}, Recollect {__version__}", one.update
        )
    else:
        beside = "" if is_alone else "; its settings call too, and an event is answered once"
        title = default_agent().TITLE
        yield Check("plugin", Mark.GOOD, f"{title} calls through {one.name} {one.version}{beside}")
    if is_alone:
        problem = _hook_problem(
            f"{_SHELL} {shlex.quote(str(one.call))} hook SessionStart", "SessionStart", _PLUGIN_S
        )
        if not problem and (wrong := _server_problem(_SHELL, str(one.call), "mcp")):
            problem = f"its server {wrong}"
        yield Check(
            "plugin runs",
            Mark.BAD if problem else Mark.GOOD,
            problem or "its hook and its server answer",
        )


def _run_hooks(calling: Sequence[Piece]) -> Iterator[Check]:
    """One per agent: all of its hooks run the same script."""
    for piece in calling:
        if isinstance(piece, Entries):
            event, (group,) = next(iter(piece.tree["hooks"].items()))
            host = agent(piece.host)
            problem = _hook_problem(group["hooks"][0]["command"], event, host.TIMEOUT_S)
            mark, repair = (Mark.BAD, _install(piece)) if problem else (Mark.GOOD, "")
            detail = f"{host.TITLE}: {event} {problem or 'ran and ended well'}"
            yield Check("hook runs", mark, detail, repair)


def _daemon(home: str) -> Check:
    """Checked last, because the hooks that just ran have started one."""
    at = place.find_place(home, environment())
    slow = client.explain_starts(at)
    try:
        kind, body = client.ask(at, {"op": "status"}, b"", _ANSWER_S)
    except client.Unanswered as problem:
        why = slow or one_line(str(problem)) or "no answer"
        # None is started beside one that hangs.
        repair = "recollect daemon stop" if lockfile.is_held(at.lock) else "recollect daemon start"
        detail = f"hooks run, but nobody answers them: {why}"
        return Check("daemon", Mark.WARN, detail, repair)
    if kind != frame.OK:
        return Check("daemon", Mark.WARN, f"answers with {kind}", "recollect daemon stop")
    status = json.loads(body)
    if outdated := _outdated(status):
        return outdated
    if slow:
        return Check("daemon", Mark.WARN, f"answers, but {slow}", "recollect logs")
    missed, lost = status.get("late", 0) + status.get("unanswered", 0), status.get("lost", 0)
    total, because = missed + status.get("answered", 0), Counter[str](status.get("late_because"))
    if lost:
        detail = f"{counted(lost, 'event')} lost: no transcript holds them"
        return Check("daemon", Mark.WARN, detail, "look at the disk and the log: recollect logs")
    if not missed or missed * _ONE_IN < total:
        return Check("daemon", Mark.GOOD, "answers")
    why = max(because, key=because.__getitem__, default="no daemon was running when they came")
    late_hooks = f"{missed:,} of {total:,} hooks were not answered in time: {why}."
    detail = f"{late_hooks} Nothing was lost: the events are in the transcript."
    return Check(
        "daemon",
        Mark.WARN,
        detail,
        "if it goes on: recollect daemon stop, then recollect daemon start",
    )


def _outdated(status: Mapping[str, Any]) -> Check | None:
    """A daemon of another version than this program, or one that a newer version's store turned away."""
    version = str(status.get("version", ""))
    runs = f"it is Recollect {version}, this is {__version__}"
    if too_new := status.get("too_new"):
        refused = f"what agents do is not written: {too_new} Nothing is lost: it is read later"
        if status.get("upgraded") or version != __version__:
            return Check("daemon", Mark.BAD, f"{refused}; {runs}", "recollect daemon stop")
        return Check("daemon", Mark.BAD, refused, _UPGRADE)
    if client.is_newer(__version__, than=version):
        detail = f"{runs}; it ends when the next hook of this version comes"
        return Check("daemon", Mark.WARN, detail, "recollect daemon stop")
    if client.is_newer(version, than=__version__):
        return Check("daemon", Mark.WARN, f"{runs}: agents call the newer one", _UPGRADE)
    if status.get("upgraded"):
        detail = "the program was changed since it started; it is about to end"
        return Check("daemon", Mark.WARN, detail, "recollect daemon stop")
    return None


def _hook_problem(command: str, event: str, limit_s: int) -> str:
    """A hook must exit 0 in time, print one JSON document or nothing at all, and not complain."""
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


def _server_problem(*command: str) -> str:
    """Empty where the server, started as an agent would start it, answers with our name."""
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
    return "" if name == SERVER_NAME else f"is another one: {clip(one_line(str(name)), 40)}"


def _execute(
    command: Sequence[str], said: str, limit_s: int
) -> subprocess.CompletedProcess[bytes] | str:
    """The ended process, or why it could not be run. Our switch against nested calls would make every run succeed."""
    environ = {name: value for name, value in environment().items() if name != "BLOCK_HOOK_AGENTS"}
    try:
        return subprocess.run(
            command, input=said.encode(), capture_output=True, timeout=limit_s, env=environ
        )
    except subprocess.TimeoutExpired:
        return f"did not end within its {limit_s} s"
    except OSError as error:
        return f"cannot be run: {error.strerror}"


def _shown(printed: bytes) -> str:
    return clip(one_line(printed.decode("utf-8", "replace")), _MAX_SHOWN_CHARS)

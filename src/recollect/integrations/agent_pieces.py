"""What makes an agent call us, as managed pieces: hooks in its settings, the entry of our MCP server, a plugin file
that it loads, a skill that explains the tools; and the short command `ai`. Also which agents are here and call us.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any

from recollect.agents import DEFAULT_HOST, Ability, Level, agent, callers
from recollect.app.core import App
from recollect.base.errors import BadInput, RecollectError
from recollect.base.settings import environment
from recollect.base.text import counted
from recollect.integrations import piece_installer
from recollect.integrations.piece_installer import Change
from recollect.integrations.pieces import Entries, OwnFile, Piece, Receipts
from recollect.integrations.settings_text import KeyPath, Tree, value_at
from recollect.wire import stub

HOOKS, SERVER, PLUGIN, SKILL, COMMAND = "hooks", "server", "plugin", "skill", "command"
CALLING = (HOOKS, SERVER, PLUGIN)  # kinds of pieces through which an agent calls us
SERVER_NAME = "recollect"
SHORT_NAME = "ai"
_SPINNER = "Recalling memories..."


def pieces(app: App, host: str, level: Level) -> Iterator[Piece]:
    """The agent's pieces, in the order they are added. NoProject if the level needs a project and there is none."""
    check_level(host, level)
    at, served, root = app.places, agent(host), str(app.home.root)
    ours: dict[str, Any] = {"host": host, "level": level}
    in_tree = {**ours, "root": at.project, "mode": 0o644} if level is not Level.USER else ours
    if Ability.HOOKS in served.ABILITIES:
        # Quoted like this in every version: our hooks are known by how their command begins.
        script = "'" + stub.script_path(root).replace("'", "'\\''") + "'"
        tree = {"hooks": {event: [{"hooks": [hook]}] for event, hook in _wanted_hooks(app, host, script)}}
        yield Entries(
            kind=HOOKS, path=served.settings_path(level, at), what=counted(len(tree["hooks"]), "hook"),
            form=served.SETTINGS_FORM, tree=tree, find=partial(find_hooks, f"{script} "), **in_tree,
        )  # fmt: skip
    if Ability.PLUGIN in served.ABILITIES:
        path, text = served.plugin(level, at, app.home.root)
        yield OwnFile(kind=PLUGIN, path=path, what="a plugin that calls Recollect", text=text, **in_tree)
    if Ability.SERVER in served.ABILITIES:
        place, command = served.server_place(level, at), stub.server_path(root)
        way = (*place.keys, SERVER_NAME)
        entry: Tree = reduce(lambda inner, key: {key: inner}, reversed(way), served.server_json(command))

        def find_server(settings: Mapping[str, Any]) -> list[KeyPath]:
            return [way] if value_at(settings, (*way, "command")) in (command, [command]) else []

        yield Entries(
            kind=SERVER, path=place.path, what=f"the MCP server {SERVER_NAME!r}", form=place.form, tree=entry,
            find=find_server, name=way, **(in_tree if level is Level.PROJECT else ours),
        )  # fmt: skip
    if Ability.TEACHING in served.ABILITIES and (skill := served.skill(level, at)):
        what = "a skill that explains the memory tools"
        yield OwnFile(kind=SKILL, path=skill[0], what=what, text=skill[1], **in_tree)


def check_level(host: str, level: Level) -> None:
    if level not in agent(host).LEVELS:
        raise BadInput(
            f"{agent(host).TITLE} has no settings of a project on this machine alone.",
            hint="Use --user or --project instead.",
        )


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
            commands = [str(value_at(hook, ("command",))) for hook in hooks] if isinstance(hooks, list) else []
            ours = [one for one, command in enumerate(commands) if command.startswith(prefix)]
            way: KeyPath = ("hooks", event, at)
            found += [way] if ours and len(ours) == len(commands) else [(*way, "hooks", one) for one in ours]
    return found


def short_command(receipts: Receipts) -> OwnFile | None:
    """`ai` beside `recollect`, unless that name means something to this person already."""
    path = environment().get("PATH", os.defpath)
    program, known = shutil.which("recollect", path=path), shutil.which(SHORT_NAME, path=path)
    if sys.platform == "win32" or program is None or known is not None or receipts.of(COMMAND):
        return None
    place = Path(os.path.abspath(program)).with_name(SHORT_NAME)
    return short_command_at(place) if os.access(place.parent, os.W_OK) else None


def short_command_at(path: Path) -> OwnFile:
    text = '#!/bin/sh\nexec "${0%/*}/recollect" "$@"'
    return OwnFile(kind=COMMAND, path=path, what="a short name for `recollect`", text=text, mode=0o755)


def agents_here(app: App) -> tuple[str, ...]:
    """Agents whose program is on the PATH, or which left a folder in the home folder."""
    at = app.places
    path = at.environ.get("PATH", os.defpath)
    return tuple(
        host
        for host in callers()
        if shutil.which(agent(host).PROGRAM or host, path=path) or agent(host).folder(at).is_dir()
    )


def calls_us(app: App, host: str, level: Level, kinds: Collection[str] = CALLING) -> bool:
    """Whether anything of ours is in its settings of this level."""
    receipts = Receipts(app)
    with suppress(RecollectError):
        found = [piece_installer.preview(piece, receipts) for piece in pieces(app, host, level) if piece.kind in kinds]
        return any(one.change in (Change.SAME, Change.RENEWED) for one in found)
    return False


def is_second_server(folder: Path) -> bool:
    """For a server that a plugin started: whether the agent's own settings start one too."""
    with closing(App.open(folder, actor="agent")) as app:
        return any(calls_us(app, DEFAULT_HOST, level, (SERVER,)) for level in Level)

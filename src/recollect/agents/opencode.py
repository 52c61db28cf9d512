"""All that is known of OpenCode, 1.18.33: where it looks for plugins and settings. Learnt from the program itself.

It is told of by a plugin of ours (opencode.js) that runs the hook, so events and answers are in words of our own. Its
sessions stand in a database of its own, which is not read: what a person says is captured as it is said, what the agent
did is not. Nothing can be said before a tool runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from recollect.agents import Ability, Form, Level, Places, Plugin, ServerPlace, prompts
from recollect.agents.payload import first, inner, object_of, text
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.act import Deed, Doing
from recollect.model.outcome import Report
from recollect.model.session import Event, EventName, Reply, ToolCall
from recollect.wire import stub
from recollect.wire.pointer import checksum

HOST = "opencode"
TITLE = "OpenCode"
PROGRAM = "opencode"
ABILITIES = frozenset({
    Ability.PLUGIN, Ability.START, Ability.PROMPT, Ability.READS, Ability.COMPACTION, Ability.SERVER,
})  # fmt: skip
LEVELS = (Level.USER, Level.PROJECT)

_EVENTS = {
    "SessionStart": EventName.SESSION_STARTED,
    "UserPromptSubmit": EventName.PROMPT,
    "PreToolUse": EventName.TOOL_CALLED,
}
_PLUGIN_FILE = "recollect.js"
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)
_OUTPUTS, _OURS = "tool-output", "recollect"
_MAX_CHARS = 10_000
_FORMS = prompts.Forms(
    machine=("The following tool was executed by the user",), machine_tags=frozenset({"system-reminder"})
)


# What it tells us


def parse(event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    payload = object_of(body)
    session_id = text(payload, "session_id")
    if not session_id:
        raise BadInput("The event names no session.")
    name = _EVENTS.get(event, EventName.OTHER)
    prompt = text(payload, "prompt") if name is EventName.PROMPT else ""
    said = _said(prompt)
    return Event(
        name=name,
        host=HOST,
        session_id=session_id,
        at=at,
        cwd=text(payload, "cwd"),
        prompt_id=text(payload, "prompt_id"),
        prompt_mark=checksum(prompt),
        source=text(payload, "source"),
        text=said.words,
        plan=said.plan,
        machine_made=name is EventName.PROMPT and said.is_machine_made,
        tools=_tools(name, payload),
        reads_below=_reads_below(text(payload, "outputs")),
    )


def _said(prompt: str) -> prompts.Prompt:
    """`opencode run` puts an argument that has spaces in it between quotes; what is quoted is nobody's word to us."""
    quoted = _QUOTED.fullmatch(prompt)
    return prompts.read(quoted[1].replace('\\"', '"') if quoted else prompt, _FORMS)


def _tools(name: EventName, payload: Mapping[str, object]) -> tuple[ToolCall, ...]:
    if name is not EventName.TOOL_CALLED:
        return ()
    given = inner(payload, "tool_input")
    return (ToolCall(id=text(payload, "tool_use_id"), name=text(payload, "tool_name"), input=given),)


# What we answer


def render(event: str, reply: Reply) -> bytes:
    """As opencode.js takes it."""
    answer: dict[str, object] = {}
    if reply.context and event != "PreToolUse":
        answer["context"] = storable(reply.context)[:_MAX_CHARS]
    if reply.read_instead:
        answer["read"] = reply.read_instead
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") if answer else b""


def _reads_below(outputs: str) -> str:
    """Outside the project it asks before it reads, but for the folder of long outputs that the plugin names."""
    own = Path(outputs)
    is_own = own.is_absolute() and (own.parent.name, own.name) == ("opencode", _OUTPUTS)
    return str(own / _OURS / "recalls") if is_own else ""


def answers(places: Places) -> tuple[Path, ...]:
    named = places.environ.get("XDG_DATA_HOME", "")
    base = Path(named) if os.path.isabs(named) else places.user_home / ".local" / "share"
    return (base / "opencode" / _OUTPUTS / _OURS,)


def origin(event: Event) -> Path | None:
    return None


# Its tools

_DEEDS = {
    "bash": Deed.RUN, "edit": Deed.EDIT, "write": Deed.EDIT, "patch": Deed.EDIT, "read": Deed.READ,
    "grep": Deed.SEARCH, "glob": Deed.SEARCH, "list": Deed.SEARCH, "webfetch": Deed.FETCH, "task": Deed.DELEGATE,
}  # fmt: skip


def doing(call: ToolCall) -> Doing:
    files = tuple(found for key in ("filePath", "path") if (found := text(call.input, key)))
    says = first(call.input, "command", "pattern", "url", "prompt")
    return Doing(_DEEDS.get(call.name, Deed.OTHER), call.name, says, files)


def is_refused(output: str) -> bool:
    return False


def reported(text: str) -> Report | None:
    return None


# Its settings


def folder(places: Places) -> Path:
    named = places.environ.get("XDG_CONFIG_HOME", "")
    base = Path(named) if os.path.isabs(named) else places.user_home / ".config"
    return base / "opencode"


def plugin(level: Level, places: Places, home: Path) -> Plugin:
    own = folder(places) if level is Level.USER else _project(places) / ".opencode"
    script = json.dumps(stub.script_path(str(home)), ensure_ascii=False)
    written = Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")
    return Plugin(own / "plugin" / _PLUGIN_FILE, written.replace('"@HOOK@"', script))


def server_place(level: Level, places: Places) -> ServerPlace:
    own = folder(places) if level is Level.USER else _project(places)
    commented = own / "opencode.jsonc"
    path = commented if commented.is_file() else own / "opencode.json"
    return ServerPlace(path, ("mcp",), Form.COMMENTED)


def server_json(command: str) -> Mapping[str, object]:
    return {"type": "local", "command": [command], "enabled": True}


def unapproved(level: Level, places: Places) -> str:
    return ""


def _project(places: Places) -> Path:
    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave --user.")
    return places.project

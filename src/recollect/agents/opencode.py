"""OpenCode, 1.18.33: where it looks for plugins and settings. Learnt from the program itself.

A plugin of ours (opencode.js) runs the hook, so events and answers are in words of our own. Its sessions stand in a
database of its own, which is not read: what a person says is captured as it is said, what the agent did is not. Nothing
can be said before a tool runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from recollect.agents import Form, Level, Places, ServerPlace, prompts
from recollect.agents.base_agent import Agent, Line, encode, project_of
from recollect.agents.payload import text
from recollect.base.text import storable
from recollect.model.session import Event, Reply
from recollect.wire import stub

_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)
_OUTPUTS, _OURS = "tool-output", "recollect"


class OpenCode(Agent, host="opencode"):
    def read_prompt(self, prompt: str) -> prompts.Prompt:
        """`opencode run` puts an argument with spaces between quotes; quoted text would count as nobody's word."""
        quoted = _QUOTED.fullmatch(prompt)
        return super().read_prompt(quoted[1].replace('\\"', '"') if quoted else prompt)

    def render(self, event: str, reply: Reply) -> bytes:
        """As opencode.js takes it."""
        context = "" if event == "PreToolUse" else self.limit(storable(reply.context))
        return encode({key: one for key, one in (("context", context), ("read", reply.read_instead)) if one})

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        """Outside the project it asks before it reads, except in the folder of long outputs that the plugin names."""
        own = Path(text(payload, "outputs"))
        is_own = own.is_absolute() and (own.parent.name, own.name) == ("opencode", _OUTPUTS)
        return replace(parsed, reads_below=str(own / _OURS / "recalls") if is_own else "")

    def answer_folders(self, places: Places) -> tuple[Path, ...]:
        return (_xdg(places, "XDG_DATA_HOME", ".local/share") / _OUTPUTS / _OURS,)

    def folder(self, places: Places) -> Path:
        return _xdg(places, "XDG_CONFIG_HOME", ".config")

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        script = json.dumps(stub.script_path(str(home)), ensure_ascii=False)
        written = Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")
        return self.folder_of(level, places) / "plugin" / "recollect.js", written.replace('"@HOOK@"', script)

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        own = self.folder(places) if level is Level.USER else project_of(places)
        commented = own / "opencode.jsonc"
        path = commented if commented.is_file() else own / "opencode.json"
        return ServerPlace(path, ("mcp",), Form.COMMENTED)

    def server_json(self, command: str) -> Mapping[str, object]:
        return {"type": "local", "command": [command], "enabled": True}


def _xdg(places: Places, variable: str, usual: str) -> Path:
    named = places.environ.get(variable, "")
    return (Path(named) if os.path.isabs(named) else places.user_home / usual) / "opencode"

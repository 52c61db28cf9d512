"""OpenCode: what its plugin sends and takes, where it stands, and that it fails open. The plugin is run by node, with a
small script in place of the hook."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from recollect.agents import Level, Places, agent
from recollect.base.errors import NoProject
from recollect.model.session import Event, EventName, Reply
from tests.values import NOW

opencode = agent("opencode")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None or os.name != "posix", reason="node is not on PATH")
# Plays a session: a first prompt, a second one, a read of a virtual file and of another.
DRIVER = """
import { Recollect } from "./recollect.mjs"
const hooks = await Recollect({ directory: "/home/ada/shop" })
const say = async (session, text) => {
  const output = { message: { id: "msg_1" }, parts: [{ id: "prt_1", type: "text", text }] }
  await hooks["chat.message"]({ sessionID: session }, output)
  return output.parts.slice(1)
}
const read = async (filePath) => {
  const output = { args: { filePath } }
  await hooks["tool.execute.before"]({ tool: "read", sessionID: "s", callID: "c" }, output)
  return output.args.filePath
}
const told = [await say("s", "first"), await say("s", "second")]
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "child", parentID: "s" } } } })
told.push(await say("s", "third"), await say("child", "go and look"))
console.log(JSON.stringify({ told, reads: [await read(".ai/recall/port"), await read("a.txt")] }))
"""


def said(event: str, payload: object) -> Event:
    return agent("opencode").parse(event, json.dumps(payload).encode(), at=NOW, environ={})


def places(home: Path, project: Path | None = None, **environ: str) -> Places:
    return Places(home, project, environ)


def played(
    tmp_path: Path, hook: str, *, wait_ms: int = 30_000, mode: int = 0o755
) -> tuple[Any, list[tuple[str, str]]]:
    """What the plugin did in a session, and what it asked the hook: event, then the fields of its payload."""
    script = tmp_path / "home" / "bin" / "hook"
    script.parent.mkdir(parents=True)
    script.write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked; cat >>{tmp_path}/asked; echo >>{tmp_path}/asked\n{hook}\n'
    )
    script.chmod(mode)
    _, plugin = opencode.plugin(Level.USER, places(tmp_path), tmp_path / "home")
    (tmp_path / "recollect.mjs").write_text(
        plugin.replace("WAIT_MS = 2000", f"WAIT_MS = {wait_ms}")
    )
    (tmp_path / "driver.mjs").write_text(DRIVER)
    ended = subprocess.run(
        [str(NODE), "driver.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert ended.stderr == ""
    asked = tmp_path / "asked"
    lines = asked.read_text().splitlines() if asked.exists() else []
    return json.loads(ended.stdout), list(zip(lines[::2], lines[1::2], strict=True))


@needs_node
def test_a_session_is_told_at_its_start_and_with_each_prompt(tmp_path: Path):
    answers = """case "$2" in
SessionStart) echo '{"context": "what holds"}';;
UserPromptSubmit) echo '{"context": "what comes to mind"}';;
PreToolUse) echo '{"read": "/run/answer.md"}';;
esac"""

    told, asked = played(tmp_path, answers)

    first, second, third, child = told["told"]
    whole = ["what holds\n\nwhat comes to mind"]  # again after compaction
    assert [[part["text"] for part in one] for one in (first, second, third)] == [
        whole,
        ["what comes to mind"],
        whole,
    ]
    assert first[0]["synthetic"] is True
    assert first[0]["id"].startswith("prt_1")
    assert child == []
    assert told["reads"] == ["/run/answer.md", "a.txt"]
    events = [said(line.split()[1], json.loads(payload)) for line, payload in asked]
    assert [(event.name, event.source, event.text) for event in events] == [
        (EventName.SESSION_STARTED, "resume", ""),
        (EventName.PROMPT, "", "first"),
        (EventName.PROMPT, "", "second"),
        (EventName.SESSION_STARTED, "compact", ""),
        (EventName.PROMPT, "", "third"),
        (EventName.TOOL_CALLED, "", ""),
    ]
    assert {(event.session_id, event.cwd) for event in events} == {("s", "/home/ada/shop")}
    assert all(
        event.reads_below.endswith("/opencode/tool-output/recollect/recalls") for event in events
    )
    assert events[-1].tools[0].input == {"path": ".ai/recall/port"}


@needs_node
@pytest.mark.parametrize(
    ("hook", "more"),
    [
        ("", {}), ("exit 3", {}), ("echo no JSON", {}), ("echo '{}'", {}), ("exec sleep 600", {"wait_ms": 100}),
        ("", {"mode": 0o600}),
    ],
)  # fmt: skip
def test_whatever_goes_wrong_the_session_goes_on_as_it_is(
    tmp_path: Path, hook: str, more: dict[str, int]
):
    assert played(tmp_path, hook, **more)[0] == {
        "told": [[]] * 4,
        "reads": [".ai/recall/port", "a.txt"],
    }


def test_an_answer_is_what_the_plugin_takes():
    assert json.loads(
        agent("opencode").render("UserPromptSubmit", Reply(context="c", notice="n"))
    ) == {"context": "c"}
    assert json.loads(agent("opencode").render("PreToolUse", Reply(read_instead="/x.md"))) == {
        "read": "/x.md"
    }
    assert agent("opencode").render("PreToolUse", Reply(context="c")) == b""
    for outputs in ("", "tool-output", "/etc", "/etc/opencode", "opencode/tool-output"):
        assert said("PreToolUse", {"session_id": "s", "outputs": outputs}).reads_below == "", (
            "written nowhere else"
        )


def test_its_plugin_and_its_settings_stand_where_it_looks_and_know_any_home(tmp_path: Path):
    at = places(tmp_path, tmp_path / "shop")
    assert (
        opencode.plugin(Level.USER, at, tmp_path)[0]
        == tmp_path / ".config/opencode/plugin/recollect.js"
    )
    assert (
        opencode.plugin(Level.PROJECT, at, tmp_path)[0]
        == tmp_path / "shop/.opencode/plugin/recollect.js"
    )
    settings = tmp_path / ".config" / "opencode" / "opencode.json"
    assert opencode.server_place(Level.USER, at).path == settings
    settings.parent.mkdir(parents=True)
    settings.with_suffix(".jsonc").write_text("{}")
    assert opencode.server_place(Level.USER, at).path == settings.with_suffix(".jsonc"), (
        "where there is one"
    )
    assert opencode.folder(places(tmp_path, XDG_CONFIG_HOME="/etc/xdg")) == Path(
        "/etc/xdg/opencode"
    )
    with pytest.raises(NoProject):
        opencode.plugin(Level.PROJECT, places(tmp_path), tmp_path)
    home = Path('/home/it\'s "here"\n')
    text = opencode.plugin(Level.USER, places(tmp_path), home)[1]
    assert f"const HOOK = {json.dumps(str(home) + '/bin/hook')}\n" in text
    assert "@HOOK@" not in text

"""Agents are told of the server of tools, and untold byte for byte."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.agents import claude_code
from recollect.model.result import Mark
from recollect.ops import health, install, serving
from recollect.ops.app import App
from recollect.wire import stub
from tests.ops.ask import at, files
from tests.ops.conftest import Opens

LEVELS = ("user", "project", "local")


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent of the machine's is asked anything."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".claude.json"


def place(level: str, state: Path) -> tuple[Path, tuple[str, ...]]:
    return {
        "user": (state, ("mcpServers",)),
        "project": (Path.cwd() / ".mcp.json", ("mcpServers",)),
        "local": (state, ("projects", str(Path.cwd()), "mcpServers")),
    }[level]


def standing(path: Path, keys: tuple[str, ...]) -> Any:
    found = json.loads(path.read_bytes())
    for key in keys:
        found = found[key]
    return found


TEXTS = [
    None,
    "",
    "{}",
    "{}\n",
    '{\n  "numStartups": 3\n}\n',
    '{"a":1}',
    '{\r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x"}\r\n\t}\r\n}',
    '{"mcpServers": {}}',
    '\ufeff{ "mcpServers" : { "z" : {"command":"q"} } , "projects":{} }',
    '{"projects": {"/elsewhere": {"mcpServers": {"a": {}}}}, "big": 123456789012345678901234567890}',
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("text", TEXTS)
def test_it_is_offered_with_its_tools_at_hand_and_taken_back_byte_for_byte(
    app: App, state: Path, level: str, text: str | None, tmp_path: Path
):
    path, keys = place(level, state)
    if text is not None:
        path.write_bytes(text.encode())
    before = files(tmp_path)

    install.install(app, **at(level))

    entry = standing(path, keys)["recollect"]
    assert entry == {"type": "stdio", "command": stub.server_path(str(app.home.root)), "args": [], "alwaysLoad": True}
    assert os.access(entry["command"], os.X_OK)
    if text:
        old = json.loads(text.removeprefix("\ufeff"))
        assert {k: v for k, v in json.loads(path.read_bytes().decode("utf-8-sig")).items() if k not in keys[:1]} == {
            k: v for k, v in old.items() if k not in keys[:1]
        }
    again = path.read_bytes()
    install.install(app, **at(level))
    assert path.read_bytes() == again

    install.uninstall(app, **at(level))

    left = {name: one for name, one in files(tmp_path).items() if ".recollect" not in name}
    assert left == before


@pytest.mark.parametrize("level", LEVELS)
def test_where_the_agent_wrote_the_file_since_our_member_alone_goes(app: App, state: Path, level: str):
    path, _ = place(level, state)
    path.write_text(
        '{"numStartups": 3, "projects": {"/x": {"mcpServers": {}}}, "mcpServers": {"other": {"command": "x"}}}'
    )
    install.install(app, **at(level))
    edited = json.loads(path.read_bytes()) | {"numStartups": 4}
    path.write_text(json.dumps(edited, indent=4))

    install.uninstall(app, **at(level))

    found = json.loads(path.read_bytes())
    assert "recollect" not in json.dumps(found)
    assert found["numStartups"] == 4
    assert found["mcpServers"] == {"other": {"command": "x"}}
    assert found["projects"] == {"/x": {"mcpServers": {}}}


def test_a_server_of_that_name_that_is_not_ours_is_left_alone(app: App, state: Path):
    state.write_text('{"mcpServers": {"recollect": {"command": "mine"}}}')
    before = state.read_bytes()

    told = install.install(app)

    assert "has another server named recollect" in told.summary
    assert state.read_bytes() == before
    install.uninstall(app)
    assert state.read_bytes() == before


@pytest.mark.parametrize("text", ['{"mcpServers": []}', "{,}", "[]", '{"mcpServers": {}, "mcpServers": {}}'])
def test_a_file_in_which_the_place_is_not_clear_is_left_alone_and_the_hooks_stand(app: App, state: Path, text: str):
    state.write_text(text)

    told = install.install(app)

    assert "left as it is" in told.summary
    assert state.read_text() == text


def test_a_dry_run_shows_the_difference(open_app: Opens, state: Path):
    told = install.install(open_app(dry_run=True))

    assert '+    "recollect": {' in told.summary
    assert not state.exists()


def test_the_skill_comes_and_goes_and_one_that_was_edited_stays(app: App, state: Path):
    path = state.parent / ".claude" / "skills" / "recollect" / "SKILL.md"
    install.install(app)
    assert "ai_recall" in path.read_text(encoding="utf-8")

    install.uninstall(app)
    assert not path.exists()
    assert not path.parent.parent.exists()

    install.install(app)
    path.write_text("Mine now.", encoding="utf-8")
    install.install(app)
    install.uninstall(app)
    assert path.read_text(encoding="utf-8") == "Mine now."


def test_the_skill_is_short():
    path = Path(claude_code.__file__).with_name("skill.md")

    assert len(path.read_text(encoding="utf-8")) < 1_200


def test_where_the_agent_keeps_its_files_elsewhere_it_is_told_there(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "conf"))

    install.install(app)

    assert serving.NAME in standing(tmp_path / "conf" / ".claude.json", ("mcpServers",))


@pytest.mark.skipif(sys.platform == "win32", reason="the server is started by a shell")
def test_doctor_starts_the_server(app: App, state: Path):
    install.install(app)
    Path(stub.script_path(str(app.home.root))).unlink()  # a hook would start a daemon, which mends the server
    Path(serving.command(app)).write_text("#!/bin/sh\necho broken >&2\n", encoding="ascii")
    (ill,) = [check for check in health.doctor(app).checks if check.name == "tools"]
    assert ill.mark is Mark.BAD
    assert "broken" in ill.detail
    assert ill.repair == "recollect install --user"

    install.install(app)
    (well,) = [check for check in health.doctor(app).checks if check.name == "tools"]
    assert well.mark is Mark.GOOD

    state.unlink()
    (none,) = [check for check in health.doctor(app).checks if check.name == "tools"]
    assert none.mark is Mark.WARN

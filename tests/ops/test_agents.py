"""Several agents on one machine: which of them are made to call us, what becomes of their files, what doctor says."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from recollect.agents import Ability, Level, Plugin, agent, hosts, opencode
from recollect.base.errors import BadInput, Conflict
from recollect.model.result import Mark
from recollect.ops import choosing, install, serving, wiring
from recollect.ops.app import App
from recollect.wire import stub
from tests.ops.ask import at, files
from tests.ops.conftest import Opens

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hooks are run by a shell")
OTHERS = tuple(host for host in hosts() if host != "claude-code")
THEIRS = {
    "hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}',
    "config.toml": "# mine\na = 1\n[mcp_servers.other]\ncommand = 'x'",
    "settings.json": '{\n  // mine\n  "ui": {"hideTips": true,},\n}\n',
    "other.ts": "// mine\n",
    "opencode.json": '{\n  // mine\n  "autoupdate": false,\n}\n',
}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs of the test's own: no agent of the machine's is found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def program(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def theirs(app: App, host: str) -> None:
    """Files of a person's own where the agent looks for them."""
    places = install.places(app)
    wanted = set[Path]()
    if Ability.SERVER in agent(host).ABILITIES:
        wanted.add(agent(host).server_place(Level.USER, places).path)
    if Ability.PLUGIN in agent(host).ABILITIES:
        wanted.add(agent(host).plugin(Level.USER, places, app.home.root).path.with_name("other.ts"))
    if Ability.HOOKS in agent(host).ABILITIES:
        wanted.add(agent(host).settings_path(Level.USER, places))
    for path in wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(THEIRS[path.name])


def left(tmp_path: Path) -> dict[str, object]:
    return {name: one for name, one in files(tmp_path).items() if ".recollect" not in name}


# Which


def test_without_a_choice_it_is_the_usual_one(app: App, programs: Path):
    program(programs, "codex")

    told = install.install(app)

    assert told.facts["host"] == "claude-code"
    assert not (Path.home() / ".codex").exists()
    assert any("--agent codex" in note for note in told.notes), "the other one is mentioned"


def test_an_agent_that_calls_us_already_is_not_mentioned(app: App, programs: Path):
    program(programs, "codex")
    install.install(app, agent=("codex",))

    assert not [note for note in install.install(app).notes if "--agent codex" in note]


def test_agents_are_found_by_their_program_or_their_folder(app: App, programs: Path):
    program(programs, "gemini")
    (Path.home() / ".codex").mkdir()

    assert set(choosing.here(app)) == {"codex", "gemini"}


def test_an_unknown_agent_is_refused_before_anything_is_written(app: App, tmp_path: Path):
    before = files(tmp_path)

    with pytest.raises(BadInput, match="emacs"):
        install.install(app, agent=("codex", "emacs"))

    assert files(tmp_path) == before


@pytest.mark.parametrize("host", OTHERS)
def test_a_level_that_an_agent_does_not_have_is_refused(app: App, host: str, tmp_path: Path):
    before = files(tmp_path)

    with pytest.raises(BadInput, match="on this machine alone"):
        install.install(app, agent=(host,), local=True)

    assert files(tmp_path) == before


# Coming and going


@pytest.mark.parametrize("level", ["user", "project"])
@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("host", OTHERS)
def test_an_agents_files_come_back_byte_for_byte(app: App, host: str, level: str, empty: bool, tmp_path: Path):
    if not empty:
        theirs(app, host)
    before = left(tmp_path)

    install.install(app, agent=(host,), **at(level))
    installed = left(tmp_path)
    install.install(app, agent=(host,), **at(level))

    assert installed != before
    assert left(tmp_path) == installed, "again changes nothing"

    install.uninstall(app, **at(level))

    assert left(tmp_path) == before
    assert not os.path.exists(stub.script_path(str(app.home.root)))


@pytest.mark.parametrize("host", OTHERS)
def test_a_dry_run_shows_the_difference_and_writes_nothing(open_app: Opens, host: str, tmp_path: Path):
    dry = open_app(dry_run=True)
    before = files(tmp_path)

    told = install.install(dry, agent=(host,))

    assert "recollect" in told.summary
    assert "+++" in told.summary
    assert files(tmp_path) == before


def test_one_of_two_goes_and_the_other_stays(app: App, tmp_path: Path):
    install.install(app, agent=("claude-code", "codex"))

    told = install.uninstall(app, agent=("codex",))

    assert any("Still called from" in note for note in told.notes)
    assert choosing.calls_us(app, "claude-code", Level.USER)
    assert not (Path.home() / ".codex").exists()
    assert os.path.exists(stub.script_path(str(app.home.root)))


def test_uninstalling_without_a_name_is_about_all_that_call_us(app: App, tmp_path: Path):
    before = left(tmp_path)
    install.install(app, agent=("claude-code", *OTHERS))

    install.uninstall(app)

    assert left(tmp_path) == before


@pytest.mark.parametrize("host", [host for host in OTHERS if Ability.SERVER in agent(host).ABILITIES])
def test_what_the_agent_wrote_since_stays(app: App, host: str):
    theirs(app, host)
    install.install(app, agent=(host,))
    path = serving.spot(app, host, Level.USER).path
    edit(path)

    install.uninstall(app)

    after = path.read_text()
    path.write_text(THEIRS[path.name] if path.suffix != ".toml" else THEIRS[path.name] + "\n")
    edit(path)
    assert after == path.read_text()


def edit(path: Path) -> None:
    """As the agent itself would."""
    text = path.read_text()
    if path.suffix == ".toml":
        path.write_text(text + '\n[projects."/x"]\ntrust_level = "trusted"\n')
    else:
        path.write_text(text.replace("// mine", '// mine\n  "more": 1,'))


def test_a_server_of_theirs_of_the_same_name_is_left_alone(app: App):
    config = Path.home() / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("[mcp_servers.recollect]\ncommand = 'theirs'\n")

    told = install.install(app, agent=("codex",))

    assert "another server named recollect" in told.summary
    assert tomllib.loads(config.read_text())["mcp_servers"]["recollect"] == {"command": "theirs"}


def test_a_file_that_changes_all_the_time_is_left_alone(app: App, monkeypatch: pytest.MonkeyPatch):
    def always(*_: object, **__: object) -> None:
        raise Conflict("it changed")

    monkeypatch.setattr("recollect.base.swap.replace", always)

    with pytest.raises(Conflict):
        install.install(app, agent=("codex",))

    assert not (Path.home() / ".codex" / "hooks.json").exists()


# What they are told


def test_each_hook_names_its_host_and_its_time(app: App):
    install.install(app, agent=("codex", "gemini"))

    codex = json.loads((Path.home() / ".codex" / "hooks.json").read_text())["hooks"]
    gemini = json.loads((Path.home() / ".gemini" / "settings.json").read_text())["hooks"]
    script = stub.script_path(str(app.home.root))
    [[stop]] = [group["hooks"] for group in codex["Stop"]]
    [[prompt]] = [group["hooks"] for group in gemini["BeforeAgent"]]
    assert (stop["command"], stop["timeout"]) == (f"'{script}' codex Stop 2>/dev/null || :", 5)
    assert prompt["command"] == f"'{script}' gemini BeforeAgent --deadline-ms 300 2>/dev/null || :"
    assert prompt["timeout"] == 5_000, "milliseconds"


def test_what_a_person_has_to_allow_is_said(app: App):
    told = install.install(app, agent=("codex",))

    assert any("/hooks" in note for note in told.notes)


def test_doctor_looks_at_each_that_is_installed(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wiring, "_runs", lambda *_: iter(()))  # run for real in test_install.py
    monkeypatch.setattr(wiring, "_answers", lambda *_: "")
    install.install(app, agent=("codex", "gemini"))

    found = [(check.name, check.mark) for check in wiring.checks(app)]

    assert ("Codex (user)", Mark.GOOD) in found
    assert ("Codex (user)", Mark.WARN) in found, "its hooks wait for a person's leave"
    assert ("Gemini CLI (user)", Mark.GOOD) in found
    assert not [name for name, _ in found if name.startswith("Claude Code")]


# A plugin


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks and server are run for real in test_install.py and test_serving.py."""
    monkeypatch.setattr(wiring, "_runs", lambda *_: iter(()))
    monkeypatch.setattr(wiring, "_answers", lambda *_: "")


def plugin_file(app: App) -> Path:
    return agent("opencode").plugin(Level.USER, install.places(app), app.home.root).path


def of_opencode(app: App) -> list[tuple[Mark, str]]:
    return [(check.mark, check.detail) for check in wiring.checks(app) if check.name.startswith("OpenCode")]


def test_a_plugin_is_looked_at(app: App, quick: None):
    install.install(app, agent=("opencode",))

    assert [mark for mark, _ in of_opencode(app)] == [Mark.GOOD]


def test_a_plugin_that_somebody_edited_is_left_alone_and_told_of(app: App, quick: None):
    install.install(app, agent=("opencode",))
    plugin_file(app).write_text("// mine now\n")

    assert [(mark, "was edited" in said) for mark, said in of_opencode(app)] == [(Mark.WARN, True)]
    with pytest.raises(BadInput, match="not what Recollect wrote"):
        install.install(app, agent=("opencode",))
    told = install.uninstall(app)

    assert "left alone" in told.summary
    assert plugin_file(app).read_text() == "// mine now\n"


def test_a_plugin_of_another_version_is_renewed(app: App, quick: None, monkeypatch: pytest.MonkeyPatch):
    install.install(app, agent=("opencode",))
    path, text = plugin_file(app), plugin_file(app).read_text()
    newer, made = Plugin(path, text + "// newer\n"), opencode.plugin
    monkeypatch.setattr(opencode, "plugin", lambda level, *at: newer if level is Level.USER else made(level, *at))

    assert [(mark, "another Recollect" in said) for mark, said in of_opencode(app)] == [(Mark.WARN, True)]
    install.install(app, agent=("opencode",))

    assert path.read_text() == newer.text
    install.uninstall(app)
    assert not path.parent.exists()


def test_a_file_of_somebody_elses_is_not_written_over(app: App):
    path = plugin_file(app)
    path.parent.mkdir(parents=True)
    path.write_text("// theirs\n")

    with pytest.raises(BadInput, match="left as it is"):
        install.install(app, agent=("opencode",))

    assert path.read_text() == "// theirs\n"
    assert not choosing.calls_us(app, "opencode", Level.USER)


@pytest.mark.parametrize("host", OTHERS)
def test_what_a_person_took_away_by_hand_is_not_called_still(app: App, host: str, tmp_path: Path):
    install.install(app, agent=(host,))
    for name in left(tmp_path):
        if (tmp_path / name).is_file() and b"recollect" in (tmp_path / name).read_bytes():
            (tmp_path / name).unlink()

    told = install.uninstall(app)

    assert not [note for note in told.notes if "Still called" in note]
    assert not os.path.exists(stub.script_path(str(app.home.root)))

"""Doctor's look at what agents call: hooks, plugins and the server are run as the agent would run them."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from recollect import __version__
from recollect.agents import Level, agent, claude_code, default_agent
from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.integrations import agent_pieces
from recollect.integrations.agent_pieces import is_second_server
from recollect.model.result import Check, Mark
from recollect.ops import health, install
from recollect.wire import stub
from recollect.wire.place import find_place
from tests.daemon.conftest import house, runtime
from tests.daemon.real import FORKS, House
from tests.ops.test_install import program

__all__ = ["house", "runtime"]

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="hooks are run by a shell"), pytest.mark.usefixtures("programs"),
]  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "recollect@recollect"


@pytest.fixture
def installed(app: App) -> App:
    """With a script in place of ours that takes its input and says nothing: no daemon is started."""
    install.install(app)
    program(app.home.root / "bin", "hook", "cat > /dev/null")
    return app


@pytest.fixture
def settings(installed: App) -> Path:
    return Path.home() / ".claude" / "settings.json"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks and server are not run."""
    monkeypatch.setattr(agent_pieces, "_run_hooks", lambda *_: iter(()))
    monkeypatch.setattr(agent_pieces, "_server_problem", lambda *_: "")


def checks(app: App) -> dict[str, Check]:
    return {check.name: check for check in agent_pieces.checks(app)}


def test_doctor_names_the_command_that_installs(app: App):
    found = {check.name: check for check in health.doctor(app).checks}
    assert (found["hooks"].mark, found["hooks"].repair) == (Mark.WARN, "recollect install")


def test_hooks_that_run_are_found_well(
    installed: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    said = tmp_path / "said"
    script = f'[ -n "$BLOCK_HOOK_AGENTS" ] && echo blocked; cat >> "{said}"; echo >> "{said}"'
    program(installed.home.root / "bin", "hook", script)
    monkeypatch.setenv("BLOCK_HOOK_AGENTS", "1")  # a run is a run even where hooks are blocked
    found = checks(installed)
    ran = "Claude Code: SessionStart ran and ended well"
    assert found["hook runs"] == Check("hook runs", Mark.GOOD, ran)
    assert found["Claude Code (user)"].mark is Mark.GOOD
    assert (found["daemon"].mark, found["daemon"].repair) == (Mark.WARN, "recollect daemon start")
    # It is not the script that this Recollect would write.
    assert (found["hook script"].mark, found["hook script"].repair) == (
        Mark.WARN,
        "recollect install",
    )
    assert json.loads(said.read_text()) == {"hook_event_name": "SessionStart"}, (
        "it names no session"
    )


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo nonsense", "printed what no agent can read: nonsense"),
        ("echo '{\"a\": 1} x'", "printed what no agent can read"),
        ("exec sleep 20", "did not end within its 1 s"),
    ],
)
def test_a_hook_that_misbehaves_is_found(
    installed: App, monkeypatch: pytest.MonkeyPatch, script: str, problem: str
):
    monkeypatch.setattr(claude_code.ClaudeCode, "TIMEOUT_S", 1 if "sleep" in script else 5)
    install.install(installed)
    program(installed.home.root / "bin", "hook", f"cat > /dev/null; {script}; exit 0")
    found = checks(installed)["hook runs"]
    assert (found.mark, found.repair) == (Mark.BAD, "recollect install --user")
    assert found.detail.startswith(f"Claude Code: SessionStart {problem}")


def test_doctor_says_that_restarts_are_slowed_down_and_why(installed: App):
    at = find_place(str(installed.home.root), os.environ)
    Path(at.spawn_lock).write_text(f"7 {time.monotonic()}\nIt cannot listen: no room")
    found = checks(installed)["daemon"]
    assert (found.mark, found.repair) == (Mark.WARN, "recollect daemon start")
    assert "slowed down: 7 in a row" in found.detail
    assert found.detail.endswith("the last one said: It cannot listen: no room")


def test_settings_that_are_not_as_they_should_be_are_found(
    installed: App, settings: Path, quick: None
):
    told = json.loads(settings.read_bytes())
    settings.write_text(json.dumps({**told, "disableAllHooks": True}))
    off = checks(installed)["hooks"]
    assert (off.mark, off.repair) == (Mark.WARN, "remove disableAllHooks there")
    del told["hooks"]["SubagentStart"]
    settings.write_text(json.dumps(told))
    older = checks(installed)["Claude Code (user)"]
    assert (older.mark, older.repair) == (Mark.WARN, "recollect install --user")
    assert "another version" in older.detail
    settings.write_bytes(b"{\n,}")
    (broken,) = [check for check in agent_pieces.checks(installed) if str(settings) in check.detail]
    assert (broken.mark, broken.repair.startswith(f"correct {settings}")) == (Mark.WARN, True)
    assert "line 2" in broken.detail


def test_a_script_that_is_gone_is_found_and_a_server_is_the_second_where_the_settings_start_one(
    app: App,
):
    assert not is_second_server(Path.cwd())
    install.install(app)
    assert is_second_server(Path.cwd())
    (app.home.root / "bin" / "hook").unlink()
    found = checks(app)
    assert (found["hook script"].mark, found["hook script"].repair) == (
        Mark.BAD,
        "recollect install",
    )
    assert "hook runs" not in found


def test_doctor_looks_at_each_that_is_installed(app: App, quick: None):
    install.install(app, agent=("codex", "gemini"))
    found = [(check.name, check.mark) for check in agent_pieces.checks(app)]
    assert ("Codex (user)", Mark.GOOD) in found
    assert ("Codex (user)", Mark.WARN) in found, "its hooks wait for a person's leave"
    assert ("Gemini CLI (user)", Mark.GOOD) in found
    assert not [name for name, _ in found if name.startswith("Claude Code")]


def test_doctor_starts_the_server(app: App):
    install.install(app)
    Path(
        stub.script_path(str(app.home.root))
    ).unlink()  # a hook would start a daemon, which mends the server
    Path(stub.server_path(str(app.home.root))).write_text(
        "#!/bin/sh\necho broken >&2\n", encoding="ascii"
    )
    ill = checks(app)["tools"]
    assert (ill.mark, ill.repair) == (Mark.BAD, "recollect install --user")
    assert "broken" in ill.detail
    install.install(app)
    assert checks(app)["tools"].mark is Mark.GOOD
    (Path.home() / ".claude.json").unlink()
    assert checks(app)["tools"].mark is Mark.WARN


def plugin_file(app: App) -> Path:
    return agent("opencode").plugin(Level.USER, app.places, app.home.root)[0]


def of_opencode(app: App) -> list[tuple[Mark, str]]:
    return [
        (check.mark, check.detail)
        for check in agent_pieces.checks(app)
        if check.name.startswith("OpenCode")
    ]


def test_a_plugin_is_looked_at_and_one_that_somebody_edited_is_left_alone(app: App, quick: None):
    install.install(app, agent=("opencode",))
    assert {mark for mark, _ in of_opencode(app)} == {Mark.GOOD}
    plugin_file(app).write_text("// mine now\n")
    assert (Mark.WARN, f"{plugin_file(app)} was edited by hand") in of_opencode(app)
    told = install.uninstall(app)
    assert "left as it is" in told.summary
    with pytest.raises(BadInput, match="left as it is"):
        install.install(app, agent=("opencode",))
    assert plugin_file(app).read_text() == "// mine now\n"
    assert not agent_pieces.calls_us(app, "opencode", Level.USER)


def test_a_plugin_of_another_version_is_renewed(
    app: App, quick: None, monkeypatch: pytest.MonkeyPatch
):
    install.install(app, agent=("opencode",))
    opencode, path = agent("opencode"), plugin_file(app)
    newer, made = (path, path.read_text() + "// newer\n"), opencode.plugin
    monkeypatch.setattr(
        opencode, "plugin", lambda level, *at: newer if level is Level.USER else made(level, *at)
    )
    assert (Mark.WARN, f"{path} is of another version of Recollect") in of_opencode(app)
    install.install(app, agent=("opencode",))
    assert path.read_text().startswith(newer[1])
    install.uninstall(app)
    assert not path.parent.exists()


def plug(tmp_path: Path, *, version: str = __version__, name: str = NAME, on: bool = True) -> Path:
    """As the client itself writes it down (2.1.325)."""
    config = tmp_path / "home" / ".claude"
    folder = config / "plugins" / "cache" / "recollect" / "recollect" / version
    shutil.copytree(ROOT / "plugins" / "claude-code", folder)
    installed = {
        "version": 2,
        "plugins": {name: [{"scope": "user", "installPath": str(folder), "version": version}]},
    }
    (config / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))
    settings = config / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {name: on}}))
    return settings


@pytest.mark.parametrize(
    ("name", "on", "own"),
    [
        ("recollector@recollect", True, None),
        ("other@recollect", True, None),
        (NAME, False, None),
        (NAME, True, False),
    ],
)
def test_only_ours_counts_and_only_where_it_is_on(
    app: App, tmp_path: Path, name: str, on: bool, own: bool | None
):
    assert default_agent().addon(app.places) is None
    plug(tmp_path, name=name, on=on)
    if own is not None:  # the nearest settings decide
        (Path.cwd() / ".claude").mkdir()
        (Path.cwd() / ".claude" / "settings.local.json").write_text(
            json.dumps({"enabledPlugins": {name: own}})
        )
    assert default_agent().addon(app.places) is None


def test_settings_to_which_a_link_leads_out_of_the_project_switch_no_plugin(
    app: App, tmp_path: Path
):
    plug(tmp_path, on=False)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "settings.json").write_text(json.dumps({"enabledPlugins": {NAME: True}}))

    (Path.cwd() / ".claude").symlink_to(outside)

    assert default_agent().addon(app.places) is None


@pytest.mark.parametrize(
    "broken", ["", "[]", "{", '{"plugins": 3}', '{"plugins": {"recollect@recollect": "x"}}']
)
def test_a_list_of_plugins_that_cannot_be_read_is_no_failure(app: App, tmp_path: Path, broken: str):
    plug(tmp_path)
    (tmp_path / "home" / ".claude" / "plugins" / "installed_plugins.json").write_text(broken)
    found = default_agent().addon(app.places)
    assert found is None or not found.version


def test_a_plugin_is_told_of_and_left_alone(app: App, tmp_path: Path):
    settings = plug(tmp_path)
    before = settings.read_bytes()
    told = install.install(app)
    assert f"The plugin {NAME} calls Recollect, too; each event is answered once." in told.notes
    assert not any(NAME in note for note in install.install(app, agent=("pi",)).notes)
    install.uninstall(app, agent=("pi",))
    told = install.uninstall(app)
    assert settings.read_bytes() == before
    assert (
        told.notes[-1]
        == f"The plugin {NAME} still calls Recollect: `claude plugin uninstall {NAME}` removes it."
    )
    assert (app.home.root / "bin" / "hook").exists()
    settings.unlink()
    install.uninstall(app)
    assert not (app.home.root / "bin").exists()


@FORKS
def test_doctor_runs_a_plugin_that_is_alone(app: App, tmp_path: Path, house: House):
    plug(tmp_path)
    found = checks(app)
    assert found["hook script"].mark is Mark.BAD, "it has nothing to call"
    assert "daemon" not in found
    stub.write_hook(str(app.home.root), sys.executable)
    found = checks(app)
    assert found["plugin"] == Check(
        "plugin", Mark.GOOD, f"Claude Code calls through {NAME} {__version__}"
    )
    assert found["plugin runs"].mark is Mark.GOOD, found
    assert "nobody answers" not in found["daemon"].detail, found


def test_doctor_says_where_both_call_and_where_versions_differ(
    app: App, tmp_path: Path, quick: None
):
    plug(tmp_path, version="0.0.9")
    install.install(app)
    found = checks(app)["plugin"]
    assert (found.mark, found.repair) == (Mark.WARN, f"claude plugin update {NAME}")
    shutil.rmtree(tmp_path / "home" / ".claude")
    plug(tmp_path)
    install.install(app)
    assert checks(app)["plugin"].detail.endswith(
        "; its settings call too, and an event is answered once"
    )

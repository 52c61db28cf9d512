"""A plugin is seen, told of, and left alone."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from recollect import __version__
from recollect.model.result import Check, Mark
from recollect.ops import addons, install, wiring
from recollect.ops.app import App
from recollect.wire import stub
from tests.daemon.conftest import house, runtime
from tests.daemon.real import FORKS, House

__all__ = ["house", "runtime"]

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "recollect@recollect"
posix = pytest.mark.skipif(sys.platform == "win32", reason="hooks are run by a shell")


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent of the machine's is asked anything."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


def plug(tmp_path: Path, *, version: str = __version__, name: str = NAME, on: bool = True) -> Path:
    """As the client itself writes it down (2.1.325)."""
    config = tmp_path / "home" / ".claude"
    folder = config / "plugins" / "cache" / "recollect" / "recollect" / version
    shutil.copytree(ROOT / "plugins" / "claude-code", folder)
    installed = {"version": 2, "plugins": {name: [{"scope": "user", "installPath": str(folder), "version": version}]}}
    (config / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))
    settings = config / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {name: on}}))
    return settings


def checks(app: App) -> dict[str, Check]:
    return {check.name: check for check in wiring.checks(app)}


def test_without_one_nothing_is_said_of_it(app: App):
    assert addons.found(app) == ()
    assert "plugin" not in checks(app)
    assert not any("plugin" in note for note in install.install(app).notes)


@pytest.mark.parametrize("name", ["recollector@recollect", "other@recollect"])
def test_another_plugin_is_not_ours(app: App, tmp_path: Path, name: str):
    plug(tmp_path, name=name)

    assert addons.found(app) == ()


def test_one_that_is_switched_off_does_not_count(app: App, tmp_path: Path):
    plug(tmp_path, on=False)

    assert addons.found(app) == ()


def test_the_nearest_settings_decide_whether_it_is_on(app: App, tmp_path: Path):
    plug(tmp_path)
    own = Path.cwd() / ".claude" / "settings.local.json"
    own.parent.mkdir()
    own.write_text(json.dumps({"enabledPlugins": {NAME: False}}))

    assert addons.found(app) == ()


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"plugins": 3}', '{"plugins": {"recollect@recollect": "x"}}'])
def test_a_list_that_cannot_be_read_is_no_failure(app: App, tmp_path: Path, broken: str):
    plug(tmp_path)
    (tmp_path / "home" / ".claude" / "plugins" / "installed_plugins.json").write_text(broken)

    assert all(not one.version for one in addons.found(app))


def test_installing_beside_it_says_so_and_changes_nothing_of_it(app: App, tmp_path: Path):
    settings = plug(tmp_path)
    before = settings.read_bytes()

    told = install.install(app)

    assert f"The plugin {NAME} calls too; an event is answered once." in told.notes
    assert not any(NAME in note for note in install.install(app, agent=("pi",)).notes)
    install.uninstall(app, agent=("pi",))
    assert json.loads(settings.read_bytes())["enabledPlugins"] == {NAME: True}
    install.uninstall(app)
    assert settings.read_bytes() == before


def test_uninstalling_says_that_the_plugin_is_another_thing_and_leaves_what_it_calls(app: App, tmp_path: Path):
    plug(tmp_path)
    install.install(app)

    told = install.uninstall(app)

    assert told.notes[-1] == (f"The plugin {NAME} still calls Recollect: `claude plugin uninstall {NAME}` removes it.")
    assert (app.home.root / "bin" / "hook").exists()


def test_once_it_is_gone_uninstall_takes_what_it_called(app: App, tmp_path: Path):
    settings = plug(tmp_path)
    install.install(app)
    install.uninstall(app)
    settings.unlink()

    install.uninstall(app)

    assert not (app.home.root / "bin").exists()


@posix
@FORKS
def test_doctor_runs_a_plugin_that_is_alone(app: App, tmp_path: Path, house: House):
    plug(tmp_path)
    stub.write_hook(str(app.home.root), sys.executable)

    found = checks(app)

    assert found["plugin"] == Check("plugin", Mark.GOOD, f"Claude Code calls through {NAME} {__version__}")
    assert found["plugin runs"].mark is Mark.GOOD, found
    assert found["daemon"].mark is Mark.GOOD, found


@posix
@FORKS
def test_doctor_sees_that_a_plugin_that_is_alone_has_nothing_to_call(app: App, tmp_path: Path, house: House):
    plug(tmp_path)

    found = checks(app)

    assert found["hook script"].mark is Mark.BAD
    assert "daemon" not in found


@posix
@FORKS
def test_doctor_says_where_both_call(app: App, tmp_path: Path, house: House):
    plug(tmp_path)
    install.install(app)

    assert checks(app)["plugin"].detail.endswith("; its settings call too, and an event is answered once")


@posix
@FORKS
def test_doctor_says_that_it_is_of_another_version(app: App, tmp_path: Path, house: House):
    plug(tmp_path, version="0.0.9")

    found = checks(app)["plugin"]

    assert (found.mark, found.repair) == (Mark.WARN, f"claude plugin update {NAME}")


def test_a_server_is_the_second_where_the_settings_start_one(app: App, tmp_path: Path):
    assert not addons.is_second(Path.cwd())
    install.install(app)
    assert addons.is_second(Path.cwd())
    install.uninstall(app)
    assert not addons.is_second(Path.cwd())

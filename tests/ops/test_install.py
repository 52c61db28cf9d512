"""Install, uninstall, and doctor's look at hooks: on real files, with the script that agents call."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.agents import Level, claude_code
from recollect.base import swap
from recollect.base.errors import BadInput, Conflict, NoProject
from recollect.model.result import Check, Mark
from recollect.ops import health, install, wiring
from recollect.ops.app import App
from recollect.wire import spawn, spool
from recollect.wire.place import Place, find_place
from tests.ops.ask import at, files
from tests.ops.conftest import Opens

posix = pytest.mark.skipif(sys.platform == "win32", reason="hooks are run by a shell")
EVENTS = set(claude_code.hook_events(None))
OTHER = {"type": "command", "command": "notify-send done"}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs of the test's own: no agent of the machine's is asked anything."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """The user's settings file; its folder is there."""
    path = tmp_path / "home" / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def hooks(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_bytes())["hooks"]
    return found


# Install


def test_every_event_is_asked_for_with_a_time_out(app: App, settings: Path):
    told = install.install(app)

    assert (told.facts["changed"], told.facts["path"]) == (True, str(settings))
    assert hooks(settings).keys() == EVENTS
    for event, groups in hooks(settings).items():
        command = f"'{app.home.root}/bin/hook' {event} 2>/dev/null || :"
        assert groups == [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]


def test_past_sessions_are_mentioned_where_there_are_some(app: App, open_app: Opens, settings: Path):
    left = settings.parent / "projects" / "shop"
    left.mkdir(parents=True)
    (left / "s-1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(Path.cwd())}) + "\n")

    first, again = install.install(app), install.install(app)
    install.uninstall(app)
    (left / "s-1.jsonl").unlink()
    without = install.install(app)

    line = "1 past session of work found: `recollect import claude-code` reads them."
    assert [line in told.notes for told in (first, again, without)] == [True, False, False]


@posix
def test_what_the_hooks_call_is_there_and_private(app: App):
    install.install(app)

    script = app.home.root / "bin" / "hook"
    assert stat.S_IMODE(script.stat().st_mode) == 0o700
    assert stat.S_IMODE((app.home.root / "installed.json").stat().st_mode) == 0o600


def test_installing_twice_changes_nothing(app: App, settings: Path):
    install.install(app)
    before, stood = settings.read_bytes(), files(app.home.root)

    told = install.install(app)

    assert told.facts["changed"] is False
    assert settings.read_bytes() == before
    assert files(app.home.root) == stood


@pytest.mark.parametrize(("level", "name"), [("project", "settings.json"), ("local", "settings.local.json")])
def test_a_project_has_settings_of_its_own(app: App, level: str, name: str):
    before = files(Path.cwd())

    install.install(app, **at(level))
    assert hooks(Path.cwd() / ".claude" / name).keys() == EVENTS
    assert not (Path.home() / ".claude").exists()

    install.uninstall(app, **at(level))
    assert files(Path.cwd()) == before
    assert not (Path.cwd() / ".claude").exists()


def test_two_places_at_once_are_refused(app: App):
    with pytest.raises(BadInput, match="two places"):
        install.install(app, user=True, local=True)


def test_without_a_project_only_the_user_has_settings(open_app: Opens):
    with pytest.raises(NoProject):
        install.install(open_app(Path.home()), project=True)


def test_the_agent_s_own_variable_moves_its_settings(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))

    install.install(app)

    assert hooks(tmp_path / "elsewhere" / "settings.json").keys() == EVENTS
    install.uninstall(app)
    assert not (tmp_path / "elsewhere").exists()


def test_a_dry_run_shows_the_difference_and_writes_nothing(open_app: Opens, settings: Path):
    settings.write_bytes(b'{\n  "model": "x"\n}\n')

    told = install.install(open_app(dry_run=True))

    assert settings.read_bytes() == b'{\n  "model": "x"\n}\n'
    assert not (Path.home() / ".recollect").exists()
    assert '-  "model": "x"\n+  "model": "x",\n+  "hooks": {' in told.summary
    assert (told.facts["changed"], told.facts["dry_run"]) == (True, True)


@posix
@pytest.mark.parametrize("name", ["it's", 'a "quoted" one', "$(touch x)", "spaces and é", "back\\slash"])
def test_any_name_of_a_home_is_safe_in_a_shell(open_app: Opens, tmp_path: Path, settings: Path, name: str):
    app = open_app(home=tmp_path / name)

    install.install(app)
    program(app.home.root / "bin", "hook", 'printf "%s" "$*"')

    command = hooks(settings)["Stop"][0]["hooks"][0]["command"]
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True)
    assert ended.stdout == b"Stop"
    install.uninstall(app)
    assert not settings.exists()


# Older clients, older hooks


@posix
@pytest.mark.parametrize(
    ("says", "lacks"),
    [
        ("2.1.325 (Claude Code)", {"PostToolUse"}),
        ("2.1.100 (Claude Code)", {"PostToolBatch"}),
        ("1.0.90", {"PostToolBatch", "PostToolUseFailure", "SubagentStart", "PermissionDenied"}),
        ("what?", {"PostToolUse"}),
    ],
)
def test_a_client_is_asked_for_its_version_first(app: App, settings: Path, programs: Path, says: str, lacks: set[str]):
    program(programs, "claude", f"echo '{says}'")

    install.install(app)

    assert hooks(settings).keys() == (EVENTS | {"PostToolUse"}) - lacks


@posix
def test_an_older_set_of_hooks_is_brought_up_to_date_in_place(app: App, settings: Path, programs: Path):
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [OTHER]}]}, "model": "x"}, indent=2))
    before = settings.read_bytes()
    old = program(programs, "claude", "echo 1.0.90")
    install.install(app)
    assert "PostToolUse" in hooks(settings)
    old.unlink()

    install.install(app)

    assert hooks(settings).keys() == EVENTS
    assert hooks(settings)["Stop"][0] == {"hooks": [OTHER]}
    assert len(hooks(settings)["Stop"]) == 2
    install.uninstall(app)
    assert settings.read_bytes() == before


def test_hooks_of_an_older_form_are_renewed_in_place_and_go_without_a_trace(app: App, settings: Path):
    settings.write_bytes(b'{"model": "x"}')
    install.install(app)
    older = settings.read_text().replace(" 2>/dev/null || :", " || :")
    settings.write_text(older)

    assert install.install(app).facts["changed"] is True
    assert settings.read_text() != older
    assert all(len(groups) == 1 for groups in hooks(settings).values())
    assert settings.read_text().count(" 2>/dev/null || :") == len(EVENTS)

    settings.write_text(older)
    install.uninstall(app)
    assert json.loads(settings.read_bytes()) == {"model": "x"}


def test_a_time_out_that_was_changed_is_set_right(app: App, settings: Path):
    install.install(app)
    settings.write_text(settings.read_text().replace('"timeout": 5', '"timeout": 600', 1))

    install.install(app)

    assert '"timeout": 600' not in settings.read_text()
    assert all(len(groups) == 1 for groups in hooks(settings).values())


# Uninstall

TEXTS = {
    "missing": None,
    "empty": b"",
    "nothing": b"{}",
    "crlf": b'{\r\n\t"model": "x"\r\n}',
    "mark": b'\xef\xbb\xbf{"env": {"A": "\xc3\xa9"}}\n\n',
    "empty lists": b'{ "hooks" : { "Stop" : [ ] } }',
    "others": json.dumps({"hooks": {event: [{"hooks": [OTHER]}] for event in ("Stop", "SessionEnd")}}).encode(),
}


@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS.keys())
def test_uninstall_gives_the_file_back_byte_for_byte(app: App, settings: Path, content: bytes | None):
    if content is not None:
        settings.write_bytes(content)

    install.install(app)
    install.uninstall(app)

    assert (settings.read_bytes() if settings.exists() else None) == content


def test_what_install_made_goes_and_memories_stay(app: App, tmp_path: Path):
    app.home.prepare()
    before = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if "logs" not in path.parts}

    install.install(app)
    install.uninstall(app)

    after = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if "logs" not in path.parts}
    assert after - before <= {Path("home/.recollect/redaction.key")}  # the log's, which keeps secrets out of it
    assert app.home.user_store.parent.exists()


@posix
def test_what_a_daemon_left_goes_with_the_last_hooks(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    at = met_at(app, monkeypatch, tmp_path)
    install.install(app)
    install.install(app, local=True)

    install.uninstall(app)
    assert os.path.exists(at.lock)

    install.uninstall(app, local=True)
    assert not any(map(os.path.exists, (at.lock, at.spawn_lock, at.pointer, at.runtime)))


@posix
def test_what_a_daemon_needs_stays_while_it_lives(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import fcntl  # not on Windows

    at = met_at(app, monkeypatch, tmp_path)
    monkeypatch.setattr(install, "_STOP_S", 0.05)
    install.install(app)
    with open(at.lock, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install.uninstall(app)

    assert all(map(os.path.exists, (at.lock, at.spawn_lock, at.pointer, at.runtime)))


def met_at(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    """Where a daemon was met that is no more."""
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("RECOLLECT_RUNTIME", raising=False)
    at = find_place(str(app.home.root), os.environ)
    app.home.prepare()
    for folder in (at.runtime, at.spool, at.spool + spool.FOLDER, at.recalls):
        os.mkdir(folder, 0o700)
    for path in (at.lock, at.spawn_lock, at.socket, at.spool + "/new/1", at.recalls + "/1"):
        Path(path).touch()
    spawn.point(at, 1, "0.1.0", 1)
    return at


def test_only_our_hooks_go_from_a_file_that_was_edited(app: App, settings: Path):
    settings.write_bytes(b'{\n  "model": "x"\n}\n')
    install.install(app)
    edited = json.loads(settings.read_bytes())
    edited["hooks"]["Stop"].append({"hooks": [OTHER]})
    edited["model"] = "y"
    settings.write_text(json.dumps(edited, indent=4))

    install.uninstall(app)

    assert settings.read_text() == json.dumps({"model": "y", "hooks": {"Stop": [{"hooks": [OTHER]}]}}, indent=4)


def test_a_file_of_ours_that_was_edited_stays(app: App, settings: Path):
    install.install(app)
    settings.write_text(settings.read_text().replace("{\n", '{\n  "model": "x",\n', 1))

    install.uninstall(app)

    assert json.loads(settings.read_bytes()) == {"model": "x"}


@pytest.mark.parametrize("kept", [b"", b"no json", b"[]", b'{"files": {"/x": {}}, "short_name": ""}'])
def test_lost_notes_cost_only_the_odd_space(app: App, settings: Path, kept: bytes):
    settings.write_bytes(b'{\n  "model": "x"\n}\n')
    install.install(app)
    (app.home.root / "installed.json").write_bytes(kept)

    install.uninstall(app)

    assert settings.read_bytes() == b'{\n  "model": "x"\n}\n'


def test_nothing_to_remove_is_no_error(app: App, settings: Path):
    settings.write_bytes(b'{ "a":1 }')

    told = install.uninstall(app)

    assert (told.facts["changed"], settings.read_bytes()) == (False, b'{ "a":1 }')
    assert not app.home.root.exists()


def test_the_script_stays_while_another_file_calls_it(app: App):
    install.install(app)
    install.install(app, local=True)

    told = install.uninstall(app)
    assert "settings.local.json" in told.notes[0]
    assert (app.home.root / "bin" / "hook").exists()

    install.uninstall(app, local=True)
    assert not (app.home.root / "bin").exists()


def test_a_dry_run_of_uninstall_only_shows(app: App, open_app: Opens, settings: Path):
    install.install(app)
    before = settings.read_bytes()

    told = install.uninstall(open_app(dry_run=True))

    assert settings.read_bytes() == before
    assert '-  "hooks": {' in told.summary


# What is left alone


@pytest.mark.parametrize("does", [install.install, install.uninstall])
@pytest.mark.parametrize(
    ("content", "line"),
    [(b'{\n  "a": 1,\n}', 3), (b"{\n  // mine\n}", 2), (b'{"hooks": {}, "hooks": {}}', 1)],
    ids=["comma", "comment", "twice"],
)
def test_settings_that_are_not_plain_json_are_left_alone(
    app: App, settings: Path, does: Callable[[App], object], content: bytes, line: int
):
    settings.write_bytes(content)

    with pytest.raises(BadInput) as caught:
        does(app)

    assert f"{settings}, line {line}: " in caught.value.message
    assert "bin/hook'" in caught.value.hint
    assert settings.read_bytes() == content


def test_the_hint_is_json_that_can_be_pasted(app: App, settings: Path):
    settings.write_bytes(b"{,}")

    with pytest.raises(BadInput) as caught:
        install.install(app)

    snippet = json.loads(caught.value.hint.split("\n", 1)[1])
    assert snippet["hooks"].keys() == EVENTS
    assert not (app.home.root / "bin").exists()


@posix
def test_a_link_to_a_dotfile_stays_a_link(app: App, settings: Path, tmp_path: Path):
    dotfile = tmp_path / "dotfile.json"
    dotfile.write_bytes(b'{"model": "x"}')
    settings.symlink_to(dotfile)

    install.install(app)
    assert settings.is_symlink()
    assert hooks(dotfile).keys() == EVENTS

    install.uninstall(app)
    assert settings.is_symlink()
    assert dotfile.read_bytes() == b'{"model": "x"}'


@posix
def test_a_project_s_link_to_the_user_s_own_file_is_not_followed(app: App, tmp_path: Path):
    own = tmp_path / "home" / "own.json"
    own.write_bytes(b"{}")
    (Path.cwd() / ".claude").mkdir()
    (Path.cwd() / ".claude" / "settings.json").symlink_to(own)

    with pytest.raises(BadInput, match="leads out of the project"):
        install.install(app, project=True)

    assert own.read_bytes() == b"{}"


def test_a_file_that_never_rests_is_left(app: App, settings: Path, monkeypatch: pytest.MonkeyPatch):
    settings.write_bytes(b"{}")

    def restless(*_: object, **__: object) -> None:
        raise Conflict("changed")

    monkeypatch.setattr(swap, "replace", restless)

    with pytest.raises(Conflict, match="changes all the time"):
        install.install(app)

    assert install.Receipts.read(app).files == {}


# The short name


@posix
def test_the_short_name_comes_and_goes(app: App, programs: Path):
    program(programs, "recollect", "true")

    told = install.install(app)
    assert os.readlink(programs / "ai") == "recollect"
    assert "`ai` now means `recollect`." in told.notes

    install.uninstall(app)
    assert not os.path.lexists(programs / "ai")


@posix
def test_a_short_name_that_means_something_else_is_left(app: App, programs: Path):
    program(programs, "recollect", "true")
    theirs = program(programs, "ai", "echo theirs")

    install.install(app)
    install.uninstall(app)

    assert "theirs" in theirs.read_text()


@posix
def test_a_short_name_that_was_taken_over_since_is_left(app: App, programs: Path):
    program(programs, "recollect", "true")
    install.install(app)
    (programs / "ai").unlink()
    theirs = program(programs, "ai", "echo theirs")

    install.uninstall(app)

    assert theirs.exists()


# Doctor


def looked(app: App) -> dict[str, Check]:
    return {check.name: check for check in wiring.checks(app)}


def test_doctor_names_the_command_that_installs(app: App):
    checks = {check.name: check for check in health.doctor(app).checks}

    assert (checks["hooks"].mark, checks["hooks"].repair) == (Mark.WARN, "recollect install")


@pytest.fixture
def installed(app: App) -> App:
    """With a script in place of ours that takes its input and says nothing: no daemon is started."""
    install.install(app)
    program(app.home.root / "bin", "hook", "cat > /dev/null")
    return app


@posix
def test_hooks_that_run_are_found_well(installed: App):
    found = looked(installed)

    assert found["hook runs"] == Check("hook runs", Mark.GOOD, f"{len(EVENTS)} hooks ran and ended well")
    assert found["Claude Code (user)"].mark is Mark.GOOD
    assert (found["daemon"].mark, found["daemon"].repair) == (Mark.WARN, "recollect daemon start")
    # It is not the script that this Recollect would write.
    assert (found["hook script"].mark, found["hook script"].repair) == (Mark.WARN, "recollect install")


@posix
def test_doctor_says_that_restarts_are_slowed_down_and_why(installed: App):
    at = find_place(str(installed.home.root), os.environ)
    Path(at.spawn_lock).write_text(f"7 {time.monotonic()}\nIt cannot listen: no room")

    found = looked(installed)["daemon"]

    assert (found.mark, found.repair) == (Mark.WARN, "recollect daemon start")
    assert "slowed down: 7 in a row" in found.detail
    assert found.detail.endswith("the last one said: It cannot listen: no room")


@posix
def test_a_hook_of_an_older_form_that_complains_is_found(installed: App, settings_path: Path):
    """One of ours cannot: what it says there reaches nobody."""
    program(installed.home.root / "bin", "hook", 'cat > /dev/null; [ "$1" = Stop ] && echo oops >&2; exit 0')
    assert "Stop hook" not in looked(installed)

    settings_path.write_text(settings_path.read_text().replace(" 2>/dev/null || :", " || :"))
    assert looked(installed)["Stop hook"].detail == "complained: oops"


@posix
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo nonsense", "printed what no agent can read: nonsense"),
        ("echo '{\"a\": 1} x'", "printed what no agent can read"),
    ],
)
def test_a_hook_that_breaks_the_law_is_found(installed: App, script: str, problem: str):
    program(installed.home.root / "bin", "hook", f'cat > /dev/null; [ "$1" = Stop ] && {script}; exit 0')

    found = looked(installed)

    assert found["hook runs"].detail.startswith(f"{len(EVENTS) - 1} hooks")
    assert (found["Stop hook"].mark, found["Stop hook"].repair) == (Mark.BAD, "recollect install --user")
    assert found["Stop hook"].detail.startswith(problem)


@posix
def test_a_hook_that_hangs_is_found(installed: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claude_code, "_TIMEOUT_S", 1)
    install.install(installed)
    program(installed.home.root / "bin", "hook", '[ "$1" = Stop ] && exec sleep 20; exit 0')

    assert looked(installed)["Stop hook"].detail == "did not end within its 1 s"


@posix
def test_each_hook_is_run_with_an_event_that_names_no_session(installed: App, tmp_path: Path):
    said = tmp_path / "said"
    program(installed.home.root / "bin", "hook", f'cat >> "{said}"; echo >> "{said}"')

    looked(installed)

    told = [json.loads(line) for line in said.read_text().splitlines()]
    assert {one["hook_event_name"] for one in told} == EVENTS
    assert not any("session_id" in one for one in told)


@posix
def test_a_run_is_a_run_even_where_hooks_are_blocked(installed: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLOCK_HOOK_AGENTS", "1")
    program(installed.home.root / "bin", "hook", '[ -n "$BLOCK_HOOK_AGENTS" ] && echo blocked; exit 0')

    assert looked(installed)["hook runs"].mark is Mark.GOOD


def test_a_script_that_is_gone_is_found(installed: App):
    (installed.home.root / "bin" / "hook").unlink()

    found = looked(installed)

    assert (found["hook script"].mark, found["hook script"].repair) == (Mark.BAD, "recollect install")
    assert "hook runs" not in found


def test_an_older_set_is_found(installed: App, settings_path: Path):
    told = json.loads(settings_path.read_bytes())
    del told["hooks"]["SubagentStart"]
    told["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 600
    settings_path.write_text(json.dumps(told))

    found = looked(installed)["Claude Code (user)"]

    assert (found.mark, found.repair) == (Mark.WARN, "recollect install --user")
    assert found.detail == f"{settings_path} lacks SubagentStart and has an older Stop"


def test_hooks_that_are_switched_off_are_found(installed: App, settings_path: Path):
    told = json.loads(settings_path.read_bytes())
    settings_path.write_text(json.dumps({**told, "disableAllHooks": True}))

    found = looked(installed)["hooks"]

    assert (found.mark, found.repair) == (Mark.WARN, "remove disableAllHooks there")


def test_settings_that_cannot_be_read_are_named(installed: App, settings_path: Path):
    settings_path.write_bytes(b"{\n,}")

    found = [check for check in wiring.checks(installed) if str(settings_path) in check.detail]

    assert [(check.mark, check.repair) for check in found] == [(Mark.WARN, f"mend {settings_path}")]
    assert "line 2" in found[0].detail


@pytest.fixture
def settings_path(installed: App) -> Path:
    return install.site(installed, "claude-code", Level.USER).path


def test_a_prompt_waits_for_a_model_only_where_both_are_switched_on(
    open_app: Opens, settings: Path, monkeypatch: pytest.MonkeyPatch
):
    install.install(open_app())
    before = settings.read_bytes()
    monkeypatch.setenv("MEMORY_LLM", "on")
    install.install(open_app())
    assert settings.read_bytes() == before

    monkeypatch.setenv("MEMORY_RECALL_SCHEME", "double")
    monkeypatch.setenv("MEMORY_RECALL_SECONDS", "40")
    install.install(open_app())

    (prompt,) = hooks(settings)["UserPromptSubmit"][0]["hooks"]
    assert prompt["command"].endswith(" UserPromptSubmit --patience-ms 40000 2>/dev/null || :")
    assert (prompt["timeout"], prompt["statusMessage"]) == (45, "Recalling memories...")
    others = [one["hooks"][0] for event, ones in hooks(settings).items() for one in ones if event != "UserPromptSubmit"]
    assert all(set(one) == {"type", "command", "timeout"} and one["timeout"] == 5 for one in others)

    monkeypatch.setenv("MEMORY_RECALL_SCHEME", "off")
    install.install(open_app())
    assert settings.read_bytes() == before


def test_doctor_names_a_hook_that_does_not_wait_yet(open_app: Opens, settings: Path, monkeypatch: pytest.MonkeyPatch):
    install.install(open_app())
    monkeypatch.setenv("MEMORY_LLM", "on")
    monkeypatch.setenv("MEMORY_RECALL_SCHEME", "single")

    checks = list(wiring.checks(open_app()))

    assert any("has an older UserPromptSubmit" in check.detail and check.mark is Mark.WARN for check in checks)

"""Install and uninstall: on real files of every agent, which come back byte for byte."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.agents import Ability, Level, agent, callers, default_agent
from recollect.app.core import App
from recollect.base import files as base_files
from recollect.base.errors import BadInput, Conflict, NoProject
from recollect.daemon import spool
from recollect.integrations import agent_pieces
from recollect.integrations.pieces import Receipts
from recollect.integrations.settings_text import value_at
from recollect.ops import health, install
from recollect.render import terminal
from recollect.render.blocks import Line
from recollect.wire import client, stub
from recollect.wire.place import Place, find_place
from tests.ops.ask import at, files
from tests.ops.conftest import Opens

pytestmark = pytest.mark.usefixtures("programs")
posix = pytest.mark.skipif(sys.platform == "win32", reason="hooks are run by a shell")
EVENTS = set(default_agent().EVENTS_SINCE)
OTHER = {"type": "command", "command": "notify-send done"}
OTHERS = tuple(host for host in callers() if host != "claude-code")
every_other = pytest.mark.parametrize("host", OTHERS)
# Files of a person's own where agents look for theirs.
THEIRS = {
    "hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}',
    "config.toml": "# mine\na = 1\n[mcp_servers.other]\ncommand = 'x'",
    "settings.json": '{\n  // mine\n  "ui": {"hideTips": true,},\n}\n',
    "other.ts": "// mine\n",
    "opencode.json": '{\n  // mine\n  "autoupdate": false,\n}\n',
}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """The user's settings file; its folder is there."""
    path = tmp_path / "home" / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The file that names the user's servers."""
    return tmp_path / "home" / ".claude.json"


def program(folder: Path, name: str, script: str = "true") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def hooks(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_bytes())["hooks"]
    return found


def theirs(app: App, host: str) -> None:
    speaks, here = agent(host), app.places
    wanted = set[Path]()
    if Ability.SERVER in speaks.ABILITIES:
        wanted.add(speaks.server_place(Level.USER, here).path)
    if Ability.PLUGIN in speaks.ABILITIES:
        wanted.add(speaks.plugin(Level.USER, here, app.home.root)[0].with_name("other.ts"))
    if Ability.HOOKS in speaks.ABILITIES:
        wanted.add(speaks.settings_path(Level.USER, here))
    for path in wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(THEIRS[path.name])


def left(tmp_path: Path) -> dict[str, str]:
    return {name: one for name, one in files(tmp_path).items() if ".recollect" not in name}


def test_every_event_is_asked_for_with_a_time_out(app: App, settings: Path):
    told = install.install(app)
    assert told.facts["changed"] is True
    assert hooks(settings).keys() == EVENTS
    for event, groups in hooks(settings).items():
        command = f"'{app.home.root}/bin/hook' {event} 2>/dev/null || :"
        assert groups == [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]
    if sys.platform != "win32":
        modes = [
            stat.S_IMODE((app.home.root / name).stat().st_mode)
            for name in ("bin/hook", "installed.json")
        ]
        assert modes == [0o700, 0o600], "what they call is private"


def test_hooks_of_other_agents_name_them_and_their_time(app: App):
    told = install.install(app, agent=("codex", "gemini"))
    codex, gemini = (
        hooks(Path.home() / ".codex" / "hooks.json"),
        hooks(Path.home() / ".gemini" / "settings.json"),
    )
    script = stub.script_path(str(app.home.root))
    [[stop]] = [group["hooks"] for group in codex["Stop"]]
    [[prompt]] = [group["hooks"] for group in gemini["BeforeAgent"]]
    assert (stop["command"], stop["timeout"]) == (f"'{script}' codex Stop 2>/dev/null || :", 5)
    assert prompt["command"] == f"'{script}' gemini BeforeAgent --deadline-ms 300 2>/dev/null || :"
    assert prompt["timeout"] == 5_000, "milliseconds"
    assert any("/hooks" in note for note in told.notes), "what a person has to allow is said"


@posix
def test_a_dry_run_shows_every_file_and_writes_nothing(
    app: App, open_app: Opens, settings: Path, programs: Path
):
    program(programs, "recollect")
    settings.write_bytes(b'{\n  "model": "x"\n}\n')
    before = files(Path.home())
    rows = (
        (settings, f"{len(EVENTS)} hooks"),
        (Path.home() / ".claude.json", "the MCP server 'recollect'"),
        *(
            (
                settings.parent / "skills" / name / "SKILL.md",
                f"the /{name} command: how the agent uses memory",
            )
            for name in ("recollect", "memory")
        ),
        (programs / "ai", "a short name for `recollect`"),
    )

    def shows(text: str, verb: str, path: object, what: str) -> bool:
        return bool(
            re.search(rf"^  {verb} +{re.escape(str(path))} +{re.escape(what)}$", text, re.MULTILINE)
        )

    told = install.install(open_app(dry_run=True))
    assert files(Path.home()) == before
    assert '-  "model": "x"\n+  "model": "x",\n+  "hooks": {' in told.summary
    assert '+    "recollect": {' in told.summary
    assert (told.facts["changed"], told.facts["dry_run"]) == (True, True)
    assert shows(
        told.summary, "add", f"{Path.home()}/.recollect/bin/", "the scripts that agents call"
    )
    assert all(shows(told.summary, "add", *row) for row in rows)

    install.install(app)
    before = files(Path.home())
    told = install.uninstall(open_app(dry_run=True))
    assert files(Path.home()) == before
    assert '-  "hooks": {' in told.summary
    assert all(shows(told.summary, "remove", *row) for row in rows)
    assert install.install(open_app(dry_run=True)).summary == "Nothing would change."


@posix
@pytest.mark.parametrize("name", ["it's", 'a "quoted" $(touch x)', "spaces, é and back\\slash"])
def test_any_name_of_a_home_is_safe_in_a_shell(
    open_app: Opens, tmp_path: Path, settings: Path, name: str
):
    app = open_app(home=tmp_path / name)
    install.install(app)
    program(app.home.root / "bin", "hook", 'printf "%s" "$*"')
    command = hooks(settings)["Stop"][0]["hooks"][0]["command"]
    assert (
        subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True).stdout
        == b"Stop"
    )
    install.uninstall(app)
    assert not settings.exists()


def test_who_installs_is_told_once_that_a_command_of_the_agent_is_hidden(app: App):
    note = "In Claude Code, /memory is now Recollect's; its own comes back with `uninstall`."
    assert install.install(app).notes.count(note) == 1
    assert note not in install.install(app).notes
    assert note not in install.install(app, agent=("codex",)).notes


def test_the_skill_comes_and_goes_and_one_that_was_edited_stays(app: App, settings: Path):
    path = settings.parent / "skills" / "recollect" / "SKILL.md"
    install.install(app)
    text = path.read_text(encoding="utf-8")
    assert "ai_recall" in text
    assert f"`{app.home.root}/bin/recollect`" in text, "whatever the PATH of the agent is"
    assert len(text) < 1_800
    twin = settings.parent / "skills" / "memory" / "SKILL.md"
    assert "name: memory\n" in twin.read_text(encoding="utf-8")
    install.uninstall(app)
    assert not path.parent.parent.exists()
    install.install(app)
    path.write_text("Mine now.", encoding="utf-8")
    assert f"Left alone: {path} was edited by hand." in install.install(app).notes
    install.uninstall(app)
    assert path.read_text(encoding="utf-8") == "Mine now."


def test_a_prompt_waits_for_a_model_only_if_both_are_on(
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
    others = [
        one["hooks"][0]
        for event, ones in hooks(settings).items()
        for one in ones
        if event != "UserPromptSubmit"
    ]
    assert all(set(one) == {"type", "command", "timeout"} and one["timeout"] == 5 for one in others)

    monkeypatch.setenv("MEMORY_RECALL_SCHEME", "off")
    install.install(open_app())
    assert settings.read_bytes() == before


def test_past_sessions_are_mentioned_where_there_are_some(app: App, settings: Path):
    folder = settings.parent / "projects" / "shop"
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(Path.cwd())}) + "\n")
    line = "1 past session of work found: `recollect import sessions` reads them."
    assert [line in install.install(app).notes for _ in range(2)] == [True, False]


def test_without_a_choice_it_is_the_usual_one_and_others_are_mentioned(app: App, programs: Path):
    program(programs, "codex")
    (Path.home() / ".gemini").mkdir()
    assert any("--agent codex --agent gemini" in note for note in install.install(app).notes)
    assert not (Path.home() / ".codex").exists()
    install.install(app, agent=("codex",))
    assert any("install --agent gemini`" in note for note in install.install(app).notes), (
        "the other calls us already"
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"agent": ("codex", "emacs")}, "emacs"),
        ({"user": True, "local": True}, "cannot be combined"),
        *(({"agent": (host,), "local": True}, "on this machine alone") for host in OTHERS),
    ],
)
def test_bad_input_is_refused_before_any_write(
    app: App, open_app: Opens, tmp_path: Path, asked: dict[str, Any], said: str
):
    before = files(tmp_path)
    with pytest.raises(BadInput, match=said):
        install.install(app, **asked)
    with pytest.raises(NoProject):
        install.install(open_app(Path.home()), project=True)
    assert files(tmp_path) == before


def test_one_of_two_goes_and_the_other_stays(app: App):
    install.install(app, agent=("claude-code", "codex"))
    install.install(app, local=True)
    told = install.uninstall(app, agent=("codex",))
    assert any("Still called from" in note for note in told.notes)
    assert agent_pieces.calls_us(app, "claude-code", Level.USER)
    assert not (Path.home() / ".codex").exists()
    assert any("settings.local.json" in note for note in install.uninstall(app).notes)
    assert (app.home.root / "bin" / "hook").exists()
    install.uninstall(app, local=True)
    assert not (app.home.root / "bin").exists()


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
def test_a_client_is_asked_for_its_version_first(
    app: App, settings: Path, programs: Path, says: str, lacks: set[str]
):
    settings.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [OTHER]}]}, "model": "x"}, indent=2)
    )
    before = settings.read_bytes()
    old = program(programs, "claude", f"echo '{says}'")
    install.install(app)
    assert hooks(settings).keys() == (EVENTS | {"PostToolUse"}) - lacks
    old.unlink()
    install.install(app)
    assert hooks(settings).keys() == EVENTS
    assert hooks(settings)["Stop"][0] == {"hooks": [OTHER]}
    assert len(hooks(settings)["Stop"]) == 2
    install.uninstall(app)
    assert settings.read_bytes() == before


@pytest.mark.parametrize(
    ("new", "old"), [(" 2>/dev/null || :", " || :"), ('"timeout": 5', '"timeout": 600')]
)
def test_hooks_of_an_older_form_are_renewed_and_go_without_a_trace(
    app: App, settings: Path, new: str, old: str
):
    settings.write_bytes(b'{"model": "x"}')
    install.install(app)
    current, older = settings.read_text(), settings.read_text().replace(new, old)
    settings.write_text(older)
    assert install.install(app).facts["changed"] is True
    assert json.loads(settings.read_text()) == json.loads(current)
    settings.write_text(older)
    install.uninstall(app)
    assert json.loads(settings.read_bytes()) == {"model": "x"}


HOOK_TEXTS = {
    "missing": None,
    "empty": b"",
    "mark": b'\xef\xbb\xbf{"env": {"A": "\xc3\xa9"}}\n\n',
    "empty lists": b'{ "hooks" : { "Stop" : [ ] } }',
    "others": json.dumps(
        {"hooks": {event: [{"hooks": [OTHER]}] for event in ("Stop", "SessionEnd")}}
    ).encode(),
}


@pytest.mark.parametrize("content", HOOK_TEXTS.values(), ids=HOOK_TEXTS.keys())
def test_a_settings_file_comes_back_byte_for_byte(app: App, settings: Path, content: bytes | None):
    if content is not None:
        settings.write_bytes(content)
    assert install.uninstall(app).facts["changed"] is False
    assert not app.home.root.exists(), "nothing to remove is no error"
    install.install(app)
    installed, kept = settings.read_bytes(), files(app.home.root)
    assert install.install(app).facts["changed"] is False
    assert (settings.read_bytes(), files(app.home.root)) == (installed, kept), (
        "again changes nothing"
    )
    install.uninstall(app)
    assert (settings.read_bytes() if settings.exists() else None) == content


@pytest.mark.parametrize("kept", [b"no json", b'{"pieces": [{}], "made": []}'])
def test_lost_receipts_cost_only_the_odd_space(app: App, settings: Path, kept: bytes):
    settings.write_bytes(b'{\n  "model": "x"\n}\n')
    install.install(app)
    (app.home.root / "installed.json").write_bytes(kept)
    install.uninstall(app)
    assert settings.read_bytes() == b'{\n  "model": "x"\n}\n'


@pytest.mark.parametrize("level", ["user", "project", "local"])
@pytest.mark.parametrize(
    "text",
    [
        None,
        '{\r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x"}\r\n\t}\r\n}',
        '\ufeff{"projects": {"/x": {}}, "big": 1234}',
    ],
)
def test_the_server_is_offered_and_taken_back(
    app: App, state: Path, level: str, text: str | None, tmp_path: Path
):
    path, keys = {
        "user": (state, ("mcpServers",)),
        "project": (Path.cwd() / ".mcp.json", ("mcpServers",)),
        "local": (state, ("projects", str(Path.cwd()), "mcpServers")),
    }[level]
    if text is not None:
        path.write_bytes(text.encode())
    before = files(tmp_path)

    install.install(app, **at(level))

    name = "settings.local.json" if level == "local" else "settings.json"
    assert (
        hooks((Path.home() if level == "user" else Path.cwd()) / ".claude" / name).keys() == EVENTS
    )
    found = value_at(json.loads(path.read_bytes().decode("utf-8-sig")), keys)
    entry = found["recollect"]
    assert entry == {
        "type": "stdio",
        "command": stub.server_path(str(app.home.root)),
        "args": [],
        "alwaysLoad": True,
    }
    assert os.access(entry["command"], os.X_OK)
    install.uninstall(app, **at(level))
    assert left(tmp_path) == before


@posix
@pytest.mark.parametrize("level", ["user", "project"])
@pytest.mark.parametrize("empty", [True, False])
@every_other
def test_files_come_back_byte_for_byte(
    app: App, open_app: Opens, host: str, level: str, empty: bool, tmp_path: Path
):
    if not empty:
        theirs(app, host)
    before = left(tmp_path)
    told = install.install(open_app(dry_run=True), agent=(host,), **at(level))
    assert "  add  " in told.summary
    assert left(tmp_path) == before
    install.install(app, agent=(host,), **at(level))
    installed = left(tmp_path)
    install.install(app, agent=(host,), **at(level))
    assert left(tmp_path) == installed != before
    install.uninstall(app, **at(level))
    assert left(tmp_path) == before
    assert not os.path.exists(stub.script_path(str(app.home.root)))


def test_what_install_made_goes_and_memories_stay(app: App, tmp_path: Path):
    app.home.prepare()
    before = {
        path.relative_to(tmp_path) for path in tmp_path.rglob("*") if "logs" not in path.parts
    }
    install.install(app, agent=callers())
    install.uninstall(app)
    after = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if "logs" not in path.parts}
    assert after - before <= {
        Path("home/.recollect/redaction.key")
    }  # the log's, which keeps secrets out of it
    assert app.home.user_store.parent.exists()


@every_other
def test_what_a_person_took_away_by_hand_is_not_called_still(app: App, host: str, tmp_path: Path):
    install.install(app, agent=(host,))
    for name in left(tmp_path):
        if b"recollect" in (tmp_path / name).read_bytes():
            (tmp_path / name).unlink()
    told = install.uninstall(app)
    assert not [note for note in told.notes if "Still called" in note]
    assert not os.path.exists(stub.script_path(str(app.home.root)))


@pytest.mark.parametrize("does", [install.install, install.uninstall])
@pytest.mark.parametrize(
    ("content", "line"),
    [(b'{\n  "a": 1,\n}', 3), (b"{\n  // mine\n}", 2), (b'{"hooks": {}, "hooks": {}}', 1)],
    ids=["comma", "comment", "twice"],
)
def test_what_is_not_plain_json_is_left(
    app: App, settings: Path, does: Callable[[App], object], content: bytes, line: int
):
    settings.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        does(app)
    assert f"{settings}, line {line}: " in caught.value.message
    snippet = json.loads(caught.value.hint.split("\n", 1)[1])
    assert snippet["hooks"].keys() == EVENTS, "the hint is JSON that can be pasted"
    assert settings.read_bytes() == content
    assert not (app.home.root / "bin").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": []}', "left as it is"),
        ("{,}", "left as it is"),
        ('{"mcpServers": {"recollect": {"command": "mine"}}}', "has another 'recollect'"),
        ("[mcp_servers.recollect]\ncommand = 'theirs'\n", "has another 'recollect'"),
    ],
)
def test_where_the_servers_place_is_taken_the_file_is_left_and_the_hooks_stand(
    app: App, state: Path, text: str, said: str
):
    host, path = (
        ("codex", Path.home() / ".codex" / "config.toml")
        if text[0] == "["
        else ("claude-code", state)
    )
    agent(host).folder(app.places).mkdir()  # it is on this machine
    path.write_text(text)
    assert said in install.install(app, agent=(host,)).summary
    assert agent_pieces.calls_us(app, host, Level.USER)
    assert path.read_text() == text
    for step, words in ((install.install, "already calls"), (install.uninstall, "no longer calls")):
        assert f"{words} Recollect (" in step(app, agent=(host,)).summary
    assert path.read_text() == text


@posix
def test_links_of_the_user_are_kept_and_a_projects_are_not_followed(
    app: App, settings: Path, tmp_path: Path
):
    dotfile = tmp_path / "dotfile.json"
    dotfile.write_bytes(b'{"model": "x"}')
    settings.symlink_to(dotfile)
    (Path.cwd() / ".claude").mkdir()
    (Path.cwd() / ".claude" / "settings.json").symlink_to(dotfile)

    install.install(app)
    assert settings.is_symlink()
    assert hooks(dotfile).keys() == EVENTS
    install.uninstall(app)
    assert settings.is_symlink()
    assert dotfile.read_bytes() == b'{"model": "x"}'

    with pytest.raises(BadInput, match="leads out of the project"):
        install.install(app, project=True)
    assert dotfile.read_bytes() == b'{"model": "x"}'


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_file_that_never_rests_is_left(
    app: App, settings: Path, monkeypatch: pytest.MonkeyPatch, host: str
):
    settings.write_bytes(b"{}")

    def restless(*_: object, **__: object) -> None:
        raise Conflict("changed")

    monkeypatch.setattr(base_files, "replace", restless)

    with pytest.raises(Conflict, match="changes all the time"):
        install.install(app, agent=(host,))

    assert Receipts(app).of("hooks") == []
    assert settings.read_bytes() == b"{}"
    assert not (Path.home() / ".codex").exists()


@posix
@pytest.mark.parametrize("taken", ["never", "before", "since"])
def test_the_short_name_comes_and_goes_where_it_is_free(app: App, programs: Path, taken: str):
    program(programs, "recollect", 'echo "ran $1"')
    if taken == "before":
        program(programs, "ai", "echo theirs")
    told = install.install(app)
    assert ("`ai` now means `recollect`." in told.notes) == (taken != "before")
    if taken != "before":
        ran = subprocess.run([programs / "ai", "x"], capture_output=True, text=True, check=True)
        assert ran.stdout == "ran x\n"
    if taken == "since":
        (programs / "ai").unlink()
        program(programs, "ai", "echo theirs")
    install.uninstall(app)
    assert os.path.lexists(programs / "ai") == (taken != "never")


def met_at(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    """Where a daemon was met that is no more."""
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("RECOLLECT_RUNTIME", raising=False)
    found = find_place(str(app.home.root), os.environ)
    app.home.prepare()
    for folder in (found.runtime, found.spool, found.spool + spool.FOLDER, found.recalls):
        os.mkdir(folder, 0o700)
    for path in (
        found.lock,
        found.spawn_lock,
        found.socket,
        found.spool + "/new/1",
        found.recalls + "/1",
    ):
        Path(path).touch()
    client.announce(found, 1, "0.1.0")
    return found


@posix
@pytest.mark.parametrize("lives", [True, False])
def test_what_a_daemon_left_goes_with_the_last_hooks(
    app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lives: bool
):
    import fcntl  # not on Windows

    found = met_at(app, monkeypatch, tmp_path)
    monkeypatch.setattr(install, "_STOP_S", 0.05)
    install.install(app)
    install.install(app, local=True)
    install.uninstall(app)
    assert os.path.exists(found.lock)
    with open(found.lock, "rb") as lock:
        if lives:
            fcntl.flock(lock, fcntl.LOCK_EX)
        install.uninstall(app, local=True)
    kept = map(os.path.exists, (found.lock, found.spawn_lock, found.daemon_file, found.runtime))
    assert set(kept) == {lives}


def test_status_right_after_install_says_who_is_connected(app: App):
    assert "`recollect install` connects" in recollect_status(app)
    install.install(app)
    assert "Claude Code is connected" in recollect_status(app)
    assert "recollect install" not in recollect_status(app)
    install.install(app, agent=("gemini",))
    assert "Claude Code and Gemini CLI are connected: new sessions" in recollect_status(app)


def recollect_status(app: App) -> str:
    shown = terminal.blocks(health.status(app), now=app.clock.now())
    return "\n".join(block.text for block in shown if isinstance(block, Line))

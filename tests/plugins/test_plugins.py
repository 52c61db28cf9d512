"""The plugins for Claude Code and Pi say what the agents' own files say, and call what is there."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from recollect import __version__
from recollect.agents import Places, agent, base_agent, default_agent

ROOT = Path(__file__).resolve().parent.parent.parent
PLUGIN = ROOT / "plugins" / "claude-code"
CALL = PLUGIN / "scripts" / "call"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def call(
    home: Path, *args: str, cwd: Path = ROOT, **environ: str
) -> subprocess.CompletedProcess[str]:
    passed = {"HOME": str(home), "PATH": "/usr/bin:/bin", **environ}
    return subprocess.run(
        ["/bin/sh", CALL, *args],
        env=passed,
        cwd=cwd,
        input="{}",
        capture_output=True,
        text=True,
        timeout=60,
    )


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


def test_it_hears_of_the_same_events_as_the_settings_would_and_its_server_is_told_of_as_there():
    call, speaks = (
        '/bin/sh "${CLAUDE_PLUGIN_ROOT}"/scripts/call hook {} 2>/dev/null || :',
        agent("claude-code"),
    )
    hooks = speaks.hooks(Places(Path("/"), None, {"PATH": ""}))
    wanted = {
        one.event: [{"hooks": [speaks.hook_json(call.replace("{}", one.event), one)]}]
        for one in hooks
    }
    assert read(PLUGIN / "hooks" / "hooks.json")["hooks"] == wanted
    assert list(wanted) == list(default_agent().EVENTS_SINCE)
    (server,) = read(PLUGIN / ".mcp.json")["mcpServers"].items()
    args = ["${CLAUDE_PLUGIN_ROOT}/scripts/call", "mcp"]
    assert server == ("recollect", dict(speaks.server_json("/bin/sh")) | {"args": args})


def test_it_has_the_programs_version_the_installed_skill_and_commands_that_no_model_calls():
    plugin, market = (
        read(PLUGIN / ".claude-plugin" / "plugin.json"),
        read(ROOT / ".claude-plugin" / "marketplace.json"),
    )
    assert plugin["version"] == __version__
    (offered,) = market["plugins"]
    assert offered["name"] == plugin["name"]
    assert (ROOT / offered["source"]).samefile(PLUGIN)
    own = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text(encoding="utf-8")
    installed = (ROOT / "src" / "recollect" / "agents" / "skill.md").read_text(encoding="utf-8")
    call = '/bin/sh "${CLAUDE_PLUGIN_ROOT}"/scripts/call'
    assert own == installed.replace("{name}", "memory").replace("{recollect}", call)
    commands = {
        path.stem: path.read_text(encoding="utf-8") for path in (PLUGIN / "commands").iterdir()
    }
    assert set(commands) == {"recall", "status", "why", "pin"}
    assert all("disable-model-invocation: true" in text for text in commands.values())


def test_without_the_program_a_hook_says_nothing_and_status_what_to_do(tmp_path: Path):
    before = [*tmp_path.iterdir()]
    for event in default_agent().EVENTS_SINCE:
        ran = call(tmp_path, "hook", event)
        assert (ran.returncode, ran.stdout, ran.stderr, [*tmp_path.iterdir()]) == (
            0,
            "",
            "",
            before,
        )
    ran = call(tmp_path, "status")
    assert ran.returncode == 0
    assert "uv tool install" in ran.stdout


def test_an_event_goes_to_the_own_hook_of_the_home_that_is_named_with_a_mark(tmp_path: Path):
    script(tmp_path / ".recollect" / "bin" / "hook", 'echo "$@ $RECOLLECT_VIA"')
    assert call(tmp_path, "hook", "Stop").stdout == "Stop plugin\n"
    assert (
        call(tmp_path, "hook", "Stop", "--deadline-ms", "9").stdout
        == "Stop --deadline-ms 9 plugin\n"
    )
    script(tmp_path / "elsewhere" / "bin" / "hook", "echo there")
    for named in (f"{tmp_path}/elsewhere", "~/elsewhere"):
        assert call(tmp_path, "hook", "Stop", RECOLLECT_HOME=named).stdout == "there\n"


@pytest.mark.parametrize(
    "named",
    [
        "{at}/project/evil", "{at}/other/../project/evil", "evil", "./evil", "/{at}/project/evil",
        "{at}/./project/evil", "{at}//project/evil", "{at}/link/evil", "/proc/self/cwd/evil",
    ],
)  # fmt: skip
def test_what_a_projects_tree_holds_is_not_run(tmp_path: Path, named: str):
    """However it is named, and whether the agent says which folder its project is or only stands in it."""
    project, home = tmp_path / "project", named.format(at=tmp_path)
    script(project / "evil" / "bin" / "hook", "echo evil")
    (tmp_path / "link").symlink_to(project)
    for told in ({"CLAUDE_PROJECT_DIR": str(project)}, {}):
        ran = call(tmp_path, "hook", "Stop", cwd=project, RECOLLECT_HOME=home, **told)
        assert ran.stdout == ""


def test_a_program_that_the_plugin_finds_is_not_told_of_a_home_in_a_projects_tree(tmp_path: Path):
    """Its settings would name programs."""
    evil = tmp_path / "project" / "evil"
    evil.mkdir(parents=True)
    script(tmp_path / "bin" / "recollect", 'echo "in $RECOLLECT_HOME"')
    path = f"{tmp_path}/bin:/usr/bin:/bin"

    ran = call(tmp_path, "mcp", cwd=evil.parent, PATH=path, RECOLLECT_HOME=str(evil))

    assert ran.stdout == f"in {tmp_path}/.recollect\n"


@pytest.mark.parametrize(
    "path",
    [
        ".:/usr/bin:/bin", "/usr/bin:/bin:", ":/usr/bin:/bin", "bin:/bin", "/proc/self/cwd:/bin",
        "//proc/self/cwd/bin:/bin", "/usr/../proc/self/cwd:/bin",
    ],
)  # fmt: skip
def test_no_program_is_looked_for_in_a_projects_tree(tmp_path: Path, path: str):
    for place in ("project", "project/bin"):
        script(tmp_path / place / "recollect", f"echo evil | tee {tmp_path}/evil")

    for args in (("hook", "SessionStart"), ("mcp",), ("status",)):
        ran = call(tmp_path, *args, cwd=tmp_path / "project", PATH=path)
        assert "evil" not in ran.stdout
    assert not (tmp_path / "evil").exists()


def test_the_first_session_makes_what_is_called_and_no_other_event_does(tmp_path: Path):
    bin = tmp_path / "bin"
    script(
        bin / "recollect",
        f'mkdir -p "$HOME/.recollect/bin"; cp {bin}/answer "$HOME/.recollect/bin/hook"',
    )
    script(bin / "answer", 'echo "answered $@"')
    path = f"{bin}:/usr/bin:/bin"

    assert call(tmp_path, "hook", "Stop", PATH=path).stdout == ""
    assert call(tmp_path, "hook", "SessionStart", PATH=path).stdout == "answered SessionStart\n"
    assert call(tmp_path, "hook", "Stop", PATH=path).stdout == "answered Stop\n"


def test_the_server_is_the_homes_own_or_else_the_programs(tmp_path: Path):
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    script(tmp_path / "bin" / "recollect", 'echo "program $@"')
    assert call(tmp_path, "mcp", PATH=path).stdout == "program mcp\n"

    script(tmp_path / ".recollect" / "bin" / "mcp", "echo own")
    assert call(tmp_path, "mcp", PATH=path).stdout == "own\n"


# Pi loads the extension from a clone: one file, whichever way it comes.


def test_the_package_for_pi_has_the_programs_version_and_its_entry_is_the_extension_that_is_installed():
    package = ROOT / "plugins" / "pi"
    said = read(package / "package.json")
    assert said["version"] == __version__
    assert [(package / one).resolve() for one in said["pi"]["extensions"]] == [package / "index.ts"]
    (named,) = re.findall(r'from "(.+)"', (package / "index.ts").read_text(encoding="utf-8"))
    assert (package / named).resolve() == Path(base_agent.__file__).with_name("pi.ts").resolve()

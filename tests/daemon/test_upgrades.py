"""An upgrade under a running daemon, and two versions on one home: real processes of two versions of the program, and
the real hook. Nothing that was said is missed, and what is wrong is said."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import __version__
from recollect.wire import client, stub
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, soon
from tests.mcp.talk import talking_over_pipes
from tests.web.served import Ui, scratch_world

pytestmark = [pytest.mark.skipif(not LINUX, reason="counts processes in /proc"), FORKS]

NEWER = "99.0.0"
_MIGRATION = """
MIGRATIONS = (*MIGRATIONS, lambda db: db.execute("CREATE TABLE added_later (id TEXT)"))
"""


def copy_program(folder: Path) -> Path:
    source = Path(recollect.__file__).parent
    shutil.copytree(source, folder / "recollect", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def upgrade(program: Path, version: str = "") -> None:
    """As `git pull` does it: only what differs is written. Without a version, its number stays."""
    connect = program / "recollect" / "store" / "connect.py"
    connect.write_text(connect.read_text() + _MIGRATION)
    if version:
        first = program / "recollect" / "__init__.py"
        first.write_text(first.read_text().replace(f'"{__version__}"', f'"{version}"'))


class Desk:
    """A person with an agent in one project, and one or two installations of the program."""

    def __init__(self, house: House, root: Path) -> None:
        self.house = house
        self.program = copy_program(root / "site")
        self.project = root / "shop"
        self.project.mkdir()
        self.transcript = root / "session.jsonl"
        self.said = 0
        self.connect(self.program)

    def connect(self, program: Path) -> None:
        """Agents call this installation from now on."""
        stub.write_hook(str(self.house.home.root), sys.executable, str(program))

    def say(self, prompts: int, *options: str) -> None:
        for _ in range(prompts):
            self.said += 1
            text = f"Where is part {self.said} of the invoice rounded?"
            payload = {
                "session_id": "s-1", "cwd": str(self.project), "hook_event_name": "UserPromptSubmit",
                "transcript_path": str(self.transcript), "prompt_id": f"p{self.said}", "prompt": text,
            }  # fmt: skip
            hook = subprocess.run(
                [stub.script_path(str(self.house.home.root)), "UserPromptSubmit", *options],
                input=json.dumps(payload).encode(), capture_output=True, cwd=self.project, timeout=PATIENCE_S,
                env={**os.environ, "CLAUDE_PROJECT_DIR": str(self.project)},
            )  # fmt: skip
            assert (hook.returncode, hook.stderr) == (0, b"")
            line = {
                "type": "user", "uuid": f"u{self.said}", "sessionId": "s-1", "cwd": str(self.project),
                "timestamp": f"2026-01-01T10:{self.said // 60:02}:{self.said % 60:02}Z",
                "message": {"role": "user", "content": text},
            }  # fmt: skip
            with self.transcript.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def run(self, program: Path, *words: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from recollect.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-I", "-c", code, str(program), *words],
            capture_output=True, text=True, cwd=self.project, timeout=PATIENCE_S,
        )  # fmt: skip

    def captured(self) -> int:
        """Prompts that were written down, whichever version did it; -1 while a database is being made or closed."""
        counted = "SELECT count(*) FROM event WHERE name = 'prompt'"
        for path in self.house.home.projects.glob("*/memory.db"):
            with (
                suppress(apsw.Error),
                closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db,
            ):
                return int(str(db.execute(counted).fetchall()[0][0]))
        return -1

    def has_captured_all(self) -> bool:
        return self.captured() == self.said


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    return Desk(house, tmp_path)


def doctor_on_daemon(desk: Desk, program: Path) -> dict[str, str]:
    ran = desk.run(program, "doctor", "--json")
    assert ran.stdout, ran.stderr
    checks = json.loads(ran.stdout)["checks"]
    return next(check for check in checks if check["name"] == "daemon")


@pytest.mark.parametrize("version", ["", NEWER], ids=["the number stays", "a new number"])
def test_an_older_daemon_retires_and_no_prompt_is_missed(desk: Desk, version: str):
    desk.say(3)
    assert soon(desk.has_captured_all)
    old = desk.house.status()["pid"]

    upgrade(desk.program, version)
    assert desk.run(desk.program, "pin", "Invoices are rounded half to even.").returncode == 0
    desk.say(6)

    assert soon(desk.has_captured_all), (desk.captured(), desk.said, desk.house.log()[-2000:])
    assert soon(lambda: old not in desk.house.alive())
    assert desk.house.status()["version"] == (version or __version__)


def test_any_changed_file_of_the_program_ends_the_daemon(desk: Desk):
    desk.say(1)
    old = desk.house.status()["pid"]

    with (desk.program / "recollect" / "recall" / "matching.py").open("a") as file:
        file.write("# changed\n")

    assert soon(lambda: old not in desk.house.alive())
    assert "its installation changed" in desk.house.log()


def test_a_newer_program_elsewhere_asks_the_older_daemon_to_make_way(desk: Desk, tmp_path: Path):
    """The older daemon's own files are as they were: only the newer one can tell it."""
    desk.say(2)
    assert soon(desk.has_captured_all)
    old = desk.house.status()["pid"]
    newer = copy_program(tmp_path / "newer")
    upgrade(newer, NEWER)

    assert desk.run(newer, "status").returncode == 0

    assert soon(lambda: old not in desk.house.alive())
    assert "a newer version takes over" in desk.house.log()


def test_a_downgrade_says_so_loses_nothing_and_hooks_stay_silent(desk: Desk, tmp_path: Path):
    newer = copy_program(tmp_path / "newer")
    upgrade(newer, NEWER)
    desk.connect(newer)
    desk.say(2)
    assert soon(desk.has_captured_all)
    assert desk.run(newer, "daemon", "stop").returncode == 0

    desk.connect(desk.program)  # the older one is installed again
    desk.say(3)

    refused = desk.run(desk.program, "pin", "Invoices are rounded half to even.")
    assert refused.returncode == 6
    assert "Upgrade this Recollect" in refused.stderr
    # It cannot be read for a moment while a daemon that found it too new closes it.
    assert soon(lambda: desk.captured() == 2)
    assert soon(lambda: desk.house.status()["too_new"])
    assert desk.run(newer, "install").returncode == 0
    desk.say(1)
    assert soon(desk.has_captured_all), (desk.captured(), desk.house.log()[-2000:])
    assert desk.house.status()["version"] == NEWER


@pytest.mark.parametrize("options", [(), ("--deadline-ms", "1")], ids=["in time", "too late"])
def test_doctor_says_that_an_older_daemon_refuses_what_agents_do(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
):
    """Hooks of the old version go on calling it: doctor of the old version, too, says why nothing is kept."""
    newer = copy_program(tmp_path / "newer")
    upgrade(newer)
    assert desk.run(newer, "pin", "Invoices are rounded half to even.").returncode == 0
    monkeypatch.setenv("HOME", str(tmp_path))
    assert desk.run(desk.program, "install").returncode == 0
    desk.connect(desk.program)
    desk.say(1, *options)
    assert desk.run(desk.program, "daemon", "start").returncode == 0

    def is_refused() -> bool:
        """A hook that was given up leaves its prompt to be read a moment later. Where its millisecond was over before
        it had read a word of the event, nothing names the transcript: then the person goes on.
        """
        if desk.house.status()["too_new"]:
            return True
        desk.say(1, *options)
        return False

    assert soon(is_refused)

    seen = doctor_on_daemon(desk, desk.program)

    assert seen["mark"] == "bad"
    assert "not written" in seen["detail"]
    assert "schema version" in seen["detail"]
    assert seen["repair"] == "pip install --upgrade recollect"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("0.10.0", "0.9.1"),
        ("1.0", "1.0rc1"),
        ("0.3.0", "0.3.0.dev4"),
        ("0.3.1", "0.3"),
        ("0.1", ""),
    ],
)
def test_versions_are_compared_by_their_numbers(newer: str, older: str):
    assert client.is_newer(newer, than=older)
    assert not client.is_newer(older, than=newer)
    assert not client.is_newer(newer, than=newer)


def test_a_tool_server_that_was_overtaken_passes_calls_on_to_the_new_version(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(desk.project)
    with talking_over_pipes(PYTHONPATH=str(desk.program)) as talk:
        assert "Pinned" in talk.text("ai_pin", content="Invoices are rounded half to even.")
        old = desk.house.status()["pid"]
        upgrade(desk.program, NEWER)
        assert desk.run(desk.program, "status").returncode == 0
        assert soon(lambda: old not in desk.house.alive())

        assert "half to even" in talk.text("ai_recall", query="how are invoices rounded")

        assert desk.house.status()["version"] == NEWER


def test_a_tool_server_that_was_overtaken_and_finds_no_daemon_says_to_restart_the_agent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(desk.project)
    with talking_over_pipes(PYTHONPATH=str(desk.program)) as talk:
        (desk.program / "recollect" / "daemon" / "startup.py").write_text("half a li")

        said = talk.error("ai_recall", query="how are invoices rounded")

    assert "Recollect was upgraded" in said
    assert "Restart your agent" in said


def test_a_page_that_was_overtaken_says_to_start_it_again(tmp_path: Path):
    program = copy_program(tmp_path / "site")
    with scratch_world() as world:
        world.project.mkdir()
        world.environ["PYTHONPATH"] = str(program)
        page = Ui(world)
        try:
            page.sign_in()
            upgrade(program)

            assert soon(lambda: page.get(page.home).status == 503)
            assert "start it again" in page.get(page.home).body
        finally:
            page.end()

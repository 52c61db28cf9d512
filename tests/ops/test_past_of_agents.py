"""Past sessions of every agent become memory: found where each leaves them, read once, continued, and taken back."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from recollect.agents import Ability, hosts
from recollect.app import session_ledger
from recollect.app.core import App
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import Pointer
from recollect.ops import memories
from recollect.ops.past_sessions import catch_up, import_past, replay
from tests.agent_sessions import WRITERS, opencode
from tests.ops.conftest import Opens
from tests.values import NOW

SPRING = NOW.plus(days=-200)
SAID = (
    "no, we use pnpm here, not npm",
    "pnpm install",
    "The packages are installed with pnpm now.",
)
MORE = (
    "and why does the cart forget its items?",
    "pnpm test cart",
    "The cart is emptied by a stale cookie.",
)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path.cwd() / "shop"
    (folder / ".ai").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def remembered(app: App) -> tuple[list[str], list[str]]:
    """The rules, and what threads say; nothing of it may be a client's."""
    store = app.reader(Scope.PROJECT)
    rules = [one.body for one in store.find(Query(kinds=(Kind.RULE,), limit=100))]
    threads = store.find(Query(kinds=(Kind.THREAD,), limit=100))
    return sorted(rules), sorted(said.content for one in threads for said in store.messages(one.id))


@pytest.mark.parametrize("name", WRITERS)
def test_a_session_of_any_agent_becomes_memory_once_goes_on_and_is_taken_back(
    project: Path, app: App, name: str
):
    write, host = WRITERS[name], name.split()[0]
    path = write(Path.home(), project, "s-1", SPRING, SAID)
    counted = import_past(app, count=True).facts
    assert (counted["sessions"], counted["here"], counted["agents"]) == (1, 1, {host: 1})

    told = import_past(app)
    assert told.summary.startswith("Read 1 past session of shop")
    rules, [turn] = remembered(app)
    assert rules == ["Use pnpm, not npm."], "and nothing that the client or a skill said"
    for said in SAID:
        assert said in turn
    assert "Always" not in turn
    assert import_past(app).summary.startswith("Nothing new in 1 transcript of shop.")

    if (
        path.suffix != ".json" or name == "opencode files"
    ):  # a chat that goes on is written anew, in another form
        write(Path.home(), project, "s-1", SPRING.plus(seconds=600), MORE)
        import_past(app)
        rules, turns = remembered(app)
        assert len(turns) == 2
        assert sum(SAID[2] in one for one in turns) == sum(MORE[2] in one for one in turns) == 1
        memories.undo(app)
        assert remembered(app)[1] == [turn]
    memories.undo(app)
    assert remembered(app) == ([], [])
    import_past(app)
    assert turn in remembered(app)[1], "the last turn, too"


def test_all_agents_are_read_in_the_order_of_time_as_one_change(project: Path, app: App):
    assert import_past(app, agent="codex").summary == "Codex left no sessions of this project."
    names = [name for name in WRITERS if name != "opencode files"]
    for number, name in enumerate(names):
        WRITERS[name](Path.home(), project, f"s-{name}", SPRING.plus(days=number), SAID)
    assert import_past(app, agent="pi").facts["left_out"] == {}
    memories.undo(app)
    told = import_past(app)
    (one,) = cast(list[dict[str, Any]], told.facts["projects"])
    assert one["agents"] == dict.fromkeys(names, 1)
    assert {*one["agents"], "claude-code"} == set(hosts(Ability.PAST))
    assert "Gemini CLI: 1" in told.summary
    memories.undo(app)
    assert remembered(app) == ([], [])
    assert replay(app).facts["sessions"] == len(names)


@pytest.mark.parametrize("name", WRITERS)
def test_a_named_file_is_read_by_the_agent_that_wrote_it(
    project: Path, app: App, tmp_path: Path, name: str
):
    path = WRITERS[name](tmp_path / "box", Path("/elsewhere/shop"), "s-1", SPRING, SAID)
    place = {"opencode": path.parent, "opencode files": path.parents[2]}.get(name, path)
    (one,) = cast(list[dict[str, Any]], import_past(app, str(place)).facts["projects"])
    assert one["agents"] == {name.split()[0]: 1}


def test_what_cannot_be_read_is_named_and_the_rest_is_read(project: Path, app: App):
    for day, name in enumerate(("gemini", "opencode", "opencode files")):
        WRITERS[name](Path.home(), project, f"s-{day}", SPRING.plus(days=day), SAID)
    [chat] = Path.home().glob(".gemini/tmp/*/chats/*.json")
    (chat.parent / "broken.json").write_text('{"sessionId": "s-2", "mess')
    (chat.parent / "other.json").write_text("[1, 2]")
    (Path.home() / ".local/share/opencode/opencode-dev.db").write_bytes(b"no database" * 200)
    told = import_past(app, all=True)
    assert len(remembered(app)[1]) == 3
    left = cast(dict[str, int], told.facts["left_out"])
    assert {"not a chat: broken.json", "not a chat: other.json"} <= left.keys()
    assert any(why.endswith("opencode-dev.db") for why in left)


@pytest.mark.parametrize("host", ["codex", "pi"])
def test_a_session_that_hooks_announced_is_counted_once(project: Path, app: App, host: str):
    path = WRITERS[host](Path.home(), project, "s-1", NOW.plus(seconds=-5_000), SAID)
    at = app.clock.now().plus(days=-1)
    app.writer(Scope.PROJECT).put(
        Pointer(
            name="turn-ended",
            host=host,
            session="s-1",
            at=at,
            transcript=str(path),
            cwd=str(project),
        )
    )
    catch_up(app)
    before = remembered(app)
    assert len(before[1]) == 1
    assert import_past(app).summary.startswith("Nothing new")
    assert remembered(app) == before


def test_what_opencode_s_hooks_heard_is_not_captured_again_and_what_its_agent_did_is_read(
    project: Path, app: App
):
    session_ledger.record_message(app, "s-1", "opencode", SPRING)
    opencode(Path.home(), project, "s-1", SPRING, SAID)
    import_past(app)
    assert len(remembered(app)[1]) == 1


def test_a_database_that_its_agent_has_open_is_read_and_left_as_it_was(project: Path, app: App):
    path = opencode(Path.home(), project, "s-1", SPRING, SAID).parent
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("PRAGMA journal_mode = WAL")
        theirs.execute("UPDATE session SET time_updated = time_updated + 1")
        theirs.commit()
        files = sorted(os.listdir(path.parent))
        import_past(app)
        assert sorted(os.listdir(path.parent)) == files
    assert len(remembered(app)[1]) == 1
    before = path.read_bytes()
    memories.undo(app)
    import_past(app)
    assert (path.read_bytes(), os.listdir(path.parent)) == (before, [path.name])


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_killed_anywhere_and_run_again_it_gives_the_same(project: Path, open_app: Opens):
    for number, name in enumerate(name for name in WRITERS if name != "opencode files"):
        for said, day in ((SAID, number), (MORE, 20 + number)):
            WRITERS[name](Path.home(), project, f"s-{name}-{day}", SPRING.plus(days=day), said)
    app = open_app()
    import_past(app)
    whole = remembered(app)
    assert len(whole[1]) == 10
    app.close()
    shutil.rmtree(app.home.root)
    script = (
        "import os, signal, sys\n"
        "from recollect.jobs import session_import as one\n"
        "from recollect.cli.main import main\n"
        "record, left = one.Importer._record, [int(sys.argv.pop())]\n"
        "def counted(*given):\n"
        "    left[0] -= 1\n"
        "    return os.kill(os.getpid(), signal.SIGKILL) if left[0] < 0 else record(*given)\n"
        "one.Importer._record = counted\n"
        "sys.exit(main())\n"
    )
    for pieces in (1, 3, 99):
        ran = subprocess.run(
            [sys.executable, "-c", script, "import", "sessions", str(pieces)], capture_output=True
        )
        assert ran.returncode == (0 if pieces == 99 else -9), ran.stderr.decode()
    assert remembered(open_app()) == whole

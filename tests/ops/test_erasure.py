"""What was purged is gone from every file, and a purge that is cut off anywhere is finished or told of."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from recollect.app import core, erasure, notices
from recollect.app.core import App
from recollect.app.memory_search import load_focus
from recollect.base.settings import environment
from recollect.hooks.answer import Hooks, open_once
from recollect.jobs.runner import JOBS
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.model.result import Mark, Scope
from recollect.ops import health, memories, recall, steering, upkeep
from recollect.ops import purge as purging
from recollect.ops.purge import erase
from recollect.store.sqlite_store import SqliteStore
from recollect.wire.place import find_place
from tests.cli.run import run
from tests.ops.ask import holding, pinned
from tests.ops.conftest import Opens

CANARY = "Xylographer"


def held(app: App) -> list[Path]:
    return [*holding(app.home.root, CANARY), *holding(app.home.root, CANARY.lower())]


@pytest.fixture
def backed_up(app: App) -> str:
    """A memory in a store with three backups, one of them older than its last words."""
    id = pinned(app, f"A {CANARY} sings.")
    for _ in range(2):
        upkeep.backup(app)
    memories.edit(app, id, body=f"The {CANARY} sings again.")
    upkeep.backup(app)
    assert len(core.backups_of(app.store_path(Scope.PROJECT))) == 3
    return id


class Cut(BaseException):
    """As sudden as a kill, for this process."""


CUTS: dict[str, tuple[object, str, int]] = {
    "before the store": (purging, "_erase_one", 1),
    "in the store": (SqliteStore, "purge", 1),
    "before the first backup": (erasure, "_erase_in_backup", 1),
    "in the second backup": (SqliteStore, "purge", 3),
    "before the last backup": (erasure, "_erase_in_backup", 3),
    "before logs and copies": (purging, "_erase_elsewhere", 1),
}


def cut_at(monkeypatch: pytest.MonkeyPatch, where: object, name: str, call: int) -> None:
    real: Callable[..., object] = getattr(where, name)
    calls = 0

    def count(*given: object, **more: object) -> object:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Cut
        return real(*given, **more)

    monkeypatch.setattr(where, name, count)


@pytest.mark.parametrize(("where", "name", "call"), CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("by", ["the next command", "doctor", "the daemon"])
def test_a_purge_that_was_cut_off_is_finished(
    app: App, backed_up: str, where: object, name: str, call: int, by: str
):
    with pytest.MonkeyPatch.context() as patch:
        cut_at(patch, where, name, call)
        with pytest.raises(Cut):
            erase(app, (backed_up,))
    app.close()
    assert not any(CANARY in path.read_text() for path in app.home.erasures.iterdir())

    if by == "the daemon":
        (job,) = [job for job in JOBS if job.name == "erasures"]
        job.function(app, {})
    else:
        ran = run("doctor" if by == "doctor" else "status")
        assert "that was cut off" in ran.err + ran.out
    app.close()

    assert held(app) == []
    assert list(app.home.erasures.iterdir()) == []
    entries = [entry for _, entry in memories.log(app).entries if entry.op == "purge"]
    assert len(entries) == 1


def test_an_erasure_that_cannot_be_finished_here_is_named_by_doctor(
    app: App, backed_up: str, tmp_path: Path
):
    note = erasure.Erasure(
        store=str(tmp_path / "elsewhere" / "memory.db"),
        scope=Scope.PROJECT,
        ids=(backed_up,),
        sessions=(),
        change="change_x",
    )
    erasure.write_note(app, note)

    (check,) = [check for check in health.doctor(app).checks if check.name == "erasures"]

    assert check.mark is Mark.BAD
    assert "elsewhere" in check.detail


def test_a_purge_that_is_killed_at_any_moment_is_finished_by_the_next_command(
    app: App, backed_up: str
):
    """The real program, killed as the system does it."""
    store = app.store_path(Scope.PROJECT)
    assert store is not None
    app.close()
    kept = {path: path.read_bytes() for path in app.home.root.rglob("*") if path.is_file()}
    noted = 0
    for number in range(8):
        for path, content in kept.items():
            path.write_bytes(content)
        command = [sys.executable, "-m", "recollect", "purge", backed_up, "--yes"]
        purge = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # From the moment it has said what it is about to do: before that, nothing was touched.
        while not erasure_notes(app) and purge.poll() is None:
            time.sleep(0.001)
        time.sleep(0.004 * number)
        with suppress(ProcessLookupError):
            os.kill(purge.pid, signal.SIGKILL)
        purge.wait()
        noted += bool(erasure_notes(app))

        assert run("status").code == 0

        assert held(app) == [], number
        assert erasure_notes(app) == []
    assert noted, "none was cut off"


def erasure_notes(app: App) -> list[Path]:
    return list(app.home.erasures.glob("*.json"))


def test_no_file_holds_a_word_of_a_rule_that_was_said_told_and_purged(app: App):
    """Said in a prompt, told in another, noted for the person, read from a virtual file, backed up: then purged."""
    hooks, project = Hooks(open_once), Path.cwd()
    folder = Path(find_place(str(app.home.root), environment()).recalls)

    def tell(event: str, session: str, **fields: object) -> bytes:
        payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
        body = json.dumps(payload).encode()
        answer = hooks.answer("", event, body, {}, str(project), time.monotonic() + 60)
        answer.after(True)
        return answer.stdout

    tell(
        "UserPromptSubmit", "s-1", prompt=f"From now on, name every branch {CANARY}.", prompt_id="1"
    )
    assert notices.waiting(app)
    upkeep.backup(app)
    tell("SessionStart", "s-2", source="startup")
    read = {"file_path": f"{project}/.ai/recall/branch names"}
    tell("PreToolUse", "s-2", tool_name="Read", tool_input=read, tool_use_id="t1")
    assert holding(folder, CANARY)
    (rule,) = app.reader(Scope.PROJECT).find(Query(kinds=(Kind.RULE,), limit=5))

    erase(app, (rule.id,))
    app.close()

    assert held(app) == []
    assert holding(folder, CANARY) == []


def test_a_topic_in_focus_in_the_words_of_what_was_purged_goes_with_it(app: App):
    """From the store, its backups and the copy in the project; another topic stays as long as there is a memory."""
    id, other = pinned(app, f"A {CANARY} sings."), pinned(app, "The release is on Monday.")
    steering.focus(app, CANARY)
    steering.focus(app, "release")
    upkeep.backup(app)
    assert holding(Path.cwd() / ".ai", CANARY)

    erase(app, (id,))

    assert [point.topic for point in load_focus(app)] == ["release"]
    erase(app, (other,))
    app.close()
    assert held(app) == []
    assert holding(Path.cwd(), CANARY) == []
    assert holding(app.home.projects, "release") == []


def test_what_other_projects_were_told_of_a_rule_for_every_project_goes_with_it(
    app: App, open_app: Opens, tmp_path: Path
):
    id = pinned(app, f"A {CANARY} sings.", user=True)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".ai").mkdir(parents=True)
    there = open_app(elsewhere)
    pinned(there, "Something of this project.")
    recall.recall(there, ("who", "sings"))
    upkeep.backup(there)
    recalled = [path for path in held(app) if "elsewhere" in str(path)]
    assert recalled, "what was told there names it"

    there.close()
    erase(app, (id,))
    app.close()

    assert held(app) == []

"""A memory remembers the files that it speaks of, and says when they are no longer the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.app import plan_gate
from recollect.app.core import App
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import past_sessions, recall
from recollect.render.recall_text import recall_text
from tests.ops.ask import kept, pinned
from tests.ops.conftest import Opens
from tests.ops.transcript import Transcript


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "login.py").write_text("def login(): ...\n")
    return root


@pytest.fixture
def app(open_app: Opens, project: Path) -> App:
    return open_app(project)


def paths(app: App, id: str) -> list[str]:
    return [anchor.path for anchor in kept(app, id).anchors]


def test_the_files_that_a_memory_names_are_its_anchors(app: App):
    text = "The retry is in src/login.py, see also src/gone.py and https://shop.test/src/login.py."
    assert paths(app, pinned(app, text)) == ["src/login.py"]
    assert paths(app, pinned(app, text, user=True)) == []


def test_a_file_that_changed_makes_the_memory_stale_wherever_it_is_shown(app: App, project: Path):
    pinned(app, "The login retry is in src/login.py.")
    os.utime(project / "src" / "login.py", (1, 1))
    assert "Stale" not in recall_text(recall.recall(app, ("login", "retry")), now=app.clock.now())

    (project / "src" / "login.py").write_text("def login(again): ...\n")

    told = recall_text(recall.recall(app, ("login", "retry")), now=app.clock.now())
    assert "-> Stale: changed since: src/login.py" in told
    (project / "src" / "login.py").unlink()
    assert "-> Stale" in recall_text(recall.recall(app, ("login", "retry")), now=app.clock.now())


def test_nothing_outside_the_project_is_looked_at(app: App, project: Path, tmp_path: Path):
    (tmp_path / "secret.txt").write_text("x")
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(project / "pipe.txt")
    id = pinned(app, f"../secret.txt {tmp_path}/secret.txt link.txt pipe.txt /etc/passwd src")
    assert paths(app, id) == []


def test_a_thousand_names_are_not_all_looked_for(app: App, project: Path):
    for number in range(30):
        (project / f"f{number}.txt").write_text("x")
    assert len(plan_gate.anchors_for(app, [f"f{number}.txt" for number in range(30)])) == plan_gate.MOST_FILES


def test_a_thread_is_anchored_to_the_files_that_were_edited_as_it_left_them(app: App, project: Path, tmp_path: Path):
    talk = Transcript(app, tmp_path)
    talk.line("user", "The login page loses the session cookie after the redirect, please fix it")
    edit(talk, "src/login.py")
    talk.replied("The login cookie is now kept across the redirect.")
    talk.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(app)
    (found,) = (one for one in app.reader(Scope.PROJECT).find(Query()) if one.origin == "session")

    assert plan_gate.changed_files(app, found) == ()
    (project / "src" / "login.py").write_text("other\n")
    assert plan_gate.changed_files(app, found) == ("src/login.py",)


def edit(talk: Transcript, file: str) -> None:
    path = str(Path(talk.app.require_project().root) / file)
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    talk.line("assistant", [{"type": "tool_use", "id": "toolu_e", "name": "Edit", "input": given}])
    talk.line("user", [{"type": "tool_result", "tool_use_id": "toolu_e", "content": "updated"}])

"""An App to a project, for one thread at a time, with the settings as they stand and the database that is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.base.errors import ModelLoading, StoreBusy, StoreDamaged
from recollect.base.paths import Home
from recollect.daemon import apps as apps_module
from recollect.daemon.apps import Apps, Model
from recollect.model.result import Scope
from recollect.ops import memories, recall


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def home() -> Home:
    found = Home(Path(os.environ["RECOLLECT_HOME"]))
    found.prepare()
    return found


@pytest.fixture
def apps(home: Home, model: Model) -> Iterator[Apps]:
    found = Apps(home, Path.home(), SystemClock(), model, max_apps=3)
    yield found
    found.close()


@pytest.fixture(scope="module")
def loaded() -> Model:
    found = Model()
    assert found.load()
    return found


def folder(tmp_path: Path, name: str) -> str:
    made = tmp_path / name
    made.mkdir(exist_ok=True)
    return str(made)


def titles(app: App) -> list[str]:
    return [card.memory.title for card in memories.threads(app).cards]


def test_each_project_has_its_own_and_gets_it_again(apps: Apps, tmp_path: Path):
    with apps.app(folder(tmp_path, "a"), "", {}) as first:
        memories.pin(first, "Deploys go through staging")
    with apps.app(folder(tmp_path, "b"), "", {}) as second:
        assert titles(second) == []
    with apps.app("", folder(tmp_path, "a"), {}) as again:
        assert again is first
        assert len(titles(again)) == 1


def test_a_folder_that_is_gone_is_a_project_only_if_something_was_kept_of_it(apps: Apps, tmp_path: Path):
    known = folder(tmp_path, "known")
    with apps.app(known, "", {}) as app:
        memories.pin(app, "words")
    os.rename(known, f"{known}-gone")

    with apps.app(known, "", {}) as app:
        assert app.project is not None
    with apps.app(str(tmp_path / "never"), "", {}) as app:
        assert app.project is None


def test_no_more_are_open_than_the_limit_and_their_files_are_closed(apps: Apps, tmp_path: Path):
    few = 0
    for number in range(24):
        with apps.app(folder(tmp_path, f"p{number}"), "", {}) as app:
            memories.pin(app, "A thing to keep")
        few = len(os.listdir("/dev/fd")) if number == 7 else few
    assert len(apps.names()) == 3
    assert len(os.listdir("/dev/fd")) <= few
    apps.close()
    assert apps.names() == []


def test_one_that_is_in_use_is_closed_by_who_has_it(apps: Apps, tmp_path: Path):
    before = len(os.listdir("/dev/fd"))
    with apps.app(folder(tmp_path, "a"), "", {}) as app:
        memories.pin(app, "A thing to keep")
        apps.close()
        assert titles(app)
    assert len(os.listdir("/dev/fd")) == before


def test_two_threads_never_have_the_same_one(apps: Apps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apps_module, "LOCK_WAIT_S", 0.05)
    here = folder(tmp_path, "a")
    refused: list[bool] = []

    def ask() -> None:
        try:
            with apps.app(here, "", {}):
                refused.append(False)
        except StoreBusy:
            refused.append(True)

    with apps.app(here, "", {}):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    ask()

    assert refused == [True, False]


def test_a_changed_setting_holds_from_the_next_time_on(apps: Apps, home: Home, tmp_path: Path):
    for written, held in ("", 3), ("MEMORY_HALF_LIFE_DAYS=7", 7), ("MEMORY_HALF_LIFE_DAYS=21", 21), ("", 3):
        home.conf.write_text(f"MEMORY_BUSY_TIMEOUT_MS=60000\n{written}\n")
        with apps.app(folder(tmp_path, "a"), "", {}) as app:
            assert app.settings.figure("MEMORY_HALF_LIFE_DAYS") == held
            assert app.settings.count("MEMORY_BUSY_TIMEOUT_MS") <= 300, "no longer than a hook can wait"


def test_a_project_and_a_hook_s_environment_may_only_narrow(apps: Apps, tmp_path: Path):
    here = folder(tmp_path, "a")
    ai = tmp_path / "a" / ".ai"
    ai.mkdir()
    (ai / "agent.conf").write_text("MEMORY_RECALL=off\nMEMORY_HALF_LIFE_DAYS=900\n")

    with apps.app(here, "", {"MEMORY_UPDATE": "off", "MEMORY_ARCHIVE_AFTER_DAYS": "1"}) as app:
        assert not app.settings.switch("MEMORY_RECALL")
        assert app.settings.figure("MEMORY_HALF_LIFE_DAYS") == 3
        assert not app.settings.switch("MEMORY_UPDATE")
        assert app.settings.figure("MEMORY_ARCHIVE_AFTER_DAYS") == 30
    with apps.app(here, "", {}) as app:
        assert app.settings.switch("MEMORY_UPDATE"), "the next session's environment is its own"


def test_a_database_that_was_replaced_is_opened_anew(apps: Apps, tmp_path: Path):
    paths = []
    for name in ("a", "b"):
        with apps.app(folder(tmp_path, name), "", {}) as app:
            memories.pin(app, f"Of {name}")
            paths.append(str(app.store_path(Scope.PROJECT)))
    apps.close()
    with apps.app(folder(tmp_path, "a"), "", {}) as app:
        assert titles(app) == ["Of a"]
    os.replace(paths[1], paths[0])
    with apps.app(folder(tmp_path, "a"), "", {}) as app:
        assert titles(app) == ["Of b"]


def test_after_a_failure_of_its_store_the_next_one_is_a_new_one(apps: Apps, tmp_path: Path):
    here = folder(tmp_path, "a")
    with pytest.raises(StoreDamaged), apps.app(here, "", {}) as broken:
        raise StoreDamaged("as if")
    with apps.app(here, "", {}) as app:
        assert app is not broken


def test_until_the_model_is_there_words_answer_alone_and_it_is_said(apps: Apps, tmp_path: Path):
    with apps.app(folder(tmp_path, "a"), "", {}) as app:
        memories.pin(app, "Deploys go through staging")
        with pytest.raises(ModelLoading):
            _ = app.embedder
        answer = recall.recall(app, ("staging",)).found

    assert [one.hit.memory.title for one in answer.found] == ["Deploys go through staging"]
    assert answer.how == f"words alone: {ModelLoading().message.rstrip('.')}"


def test_a_large_store_is_warmed_aside_and_then_takes_over(
    home: Home, loaded: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(apps_module, "WARMED_AT_ONCE_BYTES", -1)
    apps = Apps(home, Path.home(), SystemClock(), loaded)
    here = folder(tmp_path, "a")
    with apps.app(here, "", {}) as app:
        memories.pin(app, "Deploys go through staging")
        assert recall.recall(app, ("staging",)).found.how.startswith("words alone")
    assert apps.names() == [("a", False)]

    assert apps.warm_one()
    assert not apps.warm_one()

    assert apps.names() == [("a", True)]
    with apps.app(here, "", {}) as app:
        assert recall.recall(app, ("staging",)).found.how.startswith("words and vectors")
    apps.close()


def test_a_recall_gives_no_vectors_on_its_way(home: Home, loaded: Model, tmp_path: Path):
    """Others wait for this App meanwhile; a chore gives them, on connections of its own."""
    apps = Apps(home, Path.home(), SystemClock(), loaded)
    with apps.app(folder(tmp_path, "a"), "", {}) as app:
        memories.pin(app, "Deploys go through staging")
    with apps.app(folder(tmp_path, "a"), "", {}) as app:
        found = recall.recall(app, ("deploys",)).found
        assert len(app.reader(Scope.PROJECT).vectorless(app.embedder.id, 9)) == 1
    apps.close()

    assert [one.hit.memory.body for one in found.found] == ["Deploys go through staging"]
    assert found.how == "words and vectors (1 passages have no vector yet)"

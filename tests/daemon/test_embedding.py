"""Another model is taken up while the daemon works: passage by passage, in the background, and recall goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.daemon import apps as apps_module
from recollect.daemon.apps import Apps, Model
from recollect.embed import shipped_id
from recollect.jobs import runner
from recollect.jobs.runner import Task
from recollect.model.result import Scope
from recollect.ops import health, memories, recall, upkeep
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session
from tests.embed import folders
from tests.embed.server import Server, serving

PINS = [f"Thing number {number} of the deploy to staging" for number in range(9)]


@pytest.fixture
def home() -> Home:
    found = Home(Path(os.environ["RECOLLECT_HOME"]))
    found.prepare()
    return found


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


class Work:
    """A daemon's parts, one step at a time."""

    def __init__(self, home: Home, project: Path) -> None:
        self.home = home
        self.model = Model()
        self.apps = Apps(home, Path.home(), SystemClock(), self.model)
        self.vectors = Task(runner.job("vectors"), self.apps)
        self.project = project
        project.mkdir(exist_ok=True)

    def choose(self, setting: str) -> None:
        self.home.conf.write_text(f"MEMORY_EMBEDDING_MODEL={setting}\n")

    def how(self) -> str:
        """A prompt comes, and is answered."""
        with self.apps.app(str(self.project), "", {}) as app:
            found = recall.recall(app, ("deploy", "staging")).found
            assert found.found, "recall goes on whatever the vectors do"
            return found.how

    def fill(self) -> None:
        """Until nothing is left to do."""
        self.take_up()
        while self.vectors.step():
            pass

    def take_up(self) -> None:
        """The changed setting is seen, and its model loaded; every project is due again."""
        self.how()
        self.model.load()
        self.how()
        self.be_due()

    def be_due(self) -> None:
        self.vectors._done_s.clear()

    def counts(self) -> dict[str, int]:
        with self.apps.app(str(self.project), "", {}) as app:
            return app.reader(Scope.PROJECT).counts().vectors_by_model


@pytest.fixture
def work(home: Home, tmp_path: Path) -> Iterator[Work]:
    found = Work(home, tmp_path / "shop")
    found.model.load()
    with found.apps.app(str(found.project), "", {}) as app:
        for text in PINS:
            memories.pin(app, text)
    found.fill()
    assert found.counts() == {shipped_id(): len(PINS)}
    yield found
    found.vectors.close()
    found.apps.close()


def test_a_changed_setting_gives_every_passage_a_new_vector_and_only_then_the_old_ones_go(work: Work, tmp_path: Path):
    work.choose(str(folders.save(tmp_path / "tiny")))
    assert work.how().startswith("words alone: The embedding model is still being loaded")
    work.take_up()
    for _ in range(4):
        assert work.vectors.step()

    counts = work.counts()
    assert counts.pop(shipped_id()) == len(PINS)
    assert list(counts.values()) == [4]
    assert work.how() == "words and vectors (5 passages have no vector yet)"
    with work.apps.app(str(work.project), "", {}) as app:
        told = health.status(app).embedding
    assert told is not None
    assert (told.passages, told.vectors, told.others, told.waiting) == (9, 4, 9, 5)

    work.fill()

    [(model, count)] = work.counts().items()
    assert (model.partition(":")[0], count) == ("tiny", len(PINS))
    assert work.how() == "words and vectors"


def test_who_changes_back_half_way_finds_the_old_ones(work: Work, tmp_path: Path, monkeypatch):
    work.choose(str(folders.save(tmp_path / "tiny")))
    work.take_up()
    assert work.vectors.step()

    work.choose("shipped")
    work.take_up()
    monkeypatch.setattr(type(work.model.embedder("shipped")), "embed", None)  # none has to be made again
    work.fill()

    assert work.counts() == {shipped_id(): len(PINS)}


def test_a_project_that_nobody_spoke_of_since_does_not_bring_the_old_model_back(work: Work, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    with work.apps.app(str(other), "", {}) as app:
        memories.pin(app, "Elsewhere the water is deep")
    work.choose(str(folders.save(tmp_path / "tiny")))
    work.fill()

    with work.apps.app(str(other), "", {}) as app:
        assert [model.partition(":")[0] for model in app.reader(Scope.PROJECT).counts().vectors_by_model] == ["tiny"]
    assert work.model.wanted.endswith("tiny")


def test_a_model_that_cannot_be_used_leaves_the_old_vectors_says_why_and_is_left_alone(work: Work, tmp_path: Path):
    work.choose(str(tmp_path / "tiny"))
    work.fill()

    assert "is not there" in work.how()
    assert "is not there" in work.model.state
    with work.apps.app(str(work.project), "", {}) as app:
        told = health.status(app).embedding
        assert told is not None
        assert "is not there" in told.problem
        [check] = [check for check in health.doctor(app).checks if check.name == "model"]
    assert "words alone" in check.detail
    folders.save(tmp_path / "tiny")
    work.fill()
    assert work.counts() == {shipped_id(): len(PINS)}, "not tried again so soon"


def test_a_folder_that_is_written_at_last_is_taken_up(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apps_module, "RETRY_S", (0.0, 0.0))
    path = folders.save(tmp_path / "tiny")
    whole = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(whole[:1_000])
    work.choose(str(path))
    work.fill()
    assert "cut short" in work.how()

    (path / "model.safetensors").write_bytes(whole)
    work.fill()

    assert [model.partition(":")[0] for model in work.counts()] == ["tiny"]


def test_an_endpoint_that_ends_half_way_is_waited_for(work: Work, server: Server, tmp_path: Path):
    work.choose(server.url)
    work.take_up()
    assert work.vectors.step()
    server.status = 503
    for _ in range(3):
        work.be_due()
        work.vectors.step()
    assert (work.home.logs / "recollect.log").read_text().count("no-vectors") == 1, "said once, then quiet"

    counts = work.counts()

    assert counts[shipped_id()] == len(PINS)
    assert sum(counts.values()) == len(PINS) + 8
    assert "503" in work.how()


@pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")
@FORKS
def test_a_daemon_that_is_killed_half_way_leaves_nothing_wrong_and_the_next_goes_on(
    house: House, server: Server, tmp_path: Path
):
    session = Session(house, tmp_path / "shop")
    app = session.app()
    for number in range(60):
        memories.pin(app, f"Thing number {number} of the deploy to staging")
    upkeep.reindex(app)
    house.home.conf.write_text(f"MEMORY_EMBEDDING_MODEL={server.url}\n")
    store = app.reader(Scope.PROJECT)

    def counts() -> tuple[int, int]:
        """Of the model before, and of the new one."""
        found = dict(store.counts().vectors_by_model)
        return found.pop(shipped_id(), 0), sum(found.values())

    for waits_s in (0.3, 0.0):
        server.waits_s = waits_s
        pid = house.start()
        session.hook("UserPromptSubmit", prompt="how do we deploy to staging?")
        if waits_s:
            assert soon(lambda: 0 < counts()[1] < 60), house.log()
            os.kill(pid, signal.SIGKILL)
            assert soon(house.is_gone)
            assert (counts()[0], 0 < counts()[1] < 60) == (60, True)
        else:
            assert soon(lambda: counts() == (0, 60)), house.log()
        assert app.writer(Scope.PROJECT).verify() == []
    app.close()

"""An App to a project, for one thread at a time, with the settings, the database and the model that are there now."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.app.states import JOB_RECORDS
from recollect.base.clock import SystemClock
from recollect.base.errors import ModelLoading, StoreBusy, StoreDamaged
from recollect.base.paths import Home
from recollect.daemon import apps as apps_module
from recollect.daemon.apps import Apps, Model
from recollect.embed import shipped_id
from recollect.jobs.runner import FORGETTING, VALIDATION, Task, job, run_due
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.model.session import StateRecord
from recollect.ops import health, memories, recall, upkeep
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session
from tests.embed import folders
from tests.embed.server import Server, serving
from tests.jobs.work import open_apps, open_home, run_job
from tests.llm.standin import StandIn
from tests.values import act, plan, rule


@pytest.fixture
def home() -> Home:
    found = Home(Path(os.environ["RECOLLECT_HOME"]))
    found.prepare()
    return found


@pytest.fixture
def apps(home: Home) -> Iterator[Apps]:
    found = Apps(home, Path.home(), SystemClock(), Model(), max_apps=3)
    yield found
    found.close()


@pytest.fixture(scope="module")
def loaded() -> Model:
    found = Model()
    assert found.load()
    return found


def folder(tmp_path: Path, name: str) -> str:
    (tmp_path / name).mkdir(exist_ok=True)
    return str(tmp_path / name)


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


def test_a_folder_that_is_gone_is_a_project_only_if_something_was_kept_of_it(
    apps: Apps, tmp_path: Path
):
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


def test_two_threads_never_have_the_same_one(
    apps: Apps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
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
    for written, held in (
        ("", 3),
        ("MEMORY_HALF_LIFE_DAYS=7", 7),
        ("MEMORY_HALF_LIFE_DAYS=21", 21),
        ("", 3),
    ):
        home.conf.write_text(f"MEMORY_BUSY_TIMEOUT_MS=60000\n{written}\n")
        with apps.app(folder(tmp_path, "a"), "", {}) as app:
            assert app.settings.figure("MEMORY_HALF_LIFE_DAYS") == held
            assert app.settings.count("MEMORY_BUSY_TIMEOUT_MS") <= 300, (
                "no longer than a hook can wait"
            )


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


# Another model is taken up while the daemon works


PINS = [f"Thing number {number} of the deploy to staging" for number in range(9)]


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
        self.vectors = Task(job("vectors"), self.apps)
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


def test_a_changed_setting_gives_every_passage_a_new_vector_and_only_then_the_old_ones_go(
    work: Work, tmp_path: Path
):
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


def test_a_large_store_gets_its_index_file_in_the_background_and_answers_as_before(
    work: Work, monkeypatch
):
    monkeypatch.setattr("recollect.store.search.INDEXED_FROM", 5)
    how, indexes = work.how(), Task(job("indexes"), work.apps)
    steps = 0
    while indexes.step():
        steps += 1
    assert steps > 2, "a piece at a time"
    with work.apps.app(str(work.project), "", {}) as app:
        path = app.store_path(Scope.PROJECT)
    assert path is not None
    assert path.with_suffix(".index").is_file()
    assert work.how() == how


def test_who_changes_back_half_way_finds_the_old_ones(work: Work, tmp_path: Path, monkeypatch):
    work.choose(str(folders.save(tmp_path / "tiny")))
    work.take_up()
    assert work.vectors.step()

    work.choose("shipped")
    work.take_up()
    monkeypatch.setattr(
        type(work.model.embedder("shipped")), "embed", None
    )  # none has to be made again
    work.fill()

    assert work.counts() == {shipped_id(): len(PINS)}


def test_a_project_that_nobody_spoke_of_since_does_not_bring_the_old_model_back(
    work: Work, tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    with work.apps.app(str(other), "", {}) as app:
        memories.pin(app, "Elsewhere the water is deep")
    work.choose(str(folders.save(tmp_path / "tiny")))
    work.fill()

    with work.apps.app(str(other), "", {}) as app:
        assert [
            model.partition(":")[0] for model in app.reader(Scope.PROJECT).counts().vectors_by_model
        ] == ["tiny"]
    assert work.model.wanted.endswith("tiny")


def test_a_model_that_cannot_be_used_leaves_the_old_vectors_says_why_and_is_left_alone(
    work: Work, tmp_path: Path
):
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


def test_a_folder_that_is_written_at_last_is_taken_up(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
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
    assert (work.home.logs / "recollect.log").read_text().count("no-vectors") == 1, (
        "said once, then quiet"
    )

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


# What the count of sessions owes


def opened(tmp_path: Path, *names: str) -> Apps:
    apps = open_apps()
    for name in names:
        (tmp_path / name).mkdir()
        with apps.app(str(tmp_path / name), "", {}) as app:
            old = [rule(f"r{number}", days_old=60) for number in range(5)]
            app.writer(Scope.PROJECT).apply(plan(*map(Create, old)), act(summary="kept"))
    return apps


def count_to(apps: Apps, folder: Path, number: int) -> None:
    with apps.app(str(folder), "", {}) as app:
        app.writer(Scope.PROJECT).put(StateRecord("sessions", str(number)))


def statuses(app: App) -> list[Status]:
    return sorted(memory.status for memory, _ in app.reader(Scope.PROJECT).each())


def test_with_a_model_it_forgets_as_the_daemon_and_once(tmp_path: Path):
    model = StandIn(tmp_path / "model", "[]")
    open_home().conf.write_text(f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={model.command}\n")
    apps = opened(tmp_path, "a")
    count_to(apps, tmp_path / "a", 200)
    run_job("forgetting", apps)
    count_to(apps, tmp_path / "a", 400)
    with apps.app(str(tmp_path / "a"), "", {}) as app:
        first = next(memory for memory, _ in app.reader(Scope.PROJECT).each())
    model.answers(f'[{{"id": "{first.id}", "verdict": "cold"}}]')

    run_job("forgetting", apps)
    run_job("forgetting", apps)

    with apps.app(str(tmp_path / "a"), "", {}) as app:
        assert statuses(app) == [Status.ACTIVE] * 4 + [Status.ARCHIVED]
        assert next((entry.op, entry.actor) for _, entry in memories.log(app).entries) == (
            "forget",
            "daemon",
        )
    assert len(model.calls) == 1
    apps.close()


@FORKS
@pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")
def test_a_real_daemon_runs_what_the_count_of_sessions_owes(house: House, tmp_path: Path):
    session = Session(house, tmp_path / "shop")
    app = session.app()
    store = app.writer(Scope.PROJECT)
    store.apply(plan(Create(rule("old", days_old=60))), act())
    store.put(StateRecord("sessions", "200"))
    assert [*run_due(app, FORGETTING), *run_due(app, VALIDATION)] == []
    store.put(StateRecord("sessions", "399"))
    app.close()
    house.start()

    session.hook("UserPromptSubmit", prompt="hello there, the four hundredth")

    app = session.app()
    assert soon(
        lambda: JOB_RECORDS.read(app.reader(Scope.PROJECT), VALIDATION.name).last == 400,
        within_s=60,
    )
    assert soon(
        lambda: JOB_RECORDS.read(app.reader(Scope.PROJECT), FORGETTING.name).last == 400,
        within_s=60,
    )
    assert any("forget --candidates" in line for line in notices.waiting(app))
    assert (house.home.logs / "validation-400.log").is_file()
    app.close()

"""Jobs run when they are due, one at a time, and never in the way of a hook; while the daemon runs, memory follows the
files of the vaults; what is done every so many sessions is done on time, once, by one at a time, and never for ever."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest

from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput, StoreBusy
from recollect.base.log import Log
from recollect.base.paths import Home
from recollect.daemon.apps import Apps, Model
from recollect.jobs import runner as runner_module
from recollect.jobs import vault_sync
from recollect.jobs.runner import FORGETTING, VALIDATION, Job, Run, Runner, Task, run_due
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import StateRecord
from recollect.ops import memories
from tests.daemon.real import PATIENCE_S, soon
from tests.jobs.work import open_apps, open_home, run_job, run_task
from tests.ops.conftest import Opens


class Done:
    """A job that counts its runs."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.at_s: list[float] = []
        self.problem = problem

    def __call__(self) -> bool:
        self.at_s.append(time.monotonic())
        if self.problem is not None:
            raise self.problem
        return False

    def job(self, every_s: float = 9, *, name: str = "one", light: bool = False) -> Job:
        return Job(name, self, every_s, light=light)

    def soon(self, count: int = 1) -> bool:
        return soon(lambda: len(self.at_s) >= count, PATIENCE_S)


Start = Callable[..., Runner]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Runner] = []

    def start(*jobs: Job, asked: Callable[[], bool] = lambda: False, first: bool = True) -> Runner:
        log = Log(tmp_path, SystemClock(), max_bytes=1_000_000, redact=lambda text: text)
        started.append(Runner(jobs, open_apps(), asked, log))
        if first:
            started[-1].first_answer_given.set()
        started[-1].start()
        return started[-1]

    yield start
    for runner in started:
        runner.stop(PATIENCE_S)


def test_a_job_runs_again_when_it_is_due(start: Start):
    often = Done()
    start(often.job(0.05), Done().job(1_000))
    assert often.soon(4)
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(often.at_s))


def test_one_that_fails_is_logged_without_its_text_and_the_others_go_on(
    start: Start, tmp_path: Path
):
    broken, busy, fine = (
        Done(ZeroDivisionError("a secret prompt")),
        Done(StoreBusy("It is held.")),
        Done(),
    )
    start(broken.job(name="a"), busy.job(), fine.job())
    assert fine.soon()
    logged = (tmp_path / "recollect.log").read_text()
    assert "job=a problem=ZeroDivisionError" in logged
    assert "It is held" in logged
    assert "secret" not in logged


def test_while_hooks_are_answered_heavy_jobs_stand_aside(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runner_module, "STAND_ASIDE_S", 3_600.0)
    heavy, light = Done(), Done()
    start(light.job(light=True), heavy.job(), asked=lambda: True)
    assert light.soon()
    assert not heavy.at_s


def test_hooks_without_end_do_not_hold_up_heavy_jobs_for_ever(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runner_module, "STAND_ASIDE_S", 0.3)
    heavy = Done()
    began_s = time.monotonic()
    start(heavy.job(), asked=lambda: True)
    assert heavy.soon()
    assert heavy.at_s[0] - began_s >= runner_module.STAND_ASIDE_S


def test_the_first_answer_comes_before_the_first_job(start: Start):
    done = Done()
    runner = start(done.job(), first=False)
    time.sleep(0.05)
    assert not done.at_s
    runner.first_answer_given.set()
    assert done.soon()


@pytest.mark.parametrize("row", runner_module.JOBS, ids=lambda row: row.name)
def test_every_row_names_a_function(row: Job):
    assert callable(row.function)
    assert [one.name for one in runner_module.JOBS].count(row.name) == 1


# Projects


@pytest.fixture
def apps() -> Iterator[Apps]:
    found = open_apps()
    yield found
    found.close()


def speak(apps: Apps, tmp_path: Path, *names: str) -> None:
    for name in names:
        (tmp_path / name).mkdir(exist_ok=True)
        with apps.app(str(tmp_path / name), "", {}) as app:
            memories.pin(app, f"Something about {name}")


def noted(
    monkeypatch: pytest.MonkeyPatch, target: str, problem: Exception | None = None
) -> list[str | None]:
    """The projects in which the function is called, which does nothing else."""
    seen: list[str | None] = []

    def work(app: App, _memo: object) -> None:
        seen.append(app.project and app.project.name)
        if problem is not None:
            raise problem

    monkeypatch.setattr(target, work)
    return seen


def test_passages_get_the_vectors_they_lack_in_every_open_project(tmp_path: Path):
    model = Model()
    assert model.load()
    apps = open_apps(model=model)
    speak(apps, tmp_path, *("a", "b") * 3)
    run_job("vectors", apps)
    for name in ("a", "b"):
        with apps.app(str(tmp_path / name), "", {}) as app:
            store = app.reader(Scope.PROJECT)
            assert store.vectorless(app.embedder.id, 1) == []
            assert store.counts().vectors == store.counts().passages > 0
    apps.close()


def test_a_project_is_read_once_it_is_quiet_and_every_project_now_and_then(
    apps: Apps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    speak(apps, tmp_path, "a", "closed")
    apps.close()
    seen = noted(monkeypatch, "recollect.jobs.transcripts.work")
    row = runner_module.job("transcripts")

    def look(task: Task) -> list[str | None]:
        seen.clear()
        run_task(task)
        return seen

    everywhere = Task(row._replace(quiet_s=3_600), apps)
    assert sorted(map(str, look(everywhere))) == ["None", "a", "closed"]
    speak(apps, tmp_path, "a")
    assert look(everywhere) == [], "somebody may still be talking"

    quiet = Task(row._replace(quiet_s=0, every_s=1e9), apps)
    quiet._everywhere_s = time.monotonic()
    assert look(quiet) == ["a"]
    assert look(quiet) == []
    speak(apps, tmp_path, "a")
    assert look(quiet) == ["a"]


def test_jobs_that_need_a_model_run_where_models_are_on(
    apps: Apps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen = noted(monkeypatch, "recollect.ops.turn_questions.ask_next")
    speak(apps, tmp_path, "a")
    run_job("questions", apps)
    assert seen == []
    open_home().conf.write_text("MEMORY_LLM=on\n")
    run_job("questions", apps)
    assert seen == ["a", None]


def test_an_app_that_failed_is_closed_and_the_next_project_has_its_turn(
    apps: Apps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen = noted(monkeypatch, "recollect.app.session_ledger.tick", StoreBusy("It is held."))
    speak(apps, tmp_path, "a", "b")
    task = Task(runner_module.job("heartbeat"), apps)
    for _ in range(3):
        with pytest.raises(StoreBusy):
            task.step()
        assert task._app is None
    assert not task.step()
    assert seen == ["a", "b", None]


# Vaults

Look = Callable[[], int]


@pytest.fixture
def home() -> Home:
    found = open_home()
    found.vault.mkdir()
    return found


@pytest.fixture
def look(home: Home, apps: Apps, monkeypatch: pytest.MonkeyPatch) -> Look:
    """At every vault, to the end, whenever it is called; the number of pieces."""
    monkeypatch.setattr(vault_sync, "_SHARE", 0)  # tests look again at once
    # And only when they do: where a look takes longer than the job's pause, its turn would come again.
    task = Task(runner_module.job("vaults")._replace(every_s=1e9), apps)

    def look() -> int:
        task._done_s.clear()
        return run_task(task)

    return look


def bodies(apps: Apps) -> set[str]:
    with apps.app(str(Path.cwd()), "", {}) as app:
        return {
            note.body for _, store in app.scopes() for note in store.find(Query(kinds=(Kind.NOTE,)))
        }


def test_a_file_that_was_saved_is_a_note_at_the_next_look(apps: Apps, home: Home, look: Look):
    shared = Path.cwd() / ".ai" / "memory"
    shared.mkdir(parents=True)
    bodies(apps)  # a session speaks here
    home.vault.rmdir()
    look()
    home.vault.mkdir()
    (home.vault / "a.md").write_text("one")
    (shared / "b.md").write_text("two")

    look()
    assert bodies(apps) == {"one", "two"}

    (home.vault / "a.md").write_text("three")
    look()
    assert bodies(apps) == {"three", "two"}


def test_nothing_is_opened_while_nothing_changes(
    home: Home, look: Look, monkeypatch: pytest.MonkeyPatch
):
    (home.vault / "a.md").write_text("one")
    os.utime(home.vault / "a.md", (1_000_000_000, 1_000_000_000))
    look()
    looks: list[str] = []
    monkeypatch.setattr(vault_sync, "refresh", lambda *_args, **_options: looks.append("look"))
    for _ in range(3):
        look()
    assert looks == []


def test_many_files_are_taken_in_a_few_at_a_time(
    apps: Apps, home: Home, look: Look, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(vault_sync, "FEW_FILES", 2)
    for number in range(5):
        (home.vault / f"{number}.md").write_text(f"note {number}")
    assert look() == 3
    assert len(bodies(apps)) == 5


def test_a_store_that_cannot_be_written_is_tried_again_later(home: Home, look: Look):
    (home.vault / "a.md").write_text("one")
    home.user_store.parent.mkdir(exist_ok=True)
    home.user_store.write_bytes(b"not a database" * 1_000)
    look()
    assert "vault-failed" in (home.logs / "recollect.log").read_text()


# By sessions

Ran = list[tuple[str, Scope, int]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """What each run was, in place of what it would have done."""
    seen: Ran = []

    def steps(name: str, _app: App, run: Run) -> Iterator[str]:
        seen.append((name, run.scope, run.session))
        yield "one"

    monkeypatch.setattr("recollect.ops.forget.review_lowest", partial(steps, "forgetting"))
    monkeypatch.setattr("recollect.ops.validate.check_sample", partial(steps, "validation"))
    return seen


def all_due(app: App, *numbers: int, scope: Scope = Scope.PROJECT) -> list[str]:
    """Whatever is due at each of these counts of sessions."""
    lines = []
    for number in numbers:
        app.writer(scope).put(StateRecord("sessions", str(number)))
        lines += [line for job in (FORGETTING, VALIDATION) for line in run_due(app, job)]
    return lines


def test_each_job_runs_on_its_schedule_and_a_count_that_jumps_owes_one_run(app: App, ran: Ran):
    all_due(app, *range(25, 401, 25), 1_950, 1_951, 30, 31, 74)
    assert [number for name, _, number in ran if name == "forgetting"] == [400, 1_950], (
        "200 is a baseline"
    )
    assert [number for name, _, number in ran if name == "validation"] == [175, 275, 375, 1_950], (
        "75 is a baseline"
    )


@pytest.mark.parametrize("job", [FORGETTING, VALIDATION])
def test_what_is_switched_off_never_runs_and_the_schedule_is_a_setting(
    job: Job, open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(job.switch, "off")
    monkeypatch.setenv("MEMORY_FORGETTING_SCHEDULE", "3/10")
    app = open_app()
    app.writer(Scope.PROJECT).put(StateRecord("sessions", "5"))
    all_due(app, *range(0, 301, 25), scope=Scope.USER)
    name, first = ("validation", [175, 275]) if job is FORGETTING else ("forgetting", [50, 75])
    assert ran[:2] == [(name, Scope.USER, number) for number in first], (
        "each store goes by its own count"
    )
    assert {(one, scope) for one, scope, _ in ran} == {(name, Scope.USER)}


def test_two_never_run_one_job_at_a_time_and_what_stops_is_free_at_once(
    app: App, open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_VALIDATION", "off")
    app, other = open_app(), open_app()
    assert all_due(app, 200) == [], "a baseline"
    app.writer(Scope.PROJECT).put(StateRecord("sessions", "400"))
    running = run_due(app, FORGETTING)
    assert next(running) == "one"
    assert list(run_due(other, FORGETTING)) == []
    del running
    assert list(run_due(other, FORGETTING)) == ["one"]
    assert list(run_due(app, FORGETTING)) == [], "and not once more for the same session"
    assert len(ran) == 2


def test_what_fails_is_tried_three_times_and_then_not_before_it_is_due_again(
    app: App, monkeypatch: pytest.MonkeyPatch
):
    tries: list[int] = []

    def steps(_app: App, run: Run) -> Iterator[str]:
        tries.append(run.session)
        yield "one"
        raise BadInput("no", hint="no")

    monkeypatch.setattr("recollect.ops.forget.review_lowest", steps)
    all_due(app, 200, 400, 401, 402, 403, 404, 600)
    assert tries == [400, 401, 402, 600]


def test_projects_that_nobody_has_open_get_their_vectors_too(open_app: Opens, tmp_path: Path):
    folders = [tmp_path / name for name in ("shop", "blog")]
    for folder in folders:
        folder.mkdir()
        memories.pin(open_app(folder), f"The {folder.name} is written in Rust.")
    model = Model()
    model.load()
    apps = open_apps(model=model)
    assert not [root for root in apps.open_roots() if root != "/"]

    run_job("vectors", apps)

    for folder in folders:
        counts = open_app(folder).reader(Scope.PROJECT).counts()
        assert counts.vectors == counts.passages == 1


def test_a_project_that_is_open_goes_before_those_that_are_not(monkeypatch: pytest.MonkeyPatch):
    class Places:
        def __init__(self) -> None:
            self.used_s: dict[str, float] = {}

        def open_roots(self) -> dict[str, float]:
            return self.used_s

        def known_roots(self) -> list[str]:
            return ["/imported"]

        def background_app(self, root: str) -> App:
            visited.append(root)
            return Mock(spec=App)

    visited: list[str] = []
    monkeypatch.setattr(Job, "function", lambda _job, _app, _memo: True)
    places = Places()
    task = Task(Job("vectors", "never:loaded", every_s=10, elsewhere_s=60), places)
    task.step()
    task.step()
    places.used_s["/open"] = time.monotonic()
    task.step()
    task.step()
    assert visited == ["/imported", "/open"], "it stays there while there is more to do"

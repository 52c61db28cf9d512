"""Status, doctor, settings, and the model that makes the vectors: whatever is set, recall answers and says how."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import __version__
from recollect.app import core
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.base.errors import BadInput
from recollect.embed import shipped_id
from recollect.embed.embedder import load
from recollect.model.result import Check, Embedding, Mark, Overview, Scope
from recollect.ops import health, memories, recall, rules, upkeep
from recollect.ops.health import config, doctor, status
from recollect.render import terminal
from recollect.render.blocks import Line
from recollect.wire.place import expected_runtime
from tests.embed import folders
from tests.embed.server import DIM, Server, serving
from tests.ops.ask import files, keep, kept, pinned
from tests.ops.conftest import Opens
from tests.values import NOW, note
from tests.wire.conftest import runtime
from tests.wire.test_place import SQUATTED, squat

__all__ = ["runtime"]

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="modes, links, shells and pipes are another matter there"
)


def test_status_counts_what_is_remembered(app: App):
    assert health.status(app).stores == ()
    pinned(app, "a")
    pinned(app, "b")
    rules.add(app, "Use tabs", user=True)
    told = health.status(app)
    assert [(scope, counts.by_kind_and_status) for scope, _, counts in told.stores] == [
        (Scope.PROJECT, (("thread", "active", 2),)),
        (Scope.USER, (("rule", "active", 1),)),
    ]
    assert (told.version, told.project, told.backups, told.settings_problems) == (
        __version__,
        "work",
        0,
        0,
    )


def test_a_new_installation_is_healthy(app: App):
    assert health.doctor(app).healthy
    assert upkeep.verify(app).stores == ()
    assert upkeep.reindex(app).summary == "Indexed 0 passages."
    assert upkeep.backup(app).facts["files"] == []
    assert not app.home.root.exists(), "and looking made nothing"


@posix
@pytest.mark.parametrize("what", ["home", "project store"])
def test_doctor_sees_what_others_can_read(app: App, what: str):
    pinned(app, "a")
    path = app.home.root if what == "home" else app.store_path(Scope.PROJECT)
    assert path is not None
    path.chmod(0o755)
    checkup = health.doctor(app)
    (bad,) = [check for check in checkup.checks if check.mark is Mark.BAD]
    assert (bad.name, not checkup.healthy) == (what, True)
    assert bad.repair.startswith("chmod ")


def runtime_check(app: App) -> Check:
    (found,) = [check for check in health.doctor(app).checks if check.name == "runtime"]
    return found


@posix
@SQUATTED
def test_doctor_names_what_keeps_the_runtime_folder_from_being_used_and_what_mends_it(
    app: App, runtime: str, monkeypatch: pytest.MonkeyPatch, how: str
):
    monkeypatch.setenv("TMPDIR", runtime)
    folder = expected_runtime(str(app.home.root), os.environ)
    squat(folder, how)
    found = runtime_check(app)
    assert found.mark is Mark.WARN
    assert found.detail.startswith(folder)
    assert found.detail.endswith(f"{app.home.root}/run is used instead")
    subprocess.run(["/bin/sh", "-c", found.repair.removeprefix("sudo ")], check=True)
    assert runtime_check(app) == Check("runtime", Mark.GOOD, folder)


@posix
def test_doctor_sees_where_hooks_can_meet_the_daemon_nowhere(
    app: App, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    app.home.prepare()
    (app.home.root / "run").write_text("")
    found = runtime_check(app)
    assert found.mark is Mark.BAD
    subprocess.run(["/bin/sh", "-c", found.repair], check=True)
    found = runtime_check(app)
    assert (found.mark, "TMPDIR" in found.repair) == (Mark.WARN, True)


def test_doctor_speaks_of_no_backups_where_there_is_no_database(app: App):
    said = {check.name: check.detail for check in health.doctor(app).checks}

    assert said["backups"] == "there is no database yet"


@posix
def test_doctor_asks_for_a_backup_until_there_is_one_which_is_private(app: App):
    pinned(app, "a")
    assert {c.name: c.repair for c in health.doctor(app).checks}["backups"] == "recollect backup"
    made = upkeep.backup(app).facts["files"]
    assert {c.name: c.mark for c in health.doctor(app).checks}["backups"] is Mark.GOOD
    (copy,) = core.backups_of(app.store_path(Scope.PROJECT))
    assert (made, [path.stat().st_mode & 0o777 for path in (copy, copy.parent)]) == (
        [str(copy)],
        [0o600, 0o700],
    )


def test_verify_and_reindex_change_no_memory(app: App, open_app: Opens):
    pinned(app, "a")
    app.close()
    before = files(app.home.root)
    checked = open_app()
    assert upkeep.verify(checked).clean
    checked.close()
    assert files(app.home.root) == before
    assert upkeep.reindex(open_app()).facts["passages"] == {"project": 1}


def test_every_value_says_where_it_comes_from_and_bad_ones_are_told(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    home = Path.home() / ".recollect"
    home.mkdir(mode=0o700)
    (home / "agent.conf").write_text(
        "MEMORY_BACKUPS_KEPT=7\nMEMORY_PROMPT_HITS=many\nMEMORY_HALFLIFE_DAYS=3\n"
    )
    Path(".ai").mkdir()
    Path(".ai/agent.conf").write_text("MEMORY_MAX_BODY_CHARS=2000\nMEMORY_BACKUPS_KEPT=3\n")
    monkeypatch.setenv("MEMORY_LOG_MAX_MB", "1")
    app = open_app()
    told = config(app)
    sources = {
        s["name"]: (s["value"], s["source"]) for s in told.settings if s["source"] != "default"
    }
    assert sources == {
        "MEMORY_BACKUPS_KEPT": ("7", f"{home}/agent.conf:1"),
        "MEMORY_MAX_BODY_CHARS": ("2000", f"{Path.cwd()}/.ai/agent.conf:1"),
        "MEMORY_LOG_MAX_MB": ("1", "environment"),
    }
    bad, unknown, refused = told.problems
    assert (bad.startswith(f"{home}/agent.conf:2: "), "Using 3" in bad) == (True, True)
    assert f"{home}/agent.conf:3: " in unknown
    assert "did you mean MEMORY_HALF_LIFE_DAYS?" in unknown
    assert "a project may not set this" in refused
    assert status(app).settings_problems == 3
    assert {c.name: c.mark for c in doctor(app).checks}["settings"] is Mark.WARN


def test_a_body_has_a_limit_that_can_be_set(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_MAX_BODY_CHARS", "1000")
    app = open_app()
    id = pinned(app, "x" * 1_000)
    with pytest.raises(BadInput, match="1,001 characters; at most 1,000") as problem:
        memories.pin(app, "x" * 1_001)
    assert "MEMORY_MAX_BODY_CHARS" in problem.value.hint
    with pytest.raises(BadInput):
        memories.edit(app, id, body="x" * 1_001)
    assert kept(app, id).body == "x" * 1_000


@pytest.mark.parametrize(
    ("report", "days_ago", "is_told"),
    [("Timeout (0:00:30)!\n", 1, True), ("Timeout (0:00:30)!\n", 8, False), ("", 0, False)],
)
def test_doctor_says_that_a_daemon_hung_and_was_ended(
    app: App, report: str, days_ago: int, is_told: bool
):
    pinned(app, "a")
    app.home.hang_report.write_text(report, encoding="ascii")
    at_s = app.clock.now().plus(days=-days_ago).datetime().timestamp()
    os.utime(app.home.hang_report, (at_s, at_s))
    hangs = [check for check in doctor(app).checks if check.name == "hangs"]
    assert bool(hangs) == is_told
    assert all(str(app.home.hang_report) in check.repair for check in hangs)


def test_of_chinese_a_quarter_is_as_long(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_MAX_BODY_CHARS", "1000")
    app = open_app()
    assert kept(app, pinned(app, "部署" * 125)).body == "部署" * 125
    with pytest.raises(BadInput, match=r"252 characters, which count as 1,008 .*; at most 1,000"):
        memories.pin(app, "部署" * 126)
    with pytest.raises(BadInput, match="which count as 1,008"):
        memories.pin(app, "𠮷𪚥" * 126)


def test_the_largest_body_is_kept_and_found(open_app: Opens):
    app = open_app()
    words = "Xylographer " + "lorem ipsum dolor " * 8_000
    id = pinned(app, words)
    assert kept(app, id).body == words
    assert [one.hit.memory.id for one in recall.search(app, ("xylographer",)).found] == [id]


def test_old_backups_go_when_there_are_more_than_are_kept(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_BACKUPS_KEPT", "3")
    app = open_app()
    pinned(app, "x")
    for _ in range(5):
        upkeep.backup(app)
    (path,) = [store for _, store, _ in status(app).stores]
    assert len(core.backups_of(Path(path))) == status(app).backups == 3


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def choosing(open_app: Opens, setting: str) -> App:
    """As a command would, with the model that the user's settings name."""
    home = Path.home() / ".recollect"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "agent.conf").write_text(f"MEMORY_EMBEDDING_MODEL={setting}\n")
    app = open_app()
    app._embedder = None
    return app


def counts(app: App) -> dict[str, int]:
    return app.reader(Scope.PROJECT).counts().vectors_by_model


@pytest.mark.parametrize("kind", ["folder", "endpoint"])
def test_it_answers_by_words_and_vectors(
    open_app: Opens, server: Server, tmp_path: Path, kind: str
):
    app = choosing(
        open_app, server.url if kind == "endpoint" else str(folders.save(tmp_path / "tiny"))
    )
    id = pinned(app, "The deploy goes through staging")
    found = recall.recall(app, ("deploy through staging",)).found
    assert found.how == "words and vectors"
    assert [one.hit.memory.id for one in found.found] == [id]
    assert len(counts(app)) == 1


def test_no_secret_of_a_question_leaves_the_process(open_app: Opens, server: Server):
    app = choosing(open_app, server.url)
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    pinned(app, f"The deploy token is {secret}")
    recall.recall(app, ("staging", secret))
    TimedQuestion(app, f"deploy with {secret}", time.monotonic() + 30).vector()
    sent = json.dumps(server.asked)
    assert "deploy with" in sent
    assert secret not in sent


def test_an_endpoint_that_stops_answering_leaves_words_and_why_says_so(
    open_app: Opens, server: Server
):
    app = choosing(open_app, server.url)
    id = pinned(app, "The deploy goes through staging")
    assert app.embedder.dim == DIM
    server.status = 500
    found = recall.recall(app, ("staging",)).found
    assert found.how.startswith("words alone: The embedding endpoint")
    assert [one.hit.memory.id for one in found.found] == [id]
    assert "500" in str(recall.why(app).recalls[0]["how"])


def test_a_hook_does_not_wait_for_an_endpoint_and_says_what_it_answered(
    open_app: Opens, server: Server
):
    app = choosing(open_app, server.url)
    assert app.embedder.dim == DIM
    server.answer = lambda _: b"<html>"
    garbage = TimedQuestion(app, "how do we deploy", time.monotonic() + 30)
    assert (garbage.vector(), "holds no vectors" in garbage.how) == (None, True)
    server.waits_s = 20
    late = TimedQuestion(app, "how do we deploy", time.monotonic() + 0.3)
    assert (late.vector(), late.how.startswith("words alone")) == (None, True)


def test_a_model_that_cannot_be_used_is_said_by_status_and_doctor_and_recall(
    open_app: Opens, tmp_path: Path
):
    app = choosing(open_app, str(folders.save(tmp_path / "odd", model_type="t5")))
    (tmp_path / "odd" / "model.safetensors").unlink()
    id = pinned(app, "The deploy goes through staging")
    found = recall.recall(app, ("staging",)).found
    [check] = [check for check in health.doctor(app).checks if check.name == "model"]
    overview = health.status(app)
    assert [one.hit.memory.id for one in found.found] == [id]
    assert "'t5'" in found.how
    assert (check.mark, "'t5'" in check.detail, "pip install" in check.repair) == (
        Mark.WARN,
        True,
        False,
    )
    assert overview.embedding is not None
    assert "'t5'" in overview.embedding.problem
    assert any("words alone" in line for line in shown(overview))


def test_doctor_says_where_texts_are_sent(open_app: Opens, server: Server):
    app = choosing(open_app, "https://vectors.example.com/v1#m")
    app._embedder = load(server.url)
    [check] = [check for check in health.doctor(app).checks if check.name == "model"]
    assert "the text of every memory is sent to vectors.example.com" in check.detail


def test_reindex_gives_all_passages_their_new_vector_with_a_bar_and_removes_the_old(
    open_app: Opens, tmp_path: Path
):
    before = open_app()
    keep(before, *(note(f"Thing number {number}") for number in range(70)))
    upkeep.reindex(before)
    without = upkeep.reindex(choosing(open_app, str(tmp_path / "gone")))
    assert any("is not there" in note for note in without.notes)
    app = choosing(open_app, str(folders.save(tmp_path / "tiny")))
    recall.recall(app, ("thing",))
    passages = counts(before)[shipped_id()]
    assert passages >= 70, "without a model, or by a recall with another, the old vectors stay"
    found = health.status(app).embedding
    missing = found.waiting if found else 0
    bar: list[tuple[float, float]] = []
    app.progress = lambda done, total, what="": bar.append((done, total))

    told = upkeep.reindex(app)

    ((model, made),) = counts(app).items()
    assert (model.partition(":")[0], made) == ("tiny", passages)
    assert (
        told.summary
        == f"Indexed {passages} passages, made {missing} vectors, removed {passages} of another model."
    )
    assert bar[-1] == (missing, missing)


def shown(overview: Overview) -> list[str]:
    return [block.text for block in terminal.blocks(overview, now=NOW) if isinstance(block, Line)]


@pytest.mark.parametrize("waiting", [900, 0])
def test_status_shows_how_far_a_change_is_until_all_is_done(waiting: int):
    embedding = Embedding("/m", "m:1", 1_200, 1_200 - waiting, waiting)
    lines = shown(Overview("1", "/h", None, None, (), 0, (), 0, embedding=embedding))
    assert any(
        "900 of 1,200 passages are found by their words alone so far" in line for line in lines
    ) is bool(waiting)

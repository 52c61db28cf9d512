"""`recall` and `search` at the command line: without a model, what was archived, and the recall agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.model.plan import Create
from recollect.model.result import Scope
from tests.cli.run import pinned, run
from tests.embed import folders
from tests.llm.standin import StandIn
from tests.values import act, plan, thread

LINE = "2 archived memories also match: --archived"
REINSTALL = "pip install --force-reinstall recollect"


def missing(path: Path) -> None:
    pass


def flipped(path: Path) -> None:
    """One byte in the middle, as a bad disk leaves it: no length tells, only the hash."""
    content = bytearray(folders.SHIPPED_WEIGHTS.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.fixture(params=[missing, flipped])
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Instead of the shipped file; returns the command that mends it."""
    make: Callable[[Path], None] = request.param
    make(folders.shipped_without_weights(tmp_path / "shipped", monkeypatch))
    return REINSTALL


@pytest.fixture
def misnamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", str(tmp_path / "none.safetensors"))
    return "`shipped`"


def check_words_alone(repair: str) -> None:
    id = pinned("Zeppelins fly on helium.")

    for command in ("recall", "search"):
        shown, listed = run(command, "zeppelins"), run(command, "zeppelins", "--json")

        assert (shown.code, listed.code) == (0, 0), shown.err + listed.err
        assert "Zeppelins fly on helium." in shown.out
        assert (shown.out + shown.err).lower().count("searched by words alone") == 1
        assert [hit["id"] for hit in listed.json["hits"]] == [id]
        assert listed.json["how"].startswith("words alone: ")
        assert listed.err == ""
    doctor = run("doctor", "--json")
    [check] = [check for check in doctor.json["checks"] if check["name"] == "model"]
    assert doctor.code == 0, "words serve: it is no failure"
    assert check["mark"] == "warn"
    assert "words alone" in check["detail"]
    assert repair in check["repair"]
    assert repair in run("doctor").out


def test_with_a_model_file_that_is_missing_or_broken_words_answer(broken: str):
    check_words_alone(broken)


def test_with_a_setting_that_names_no_model_words_answer_and_the_setting_is_to_be_mended(misnamed: str):
    check_words_alone(misnamed)
    assert REINSTALL not in run("doctor").out, "the installation is whole"
    assert "MEMORY_EMBEDDING_MODEL" in run("recall", "zeppelins").out


@pytest.mark.parametrize("command", ["recall", "search"])
def test_archived_memories_are_counted_and_shown_on_request(command: str):
    away = {pinned("The zeppelin hangar has two doors."), pinned("The zeppelin crew lands before noon.")}
    assert run("archive", *away).code == 0

    plain, whole = run(command, "zeppelin"), run(command, "zeppelin", "--archived")
    facts = run(command, "zeppelin", "--json").json

    assert LINE in plain.out.splitlines()
    assert (facts["hits"], facts["left_out"]) == ([], {"archived": 2})
    assert LINE not in whole.out
    assert "archived" in whole.out.lower()
    assert {hit["id"] for hit in run(command, "zeppelin", "--archived", "--json").json["hits"]} == away


@pytest.mark.parametrize("command", ["recall", "search"])
@pytest.mark.parametrize(("days", "status"), [(1, "active"), (14, "suspended"), (400, "archived")])
def test_threads_of_any_age_are_found_with_no_option(command: str, days: int, status: str):
    app = App.open(Path.cwd())
    at = SystemClock().now().plus(days=-days)
    old = thread("The zeppelin hangar", body="The zeppelin hangar has two doors.")
    app.writer(Scope.PROJECT).apply(
        plan(Create(replace(old, created_at=at, reinforced_at=at, last_active_at=at))), act()
    )
    app.close()

    (hit,) = run(command, "which", "doors", "has", "it", "--json").json["hits"]

    assert (hit["id"], hit["status"]) == (old.id, "active" if command == "recall" else status), "a recall wakes it"


@pytest.fixture
def chooser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", "NONE")
    for name, value in {"LLM": "on", "LLM_COMMAND": made.command, "RECALL_SCHEME": "single"}.items():
        monkeypatch.setenv(f"MEMORY_{name}", value)
    return made


def test_names_come_one_a_line_and_nothing_is_an_empty_answer(chooser: StandIn):
    first, second = pinned("Deploys go first"), pinned("Anna signs")
    chooser.answers(f"{second}\n{first}", "NONE")
    some = run("recall-agent", stdin=b"how do we deploy?")
    none = run("recall-agent", stdin=b"how do we deploy?")
    assert (some.code, some.out) == (0, f"{second}\n{first}\n")
    assert (none.code, none.out) == (0, "")


def test_no_answer_is_an_error_and_says_where_to_look(chooser: StandIn):
    pinned("Deploys go first")
    chooser.answers("I would rather not.")
    done = run("recall-agent", "how do we deploy?")
    assert done.code == 2
    assert "recollect logs" in done.err

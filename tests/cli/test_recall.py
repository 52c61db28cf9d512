"""`recall` and `search` at the command line: without a model, what was archived, and the recall agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import pinned, run
from tests.embed import folders
from tests.llm.standin import StandIn

LINE = "2 archived memories also match: --archived"
REINSTALL = "pip install --force-reinstall recollect"


@pytest.mark.parametrize("fault", ["the shipped file is gone", "the setting names no model"])
def test_without_a_model_words_answer_and_doctor_says_what_to_mend(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    is_misnamed = fault == "the setting names no model"
    if is_misnamed:
        monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", str(tmp_path / "none.safetensors"))
    else:
        folders.shipped_without_weights(tmp_path / "shipped", monkeypatch)
    id = pinned("Zeppelins fly on helium.")

    for command in ("recall", "search"):
        shown, listed = run(command, "zeppelins"), run(command, "zeppelins", "--json")
        assert (shown.code, listed.code, listed.err) == (0, 0, ""), shown.err
        assert "Zeppelins fly on helium." in shown.out
        assert (shown.out + shown.err).lower().count("searched by words alone") == 1
        assert ("MEMORY_EMBEDDING_MODEL" in shown.out + shown.err) is is_misnamed
        assert [hit["id"] for hit in listed.json["hits"]] == [id]
        assert listed.json["how"].startswith("words alone: ")
    doctor = run("doctor", "--json")
    [check] = [check for check in doctor.json["checks"] if check["name"] == "model"]
    assert (doctor.code, check["mark"]) == (0, "warn"), "words serve: it is no failure"
    assert "words alone" in check["detail"]
    assert ("`shipped`" in check["repair"], REINSTALL in check["repair"]) == (is_misnamed, not is_misnamed)
    assert check["repair"] in run("doctor").out


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

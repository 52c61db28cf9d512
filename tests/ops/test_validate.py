"""Memories are compared with what is there: for free, by a model that may only read, and nothing they say is run."""

from __future__ import annotations

import json
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.app.note_files import find_note
from recollect.app.states import OUTDATED
from recollect.base.errors import StoreBusy
from recollect.jobs import runner
from recollect.jobs.job_table import VALIDATION
from recollect.model.codec import content_hash
from recollect.model.memory import Lane, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope, Summary
from recollect.model.session import StateRecord
from recollect.ops import forget, health, memories, notes, rules, validate
from tests.llm.standin import StandIn
from tests.ops.ask import files, keep, kept, made, states
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import put
from tests.values import rule

TAGGED = """<memory-metadata>
{"frequency": 0}
</memory-metadata>
<fuzzy-match>
staging, approval
</fuzzy-match>

<memory>
Notes
Before deploys to staging, ask Anna for her approval.
</memory>
"""


def kept_rule(app: App, body: str, title: str = "x") -> Rule:
    one = rule(title, body=body, days_old=9)
    keep(app, one)
    return one


def findings(told: Summary) -> dict[str, list[str]]:
    listed: Any = told.facts["findings"]
    return {one["id"]: one["why"] for one in listed}


def waiting(app: App) -> list[Rule]:
    found = app.reader(Scope.PROJECT).find(Query(statuses=(Status.CANDIDATE,)))
    return [one for one in found if isinstance(one, Rule)]


def check(id: str, state: str, **more: str) -> str:
    return json.dumps([{"id": id, "state": state, **more}])


# What a memory names


@pytest.fixture
def tree() -> Path:
    root = Path.cwd()
    (root / "src").mkdir()
    (root / "src/there.py").write_text("x = 1\n")
    (root / "package.json").write_text(json.dumps({"scripts": {"build": "touch RAN"}}))
    (root / "Makefile").write_text("CC := gcc\nall: lint\nlint test:\n\ttouch RAN $(CC)\n")
    return root


def missing(app: App, text: str, scope: Scope = Scope.PROJECT) -> tuple[str, ...]:
    return validate.outdated_claims(app, scope, rule("x", body=text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Look at `src/there.py`", ()),
        ("Look at `src/gone.py`", ("src/gone.py is not there",)),
        ("`npm run build`", ()),
        ("`npm run deploy`", ("package.json has no script deploy",)),
        ("`make lint`, `make test`, `make all`", ()),
        ("`make release`", ("the Makefile has no target release",)),
        ("`no-such-program-here --flag`", ("there is no program no-such-program-here",)),
        ("`sh -c true`, `cd -P x`", ()),
        ("`other/gone.py` of another repository, `origin/main`, `../outside/gone.py`, `/api/users/`: who knows", ()),
    ],
)
def test_what_is_not_there_is_told(app: App, tree: Path, text: str, found: tuple[str, ...]):
    assert missing(app, text) == found


def test_a_makefile_that_says_less_than_it_means_is_believed(app: App, tree: Path):
    for text in ("include more.mk\nall:\n", "%.o: %.c\n\tcc\n", "$(TARGETS): x\n"):
        (tree / "Makefile").write_text(text)
        assert missing(app, "`make release`") == ()
    (tree / "package.json").write_text("{broken")
    (tree / "Makefile").unlink()
    assert missing(app, "`make release` and `npm run nothing`") == ()


def test_a_file_that_was_there_when_it_was_said_is_known_to_be_gone_or_changed(app: App, tree: Path):
    (tree / "top.toml").write_text("a")
    memory = kept(app, made(rules.add(app, "Settings are in top.toml and src/there.py")))
    assert validate.outdated_claims(app, Scope.PROJECT, memory) == ()
    (tree / "top.toml").unlink()
    (tree / "src/there.py").write_text("x = 2\n")
    assert validate.outdated_claims(app, Scope.PROJECT, memory) == ("top.toml is gone", "src/there.py changed since")


def test_of_the_users_memories_only_whole_paths_are_looked_for(app: App, tree: Path, tmp_path: Path):
    text = f"`src/gone.py`, `make release`, `npm run nothing`, `{tmp_path}/gone/x.py`"
    assert missing(app, text, Scope.USER) == (f"{tmp_path}/gone/x.py is not there",)


# Free


def test_a_look_writes_nothing_and_a_run_without_a_model_tells_and_keeps_a_log(app: App):
    (Path.cwd() / "src").mkdir()
    stale, sound = kept_rule(app, "Look at `src/gone.py`"), kept_rule(app, "Prefer tabs")
    app.writer(Scope.PROJECT).put(StateRecord("sessions", "175"))
    before, state = files(app.home.root), states(app)[Scope.PROJECT]
    told = validate.validate(app)
    assert findings(told) == {stale.id: ["src/gone.py is not there"]}
    assert sound.id not in str(told.notes)
    assert "2 of 2 would be drawn" in told.notes[0]
    assert files(app.home.root) == before

    validate.validate(app, run=True)

    assert states(app)[Scope.PROJECT] == state
    log = app.home.logs / "validation-175.log"
    assert f"{stale.id} (x): src/gone.py is not there" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert any("1 memory may be out of date" in line for line in notices.waiting(app))


def test_no_more_than_the_amount_are_drawn_and_not_always_the_same(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_VALIDATION_AMOUNT", "3")
    (Path.cwd() / "src").mkdir()
    app = open_app()
    keep(app, *(rule(f"r{number}", body=f"Look at `src/{number}.py`", days_old=9) for number in range(30)))
    samples = [frozenset(runner.run_by_hand(app, VALIDATION)) for _ in range(4)]
    assert {len(sample) for sample in samples} == {3}
    assert len(set(samples)) > 1


def test_nothing_that_a_memory_says_is_run(app: App, tree: Path, monkeypatch: pytest.MonkeyPatch):
    (tree / "run.sh").write_text("#!/bin/sh\ntouch RAN\n")
    (tree / "run.sh").chmod(0o755)
    said = "`make all`, `npm run build`, `./run.sh now`, `sh -c 'touch RAN'`, $(touch RAN)\n```\n$ touch RAN\n```"
    kept_rule(app, f"Always run {said}")
    starts = Mock(side_effect=AssertionError("started"))
    monkeypatch.setattr(subprocess, "Popen", starts)
    monkeypatch.setattr("os.system", starts)
    validate.validate(app)
    validate.validate(app, run=True)
    assert not (tree / "RAN").exists()
    assert not starts.called


# The first phase


def test_the_model_may_read_the_project_and_no_users_memory_is_judged_by_it(app: App, model: StandIn):
    one = kept_rule(app, "The port is 8080")
    users = made(rules.add(app, "The port is 8080", user=True))

    validate.validate(app, run=True)

    [reading] = [call for call in model.calls if call["cwd"] == str(Path.cwd())]
    assert (one.id in reading["text"], users in reading["text"]) == (True, False)
    assert reading["argv"][reading["argv"].index("--tools") + 1] == "Read,Glob"


def test_what_is_stale_is_flagged_until_it_is_changed_and_a_projects_file_is_never_written(app: App, model: StandIn):
    put(Path.cwd() / ".ai/memory", "port.md", TAGGED)
    notes.sync(app)
    note, one = find_note(app, "port").id, kept_rule(app, "The port is 8080")
    model.answers(
        json.dumps([{"id": one.id, "state": "stale"}, {"id": note, "state": "fix", "body": "other"}]),
        json.dumps([{"id": note, "description": "Before deploys ask Anna"}]),
    )
    validate.validate(app, run=True)
    assert kept(app, one.id) == one
    assert (Path.cwd() / ".ai/memory/port.md").read_text() == TAGGED
    assert findings(validate.validate(app)) == {id: ["flagged by a review"] for id in (one.id, note)}
    memories.edit(app, one.id, body="The port is 9090")
    assert findings(validate.validate(app)) == {note: ["flagged by a review"]}


def test_a_rule_that_reads_otherwise_waits_for_a_person_and_supersedes_on_his_word(app: App, model: StandIn):
    one = kept_rule(app, "The port is 8080")
    model.answers(check(one.id, "fix", why="config.toml", body="The port is 9090"), "[]")

    validate.validate(app, run=True)

    (new,) = waiting(app)
    assert (new.body, new.lane, kept(app, one.id)) == ("The port is 9090", Lane.REPOSITORY, one)
    model.answers(check(one.id, "fix", body="The port is 7070"))
    validate.validate(app, run=True)
    assert waiting(app) == [new], "one proposal at a time"

    rules.accept(app, new.id)
    assert (kept(app, one.id).status, kept(app, one.id).superseded_by) == (Status.SUPERSEDED, new.id)
    memories.undo(app)
    assert (kept(app, one.id).status, kept(app, new.id).status) == (Status.ACTIVE, Status.CANDIDATE)
    memories.undo(app)
    assert (waiting(app), kept(app, one.id)) == ([], one)


def test_once_nobody_answers_nobody_is_asked_again(model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_LLM_CALLS_PER_DAY", "1")
    app = open_app()
    keep(app, *(rule(f"rule {number}", days_old=9) for number in range(12)))
    validate.validate(app, run=True)
    assert len(model.calls) == health.status(app).llm["calls"] == 1


# The second phase


def titled(app: App, model: StandIn, memory_id: str, line: str) -> None:
    model.answers("[]", json.dumps([{"id": memory_id, "description": line}]))
    validate.validate(app, run=True)


def test_a_title_that_serves_as_well_is_kept_and_can_be_undone(app: App, model: StandIn):
    one = kept_rule(app, "Before deploys to staging, ask Anna.", title="Anna")
    titled(app, model, one.id, "Before deploys to staging ask Anna")
    new = kept(app, one.id)
    assert (new.title, new.body, new.lane) == ("Before deploys to staging ask Anna", one.body, one.lane)
    memories.undo(app)
    assert kept(app, one.id).title == "Anna"


def test_a_title_by_which_it_comes_up_later_is_taken_back(app: App, model: StandIn):
    one = kept_rule(app, "The quokka signs. Other words follow here, about deploys.", title="quokka wombat numbat")
    for number in range(6):
        kept_rule(app, f"Wombat and numbat, entry {number}", title=f"wombat numbat {number}")

    titled(app, model, one.id, "Other words follow about deploys")

    assert kept(app, one.id) == one
    ops = [entry.op for _, entry in memories.log(app).entries]
    assert ops[:2] == ["undo", "describe"]
    log = next(app.home.logs.glob("validation-*.log")).read_text()
    assert "kept the old title: the new one ranked lower" in log


def test_of_the_users_tagged_note_the_condition_is_written_and_nothing_else(app: App, model: StandIn):
    vault = app.home.vault
    put(vault, "anna.md", TAGGED)
    put(vault, "plain.md", "# Plain\nBefore deploys ask Anna.\n")
    notes.sync(app)
    id, plain = find_note(app, "anna").id, find_note(app, "plain").id
    line = "Before deploys to staging ask Anna for approval"
    titles = {id: line, plain: "Before deploys ask Anna"}
    model.answers(json.dumps([{"id": id, "description": title} for id, title in titles.items()]))

    validate.validate(app, run=True)

    block = f"<conditional>\n{line}\n</conditional>\n\n<fuzzy-match>"
    assert (vault / "anna.md").read_text() == TAGGED.replace("<fuzzy-match>", block)
    assert (kept(app, id).title, kept(app, id).lane) == (line, Lane.USER)
    assert (vault / "plain.md").read_text() == "# Plain\nBefore deploys ask Anna.\n"
    notes.sync(app)
    assert kept(app, id).title == line


@pytest.mark.parametrize("problem", [KeyboardInterrupt, StoreBusy("busy", hint="again")])
def test_a_title_that_could_not_be_measured_is_taken_back(
    app: App, model: StandIn, monkeypatch: pytest.MonkeyPatch, problem: BaseException
):
    one = kept_rule(app, "Before deploys to staging, ask Anna.", title="Anna")
    monkeypatch.setattr(validate, "_ranks", Mock(side_effect=[[1], problem]))
    with suppress(KeyboardInterrupt):
        titled(app, model, one.id, "Before deploys ask Anna")

    assert kept(app, one.id).title == "Anna"
    assert [entry.op for _, entry in memories.log(app).entries][:2] == ["undo", "describe"]


def test_what_is_erased_is_erased_from_the_logs_too(app: App):
    (Path.cwd() / "src").mkdir()
    gone, stays = kept_rule(app, "Look at `src/gone.py`"), kept_rule(app, "Look at `src/away.py`")
    validate.validate(app, run=True)
    OUTDATED.write(app.writer(Scope.PROJECT), {one.id: content_hash(one) for one in (gone, stays)})

    forget.erase(app, (gone.id,))

    assert set(validate.read_flags(app.reader(Scope.PROJECT))) == {stays.id}
    log = next(app.home.logs.glob("validation-*.log")).read_text()
    assert (gone.id in log, stays.id in log) == (False, True)

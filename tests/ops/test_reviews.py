"""What is hardly used is put away, what may no longer be true is found: for free, or by a model that only reads."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from recollect.app import language_model, notices, plan_gate
from recollect.app.core import App
from recollect.app.note_files import find_note
from recollect.app.states import OUTDATED
from recollect.base.errors import BadInput, StoreBusy
from recollect.jobs import runner
from recollect.jobs.runner import FORGETTING, VALIDATION
from recollect.lifecycle.review import Verdict
from recollect.model.codec import content_hash
from recollect.model.memory import Lane, Memory, Rule, Status
from recollect.model.plan import Update
from recollect.model.query import Query
from recollect.model.result import Done, Scope, Summary
from recollect.model.session import EventName, StateRecord
from recollect.ops import forget as forgetting
from recollect.ops import health, memories, notes, past_sessions, recall, rules, validate
from recollect.ops.purge import erase
from recollect.render.recall_text import recall_text
from tests.daemon.real import FORKS
from tests.llm.standin import StandIn
from tests.ops.ask import files, keep, kept, made, pinned, states
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import put
from tests.ops.transcript import Transcript
from tests.values import act, plan, rule

USED = """<memory-metadata>
{
  "frequency": 4,
  "appreciation": 2,
  "mine": "stays"
}
</memory-metadata>

<memory>
The zebra approves deploys.
</memory>
"""


def some(app: App, *titles: str) -> list[Memory]:
    made: list[Memory] = [rule(title, days_old=30 - number) for number, title in enumerate(titles)]
    keep(app, *made)
    return made


def verdicts(**by_id: str) -> str:
    return json.dumps([{"id": id, "verdict": verdict} for id, verdict in by_id.items()])


def ids(result: Summary | Done) -> list[str]:
    assert isinstance(result, Summary)
    listed: Any = result.facts["candidates"]
    return [one["id"] for one in listed]


def test_candidates_are_shown_and_nothing_is_written(app: App):
    oldest, older, old, _new = some(app, "a", "b", "c", "d")
    before = (files(app.home.root), states(app))
    shown = forgetting.forget(app, candidates=True)
    assert ids(shown) == [oldest.id, older.id, old.id]
    assert (files(app.home.root), states(app)) == before
    assert ids(forgetting.forget(app)) == ids(shown), "asked for nothing, it only shows"
    with pytest.raises(BadInput, match="exclude each other"):
        forgetting.forget(app, ("x",), run=True)


def test_a_forgotten_rule_is_out_of_force_and_comes_back_whole(app: App):
    id = made(rules.add(app, "Use pnpm"))
    forgetting.appreciate(app, id, "+3")
    before = kept(app, id)
    for bring_back in (lambda: memories.undo(app), lambda: memories.restore(app, (id,))):
        forgetting.forget(app, (id,))
        assert kept(app, id).status is Status.ARCHIVED
        bring_back()
        assert kept(app, id) == before


@pytest.mark.parametrize("path", ["animals/zebra.md", "memory/zebra.md", "_always-load/zebra.md"])
def test_a_forgotten_note_moves_to_cold_storage_and_comes_back_to_where_it_was(
    app: App, vault: Path, path: str
):
    put(vault, path, "# Zebra\nThe zebra approves.\n")
    put(vault, "memory/other.md", "Another.")
    notes.sync(app)
    id = find_note(app, "zebra").id
    forgetting.forget(app, ("zebra",))
    cold = vault / "memory-cold" / path
    assert (cold.read_text(), (vault / path).exists()) == ("# Zebra\nThe zebra approves.\n", False)
    assert kept(app, id).status is Status.ARCHIVED
    notes.restore(app, ("zebra",))
    assert ((vault / path).read_text(), cold.exists()) == ("# Zebra\nThe zebra approves.\n", False)
    assert kept(app, id).status is Status.ACTIVE


def test_what_is_pinned_or_put_away_is_not_forgotten(app: App):
    archived, pinned = rule("old", status=Status.ARCHIVED), rule("pinned", pinned=True)
    keep(app, archived, pinned)
    for id, why in ((archived.id, "already"), (pinned.id, "pinned")):
        with pytest.raises(BadInput, match=why):
            forgetting.forget(app, (id,))


def test_appreciation_is_added_up_raises_the_score_and_can_be_undone(app: App):
    first, *_ = some(app, "a", "b", "c", "d")
    forgetting.appreciate(app, first.id)
    forgetting.appreciate(app, first.id, "+2")
    assert kept(app, first.id).appreciation == 3
    assert first.id not in ids(forgetting.forget(app, candidates=True))
    memories.undo(app)
    assert kept(app, first.id).appreciation == 1


def test_a_tagged_notes_appreciation_is_the_figure_in_its_file_if_it_is_ones_own(
    app: App, vault: Path
):
    put(vault, "zebra.md", USED)
    put(vault, "plain.md", "Plain")
    put(Path.cwd() / ".ai/memory", "loud.md", USED.replace(": 2", ": 999"))
    notes.sync(app)
    for name in ("zebra", "plain"):
        forgetting.appreciate(app, name, "+1.5")
    notes.sync(app)
    figures = [
        kept(app, find_note(app, name).id).appreciation for name in ("zebra", "plain", "loud")
    ]
    assert figures == [3.5, 1.5, 0], "a stranger's file does not appreciate itself"
    assert (vault / "zebra.md").read_text() == USED.replace(": 2", ": 3.5")
    assert (vault / "plain.md").read_text() == "Plain"
    put(vault, "zebra.md", USED.replace(": 2", ": 7"))
    notes.sync(app)
    assert kept(app, find_note(app, "zebra").id).appreciation == 7
    forgetting.forget(app, ("zebra",))
    assert '"appreciation": 7,\n  "mine": "stays"' in (vault / "memory-cold/zebra.md").read_text()


@pytest.mark.parametrize("amount", ["", "x", "-1", "+0", "1e9", "+9999", "nan", "1,5"])
def test_an_amount_that_is_none_is_refused(app: App, amount: str):
    id = made(rules.add(app, "Use pnpm"))
    with pytest.raises(BadInput, match="not an amount"):
        forgetting.appreciate(app, id, amount)


def test_without_a_model_they_are_proposed_and_nothing_is_moved(app: App):
    some(app, "a", "b", "c", "d")
    before = states(app)[Scope.PROJECT]
    forgetting.forget(app, run=True)
    assert states(app)[Scope.PROJECT] == before
    assert any("recollect forget --candidates" in line for line in notices.waiting(app))


def test_a_model_keeps_or_puts_away_and_the_rest_is_left(app: App, model: StandIn):
    keep, cold, silent, other = some(app, "a", "b", "c", "d")
    model.answers(verdicts(**{keep.id: "keep", cold.id: "cold", other.id: "cold"}))
    forgetting.forget(app, run=True)
    assert (kept(app, keep.id).status, kept(app, keep.id).appreciation) == (Status.ACTIVE, 1)
    assert (kept(app, cold.id).status, kept(app, cold.id).appreciation) == (Status.ARCHIVED, 0)
    assert (kept(app, silent.id), kept(app, other.id)) == (silent, other), (
        "not answered, and not asked about"
    )
    assert any("put 1 memory away" in line for line in notices.waiting(app))
    assert len(model.calls) == 1
    assert all(memory.id in model.texts[0] for memory in (keep, cold, silent))
    assert other.id not in model.texts[0]


def test_of_notes_only_the_users_own_are_reviewed_and_moved(app: App, model: StandIn, vault: Path):
    put(Path.cwd() / ".ai/memory", "horse.md", "Horse")
    put(vault, "zebra.md", "# Zebra\nOver.\n")
    notes.sync(app)
    zebra = find_note(app, "zebra").id
    assert ids(forgetting.forget(app, candidates=True)) == [zebra]
    model.answers(verdicts(**{zebra: "cold"}))
    forgetting.forget(app, run=True)
    assert (vault / "memory-cold/zebra.md").read_text() == "# Zebra\nOver.\n"


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"frequency": 1},
        {"last_session": 9},
        {"pinned": True},
        {"body": "Other."},
        {"status": Status.SUPERSEDED},
    ],
)
def test_what_changed_meanwhile_is_kept(
    app: App, monkeypatch: pytest.MonkeyPatch, meanwhile: dict[str, Any]
):
    (one,) = some(app, "a")
    changed = replace(one, **meanwhile)

    def slowly(app: App, *_given: object) -> dict[str, Verdict]:
        app.writer(Scope.PROJECT).apply(plan(Update.between(one, changed)), act())
        return {one.id: "cold"}

    monkeypatch.setattr(language_model, "ask", slowly)
    forgetting.forget(app, run=True)
    assert kept(app, one.id) == changed


@FORKS
def test_a_run_that_is_killed_anywhere_leaves_no_memory_half_moved(
    app: App, open_app: Opens, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(vault, "zebra.md", "# Zebra\nOver.\n")
    notes.sync(app)
    id = find_note(app, "zebra").id
    app.close()
    shutil.copytree(app.home.root, tmp_path / "before")
    monkeypatch.setattr(language_model, "ask", lambda _app, _ask, found: {id: "cold"})

    def run_and_die(after: Iterator[int]) -> None:
        """At the given access to a file of the vault or, once they are moved, of the log."""

        def watch(event: str, given: tuple[Any, ...]) -> None:
            if event in ("open", "os.mkdir", "os.remove", "os.rename"):
                is_near = str(given[0]).startswith((str(vault), str(app.home.logs)))
                if is_near and not next(after):
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        forgetting.forget(open_app(), run=True)
        os._exit(0)

    for step in count():
        pid = os.fork()
        if not pid:
            run_and_die(iter(range(step, -1, -1)))
        is_over = os.waitpid(pid, 0)[1] == 0
        later = open_app()
        notes.sync(later)
        (path,) = (path for path in vault.rglob("*.md") if path.read_text())
        assert path.read_text() == "# Zebra\nOver.\n"
        assert (kept(later, id).status is Status.ARCHIVED) is ("memory-cold" in path.parts)
        if is_over:
            assert ("memory-cold" in path.parts, step > 5) == (True, True)
            break
        later.close()
        shutil.rmtree(app.home.root)
        shutil.copytree(tmp_path / "before", app.home.root)


def test_a_run_by_hand_waits_for_none_that_is_going_on(app: App, open_app: Opens):
    some(app, "a")
    going = runner._run(app, FORGETTING, Scope.PROJECT, by_hand=True)
    next(going)
    assert any("already running" in note for note in forgetting.forget(open_app(), run=True).notes)


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


@pytest.fixture
def tree() -> Path:
    root = Path.cwd()
    (root / "src").mkdir()
    (root / "src/there.py").write_text("x = 1\n")
    (root / "src/login.py").write_text("def login(): ...\n")
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
        (
            "`other/gone.py` of another repository, `origin/main`, `../outside/gone.py`, `/api/users/`: who knows",
            (),
        ),
    ],
)
def test_what_is_not_there_is_told(app: App, tree: Path, text: str, found: tuple[str, ...]):
    assert missing(app, text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The pool is in `lib/db/pool.py`", ("lib/db/pool.py is not there",)),
        ("The pool is in lib/db/pool.py, I think", ("lib/db/pool.py is not there",)),
        ("`./scripts/deploy.sh` does it", ("./scripts/deploy.sh is not there",)),
        ("`billing/api/pay.go` charges", ("billing/api/pay.go is not there",)),
        ("`docker/Dockerfile`", ("docker/Dockerfile is not there",)),
        ("`.github/workflows/ci.yml`", (".github/workflows/ci.yml is not there",)),
        ("see https://example.com/lib/db/pool.py and example.com/lib/pool.html", ()),
        ("`github.com/acme/shop/main.go`, `acme/shop.git`, `vercel/next.js`", ()),
        ("`@acme/ui/button.js`, `three/examples/jsm/loader.js`, `lodash/fp`", ()),
        ("and/or, read/write, 3/4, `text/html`, `feature/login.v2`, km/h", ()),
        ("`node_modules/x/index.js`, `dist/app.js`, `path/to/file.py`", ()),
        ("`app/*.py`, `src/<name>/x.py`, `/api/users.json`", ()),
    ],
)
def test_a_file_whose_first_folder_is_gone_is_told_where_it_can_only_be_a_file(
    app: App, tree: Path, text: str, found: tuple[str, ...]
):
    manifest = {"dependencies": {"three": "^1"}}
    (tree / "package.json").write_text(json.dumps(manifest))
    assert missing(app, text) == found


def test_a_makefile_that_says_less_than_it_means_is_believed(app: App, tree: Path):
    for text in ("include more.mk\nall:\n", "%.o: %.c\n\tcc\n", "$(TARGETS): x\n"):
        (tree / "Makefile").write_text(text)
        assert missing(app, "`make release`") == ()
    (tree / "package.json").write_text("{broken")
    (tree / "Makefile").unlink()
    assert missing(app, "`make release` and `npm run nothing`") == ()


def test_a_file_that_was_there_when_it_was_said_is_known_to_be_gone_or_changed(
    app: App, tree: Path
):
    (tree / "top.toml").write_text("a")
    memory = kept(app, made(rules.add(app, "Settings are in top.toml and src/there.py")))
    assert validate.outdated_claims(app, Scope.PROJECT, memory) == ()
    (tree / "top.toml").unlink()
    (tree / "src/there.py").write_text("x = 2\n")
    assert validate.outdated_claims(app, Scope.PROJECT, memory) == (
        "top.toml is gone",
        "src/there.py changed since",
    )


def test_of_the_users_memories_only_whole_paths_are_looked_for(
    app: App, tree: Path, tmp_path: Path
):
    text = f"`src/gone.py`, `make release`, `npm run nothing`, `{tmp_path}/gone/x.py`"
    assert missing(app, text, Scope.USER) == (f"{tmp_path}/gone/x.py is not there",)


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


def test_no_more_than_the_amount_are_drawn_and_not_always_the_same(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_VALIDATION_AMOUNT", "3")
    (Path.cwd() / "src").mkdir()
    app = open_app()
    keep(
        app,
        *(
            rule(f"r{number}", body=f"Look at `src/{number}.py`", days_old=9)
            for number in range(30)
        ),
    )
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


def test_the_model_may_read_the_project_and_no_users_memory_is_judged_by_it(
    app: App, model: StandIn
):
    one = kept_rule(app, "The port is 8080")
    users = made(rules.add(app, "The port is 8080", user=True))
    validate.validate(app, run=True)
    [reading] = [call for call in model.calls if call["cwd"] == str(Path.cwd())]
    assert (one.id in reading["text"], users in reading["text"]) == (True, False)
    assert reading["argv"][reading["argv"].index("--tools") + 1] == "Read,Glob"


def test_what_is_stale_is_flagged_until_it_is_changed_and_a_projects_file_is_never_written(
    app: App, model: StandIn
):
    put(Path.cwd() / ".ai/memory", "port.md", TAGGED)
    notes.sync(app)
    note, one = find_note(app, "port").id, kept_rule(app, "The port is 8080")
    model.answers(
        json.dumps(
            [{"id": one.id, "state": "stale"}, {"id": note, "state": "fix", "body": "other"}]
        ),
        json.dumps([{"id": note, "description": "Before deploys ask Anna"}]),
    )
    validate.validate(app, run=True)
    assert kept(app, one.id) == one
    assert (Path.cwd() / ".ai/memory/port.md").read_text() == TAGGED
    assert findings(validate.validate(app)) == {
        id: ["flagged by a review"] for id in (one.id, note)
    }
    memories.edit(app, one.id, body="The port is 9090")
    assert findings(validate.validate(app)) == {note: ["flagged by a review"]}


def test_a_rule_that_reads_otherwise_waits_for_a_person_and_supersedes_on_his_word(
    app: App, model: StandIn
):
    one = kept_rule(app, "The port is 8080")
    model.answers(check(one.id, "fix", why="config.toml", body="The port is 9090"), "[]")
    validate.validate(app, run=True)
    (new,) = waiting(app)
    assert (new.body, new.lane, kept(app, one.id)) == ("The port is 9090", Lane.REPOSITORY, one)
    model.answers(check(one.id, "fix", body="The port is 7070"))
    validate.validate(app, run=True)
    assert waiting(app) == [new], "one proposal at a time"
    rules.accept(app, (new.id,))
    assert (kept(app, one.id).status, kept(app, one.id).superseded_by) == (
        Status.SUPERSEDED,
        new.id,
    )
    memories.undo(app)
    assert (kept(app, one.id).status, kept(app, new.id).status) == (Status.ACTIVE, Status.CANDIDATE)
    memories.undo(app)
    assert (waiting(app), kept(app, one.id)) == ([], one)


def test_once_nobody_answers_nobody_is_asked_again(
    model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM_CALLS_PER_DAY", "1")
    app = open_app()
    keep(app, *(rule(f"rule {number}", days_old=9) for number in range(12)))
    validate.validate(app, run=True)
    assert len(model.calls) == health.status(app).llm["calls"] == 1


def titled(app: App, model: StandIn, memory_id: str, line: str) -> None:
    model.answers("[]", json.dumps([{"id": memory_id, "description": line}]))
    validate.validate(app, run=True)


def test_a_title_that_serves_as_well_is_kept_and_can_be_undone(app: App, model: StandIn):
    one = kept_rule(app, "Before deploys to staging, ask Anna.", title="Anna")
    titled(app, model, one.id, "Before deploys to staging ask Anna")
    new = kept(app, one.id)
    assert (new.title, new.body, new.lane) == (
        "Before deploys to staging ask Anna",
        one.body,
        one.lane,
    )
    memories.undo(app)
    assert kept(app, one.id).title == "Anna"


def test_a_title_by_which_it_comes_up_later_is_taken_back(app: App, model: StandIn):
    one = kept_rule(
        app,
        "The quokka signs. Other words follow here, about deploys.",
        title="quokka wombat numbat",
    )
    for number in range(6):
        kept_rule(app, f"Wombat and numbat, entry {number}", title=f"wombat numbat {number}")
    titled(app, model, one.id, "Other words follow about deploys")
    assert kept(app, one.id) == one
    ops = [entry.op for _, entry in memories.log(app).entries]
    assert ops[:2] == ["undo", "describe"]
    log = next(app.home.logs.glob("validation-*.log")).read_text()
    assert "kept the old title: the new one ranked lower" in log


def test_of_the_users_tagged_note_the_condition_is_written_and_nothing_else(
    app: App, model: StandIn
):
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
    erase(app, (gone.id,))
    assert set(validate.read_flags(app.reader(Scope.PROJECT))) == {stays.id}
    log = next(app.home.logs.glob("validation-*.log")).read_text()
    assert (gone.id in log, stays.id in log) == (False, True)


def paths(app: App, id: str) -> list[str]:
    return [anchor.path for anchor in kept(app, id).anchors]


@pytest.mark.usefixtures("tree")
def test_the_files_that_a_memory_names_are_its_anchors(app: App):
    text = "The retry is in src/login.py, see also src/gone.py and https://shop.test/src/login.py."
    assert paths(app, pinned(app, text)) == ["src/login.py"]
    assert paths(app, pinned(app, text, user=True)) == []


def test_a_file_that_changed_makes_the_memory_stale_wherever_it_is_shown(app: App, tree: Path):
    pinned(app, "The login retry is in src/login.py.")
    os.utime(tree / "src" / "login.py", (1, 1))
    assert "Stale" not in recall_text(recall.recall(app, ("login", "retry")), now=app.clock.now())
    (tree / "src" / "login.py").write_text("def login(again): ...\n")
    told = recall_text(recall.recall(app, ("login", "retry")), now=app.clock.now())
    assert "-> Stale: changed since: src/login.py" in told
    (tree / "src" / "login.py").unlink()
    assert "-> Stale" in recall_text(recall.recall(app, ("login", "retry")), now=app.clock.now())


def test_nothing_outside_the_project_is_looked_at(app: App, tree: Path, tmp_path: Path):
    (tmp_path / "secret.txt").write_text("x")
    (tree / "link.txt").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(tree / "pipe.txt")
    id = pinned(app, f"../secret.txt {tmp_path}/secret.txt link.txt pipe.txt /etc/passwd src")
    assert paths(app, id) == []


def test_a_thousand_names_are_not_all_looked_for(app: App, tree: Path):
    for number in range(30):
        (tree / f"f{number}.txt").write_text("x")
    assert (
        len(plan_gate.anchors_for(app, [f"f{number}.txt" for number in range(30)]))
        == plan_gate.MOST_FILES
    )


def test_a_thread_is_anchored_to_the_files_that_were_edited_as_it_left_them(
    app: App, tree: Path, tmp_path: Path
):
    talk = Transcript(app, tmp_path)
    talk.line("user", "The login page loses the session cookie after the redirect, please fix it")
    edit(talk, "src/login.py")
    talk.replied("The login cookie is now kept across the redirect.")
    talk.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(app)
    (found,) = (one for one in app.reader(Scope.PROJECT).find(Query()) if one.origin == "session")
    assert plan_gate.changed_files(app, found) == ()
    (tree / "src" / "login.py").write_text("other\n")
    assert plan_gate.changed_files(app, found) == ("src/login.py",)


def edit(talk: Transcript, file: str) -> None:
    path = str(Path(talk.app.require_project().root) / file)
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    talk.line("assistant", [{"type": "tool_use", "id": "toolu_e", "name": "Edit", "input": given}])
    talk.line("user", [{"type": "tool_result", "tool_use_id": "toolu_e", "content": "updated"}])

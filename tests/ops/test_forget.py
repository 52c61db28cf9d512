"""What is hardly used is proposed, reviewed, put into cold storage and brought back; nothing on a doubt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from recollect.app import language_model, notices
from recollect.app.core import App
from recollect.app.note_files import find_note
from recollect.base.errors import BadInput
from recollect.jobs import runner
from recollect.jobs.job_table import FORGETTING
from recollect.lifecycle.review import Verdict
from recollect.model.memory import Memory, Status
from recollect.model.plan import Update
from recollect.model.result import Done, Scope, Summary
from recollect.ops import forget as forgetting
from recollect.ops import memories, notes, rules
from tests.daemon.real import FORKS
from tests.llm.standin import StandIn
from tests.ops.ask import files, keep, kept, made, states
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import put
from tests.values import act, plan, rule

TAGGED = """<memory-metadata>
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


# Looking


def test_candidates_are_shown_and_nothing_is_written(app: App):
    oldest, older, old, _new = some(app, "a", "b", "c", "d")
    before = (files(app.home.root), states(app))
    shown = forgetting.forget(app, candidates=True)
    assert ids(shown) == [oldest.id, older.id, old.id]
    assert (files(app.home.root), states(app)) == before
    assert ids(forgetting.forget(app)) == ids(shown), "asked for nothing, it only shows"
    with pytest.raises(BadInput, match="exclude each other"):
        forgetting.forget(app, ("x",), run=True)


# By hand


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
def test_a_forgotten_note_moves_to_cold_storage_and_comes_back_to_where_it_was(app: App, vault: Path, path: str):
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


# Appreciation


def test_appreciation_is_added_up_raises_the_score_and_can_be_undone(app: App):
    first, *_ = some(app, "a", "b", "c", "d")
    forgetting.appreciate(app, first.id)
    forgetting.appreciate(app, first.id, "+2")
    assert kept(app, first.id).appreciation == 3
    assert first.id not in ids(forgetting.forget(app, candidates=True))
    memories.undo(app)
    assert kept(app, first.id).appreciation == 1


def test_a_tagged_notes_appreciation_is_the_figure_in_its_file_if_it_is_ones_own(app: App, vault: Path):
    put(vault, "zebra.md", TAGGED)
    put(vault, "plain.md", "Plain")
    put(Path.cwd() / ".ai/memory", "loud.md", TAGGED.replace(": 2", ": 999"))
    notes.sync(app)

    for name in ("zebra", "plain"):
        forgetting.appreciate(app, name, "+1.5")
    notes.sync(app)

    figures = [kept(app, find_note(app, name).id).appreciation for name in ("zebra", "plain", "loud")]
    assert figures == [3.5, 1.5, 0], "a stranger's file does not appreciate itself"
    assert (vault / "zebra.md").read_text() == TAGGED.replace(": 2", ": 3.5")
    assert (vault / "plain.md").read_text() == "Plain"
    put(vault, "zebra.md", TAGGED.replace(": 2", ": 7"))
    notes.sync(app)
    assert kept(app, find_note(app, "zebra").id).appreciation == 7
    forgetting.forget(app, ("zebra",))
    assert '"appreciation": 7,\n  "mine": "stays"' in (vault / "memory-cold/zebra.md").read_text()


@pytest.mark.parametrize("amount", ["", "x", "-1", "+0", "1e9", "+9999", "nan", "1,5"])
def test_an_amount_that_is_none_is_refused(app: App, amount: str):
    id = made(rules.add(app, "Use pnpm"))
    with pytest.raises(BadInput, match="not an amount"):
        forgetting.appreciate(app, id, amount)


# The review


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
    assert (kept(app, silent.id), kept(app, other.id)) == (silent, other), "not answered, and not asked about"
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
    [{"frequency": 1}, {"last_session": 9}, {"pinned": True}, {"body": "Other."}, {"status": Status.SUPERSEDED}],
)
def test_what_was_used_or_changed_while_the_model_thought_is_kept(
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

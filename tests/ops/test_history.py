from __future__ import annotations

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, Conflict, NotFound, UnknownId
from recollect.model.result import Scope
from recollect.ops import memories, rules
from recollect.ops.history import log, undo
from tests.ops.ask import kept, pinned, states
from tests.ops.conftest import Opens
from tests.values import NOW


def changed(done: object) -> str:
    change: str | None = getattr(done, "change", None)
    assert change is not None
    return change


def test_the_log_names_every_change_newest_first(app: App):
    a = pinned(app, "a")
    rules.add(app, "Use tabs", user=True)
    memories.archive(app, (a,))

    entries = log(app).entries
    assert [(scope, entry.op, entry.actor) for scope, entry in entries] == [
        (Scope.PROJECT, "archive", "user"),
        (Scope.PROJECT, "pin", "user"),
        (Scope.USER, "rule add", "user"),
    ]
    assert [entry.op for _, entry in log(app, a).entries] == ["archive", "pin"]
    assert len(log(app, limit=1).entries) == 1


def test_the_log_of_a_deleted_memory_can_be_read(app: App):
    a = pinned(app, "a")
    memories.delete(app, (a,))
    assert [entry.op for _, entry in log(app, a).entries] == ["delete", "pin"]
    with pytest.raises(UnknownId):
        log(app, "thread_20200101_000000_000000")


def test_undo_takes_back_one_change_after_another(app: App):
    start = states(app)
    a = pinned(app, "a")
    first = states(app)
    memories.edit(app, a, body="other")

    undo(app)
    assert states(app) == first
    undo(app)
    assert states(app)[Scope.PROJECT].memories == {}
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(app)
    assert start == {}


def test_the_last_change_is_the_last_even_where_the_clock_was_set_back(app: App):
    pinned(app, "first")
    app.clock.at = NOW.plus(days=-1)  # type: ignore[attr-defined]
    second = pinned(app, "second")
    assert second in undo(app).summary
    assert "first" in kept(app, log(app).entries[-1][1].memories[0]).title


def test_undo_reaches_the_store_that_was_changed_last(app: App):
    app.clock.at = NOW.plus(seconds=1)  # type: ignore[attr-defined]
    pinned(app, "here")
    app.clock.at = NOW.plus(seconds=2)  # type: ignore[attr-defined]
    pinned(app, "everywhere", user=True)

    assert undo(app).scope is Scope.USER
    assert undo(app).scope is Scope.PROJECT


def test_a_named_change_can_be_undone_while_later_ones_stand(app: App):
    first = memories.pin(app, "a")
    b = pinned(app, "b")
    undo(app, changed(first))
    assert kept(app, b).body == "b"
    assert len(memories.threads(app).cards) == 1


def test_what_was_undone_says_how_to_do_it_again(app: App):
    done = memories.pin(app, "a")
    back = undo(app)

    with pytest.raises(BadInput, match="was undone by") as problem:
        undo(app, changed(done))
    assert problem.value.hint == f"`recollect undo {back.change}` does it again."

    undo(app, changed(back))
    assert len(memories.threads(app).cards) == 1
    assert undo(app).summary.startswith("Undid pin"), "what was done again can be undone again"
    assert memories.threads(app).cards == ()


def test_what_later_changes_stand_on_is_not_taken_away(app: App):
    done = memories.pin(app, "a")
    memories.edit(app, done.plan.touched()[0], body="other")
    before = states(app)

    with pytest.raises(Conflict) as problem:
        undo(app, changed(done))
    assert "recollect log" in problem.value.hint
    assert states(app) == before


def test_a_change_that_is_not_there(app: App):
    done = memories.pin(app, "a")
    change = changed(done)
    with pytest.raises(NotFound, match="No change") as problem:
        undo(app, change[:-1] + ("0" if change[-1] != "0" else "1"))
    assert change in problem.value.hint


def test_the_log_says_who_it_was(open_app: Opens):
    agent = open_app(actor="agent")
    pinned(agent, "a")
    assert log(agent).entries[0][1].actor == "agent"


def test_the_log_tells_what_was_undone(app: App):
    done = memories.pin(app, "a")
    back = undo(app)
    entries = {entry.change: entry for _, entry in log(app).entries}
    assert entries[changed(done)].undone_by == back.change
    assert entries[changed(back)].undoes == done.change

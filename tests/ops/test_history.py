from __future__ import annotations

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, Conflict, NotFound, UnknownId
from recollect.model.result import Done, Scope
from recollect.ops import memories, rules
from recollect.ops.history import log, undo
from tests.ops.ask import kept, pinned, states
from tests.values import NOW


def changed(done: Done) -> str:
    assert done.change is not None
    return done.change


def test_the_log_names_every_change_newest_first(app: App):
    a = pinned(app, "a")
    rules.add(app, "Use tabs", user=True)
    memories.delete(app, (a,))

    assert [(scope, entry.op, entry.actor) for scope, entry in log(app).entries] == [
        (Scope.PROJECT, "delete", "user"),
        (Scope.PROJECT, "pin", "user"),
        (Scope.USER, "rule add", "user"),
    ]
    assert [entry.op for _, entry in log(app, a).entries] == ["delete", "pin"], "also of what was deleted"
    assert len(log(app, limit=1).entries) == 1
    with pytest.raises(UnknownId):
        log(app, "thread_20200101_000000_000000")


def test_undo_takes_back_one_change_after_another(app: App):
    a = pinned(app, "a")
    first = states(app)
    memories.edit(app, a, body="other")

    undo(app)
    assert states(app) == first
    undo(app)
    assert states(app)[Scope.PROJECT].memories == {}
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(app)


def test_the_last_change_is_the_last_even_where_the_clock_was_set_back(app: App):
    pinned(app, "first")
    app.clock.at = NOW.plus(days=-1)  # type: ignore[attr-defined]
    second = pinned(app, "second")
    assert second in undo(app).summary
    assert "first" in kept(app, log(app).entries[-1][1].memories[0]).title


def test_undo_reaches_the_store_that_was_changed_last(app: App):
    for seconds, user in ((1, False), (2, True)):
        app.clock.at = NOW.plus(seconds=seconds)  # type: ignore[attr-defined]
        pinned(app, "words", user=user)
    assert [undo(app).scope, undo(app).scope] == [Scope.USER, Scope.PROJECT]


def test_a_named_change_can_be_undone_while_later_ones_stand(app: App):
    first = memories.pin(app, "a")
    b = pinned(app, "b")
    undo(app, changed(first))
    assert [card.memory.id for card in memories.threads(app).cards] == [b]


def test_what_was_undone_says_how_to_do_it_again(app: App):
    done = memories.pin(app, "a")
    back = undo(app)

    with pytest.raises(BadInput, match="was undone by") as problem:
        undo(app, changed(done))
    assert problem.value.hint == f"`recollect undo {back.change}` does it again."
    entries = {entry.change: entry for _, entry in log(app).entries}
    assert (entries[changed(done)].undone_by, entries[changed(back)].undoes) == (back.change, done.change)

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
    change = changed(memories.pin(app, "a"))
    with pytest.raises(NotFound, match="No change"):
        undo(app, change[:-1] + ("0" if change[-1] != "0" else "1"))
    assert undo(app, change[-6:]).summary.startswith("Undid pin")

from __future__ import annotations

import pytest

from recollect.app import core
from recollect.app.core import App
from recollect.base.errors import BadInput, Conflict, NotFound, UnknownId
from recollect.model.result import Done, Scope
from recollect.ops import memories, rules, upkeep
from recollect.ops.forget import erase
from recollect.ops.memories import log, undo
from tests.ops.ask import holding, keep, pinned, states, titles
from tests.values import NOW, thread


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


def test_the_last_change_is_the_last_in_either_store_even_where_the_clock_was_set_back(app: App):
    for days, user in ((0, False), (-2, False), (1, True)):
        app.clock.at = NOW.plus(days=days)  # type: ignore[attr-defined]
        pinned(app, f"day {days}", user=user)
    undone = [undo(app) for _ in range(2)]
    assert [done.scope for done in undone] == [Scope.USER, Scope.PROJECT]
    assert [card.memory.title for card in memories.threads(app).cards] == ["day 0"]


def test_a_change_is_named_by_a_part_of_its_id_and_undone_where_nothing_later_stands_on_it(app: App):
    first, other = memories.pin(app, "a"), memories.pin(app, "b")
    change = changed(first)
    with pytest.raises(NotFound, match="No change"):
        undo(app, change[:-1] + ("0" if change[-1] != "0" else "1"))
    undo(app, change[-6:])
    (card,) = memories.threads(app).cards
    memories.edit(app, card.memory.id, body="other")
    with pytest.raises(Conflict) as problem:
        undo(app, changed(other))
    assert "recollect log" in problem.value.hint


def test_what_was_undone_says_how_to_do_it_again(app: App):
    done = memories.pin(app, "a")
    back = undo(app)

    with pytest.raises(BadInput, match="was undone by") as problem:
        undo(app, changed(done))
    assert problem.value.hint == f"To redo it: `recollect undo {back.change}`."
    entries = {entry.change: entry for _, entry in log(app).entries}
    assert (entries[changed(done)].undone_by, entries[changed(back)].undoes) == (back.change, done.change)

    undo(app, changed(back))
    assert len(memories.threads(app).cards) == 1
    assert undo(app).summary.startswith("Undid pin"), "what was done again can be undone again"
    assert memories.threads(app).cards == ()


# Purge


CANARY = "Xylographer"


def check_gone(app: App, *ids: str, group: str | None = None) -> str:
    """Nothing of what is purged is left in any file."""
    assert holding(app.home.root, CANARY), "the canary was there"
    told = erase(app, ids, group=group)
    app.close()
    assert holding(app.home.root, CANARY) == holding(app.home.root, CANARY.lower()) == []
    return told.summary


def test_nothing_of_a_purged_memory_is_left_in_store_and_backups(app: App):
    a, b = pinned(app, f"A {CANARY} sings.", topics=(CANARY,)), pinned(app, "Other words.")
    memories.link(app, a, b)
    memories.edit(app, a, title=f"{CANARY} in the title")
    upkeep.backup(app)
    memories.edit(app, a, body="No longer named here.")
    upkeep.backup(app)

    assert "2 backups" in check_gone(app, a)

    assert titles(app, "words") == {"Other words."}
    assert all(not findings for _, _, findings in upkeep.verify(app).stores)


def test_merged_deleted_and_user_memories_go_too(app: App):
    a, merged = pinned(app, f"Kept {CANARY}."), pinned(app, f"A {CANARY} sings.")
    memories.merge(app, a, merged)
    deleted, everywhere = pinned(app, f"A {CANARY} is gone."), pinned(app, f"The {CANARY} again.", user=True)
    memories.delete(app, (deleted,))
    check_gone(app, merged, deleted, everywhere)


def test_everything_of_a_group_can_be_purged(app: App):
    old, new = thread(f"{CANARY} one", group="session-1"), thread("Another", group="session-2")
    keep(app, old, new)

    check_gone(app, group="session-1")

    assert titles(app, "another") == {"Another"}
    with pytest.raises(NotFound, match="No memory came from"):
        erase(app, group="session-1")


def test_a_purged_change_stays_in_the_log_without_words_and_cannot_be_undone(app: App):
    a = pinned(app, f"A {CANARY} sings.")
    upkeep.backup(app)
    copy = core.backups_of(app.store_path(Scope.PROJECT))[0]
    copy.write_bytes(b"\x00" * 100 + copy.read_bytes()[100:])

    told = erase(app, (a,))

    assert not copy.exists()
    assert ["could not be opened and was removed" in note for note in told.notes] == [True]
    found = [(entry.op, entry.summary, entry.purged) for _, entry in log(app).entries]
    assert found == [("purge", "Purged 1 memory", True), ("pin", "purged", True)]
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(app)


def test_a_purge_needs_to_be_told_what(app: App):
    a = pinned(app, "a")
    for ids, group in [((), None), ((a,), "session-1"), ((), "")]:
        with pytest.raises(BadInput, match="not both"):
            erase(app, ids, group=group)
    with pytest.raises(UnknownId):
        erase(app, (a, "thread_20200101_000000_000000"))
    assert titles(app, "a") == {"a"}

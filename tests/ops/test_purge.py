import pytest

from recollect.app import recovery
from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, UnknownId
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import memories, upkeep
from recollect.ops.history import log, purge, undo
from tests.ops.ask import holding, pinned, titles
from tests.values import act, plan, thread

CANARY = "Xylographer"


def check_gone(app: App, *ids: str, group: str | None = None) -> str:
    """Nothing of what is purged is left in any file."""
    assert holding(app.home.root, CANARY), "the canary was there"
    told = purge(app, ids, group=group)
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
    app.writer(Scope.PROJECT).apply(plan(Create(old), Create(new)), act())

    check_gone(app, group="session-1")

    assert titles(app, "another") == {"Another"}
    with pytest.raises(NotFound, match="No memory came from"):
        purge(app, group="session-1")


def test_a_purged_change_stays_in_the_log_without_words_and_cannot_be_undone(app: App):
    a = pinned(app, f"A {CANARY} sings.")
    upkeep.backup(app)
    copy = recovery.backups_of(app.store_path(Scope.PROJECT))[0]
    copy.write_bytes(b"\x00" * 100 + copy.read_bytes()[100:])

    told = purge(app, (a,))

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
            purge(app, ids, group=group)
    with pytest.raises(UnknownId):
        purge(app, (a, "thread_20200101_000000_000000"))
    assert titles(app, "a") == {"a"}

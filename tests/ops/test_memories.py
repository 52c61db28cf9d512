from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, UnknownId
from recollect.model.memory import Kind, Status
from recollect.ops import history, memories, rules
from recollect.ops.memories import archive, delete, edit, restore, show, threads
from recollect.ops.recall import search
from tests.ops.ask import kept, made, pinned, said, states, titles
from tests.values import NOW


def listed(app: App, **filters: object) -> list[str]:
    return [card.memory.title for card in threads(app, **filters).cards]  # type: ignore[arg-type]


def after(app: App, *, days: float) -> None:
    app.clock.at = NOW.plus(days=days)  # type: ignore[attr-defined]


# Putting away and bringing back


def test_many_are_archived_and_restored_as_one_change(app: App):
    ids = tuple(pinned(app, text) for text in "abc")

    done = archive(app, ids)
    assert done.summary == "Archived 3 memories."
    assert titles(app, "a") == set()
    assert set(listed(app, status=Status.ARCHIVED)) == {"a", "b", "c"}

    assert restore(app, ids[:1]).summary == f"Restored {ids[0]}."
    assert listed(app, status=Status.ACTIVE) == ["a"]
    assert len(history.log(app).entries) == 5


def test_what_is_so_already_changes_nothing(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    archive(app, (a,))
    assert archive(app, (a,)).change is None
    assert archive(app, (a, b, b)).plan.touched() == (b,)
    assert restore(app, (a,)).change is not None


def test_a_superseded_memory_can_be_restored_beside_what_it_became(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.merge(app, a, b)
    before = states(app)
    restore(app, (b,))
    assert states(app) == before, "both ids lead to the one that is active already"


def test_a_deleted_memory_is_gone_with_its_bridges_until_undone(app: App):
    a, b, c = pinned(app, "alpha"), pinned(app, "beta"), pinned(app, "gamma")
    memories.link(app, a, b)
    memories.link(app, b, c)
    before = states(app)

    delete(app, (a, b))
    assert titles(app, "alpha beta gamma") == {"gamma"}
    assert show(app, c).bridges == ()
    with pytest.raises(UnknownId):
        show(app, a)

    history.undo(app)
    assert states(app) == before


def test_a_deleted_memory_takes_its_other_ids_along(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.merge(app, a, b)
    before = states(app)

    delete(app, (b,))
    with pytest.raises(UnknownId):
        show(app, a)

    history.undo(app)
    assert states(app) == before


@pytest.mark.parametrize("put", [archive, restore, delete])
def test_nothing_is_done_when_one_of_many_is_unknown(app: App, put):
    a, everywhere = pinned(app, "a"), pinned(app, "b", user=True)
    before = states(app)

    with pytest.raises(UnknownId):
        put(app, (a, "thread_20200101_000000_000000"))
    with pytest.raises(BadInput, match="some to the user"):
        put(app, (a, everywhere))
    assert states(app) == before


# Editing


def test_edit_changes_what_is_given_and_no_more(app: App):
    id = pinned(app, "Old words.", title="Title", topics=("a",))

    edit(app, id, body="New words.\n")
    assert (kept(app, id).title, kept(app, id).body, kept(app, id).topics) == ("Title", "New words.\n", ("a",))
    edit(app, id, title=" New \n title ", topics="b, c,,b")
    assert (kept(app, id).title, kept(app, id).topics) == ("New title", ("b", "c"))
    edit(app, id, topics="")
    assert kept(app, id).topics == ()

    assert titles(app, "new") == {"New title"}
    assert titles(app, "old") == {"New title"}, "what was said stays as it was said"
    assert [m.content for m in said(app, id)] == ["Old words."]


def test_an_edit_can_be_undone_and_one_that_changes_nothing_is_none(app: App):
    id = pinned(app, "Old words.")
    before = states(app)

    assert edit(app, id, body="Old words.").change is None
    after(app, days=1)
    edit(app, id, body="New words.")
    history.undo(app)

    assert states(app) == before


def test_a_title_cannot_be_empty(app: App):
    with pytest.raises(BadInput, match="title is empty"):
        edit(app, pinned(app, "x"), title="  ")


# Listing and finding


def test_threads_are_listed_most_recently_active_first(app: App):
    pinned(app, "first", topics=("Auth",))
    after(app, days=1)
    pinned(app, "everywhere", user=True)
    after(app, days=2)
    pinned(app, "last")

    assert listed(app) == ["last", "everywhere", "first"]
    assert listed(app, limit=1) == ["last"]
    assert listed(app, topic="auth") == ["first"]
    with pytest.raises(BadInput, match="at least 1"):
        threads(app, limit=0)


def test_search_can_be_narrowed(app: App):
    pinned(app, "dark mode is on", title="old", topics=("ui",))
    after(app, days=2)
    pinned(app, "dark mode is off", title="new")
    rules.add(app, "Never leave dark mode")

    assert titles(app, "dark") == {"old", "new", "Never leave dark mode"}
    assert [one.hit.memory.title for one in search(app, ("dark",), kind=Kind.RULE).found] == ["Never leave dark mode"]
    assert [one.hit.memory.title for one in search(app, ("dark",), topic="ui").found] == ["old"]
    assert [one.hit.memory.title for one in search(app, ("dark",), until="2026-02-01").found] == ["old"]
    since = search(app, ("dark",), kind=Kind.THREAD, since="2026-02-02").found
    assert [one.hit.memory.title for one in since] == ["new"]
    assert len(search(app, ("dark",), limit=1).found) == 1


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "", "20260230"])
def test_a_day_that_is_none_is_refused(app: App, day: str):
    with pytest.raises(BadInput, match="not a date"):
        search(app, ("x",), since=day)


def test_looking_makes_nothing(app: App):
    threads(app)
    search(app, ("x",))
    rules.listing(app)
    history.log(app)
    with pytest.raises(UnknownId):
        show(app, "thread_20200101_000000_000000")

    assert not app.home.root.exists()
    assert list(Path.cwd().iterdir()) == []


def test_show_says_what_a_thread_is_worth_now(app: App):
    id = pinned(app, "pinned")
    after(app, days=300)
    assert memories.show(app, id).card.strength == 1.3, "a pin does not fade"


def test_a_rule_made_here_is_shown_with_its_scope(app: App):
    assert str(show(app, made(rules.add(app, "x", user=True))).card.scope) == "user"

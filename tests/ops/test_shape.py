from __future__ import annotations

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.model.memory import BridgeType, Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import history, memories, rules
from tests.ops.ask import kept, made, pinned, said, states, titles
from tests.values import act, messages, plan, rule, thread


def test_a_merged_memory_answers_under_both_ids(app: App):
    a, b = pinned(app, "Tabs in Go.", topics=("go",)), pinned(app, "Spaces in Python.", topics=("python",))

    memories.merge(app, a, b)

    one = kept(app, a)
    assert kept(app, b) == one
    assert (one.id, one.body, one.topics) == (a, "Tabs in Go.\n\nSpaces in Python.", ("go", "python"))
    assert {m.content for m in said(app, b)} == {"Tabs in Go.", "Spaces in Python."}
    assert memories.show(app, b).merged == (b,)
    assert titles(app, "Python") == {"Tabs in Go."}


def test_merges_of_merges_all_lead_to_the_last(app: App):
    a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
    memories.merge(app, b, c)
    memories.merge(app, a, b)
    assert {kept(app, id).id for id in (a, b, c)} == {a}


def test_a_merge_takes_the_bridges_along_and_undo_puts_everything_back(app: App):
    a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
    memories.link(app, b, c, type=BridgeType.DEPENDS)
    memories.link(app, a, b)
    before = states(app)

    memories.merge(app, a, b)
    assert [(x.source, x.target) for x, _ in memories.show(app, a).bridges] == [(a, c)]

    history.undo(app)
    assert states(app) == before


def test_two_rules_become_one(app: App):
    a, b = made(rules.add(app, "Use tabs")), made(rules.add(app, "Indent with tabs"))
    memories.merge(app, a, b)
    assert [card.memory.id for card in rules.listing(app).cards] == [a]
    assert kept(app, a).seen == 2


def test_what_cannot_be_merged(app: App):
    a, rule_id, everywhere = pinned(app, "a"), made(rules.add(app, "Use tabs")), pinned(app, "c", user=True)

    with pytest.raises(BadInput, match="same memory"):
        memories.merge(app, a, a)
    with pytest.raises(BadInput, match="kept apart"):
        memories.merge(app, a, everywhere)
    with pytest.raises(BadInput, match=r"is a thread and .* is a rule"):
        memories.merge(app, a, rule_id)


def long_thread(app: App) -> str:
    talk = thread("talk", topics=("auth", "database"))
    heard = messages(talk, "Fix the login form.", "The database is slow.", "Logout works.", "Database index added.")
    app.writer(Scope.PROJECT).apply(plan(Create(talk, heard)), act())
    return talk.id


def test_a_split_moves_the_messages_on_a_topic(app: App):
    id = long_thread(app)
    before = states(app)

    child = made(memories.split(app, id, topics=("database",)))

    assert [m.content for m in said(app, child)] == ["The database is slow.", "Database index added."]
    assert [m.content for m in said(app, id)] == ["Fix the login form.", "Logout works."]
    assert kept(app, id).topics == ("auth",)
    assert kept(app, child).status is Status.ACTIVE
    assert [(b.source, b.target, b.type) for b, _ in memories.show(app, child).bridges] == [
        (child, id, BridgeType.CHILD_OF)
    ]

    history.undo(app)
    assert states(app) == before


@pytest.mark.parametrize("topics", [("quantum",), ("the", "fix", "log", "database")])
def test_a_split_that_moves_nothing_or_all_is_refused(app: App, topics: tuple[str, ...]):
    id = long_thread(app)
    before = states(app)
    with pytest.raises(BadInput, match="cannot be split"):
        memories.split(app, id, topics=topics)
    assert states(app) == before


def test_only_threads_can_be_split(app: App):
    tabs = rule("tabs")
    app.writer(Scope.PROJECT).apply(plan(Create(tabs)), act())
    with pytest.raises(BadInput, match="not a thread"):
        memories.split(app, tabs.id, topics=("tabs",))

"""Small changes of one memory; what a language model proposed never speaks for a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import edits
from recollect.lifecycle.edits import Whole, Words, candidate, rewritten
from recollect.lifecycle.strength import strength
from recollect.model.memory import BridgeType, Lane, Memory, RuleType, Status
from recollect.model.plan import Create, Link, Plan, Remove, Unalias, Unlink, Update
from tests.values import AGE, NOW, bridge, messages, note, rule, thread

WORDS = Words("Deploys go\nthrough staging.", Lane.AGENT, "s-1")


@given(st.floats())
def test_a_pins_boost_is_between_nothing_and_a_half(boost: float) -> None:
    [made] = edits.pin("x", id="t", message_id="m", title="", topics=(), boost=boost, lane=Lane.AGENT, now=NOW).changes
    assert isinstance(made, Create)
    assert 0 <= made.memory.boost <= 0.5
    assert made.memory.weight == 1 + made.memory.boost


def test_a_revision_says_when() -> None:
    memory = thread("old", days_old=5)
    [update] = edits.revise(memory, title="new", body=memory.body, topics=("a",), now=NOW).changes
    assert isinstance(update, Update)
    assert update.after == {"title": "new", "topics": ["a"], "last_active_at": NOW.iso()}


def test_what_is_so_already_needs_no_plan() -> None:
    memory = thread("old", days_old=5)
    assert edits.revise(memory, title="old", body=memory.body, topics=(), now=NOW) == Plan.empty()
    assert edits.archive(thread("t", status=Status.ARCHIVED)) == Plan.empty()
    assert edits.restore(thread("t"), now=NOW, rules=AGE) == Plan.empty()


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.SUSPENDED, Status.SUPERSEDED, Status.CANDIDATE])
def test_what_is_restored_is_active_and_as_strong_as_new(status: Status) -> None:
    old = thread("t", days_old=900, status=status, superseded_by="thread_x", weight=0.2, boost=0.1)

    [update] = edits.restore(old, now=NOW, rules=AGE).changes

    assert isinstance(update, Update)
    after = [update.after[name] for name in ("status", "superseded_by", "reinforced_at")]
    assert after == ["active", None, NOW.iso()]
    awake = thread("t", weight=update.after["weight"], boost=0.1)
    assert strength(awake, now=NOW, rules=AGE) == pytest.approx(1.1)


def test_a_deletion_takes_links_and_aliases_along_each_once() -> None:
    gone, other = thread("gone"), thread("other")
    said, link = messages(gone, "one", "two"), bridge(other, gone)
    plan = edits.delete(Whole(gone, said, (link,), ("thread_older",)), Whole(other, (), (link,)))
    assert plan.changes == (Unlink(link), Unalias("thread_older", gone.id), Remove(gone, said), Remove(other))


# What a language model proposed


@pytest.mark.parametrize(
    ("old", "changed"),
    [
        (thread("deploys", lane=Lane.USER, weight=0.4, topics=("a",)), {"body": WORDS.body, "lane": "agent"}),
        (thread("deploys", lane=Lane.WEB), {"body": WORDS.body}),
        (rule("x", status=Status.CANDIDATE, lane=Lane.AGENT), {"body": "Deploys go through staging.",
                                                               "title": "Deploys go through staging."}),
    ],
)  # fmt: skip
def test_words_of_a_thread_or_a_waiting_rule_change_in_place_and_no_lane_rises(old: Memory, changed: dict[str, str]):
    (change,) = rewritten(old, WORDS, id="rule_new", now=NOW)
    assert isinstance(change, Update)
    assert dict(change.after) == changed


def test_an_active_rule_stays_as_it_is_and_the_proposal_waits_beside_it():
    old = rule("deploys", rule_type=RuleType.CORRECTION)

    created, linked = rewritten(old, WORDS, id="rule_new", now=NOW)

    assert isinstance(created, Create)
    new = created.memory
    assert (new.id, new.status, new.lane) == ("rule_new", Status.CANDIDATE, Lane.AGENT)
    assert new.body == "Deploys go through staging."
    assert isinstance(linked, Link)
    ends = (linked.bridge.source, linked.bridge.target, linked.bridge.type)
    assert ends == ("rule_new", old.id, BridgeType.REPLACES)


def test_notes_and_long_rules_are_not_touched_and_something_new_waits_in_the_inbox():
    assert rewritten(note("x"), WORDS, id="rule_new", now=NOW) == []
    assert rewritten(rule("x"), Words("x" * 2_001, Lane.AGENT, "s"), id="rule_new", now=NOW) == []
    new = candidate(WORDS, RuleType.DEVOPS, id="rule_new", now=NOW)
    assert (new.status, new.lane, new.group, new.tags) == (Status.CANDIDATE, Lane.AGENT, "s-1", ("review",))

"""What a language model proposed never speaks for a person."""

from __future__ import annotations

from recollect.lifecycle.propose import Words, candidate, rewritten
from recollect.model.bridge import BridgeType
from recollect.model.memory import Lane, RuleType, Status
from recollect.model.plan import Create, Link, Update
from tests.values import NOW, note, rule, thread

WORDS = Words("Deploys go\nthrough staging.", Lane.AGENT, "s-1")


def test_a_threads_words_change_and_nothing_else_but_its_lane():
    old = thread("deploys", lane=Lane.USER, weight=0.4, topics=("a",))

    (change,) = rewritten(old, WORDS, id="rule_new", now=NOW)

    assert isinstance(change, Update)
    assert dict(change.after) == {"body": WORDS.body, "lane": "agent"}


def test_a_lane_that_is_lower_stays():
    (change,) = rewritten(thread("x", lane=Lane.WEB), WORDS, id="rule_new", now=NOW)

    assert isinstance(change, Update)
    assert "lane" not in change.after


def test_a_rule_in_force_stays_as_it_is_and_the_proposal_waits_beside_it():
    old = rule("deploys", rule_type=RuleType.CORRECTION)

    created, linked = rewritten(old, WORDS, id="rule_new", now=NOW)

    assert isinstance(created, Create)
    new = created.memory
    assert (new.id, new.status, new.lane, new.body) == (
        "rule_new", Status.CANDIDATE, Lane.AGENT, "Deploys go through staging.",
    )  # fmt: skip
    assert isinstance(linked, Link)
    assert (linked.bridge.source, linked.bridge.target, linked.bridge.type) == (
        "rule_new", old.id, BridgeType.REPLACES,
    )  # fmt: skip


def test_a_rule_that_waits_is_reworded_in_place():
    old = rule("deploys", status=Status.CANDIDATE, lane=Lane.AGENT)

    (change,) = rewritten(old, WORDS, id="rule_new", now=NOW)

    assert isinstance(change, Update)
    assert set(change.after) == {"body", "title"}


def test_notes_and_long_rules_are_not_touched():
    assert rewritten(note("x"), WORDS, id="rule_new", now=NOW) == []
    assert rewritten(rule("x"), Words("x" * 501, Lane.AGENT, "s"), id="rule_new", now=NOW) == []


def test_something_new_waits_in_the_inbox():
    new = candidate(WORDS, RuleType.DEVOPS, id="rule_new", now=NOW)

    assert (new.status, new.lane, new.group, new.tags) == (Status.CANDIDATE, Lane.AGENT, "s-1", ("review",))

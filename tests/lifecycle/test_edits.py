"""Changes of memories, and which threads could be merged or split; what a language model proposed never speaks for a
person."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import edits
from recollect.lifecycle.edits import Whole, Words, merge, new_candidate, propose_words, split
from recollect.lifecycle.strength import strength
from recollect.model.codec import decode_memory, encode
from recollect.model.memory import (
    Bridge,
    BridgeType,
    Lane,
    Memory,
    Message,
    Rating,
    RuleType,
    Status,
    Thread,
)
from recollect.model.plan import Create, Link, Move, Plan, Unlink, Update
from recollect.model.query import Drop
from tests.naughty import NAUGHTY
from tests.values import AGE, NOW, bridge, messages, note, rule, thread

WORDS = Words("Deploys go\nthrough staging.", Lane.AGENT, "s-1")


def test_a_revision_says_when_and_what_is_so_already_needs_no_plan() -> None:
    memory = thread("old", days_old=5)
    [update] = edits.revise(memory, title="new", body=memory.body, topics=("a",), now=NOW).changes
    assert isinstance(update, Update)
    assert update.after == {"title": "new", "topics": ["a"], "last_active_at": NOW.iso()}
    assert edits.revise(memory, title="old", body=memory.body, topics=(), now=NOW) == Plan()
    assert edits.archive(thread("t", status=Status.ARCHIVED)) == Plan()
    assert edits.restore(thread("t"), now=NOW, rules=AGE) == Plan()


@pytest.mark.parametrize(
    "status", [Status.ARCHIVED, Status.SUSPENDED, Status.SUPERSEDED, Status.CANDIDATE]
)
def test_what_is_restored_is_active_and_as_strong_as_new(status: Status) -> None:
    old = thread("t", days_old=900, status=status, superseded_by="thread_x", weight=0.2, boost=0.1)
    [update] = edits.restore(old, now=NOW, rules=AGE).changes
    assert isinstance(update, Update)
    assert update.after == {
        "status": "active",
        "superseded_by": None,
        "reinforced_at": NOW.iso(),
        "weight": 1.1,
    }


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
def test_words_of_a_thread_or_a_waiting_rule_change_in_place_and_no_lane_rises(
    old: Memory, changed: dict[str, str]
):
    (change,) = propose_words(old, WORDS, id="rule_new", now=NOW)
    assert isinstance(change, Update)
    assert dict(change.after) == changed


def test_an_active_rule_stays_as_it_is_and_the_proposal_waits_beside_it():
    old = rule("deploys", rule_type=RuleType.CORRECTION)
    new = new_candidate(WORDS, old.rule_type, id="rule_new", now=NOW)
    link = Link(Bridge(new.id, old.id, BridgeType.REPLACES, 1.0, NOW, origin="review"))
    assert propose_words(old, WORDS, id="rule_new", now=NOW) == [Create(new), link]
    assert (new.status, new.lane, new.body) == (
        Status.CANDIDATE,
        Lane.AGENT,
        "Deploys go through staging.",
    )


def test_notes_and_long_rules_are_not_touched_and_something_new_waits_in_the_inbox():
    assert propose_words(note("x"), WORDS, id="rule_new", now=NOW) == []
    assert (
        propose_words(rule("x"), Words("x" * 2_001, Lane.AGENT, "s"), id="rule_new", now=NOW) == []
    )
    new = new_candidate(WORDS, RuleType.DEVOPS, id="rule_new", now=NOW)
    assert (new.status, new.lane, new.group, new.tags) == (
        Status.CANDIDATE,
        Lane.AGENT,
        "s-1",
        ("review",),
    )


# Merging


def merged(keep: Memory, lose: Memory, *rest: tuple[Any, ...]) -> Plan:
    """`rest`: the messages, bridges and aliases of what is lost."""
    return merge(Whole(keep), Whole(lose, *rest), now=NOW, rules=AGE)


def joined(keep: Memory, lose: Memory) -> Memory:
    [after] = [
        c.after for c in merged(keep, lose).changes if isinstance(c, Update) and c.id == keep.id
    ] or [{}]
    return decode_memory(encode(keep) | dict(after))


_words = st.text("ab \n", max_size=8)
_topics = st.lists(st.sampled_from("abcd"), max_size=3).map(tuple)
_ratings = st.lists(
    st.builds(Rating, st.booleans(), st.integers(0, 9).map(lambda d: NOW.plus(days=-d))), max_size=3
)
threads = st.builds(
    lambda boost, share, **fields: thread("t", boost=boost, weight=share * (1 + boost), **fields),
    boost=st.floats(0, 0.5), share=st.floats(0, 1), days_old=st.floats(0, 90), pinned=st.booleans(), body=_words,
    topics=_topics, tags=_topics, drift=_topics, seen=st.integers(0, 9), frequency=st.integers(0, 9),
    lane=st.sampled_from(Lane), ratings=_ratings.map(tuple),
)  # fmt: skip


@given(threads, threads)
def test_nothing_is_lost_and_the_joined_is_as_strong_as_the_stronger(
    keep: Thread, lose: Thread
) -> None:
    both = joined(keep, lose)

    assert isinstance(both, Thread)
    assert all(one.body.strip() in both.body for one in (keep, lose))
    assert (set(both.topics), set(both.tags)) == (
        {*keep.topics, *lose.topics},
        {*keep.tags, *lose.tags},
    )
    assert (both.seen, both.frequency) == (keep.seen + lose.seen, keep.frequency + lose.frequency)
    assert sorted(both.ratings, key=repr) == sorted(keep.ratings + lose.ratings, key=repr)
    assert (both.drift, both.lane) == (keep.drift + lose.drift, Lane.lowest(keep.lane, lose.lane))
    assert both.pinned == (keep.pinned or lose.pinned)
    assert both.created_at == min(keep.created_at, lose.created_at)
    assert both.last_active_at == max(keep.last_active_at, lose.last_active_at)
    assert (
        strength(both, now=NOW, rules=AGE)
        >= max(strength(m, now=NOW, rules=AGE) for m in (keep, lose)) - 1e-9
    )
    assert both.weight <= 1 + both.boost


def test_words_that_are_there_already_are_not_said_twice() -> None:
    keep, lose = thread("a", body="Use tabs.\nAlways."), thread("b", body=" Use tabs. ")
    assert joined(keep, lose).body == "Use tabs.\nAlways."
    assert joined(thread("a", body=" \n"), lose).body == " Use tabs. "


A, B, C, D = (thread(title) for title in "abcd")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([bridge(B, C), bridge(D, B)], [bridge(A, C), bridge(D, A)]),  # they keep their direction
        ([bridge(A, B), bridge(B, A, BridgeType.DEPENDS)], []),  # none joins a memory to itself
        (
            [bridge(A, C, weight=0.9), bridge(B, C, weight=0.1)],
            [bridge(A, C, weight=0.9)],
        ),  # the first's own stays
    ],
)
def test_links_move_to_the_first(before: list[Bridge], after: list[Bridge]) -> None:
    standing = {b.key: b for b in before}
    for change in merged(A, B, (), tuple(before)).changes:
        if isinstance(change, Unlink):
            assert standing.pop(change.bridge.key) == change.bridge
        elif isinstance(change, Link):
            assert change.bridge.key not in standing, "there is one already"
            standing[change.bridge.key] = change.bridge
    assert set(standing.values()) == set(after)


# Splitting


def parted(owner: Thread, said: tuple[Message, ...], *topics: str) -> Plan | Drop:
    return split(owner, said, topics, new_id="thread_new", now=NOW)


def moved(plan: Plan | Drop) -> tuple[str, ...]:
    assert isinstance(plan, Plan)
    return next(c.ids for c in plan.changes if isinstance(c, Move))


@pytest.mark.parametrize(
    ("drift", "at"), [(("auth", "billing", "deploy", "auth"), 2), (("auth", "billing", "ghost"), 1)]
)
def test_without_topics_it_is_cut_at_the_last_turn_that_a_message_speaks_of(
    drift: tuple[str, ...], at: int
) -> None:
    owner = thread("t", drift=drift)
    said = messages(owner, *drift[: at + 1])
    assert moved(parted(owner, said)) == (said[at].id,)


@pytest.mark.parametrize(
    ("contents", "topics", "reason"),
    [
        (("a",), ("a",), "fewer than two messages"),
        (("a", "b"), (), "never moved to another topic"),
        (("a", "b"), ("c",), "none of its messages speaks of c"),
        (("a", "a b"), ("a",), "all of its messages speak of a"),
        (("a", "b"), ("", " "), "none of its messages"),
    ],
)
def test_what_cannot_be_split_says_why(
    contents: tuple[str, ...], topics: tuple[str, ...], reason: str
) -> None:
    owner = thread("t")
    dropped = parted(owner, messages(owner, *contents), *topics)
    assert isinstance(dropped, Drop)
    assert (dropped.id, reason in dropped.reason) == (owner.id, True)


@given(
    st.lists(st.text("ab. ", max_size=6), max_size=5),
    st.lists(st.sampled_from(["a", "b", "a.", "(", "\\", *NAUGHTY[::7]]), max_size=2),
    st.lists(st.sampled_from("ab"), max_size=4),
)
def test_every_message_ends_in_exactly_one_of_the_two(
    contents: list[str], topics: list[str], drift: list[str]
) -> None:
    owner = thread("t", drift=tuple(drift), topics=tuple(drift))
    said = messages(owner, *contents)
    plan = parted(owner, said, *topics)
    if isinstance(plan, Plan):
        assert set() < set(moved(plan)) < {m.id for m in said}


# Suggestions


@pytest.mark.parametrize(
    ("drift", "parts"),
    [
        ((), ()),
        (("api", "db", "ui"), ()),  # three, not more than three
        (("api", "db", "api", "db", "api"), ()),  # two subjects
        (("api", "db", "ui", "ops"), ("ops", "ui", "db")),
        (("api", "a", "b", "b", "b", "b", "b"), ()),  # settled since
    ],
)
def test_a_thread_that_moved_through_many_topics_could_be_split(
    drift: tuple[str, ...], parts: tuple[str, ...]
):
    assert edits.split_topics(thread("talk", drift=drift)) == parts


def test_two_threads_are_alike_in_the_topics_they_share():
    assert edits.merge_reason(("Auth", "api"), ("auth", "ui")) == "Both about Auth"
    assert edits.merge_reason(("auth",), ("ui",)) == "They say nearly the same"


@given(st.lists(st.floats(0, 1.5), max_size=100), st.integers(0, 9), st.integers(0, 9))
def test_pressure_is_the_weight_over_ten_and_never_above_one(
    strengths: list[float], merges: int, splits: int
):
    found = edits.health(strengths, merges, splits)
    assert found["context_pressure"] == round(min(1.0, sum(strengths) / 10), 2)
    assert found["active_threads"] == len(strengths)
    is_healthy = not merges and not splits and sum(strengths) < 8
    assert (found["recommendation"] == "Healthy state, no action needed") == is_healthy

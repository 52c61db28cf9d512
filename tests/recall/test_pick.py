from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.memory import Kind, Memory, Message, Status
from recollect.model.query import Hit, Query
from recollect.model.record import TURN
from recollect.recall.pick import BY_CHANCE, pick
from tests.model.strategies import memories
from tests.values import NOW, note, rule, thread


def hit(memory: Memory, score: float = 0.5, **parts: float) -> Hit:
    return Hit(memory, score, tuple(({"cover": 1.0} | parts).items()))


def reasons(ranked: list[Hit], query: Query, **options: Any) -> list[str]:
    return [drop.reason for drop in pick(ranked, query, **options).drops]


def test_the_order_is_kept_and_what_is_beyond_the_limit_is_said():
    ranked = [hit(thread(f"Thread {i}")) for i in range(5)]

    found = pick(ranked, Query(limit=3))

    assert list(found.hits) == ranked[:3]
    assert [(drop.id, drop.reason) for drop in found.drops] == [
        (late.memory.id, "beyond the limit") for late in ranked[3:]
    ]


def test_two_that_say_the_same_are_one_the_better_of_them():
    first, same = thread("One", body="Use  tabs.\n"), thread("Two", body="use tabs.")

    found = pick([hit(first), hit(same)], Query())

    assert [h.memory for h in found.hits] == [first]
    assert [drop.reason for drop in found.drops] == [f"says the same as {first.id}"]


def test_one_that_was_refused_does_not_stand_in_for_its_double():
    archived, active = thread("a", body="same", status=Status.ARCHIVED), thread("b", body="same")

    found = pick([hit(archived), hit(active)], Query(statuses=(Status.ACTIVE,)))

    assert [h.memory for h in found.hits] == [active]


def test_memories_without_a_body_are_told_apart_by_their_titles():
    ranked = [hit(thread("a", body="")), hit(thread("b", body="")), hit(thread("A", body=" "))]

    assert len(pick(ranked, Query()).hits) == 2


def test_what_this_session_has_seen_is_not_shown_again():
    seen, new = thread("seen"), thread("new")

    found = pick([hit(seen), hit(new)], Query(limit=1), seen={seen.id})

    assert [h.memory for h in found.hits] == [new]
    assert [drop.reason for drop in found.drops] == ["shown before"]


@pytest.mark.parametrize(
    ("memory", "query", "reason"),
    [
        (rule("x"), Query(kinds=(Kind.THREAD,)), "is a rule"),
        (thread("x", status=Status.ARCHIVED), Query(statuses=(Status.ACTIVE,)), "archived"),
        (thread("x", status=Status.SUPERSEDED), Query(statuses=(Status.ACTIVE,)), "superseded"),
        (thread("x", status=Status.CANDIDATE), Query(statuses=(Status.ACTIVE,)), "in the inbox"),
        (thread("x", topics=("web",)), Query(topic="auth"), "another topic"),
        (thread("x", group="s2"), Query(group="s1"), "another group"),
        (thread("x", days_old=3), Query(since=NOW.plus(days=-2)), "before the time asked for"),
        (thread("x", days_old=1), Query(until=NOW.plus(days=-2)), "after the time asked for"),
    ],
)
def test_what_a_filter_keeps_out_says_why(memory: Memory, query: Query, reason: str):
    assert reasons([hit(memory)], query) == [reason]


def test_a_filter_takes_a_topic_in_any_case_and_its_own_day():
    memory = note("x", topics=("Auth",), group="s1", days_old=2)
    query = Query(kinds=(Kind.NOTE,), topic="aUTH", group="s1", since=NOW.plus(days=-2), until=NOW.plus(days=-2))

    assert reasons([hit(memory)], query) == []


def test_what_has_nothing_in_common_with_the_question_is_no_answer():
    far = hit(thread("far"), cover=0.0, near=BY_CHANCE / 2)
    close = hit(thread("close"), cover=0.0, near=BY_CHANCE * 2)
    beside = hit(thread("beside"), cover=0.0, near=0.0, neighbours=0.1)
    focused = hit(thread("focused"), cover=0.0, near=0.0, focus=0.2)

    found = pick([far, close, beside, focused], Query())

    assert [h.memory.title for h in found.hits] == ["close", "beside", "focused"]
    assert [drop.reason for drop in found.drops] == ["nothing in common"]


def turn(memory: Memory, words: str) -> Hit:
    return replace(hit(memory), turn=Message(words, memory.id, NOW, TURN, words))


def test_only_so_many_turns_of_one_memory_are_shown():
    long, other = thread("long"), thread("other")
    ranked = [turn(long, f"turn {number}") for number in range(4)] + [hit(other)]

    assert [h.memory.title for h in pick(ranked, Query(turns=2)).hits] == ["long", "long", "other"]
    assert [h.memory.title for h in pick(ranked, Query()).hits] == ["long", "other"]
    assert pick(ranked, Query()).drops == (), "what is shown is not left out"


def test_turns_come_instead_of_the_body_that_sums_them_up():
    long = thread("long")

    [found] = pick([hit(long), turn(long, "what was said")], Query(turns=5)).hits

    assert found.text == "what was said"


queries = st.builds(
    Query,
    kinds=st.lists(st.sampled_from(Kind), max_size=2).map(tuple),
    statuses=st.lists(st.sampled_from(Status), max_size=3).map(tuple),
    limit=st.integers(1, 4),
)


@given(st.lists(memories.map(hit), max_size=12), queries)
def test_never_more_than_asked_for_and_everything_is_accounted_for(ranked: list[Hit], query: Query):
    found = pick(ranked, query)

    assert len(found.hits) <= query.limit
    assert {h.memory.id for h in found.hits} | {d.id for d in found.drops} == {h.memory.id for h in ranked}
    assert {h.memory.id for h in found.hits}.isdisjoint(d.id for d in found.drops)
    assert all(drop.reason for drop in found.drops)
    shown = iter(ranked)
    assert all(any(kept is one for one in shown) for kept in found.hits), "in the order they came"
    for kept in found.hits:
        assert not query.kinds or kept.memory.kind in query.kinds
        assert not query.statuses or kept.memory.status in query.statuses

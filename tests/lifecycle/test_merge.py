"""Two memories become one, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.merge import merge
from recollect.lifecycle.strength import strength
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.codec import decode_memory, encode_memory
from recollect.model.memory import Lane, Memory, Message, Rating, Status, Thread
from recollect.model.plan import Alias, Link, Move, Plan, Unlink, Update
from tests.values import AGE, NOW, bridge, messages, rule, thread


def merged(
    keep: Memory,
    lose: Memory,
    said: tuple[Message, ...] = (),
    bridges: tuple[Bridge, ...] = (),
    aliases: tuple[str, ...] = (),
) -> Plan:
    return merge(keep, lose, messages=said, bridges=bridges, aliases=aliases, now=NOW, rules=AGE)


def joined(keep: Memory, lose: Memory) -> Memory:
    [after] = [c.after for c in merged(keep, lose).changes if isinstance(c, Update) and c.id == keep.id] or [{}]
    return decode_memory(encode_memory(keep) | dict(after))


_words = st.text("ab \n", max_size=8)
_topics = st.lists(st.sampled_from("abcd"), max_size=3).map(tuple)
_ratings = st.lists(st.builds(Rating, st.booleans(), st.integers(0, 9).map(lambda d: NOW.plus(days=-d))), max_size=3)
threads = st.builds(
    lambda days, pinned, boost, **fields: thread(
        "t", days_old=days, pinned=pinned, boost=boost, weight=fields.pop("share") * (1 + boost), **fields
    ),
    days=st.floats(0, 90),
    pinned=st.booleans(),
    boost=st.floats(0, 0.5),
    share=st.floats(0, 1),
    body=_words,
    topics=_topics,
    tags=_topics,
    drift=_topics,
    seen=st.integers(0, 9),
    frequency=st.integers(0, 9),
    lane=st.sampled_from(Lane),
    ratings=_ratings.map(tuple),
)


@given(threads, threads)
def test_nothing_that_was_said_or_counted_is_lost(keep: Thread, lose: Thread) -> None:
    both = joined(keep, lose)

    assert isinstance(both, Thread)
    assert keep.body.strip() in both.body
    assert lose.body.strip() in both.body
    assert set(both.topics) == {*keep.topics, *lose.topics}
    assert set(both.tags) == {*keep.tags, *lose.tags}
    assert (both.seen, both.frequency) == (keep.seen + lose.seen, keep.frequency + lose.frequency)
    assert sorted(both.ratings, key=repr) == sorted(keep.ratings + lose.ratings, key=repr)
    assert both.drift == keep.drift + lose.drift
    assert both.created_at == min(keep.created_at, lose.created_at)
    assert both.last_active_at == max(keep.last_active_at, lose.last_active_at)


@given(threads, threads)
def test_the_joined_memory_is_as_strong_as_the_stronger_and_no_more_trusted_than_the_weaker(
    keep: Thread, lose: Thread
) -> None:
    both = joined(keep, lose)

    assert strength(both, now=NOW, rules=AGE) >= max(strength(m, now=NOW, rules=AGE) for m in (keep, lose)) - 1e-9
    assert both.weight <= 1 + both.boost
    assert both.lane is Lane.lowest(keep.lane, lose.lane)
    assert both.pinned == (keep.pinned or lose.pinned)


def test_words_that_are_there_already_are_not_said_twice() -> None:
    keep, lose = thread("a", body="Use tabs.\nAlways."), thread("b", body=" Use tabs. ")
    assert joined(keep, lose).body == "Use tabs.\nAlways."
    assert joined(thread("a", body=" \n"), lose).body == " Use tabs. "


def test_the_other_stays_as_a_superseded_row_that_points_to_the_first() -> None:
    keep, lose = thread("a"), thread("b")

    changes = merged(keep, lose).changes

    expected = replace(lose, status=Status.SUPERSEDED, superseded_by=keep.id)
    assert Update.between(lose, expected) in changes
    assert changes[-1] == Alias(lose.id, keep.id)


def test_messages_move_and_older_names_follow() -> None:
    keep, lose = thread("a"), thread("b")
    said = messages(lose, "one", "two")

    changes = merged(keep, lose, said, aliases=("thread_older",)).changes

    assert Move((said[0].id, said[1].id), lose.id, keep.id) in changes
    assert Alias("thread_older", keep.id, was=lose.id) in changes


def test_a_memory_without_messages_moves_none() -> None:
    assert not any(isinstance(c, Move) for c in merged(rule("a"), rule("b")).changes)


def check_bridges(before: list[Bridge], after: list[Bridge], keep: Memory, lose: Memory) -> None:
    """What stands once the plan's bridges have been taken away and put up."""
    standing = {b.key: b for b in before}
    for change in merged(keep, lose, bridges=tuple(before)).changes:
        if isinstance(change, Unlink):
            assert standing.pop(change.bridge.key) == change.bridge
        elif isinstance(change, Link):
            assert change.bridge.key not in standing, "there is one already"
            standing[change.bridge.key] = change.bridge
    assert set(standing.values()) == set(after)


def test_bridges_move_with_their_direction() -> None:
    a, b, c, d = (thread(t) for t in "abcd")
    check_bridges([bridge(b, c), bridge(d, b)], [bridge(a, c), bridge(d, a)], a, b)


def test_a_bridge_between_the_two_would_join_a_memory_to_itself_and_goes() -> None:
    a, b = thread("a"), thread("b")
    check_bridges([bridge(a, b), bridge(b, a, BridgeType.DEPENDS)], [], a, b)


def test_a_bridge_that_the_first_has_already_stays_as_it_is() -> None:
    a, b, c = (thread(t) for t in "abc")
    check_bridges([bridge(a, c, weight=0.9), bridge(b, c, weight=0.1)], [bridge(a, c, weight=0.9)], a, b)

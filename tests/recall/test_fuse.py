from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.evidence import Nearness, Place
from recollect.recall.fuse import TURN_BYTES, WEIGHTS, Match, fuse, in_company
from recollect.recall.lexical import Ref, WordMatch
from recollect.recall.when import Span
from tests.recall.evidence import matched, near, place, spoken, term
from tests.values import NOW

MOST = 10.0
YESTERDAY = Span.of(NOW.plus(days=-1.5).datetime(), NOW.plus(days=-0.5).datetime())
refs = st.tuples(st.integers(0, 1), st.integers(1, 8))
parts = st.floats(0.001, MOST)


@st.composite
def word_matches(draw: st.DrawFn) -> WordMatch:
    best = draw(parts)
    return WordMatch(best, max(best, draw(parts)), draw(st.floats(0.01, 1)), ((0, best),))


nearnesses = st.builds(near, st.floats(-1, 1), st.floats(-1, 1))
by_words = st.dictionaries(refs, word_matches())
by_vectors = st.dictionaries(refs, nearnesses)
places = st.dictionaries(
    refs,
    st.builds(
        place,
        st.sampled_from(["", "g", "h"]),
        before=st.lists(st.integers(1, 8), max_size=2).map(tuple),
        after=st.lists(st.integers(1, 8), max_size=2).map(tuple),
    ),
)


def ranked(matches: dict[Ref, Match]) -> list[int]:
    return [seq for _, seq in sorted(matches, key=lambda ref: -matches[ref].score)]


@given(by_words, by_vectors, st.sampled_from([0.0, MOST, 1e-9]))
def test_every_score_is_a_number_from_zero_up(words: dict[Ref, WordMatch], close: dict[Ref, Nearness], most: float):
    for match in fuse(words, close, most).values():
        assert math.isfinite(match.score)
        assert match.score >= 0


@given(by_words, by_vectors)
def test_every_memory_with_evidence_gets_one_score_and_no_other(
    words: dict[Ref, WordMatch], close: dict[Ref, Nearness]
):
    assert set(fuse(words, close, MOST)) == {*words, *close}


@given(by_words, by_vectors)
def test_no_match_is_better_than_perfect(words: dict[Ref, WordMatch], close: dict[Ref, Nearness]):
    assert all(match.score <= 1 + 1e-9 for match in fuse(words, close, MOST).values())


def test_without_vectors_words_alone_rank():
    words, said = matched(spoken(100, term("rare", 1), term("common", 1, 2, 3), term("most", *range(2, 50))))

    found = fuse(said, {}, words.most)

    assert ranked(found)[:3] == [1, 2, 3]
    assert all(match.near == 0 for match in found.values())


def test_without_words_vectors_alone_rank():
    found = fuse({}, {(0, 1): near(0.2), (0, 2): near(0.8), (0, 3): near(0.5)}, 0.0)

    assert ranked(found) == [2, 3, 1]
    assert all(match.words == match.cover == 0 for match in found.values())


def test_agreement_of_both_beats_either_alone():
    words, said = matched(spoken(100, term("a", 1, 2)))

    found = fuse(said, {(0, 1): near(0.6), (0, 3): near(0.6)}, words.most)

    assert ranked(found)[0] == 1


def test_what_points_the_other_way_counts_as_nothing():
    found = fuse({}, {(0, 1): near(-0.9)}, 0.0)

    assert found[0, 1].score == pytest.approx(0)
    assert found[0, 1].near == 0


@given(by_words, by_vectors, places)
def test_company_never_lowers_a_short_turn(words, close, where):
    alone = fuse(words, close, MOST)

    together = in_company(alone, words, where, MOST)

    assert set(together) == set(alone), "company brings nobody new"
    for ref, match in together.items():
        assert math.isfinite(match.score)
        assert match.score >= alone[ref].score
        assert match.neighbours >= 0
        assert match.group >= 0


def test_a_memory_gains_by_who_stands_beside_it():
    words, said = matched(spoken(100, term("a", 1, 2), term("b", 2)))
    alone = fuse(said, {}, words.most)

    together = in_company(alone, said, {(0, 1): place("talk", after=(2,))}, words.most)

    assert together[0, 1].neighbours > 0
    assert together[0, 1].score > alone[0, 1].score
    assert together[0, 2] == alone[0, 2], "it has no place of its own here"


def test_a_group_of_one_is_no_company():
    words, said = matched(spoken(100, term("a", 1, 2)))
    alone = fuse(said, {}, words.most)

    assert in_company(alone, said, {(0, 1): place("only me"), (0, 2): place("nor here")}, words.most) == alone


def test_groups_of_one_name_in_two_stores_are_two():
    words, said = matched(spoken(100, term("a", 1)), spoken(100, term("a", 1)))
    alone = fuse(said, {}, words.most)

    assert in_company(alone, said, {(0, 1): place("s1"), (1, 1): place("s1")}, words.most) == alone


def test_what_belongs_to_no_group_is_left_as_it_is():
    words, said = matched(spoken(100, term("a", 1, 2)))
    alone = fuse(said, {}, words.most)

    assert in_company(alone, said, {(0, 1): place(""), (0, 2): place("")}, words.most) == alone


# The time that was asked for


def equals(count: int = 2) -> tuple[dict[Ref, WordMatch], float]:
    """Memories that say the same of the question."""
    words, said = matched(spoken(100, term("a", *range(1, count + 1))))
    return said, words.most


def test_of_two_that_are_otherwise_equal_the_one_of_the_asked_time_leads():
    said, most = equals()
    alone = fuse(said, {}, most)
    where = {(0, 1): place(times=(NOW.plus(days=-9),)), (0, 2): place(times=(NOW.plus(days=-1),))}

    asked = in_company(alone, said, where, most, YESTERDAY)

    assert ranked(asked) == [2, 1]
    assert asked[0, 2].time == pytest.approx(WEIGHTS.time / WEIGHTS.own)
    assert asked[0, 1] == alone[0, 1], "one of another time loses nothing"
    assert in_company(alone, said, where, most) == alone, "nobody asked for a time"


def test_any_of_a_memorys_times_is_one_of_its_times():
    said, most = equals()
    where = {(0, 1): place(times=(NOW.plus(days=-1), NOW)), (0, 2): place(times=(NOW.plus(days=-1),))}

    asked = in_company(fuse(said, {}, most), said, where, most, YESTERDAY)

    assert asked[0, 1].time == asked[0, 2].time > 0


def test_time_comes_on_top_of_company_and_without_a_group_too():
    said, most = equals(3)
    yesterday = (NOW.plus(days=-1),)
    where = {
        (0, 1): place("talk", after=(2,), times=yesterday),
        (0, 2): place("talk", before=(1,)),
        (0, 3): place(times=yesterday),
    }
    alone = fuse(said, {}, most)

    together = in_company(alone, said, where, most, YESTERDAY)

    for ref, match in together.items():
        parts = match.neighbours + match.group + match.length + match.time
        assert match.score == pytest.approx(alone[ref].score + parts), "every part of a score is named"
    assert together[0, 1].time == together[0, 3].time > together[0, 2].time == 0


def test_time_does_not_bring_up_what_fits_much_less():
    words, said = matched(spoken(100, term("rare", 1), term("other", 1), term("common", *range(1, 60))))
    where = {(0, 2): place(times=(NOW.plus(days=-1),))}

    assert ranked(in_company(fuse(said, {}, words.most), said, where, words.most, YESTERDAY))[0] == 1


times = st.lists(st.floats(-400, 400).map(lambda days: NOW.plus(days=days)), max_size=2).map(tuple)


@given(by_words, by_vectors, st.dictionaries(refs, times), st.floats(-400, 400), st.floats(0, 400))
def test_the_asked_time_never_lowers_a_score(words, close, when, start: float, days: float):
    alone = fuse(words, close, MOST)
    where: dict[Ref, Place] = {ref: place(times=moments) for ref, moments in when.items()}
    span = Span.of(NOW.plus(days=start).datetime(), NOW.plus(days=start + days).datetime())

    asked = in_company(alone, words, where, MOST, span)

    assert set(asked) == set(alone)
    for ref, match in asked.items():
        assert 0 <= match.time <= WEIGHTS.time
        assert match.score == pytest.approx(alone[ref].score + match.time)


# Whose words


def test_what_is_said_in_the_first_person_leads_by_its_vector_where_it_counts_more():
    close = {(0, 1): near(0.6), (0, 2): near(0.55, 0.6, voiced=0.8)}

    assert ranked(fuse({}, close, 0.0)) == [2, 1]
    assert fuse({}, close, 0.0)[0, 2].near == 0.55, "as near as it is, however it was said"


def test_a_long_turn_of_a_conversation_gives_way_to_a_short_one():
    said, most = equals()
    where = {
        (0, 1): place("talk", after=(2,), size=8 * TURN_BYTES),
        (0, 2): place("talk", before=(1,), size=TURN_BYTES),
    }

    together = in_company(fuse(said, {}, most), said, where, most)

    assert ranked(together) == [2, 1]
    assert together[0, 1].length < 0 == together[0, 2].length

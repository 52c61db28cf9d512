from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.strength import strength
from recollect.model.memory import Rating
from recollect.recall.weigh import (
    AGE_COSTS_MOST,
    FOCUS_MOST,
    QUIET_BELOW,
    Focus,
    evidence,
    focus_boost,
    is_quiet,
    priority,
    relevance,
    standing,
)
from tests.values import AGE, NOW, thread

GOOD, BAD = Rating(True, NOW), Rating(False, NOW)
ID = "thread_20260201_083000_abc123"
AUTH = thread("Google login", id=ID, topics=("Auth", "web"))
marks = st.lists(st.booleans().map(lambda useful: Rating(useful, NOW)), max_size=30)


def focus(topic: str, weight: float = 1.0) -> Focus:
    return Focus(topic, weight, NOW)


# Focus


@pytest.mark.parametrize(
    ("topic", "weight", "boost"),
    [
        ("auth", 1.0, 0.3),
        ("AUTH", 0.5, 0.15),
        (ID, 1.0, 0.5),
        (ID, 0.4, 0.2),
        ("login", 1.0, 0.2),
        ("LOGIN", 0.5, 0.1),
        ("billing", 1.0, 0.0),
        (ID[:-1], 1.0, 0.0),
    ],
)
def test_a_focused_topic_lifts_by_where_it_stands(topic: str, weight: float, boost: float):
    assert focus_boost(AUTH, [focus(topic, weight)]) == pytest.approx(boost)


def test_a_topic_and_a_title_add_up_and_the_sum_has_a_ceiling():
    both = thread("Auth service", topics=("auth",))

    assert focus_boost(both, [focus("auth")]) == pytest.approx(0.5)
    assert focus_boost(both, [focus("auth"), focus("service"), focus(both.id)]) == FOCUS_MOST == 0.5


@given(st.lists(st.builds(focus, st.sampled_from(["auth", "web", "login", ID, "x"]), st.floats(0, 1))))
def test_focus_never_lowers_and_never_lifts_above_its_ceiling(points: list[Focus]):
    assert 0 <= focus_boost(AUTH, points) <= 0.5


# Ratings


def test_without_ratings_a_memory_is_wholly_relevant():
    assert relevance(()) == 1.0


def test_one_bad_rating_leaves_three_quarters():
    assert relevance((BAD,)) == 0.75


def test_only_good_ratings_leave_it_whole():
    assert relevance((GOOD,) * 20) == 1.0


def test_later_ratings_weigh_more():
    assert relevance((BAD, GOOD)) == pytest.approx((3 + 1.1) / (3 + 1.0 + 1.1))
    assert relevance((BAD, GOOD)) > relevance((GOOD, BAD))


def test_only_the_last_ten_count_and_the_oldest_of_them_weighs_one():
    ten = (BAD, *(GOOD,) * 9)

    assert relevance((BAD,) * 50 + ten) == relevance(ten)
    assert relevance(ten) == pytest.approx((3 + sum(1 + 0.1 * i for i in range(1, 10))) / (3 + 14.5))


@given(marks)
def test_relevance_stays_above_zero_and_at_most_one(ratings: list[Rating]):
    assert 0 < relevance(ratings) <= 1


# Priority


def test_priority_is_match_by_standing_by_relevance_and_focus_on_top():
    memory = thread("Auth", topics=("auth",), ratings=(BAD,))

    found = priority(memory, 0.8, 1.0, [focus("auth", 0.5)])

    assert found.score == pytest.approx(0.8 * standing(1.0) * 0.75 + 0.25)
    assert (found.strength, found.relevance) == (1.0, 0.75)
    assert found.focus == pytest.approx(0.25)


def test_an_old_good_match_beats_a_fresh_poor_one():
    old = priority(thread("old"), 0.5, 0.0, [])
    fresh = priority(thread("fresh"), 0.45, 1.0, [])

    assert old.score > fresh.score


def test_a_pin_stands_a_little_above_what_is_fresh():
    assert standing(1.0) < standing(1.3) < 1.2 * standing(1.0)


@given(st.floats(0, 3), st.floats(0, 3))
def test_more_strength_never_lowers_and_is_bounded(one: float, other: float):
    low, high = sorted((one, other))

    assert 0.9 <= standing(low) <= standing(high) <= 1.5


def test_a_fortnight_counts_as_one_time():
    fortnight = [strength(thread("t", days_old=days), now=NOW, rules=AGE) for days in range(15)]

    assert {standing(one) for one in fortnight} == {1.0}


def test_age_costs_a_little_more_with_every_month_and_never_much():
    months = [standing(strength(thread("t", days_old=30 * n), now=NOW, rules=AGE)) for n in range(60)]

    assert months == sorted(months, reverse=True)
    assert months[0] > months[1] > months[2]
    assert months[-1] == 1.0 - AGE_COSTS_MOST


# Outcomes

trails = st.text("+-", max_size=80)


@given(marks, trails)
def test_relevance_is_above_nothing_and_at_most_one(ratings: list[Rating], trail: str):
    assert 0 < relevance(ratings, trail) <= 1


@given(marks, trails)
def test_what_went_well_never_lowers_and_what_went_badly_never_raises(ratings: list[Rating], trail: str):
    trail = trail[-49:]  # nothing falls out at the other end

    assert relevance(ratings, trail + "-") < relevance(ratings, trail) <= relevance(ratings, trail + "+")


@given(marks, trails, st.integers(0, 79))
def test_one_that_went_well_instead_of_badly_raises(ratings: list[Rating], trail: str, at: int):
    recent = trail[-50:]
    if at >= len(recent) or recent[at] == "+":
        return
    better = f"{recent[:at]}+{recent[at + 1 :]}"

    assert relevance(ratings, better) > relevance(ratings, recent)


@given(marks, trails, trails)
def test_only_the_last_fifty_count(ratings: list[Rating], old: str, trail: str):
    assert relevance(ratings, old + trail.ljust(50, "-")) == relevance(ratings, trail.ljust(50, "-")[-50:])


@given(trails)
def test_fifty_that_go_well_bring_it_all_back(trail: str):
    assert relevance((), trail + "+" * 50) == 1.0


@pytest.mark.parametrize(
    ("trail", "score"), [("", 1.0), ("+", 1.0), ("-", 0.9375), ("-" * 5, 0.75), ("-" * 50, 0.2308), ("+-" * 25, 0.6154)]
)
def test_an_outcome_is_a_fifth_of_a_rating_against_a_prior_of_three(trail: str, score: float):
    assert relevance((), trail) == pytest.approx(score, abs=1e-4)


def test_few_observations_move_little_and_many_make_quiet():
    assert not is_quiet(thread("t", outcomes="-" * 22))
    assert is_quiet(thread("t", outcomes="-" * 23))
    assert not is_quiet(thread("t", outcomes="-" * 23 + "+"))
    assert not is_quiet(thread("t", outcomes="-" * 50, pinned=True, boost=0.3))
    assert is_quiet(thread("t", ratings=(BAD,) * 10))
    assert QUIET_BELOW == 0.4


def test_what_the_score_is_made_of_can_be_told():
    memory = thread("t", outcomes="+--", ratings=(GOOD,))

    assert evidence(memory) == (("ratings", 1.0), ("went_well", 1.0), ("went_badly", 2.0))
    assert evidence(thread("t")) == ()

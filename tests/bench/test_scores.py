"""The measures are what their names say, and an interval tells a difference from chance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.bench.scores import MEASURES, difference, score

LETTERS = st.sampled_from("abcdefghijklmnop")
RANKINGS = st.lists(LETTERS, unique=True)
GOLD = st.frozensets(LETTERS, min_size=1)


def check(ranked: str, gold: str, **expected: float) -> None:
    found = score(ranked, frozenset(gold))
    for name, value in expected.items():
        assert found[name.replace("_", "@")] == pytest.approx(value), name


def test_the_first_place_is_everything():
    check("abcdef", "a", any_1=1, any_5=1, all_5=1, recall_5=1, ndcg_10=1, mrr=1)


def test_a_third_place_counts_from_five_on():
    check("xxa", "a", any_1=0, any_5=1, all_5=1, recall_5=1, ndcg_10=0.5, mrr=1 / 3)


def test_half_of_the_evidence_is_some_of_it_and_not_all():
    check("axxxxb", "ab", any_5=1, all_5=0, recall_5=0.5, all_10=1, recall_10=1)


def test_the_eleventh_place_is_no_place():
    check("0123456789a", "a", any_10=0, recall_10=0, ndcg_10=0, mrr=0)


def test_nothing_found_is_nothing():
    check("", "a", **{name.replace("@", "_"): 0.0 for name in MEASURES})


def test_more_gold_than_fits_can_still_be_ranked_perfectly():
    check("abcdefghijkl", "abcdefghijkl", ndcg_10=1, recall_10=10 / 12, all_10=0)


@given(RANKINGS, GOLD)
def test_every_measure_is_a_share(ranked: list[str], gold: frozenset[str]):
    found = score(ranked, gold)

    assert tuple(found) == MEASURES
    assert all(0 <= value <= 1 + 1e-9 for value in found.values())


@given(RANKINGS, GOLD)
def test_a_longer_look_never_finds_less(ranked: list[str], gold: frozenset[str]):
    found = score(ranked, gold)

    assert found["any@1"] <= found["any@5"] <= found["any@10"]
    assert found["all@5"] <= found["recall@5"] <= found["any@5"]
    assert found["recall@5"] <= found["recall@10"]


def test_a_clear_difference_has_an_interval_clear_of_zero():
    ours, theirs = [1.0] * 90 + [0.0] * 10, [1.0] * 50 + [0.0] * 50

    found = difference("fts5", ours, theirs)

    assert found.mean == pytest.approx(0.4)
    assert 0.25 < found.low < found.mean < found.high < 0.55


def test_a_difference_of_one_question_is_chance():
    found = difference("fts5", [1.0] + [0.5] * 99, [0.0] + [0.5] * 99)

    assert found.low == 0.0 < found.high


def test_the_same_figures_have_the_same_interval():
    assert difference("dense", [1, 0, 1, 1], [0, 0, 1, 0]) == difference("dense", [1, 0, 1, 1], [0, 0, 1, 0])

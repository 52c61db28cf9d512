"""The measures are what their names say, and an interval tells a difference from chance."""

from __future__ import annotations

import pytest

from bench.scores import MEASURES, difference, score


@pytest.mark.parametrize(
    ("ranked", "gold", "expected"),
    [
        ("abcdef", "a", {"any@1": 1, "any@5": 1, "all@5": 1, "recall@5": 1, "ndcg@10": 1, "mrr": 1}),
        ("xxa", "a", {"any@1": 0, "any@5": 1, "all@5": 1, "recall@5": 1, "ndcg@10": 0.5, "mrr": 1 / 3}),
        ("axxxxb", "ab", {"any@5": 1, "all@5": 0, "recall@5": 0.5, "all@10": 1, "recall@10": 1}),
        ("0123456789a", "a", {"any@10": 0, "recall@10": 0, "ndcg@10": 0, "mrr": 0}),
        ("", "a", dict.fromkeys(MEASURES, 0)),
        ("abcdefghijkl", "abcdefghijkl", {"ndcg@10": 1, "recall@10": 10 / 12, "all@10": 0}),
    ],
)
def test_a_measure_is_what_its_name_says(ranked: str, gold: str, expected: dict[str, float]):
    found = score(ranked, frozenset(gold))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_a_clear_difference_has_an_interval_clear_of_zero():
    ours, theirs = [1.0] * 90 + [0.0] * 10, [1.0] * 50 + [0.0] * 50
    found = difference("fts5", ours, theirs)
    assert found.mean == pytest.approx(0.4)
    assert 0.25 < found.low < found.mean < found.high < 0.55

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import suggest
from tests.values import thread


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
def test_a_thread_that_moved_through_many_topics_could_be_split(drift: tuple[str, ...], parts: tuple[str, ...]):
    assert suggest.parts(thread("talk", drift=drift)) == parts


def test_two_threads_are_alike_in_the_topics_they_share():
    assert suggest.alike(("Auth", "api"), ("auth", "ui")) == "Both about Auth"
    assert suggest.alike(("auth",), ("ui",)) == "They say nearly the same"


@given(st.lists(st.floats(0, 1.5), max_size=100), st.integers(0, 9), st.integers(0, 9))
def test_pressure_is_the_weight_over_ten_and_never_above_one(strengths: list[float], merges: int, splits: int):
    found = suggest.health(strengths, merges, splits)

    assert found.context_pressure == round(min(1.0, sum(strengths) / 10), 2)
    assert found.active_threads == len(strengths)


def test_a_store_with_nothing_to_do_is_healthy():
    assert suggest.health([1.0] * 3, 0, 0).recommendation == "Healthy state, no action needed"
    assert suggest.health([1.0] * 30, 0, 0).recommendation != suggest.HEALTHY

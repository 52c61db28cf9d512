"""Ids have one shape and sort by time, whatever the clock does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.clock import FixedClock
from recollect.base.ids import Mint, is_id
from recollect.base.moment import Moment

START = Moment.of(datetime(2026, 2, 1, 8, 30, tzinfo=UTC))
STEPS = st.lists(st.integers(-5_000_000, 5_000_000), max_size=50)


def test_an_id_says_its_kind_and_its_second_in_utc():
    id = Mint(FixedClock(START)).draw("thread")
    assert id.startswith("thread_20260201_083000_")
    assert is_id(id)


@given(STEPS)
def test_ids_rise_even_when_the_clock_is_set_back(steps: list[int]):
    clock = FixedClock(START)
    mint = Mint(clock)
    drawn = []
    for step in steps:
        clock.at = Moment(clock.at.micros + step)
        drawn.append(mint.draw("rule"))

    assert drawn == sorted(set(drawn))
    assert all(map(is_id, drawn))


@given(st.integers(1, 10**9))
def test_ids_of_two_processes_sort_by_the_millisecond(later_ms: int):
    first = Mint(FixedClock(START)).draw("note")
    second = Mint(FixedClock(Moment(START.micros + later_ms * 1_000))).draw("note")
    assert first < second


def test_an_instant_that_runs_out_of_ids_borrows_from_the_next_second():
    mint = Mint(FixedClock(START))
    # Drawing the sixteen million before it would take minutes.
    mint._last = (START.micros // 1_000_000, 0xFFFFFE)
    assert mint.draw("thread") == "thread_20260201_083000_ffffff"
    assert mint.draw("thread") == "thread_20260201_083001_000000"
    assert mint.draw("thread") == "thread_20260201_083001_000001"


@pytest.mark.parametrize(
    "text",
    ["", "thread", "thread_20260201_083000_abc12", "Thread_20260201_083000_abc123", "../etc/passwd",
     "thread_20260201_083000_abc123\n", "thread_20260201_083000_abc123 ", "thread_2026020１_083000_abc12g"],
)  # fmt: skip
def test_what_only_looks_like_an_id_is_none(text: str):
    assert not is_id(text)

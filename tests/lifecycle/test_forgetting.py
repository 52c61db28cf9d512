"""The forgetting score against values worked out by hand, and answers that are taken at their plain word alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import forgetting
from recollect.lifecycle.forgetting import Verdict
from recollect.model.memory import Status
from tests.model.strategies import memories
from tests.values import NOW, note, rule, thread


@pytest.mark.parametrize(
    ("frequency", "last_session", "session", "appreciation", "score"),
    [
        # log2(1) = 0: never shown
        (0, 0, 500, 0, 0.0),
        # log2(2) = 1, e^0 = 1
        (1, 100, 100, 0, 1.0),
        # log2(4) = 2, e^(-0.003466 * 200) = e^-0.6932 = 0.499974
        (3, 100, 300, 0, 0.999947),
        # log2(8) = 3, e^(-0.003466 * 100) = e^-0.3466 = 0.707088
        (7, 50, 150, 0, 2.121265),
        # log2(1024) = 10, e^(-0.003466 * 1000) = e^-3.466 = 0.031242
        (1023, 0, 1000, 0, 0.312418),
        # the same, and 2 for appreciation, which does not fade
        (1023, 0, 1000, 2, 2.312418),
        # log2(6) = 2.584963, e^(-0.003466 * 10) = e^-0.03466 = 0.965934
        (5, 90, 100, 0.5, 2.996903),
        # a count that fell back: as if used just now, log2(4) = 2
        (3, 300, 100, 0, 2.0),
    ],
)
def test_the_score_is_what_it_says(frequency: int, last_session: int, session: int, appreciation: float, score: float):
    one = rule("x", frequency=frequency, last_session=last_session, appreciation=appreciation)
    assert forgetting.score(one, session) == pytest.approx(score, abs=2e-6)


def test_the_lowest_three_are_candidates_the_oldest_of_equals_first():
    never_new, never_old = rule("new", days_old=1), rule("old", days_old=9)
    often, once, valued = note("often", frequency=50), note("once", frequency=1), rule("valued", appreciation=9)
    found = forgetting.candidates([often, once, valued, never_new, never_old], session=0)
    assert [one.memory.title for one in found] == ["old", "new", "once"]


def test_what_is_pinned_asleep_a_thread_or_too_young_is_no_candidate():
    kept = [rule("pin", pinned=True), rule("away", status=Status.ARCHIVED), thread("t"), rule("young", days_old=1)]
    old = rule("old", days_old=3)
    found = forgetting.candidates([*kept, old], session=9, born_before=NOW.plus(days=-2))
    assert [one.memory for one in found] == [old]


@given(memories, st.integers(0, 10_000), st.integers(0, 10_000))
def test_sessions_without_use_never_raise_a_score(memory, session: int, later: int):
    assert forgetting.score(memory, session + later) <= forgetting.score(memory, session)


def candidates(*titles: str) -> tuple[forgetting.Candidate, ...]:
    return forgetting.candidates([rule(title) for title in titles], session=1)


def test_a_plain_answer_is_taken_wherever_it_stands():
    a, b = candidates("a", "b")
    verdicts = [{"id": a.memory.id, "verdict": "keep"}, {"id": b.memory.id, "verdict": "COLD"}]
    text = f"Sure! [1] Here:\n```json\n{json.dumps(verdicts)}\n```"
    assert forgetting.read_answer(text, (a, b)) == {a.memory.id: Verdict.KEEP, b.memory.id: Verdict.COLD}


@pytest.mark.parametrize(
    "text",
    [
        "", "no", "[", "[]", "{}", "[[[[", '[{"id": "ID"}]', '[{"id": "ID", "verdict": null}]',
        '[{"id": "ID", "verdict": "delete"}]', '[{"id": "ID", "verdict": ["cold"]}]',
        '[{"id": ["ID"], "verdict": "cold"}]',
        '[{"id": "rule_20260101_000000_000000", "verdict": "cold"}]',
        '[{"id": "ID", "verdict": "cold"}, {"id": "ID", "verdict": "keep"}]', "[" * 100_000, "null", "\x00",
    ],
)  # fmt: skip
def test_nothing_is_put_away_on_anything_but_a_clear_word(text: str):
    (one,) = candidates("a")
    assert forgetting.read_answer(text.replace("ID", one.memory.id), (one,)) == {}


@given(st.text())
def test_no_answer_breaks_the_reading(text: str):
    assert forgetting.read_answer(text, candidates("a")) == {}

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput, UnknownId
from recollect.model.memory import Rating
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import briefs, history, recalls, steer
from recollect.ops.app import App
from recollect.ops.focus import focused
from recollect.ops.haste import Haste
from recollect.ops.steer import Verdict
from recollect.recall.weigh import Focus, focus_boost, relevance
from tests.ops.ask import kept
from tests.ops.conftest import Opens
from tests.values import NOW, act, plan, thread


def add(app: App, title: str, **fields: Any) -> str:
    made = thread(title, **fields)
    app.writing(Scope.PROJECT).apply(plan(Create(made)), act())
    return made.id


def recalled(app: App, words: str) -> list[str]:
    found = recalls.recall(app, (words,), limit=5).found
    return [one.hit.memory.id for one in found.found]


def test_a_focus_is_confirmed_in_words_and_in_the_project(app: App):
    for name in ("login", "logout", "tokens"):
        add(app, name, topics=("authentication",))
    add(app, "bread", topics=("cellar",))

    told = steer.focus(app, "authentication")

    assert told.summary == 'Focus set on "authentication" (weight=0.8). 3 threads will be prioritized.'
    shown = json.loads(Path(".ai/focus.json").read_text(encoding="utf-8"))
    assert shown == {
        "active_focus": [{"topic": "authentication", "weight": 0.8, "set_at": NOW.iso()}],
        "last_updated": NOW.iso(),
    }


def test_what_is_in_focus_comes_whatever_the_prompt_says(app: App):
    login = add(app, "The session cookie", body="It expires at midnight.", topics=("authentication",))
    bread = add(app, "Sourdough", body="Sourdough wants eleven hours in the cellar.")
    assert login not in recalled(app, "sourdough in the cellar")

    steer.focus(app, "authentication", weight=1)

    found = recalled(app, "sourdough in the cellar")
    assert {login, bread} == set(found)


def test_a_prompt_brings_what_is_in_focus_to_mind(app: App):
    login = add(app, "The session cookie", body="It expires at midnight.", topics=("authentication",))
    steer.focus(app, "authentication")

    mind = briefs.brought_to_mind(app, Haste(app, "knead the dough", time.monotonic() + 60), seen=set(), limit=5)

    assert [hit.memory.id for hit in mind.hits] == [login]


def test_a_boost_carries_a_memory_past_the_rest(app: App):
    plain = add(app, "Retry policy of the payment worker", body="The payment worker retries five times.")
    aimed = add(app, "Payment", body="The payment worker has a queue.", topics=("billing",))
    assert recalled(app, "payment worker retries")[0] == plain

    steer.focus(app, "billing", weight=1)

    assert recalled(app, "payment worker retries")[0] == aimed


@pytest.mark.parametrize(("given_weight", "held"), [(7, 1), (-2, 0), (0.4, 0.4), (float("inf"), 1)])
def test_a_weight_out_of_range_is_clamped_and_that_is_said(app: App, given_weight: float, held: float):
    told = steer.focus(app, "x", weight=given_weight)

    assert told.facts["weight"] == held
    assert bool(told.notes) == (given_weight != held)


def test_a_weight_that_is_no_number_is_refused(app: App):
    with pytest.raises(BadInput):
        steer.focus(app, "x", weight=float("nan"))


def test_the_same_topic_again_replaces_the_first(app: App):
    steer.focus(app, "Auth", weight=0.2)
    steer.focus(app, "auth", weight=0.9)

    assert [(point.topic, point.weight) for point in focused(app)] == [("auth", 0.9)]


def test_a_focus_is_cleared_by_name_or_all_at_once(app: App):
    for topic in ("a", "b", "c"):
        steer.focus(app, topic)

    assert steer.unfocus(app, "B").summary == 'Focus on "B" cleared.'
    assert [point.topic for point in focused(app)] == ["a", "c"]
    assert steer.unfocus(app).summary == "All focus cleared. Returning to similarity-based injection."
    assert focused(app) == ()


def test_what_is_not_in_focus_cannot_be_cleared(app: App):
    steer.focus(app, "a")

    with pytest.raises(BadInput) as refused:
        steer.unfocus(app, "b")
    assert '"a"' in refused.value.hint


@pytest.mark.parametrize("topic", ["", "   ", "x" * 500])
def test_a_topic_needs_a_few_words(app: App, topic: str):
    with pytest.raises(BadInput):
        steer.focus(app, topic)


def test_a_dry_focus_sets_none(open_app: Opens):
    open_app()
    dry = open_app(dry_run=True)

    steer.focus(dry, "a")

    assert focused(dry) == ()


@given(
    st.lists(st.tuples(st.sampled_from(("auth", "login", "api", "thread_x")), st.floats(0, 1)), max_size=20),
    st.lists(st.sampled_from(("auth", "login", "api")), max_size=3),
)
def test_a_focus_boost_never_exceeds_a_half(points: list[tuple[str, float]], topics: list[str]):
    memory = thread("auth login api", topics=tuple(topics))

    assert 0 <= focus_boost(memory, [Focus(topic, weight, NOW) for topic, weight in points]) <= 0.5


@given(st.lists(st.booleans(), max_size=40))
def test_relevance_stays_above_nothing_and_within_one(said: list[bool]):
    score = relevance([Rating(useful, NOW) for useful in said])

    assert 0 < score <= 1
    assert (score == 1) == all(said[-10:])


def test_a_rating_says_what_it_did_and_can_be_undone(app: App):
    id = add(app, "old api")

    first = steer.rate(app, id, Verdict.NOT_USEFUL, reason="it was redesigned")
    second = steer.rate(app, id, Verdict.USEFUL)

    assert first.summary == f"Rated {id} as not useful. Relevance score: 1.00 → 0.75"
    assert second.summary == f"Rated {id} as useful. Relevance score: 0.75 → 0.80"
    assert kept(app, id).ratings == (Rating(False, NOW, "it was redesigned"), Rating(True, NOW, None))
    history.undo(app)
    assert len(kept(app, id).ratings) == 1


def test_after_two_bad_ratings_a_thread_sinks_and_can_return(app: App):
    assert isinstance(app.clock, FixedClock)
    bad = add(app, "Deploys go through staging", body="Deploys go through the staging cluster first.")
    other = add(app, "Deploys at night", body="Deploys through staging happen at night, mostly.")
    question = "deploys go through staging"
    assert recalled(app, question)[0] == bad

    for _ in range(2):
        steer.rate(app, bad, Verdict.NOT_USEFUL)
    assert recalled(app, question) == [other, bad]

    for _ in range(8):
        steer.rate(app, bad, Verdict.USEFUL)
    assert recalled(app, question)[0] == bad


def test_what_is_not_there_cannot_be_rated(app: App):
    id = add(app, "x")

    with pytest.raises(UnknownId) as refused:
        steer.rate(app, id[:-1] + "0" if id[-1] != "0" else id[:-1] + "1", Verdict.USEFUL)
    assert id in refused.value.hint


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(text=st.text(max_size=60))
def test_any_topic_is_taken_or_refused_and_never_breaks_a_recall(app: App, text: str):
    add(app, "anchor", topics=("x",))
    try:
        steer.focus(app, text)
    except BadInput:
        return
    recalled(app, "anchor")
    steer.unfocus(app)

"""What is selected out of a ranking, and what is relevant enough to be shown unasked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.memory import Kind, Memory, Message, Status
from recollect.model.passage import TURN
from recollect.model.query import REACHED, Background, Hit, Query, TermEvidence, WordEvidence
from recollect.recall import floor
from recollect.recall.floor import Prompt
from recollect.recall.matching import cover
from recollect.recall.selection import BY_CHANCE, select
from tests.model.strategies import memories
from tests.values import NOW, note, rule, thread


def hit(memory: Memory, score: float = 0.5, **parts: float) -> Hit:
    return Hit(memory, score, tuple(({"cover": 1.0} | parts).items()))


def test_the_order_is_kept_and_what_is_beyond_the_limit_is_said():
    ranked = [hit(thread(f"Thread {i}")) for i in range(5)]
    found = select(ranked, Query(limit=3))
    assert list(found.hits) == ranked[:3]
    assert [(drop.id, drop.reason) for drop in found.drops] == [
        (late.memory.id, "beyond the limit") for late in ranked[3:]
    ]


def test_the_same_words_are_shown_once_by_the_better_of_those_that_may_be_shown():
    first, same = thread("One", body="Use  tabs.\n"), thread("Two", body="use tabs.")
    archived = thread("Three", body="use tabs.", status=Status.ARCHIVED)
    found = select([hit(archived), hit(first), hit(same)], Query(statuses=(Status.ACTIVE,)))
    assert [h.memory for h in found.hits] == [first]
    assert [drop.reason for drop in found.drops] == ["archived", f"says the same as {first.id}"]
    without_body = [hit(thread("a", body="")), hit(thread("b", body="")), hit(thread("A", body=" "))]
    assert len(select(without_body, Query()).hits) == 2, "told apart by their titles"


def test_what_this_session_has_seen_is_not_shown_again():
    seen, new = thread("seen"), thread("new")
    found = select([hit(seen), hit(new)], Query(limit=1, seen={seen.id}))
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
    assert [drop.reason for drop in select([hit(memory)], query).drops] == [reason]
    fits = note("x", topics=("Auth",), group="s1", days_old=2)  # in any case, and of its own day
    fitting = Query(kinds=(Kind.NOTE,), topic="aUTH", group="s1", since=NOW.plus(days=-2), until=NOW.plus(days=-2))
    assert select([hit(fits)], fitting).drops == ()


def test_what_has_nothing_in_common_with_the_question_is_no_answer():
    far = hit(thread("far"), cover=0.0, near=BY_CHANCE / 2)
    close = hit(thread("close"), cover=0.0, near=BY_CHANCE * 2)
    beside = hit(thread("beside"), cover=0.0, near=0.0, neighbours=0.1)
    focused = hit(thread("focused"), cover=0.0, near=0.0, focus=0.2)

    found = select([far, close, beside, focused], Query())

    assert [h.memory.title for h in found.hits] == ["close", "beside", "focused"]
    assert [drop.reason for drop in found.drops] == ["nothing in common"]


def turn(memory: Memory, words: str) -> Hit:
    return replace(hit(memory), turn=Message(words, memory.id, NOW, TURN, words))


def test_only_so_many_turns_of_one_memory_are_shown_and_they_replace_the_body_that_sums_them_up():
    long, other = thread("long"), thread("other")
    ranked = [turn(long, f"turn {number}") for number in range(4)] + [hit(other)]
    assert [h.memory.title for h in select(ranked, Query(turns=2)).hits] == ["long", "long", "other"]
    assert [h.memory.title for h in select(ranked, Query()).hits] == ["long", "other"]
    assert select(ranked, Query()).drops == (), "what is shown is not left out"
    [found] = select([hit(long), turn(long, "what was said")], Query(turns=5)).hits
    assert found.text == "what was said"


queries = st.builds(
    Query,
    kinds=st.lists(st.sampled_from(Kind), max_size=2).map(tuple),
    statuses=st.lists(st.sampled_from(Status), max_size=3).map(tuple),
    limit=st.integers(1, 4),
)


@given(st.lists(memories.map(hit), max_size=12), queries)
def test_never_more_than_asked_for_and_everything_is_accounted_for(ranked: list[Hit], query: Query):
    found = select(ranked, query)

    assert len(found.hits) <= query.limit
    assert {h.memory.id for h in found.hits} | {d.id for d in found.drops} == {h.memory.id for h in ranked}
    assert {h.memory.id for h in found.hits}.isdisjoint(d.id for d in found.drops)
    assert all(drop.reason for drop in found.drops)
    shown = iter(ranked)
    assert all(any(kept is one for one in shown) for kept in found.hits), "in the order they came"
    for kept in found.hits:
        assert not query.kinds or kept.memory.kind in query.kinds
        by_age = kept.memory.status is Status.ARCHIVED and set(REACHED) <= set(query.statuses)
        assert not query.statuses or kept.memory.status in query.statuses or by_age


# The floor: monotone in every feature, strict with words alone, right in stores of any size.


FLOOR = 0.5
LARGE = Background(500, 500 * 0.15, 500 * (0.15**2 + 0.1**2))
PROMPT = Prompt.of("why does the nightly build fail on the runner?")


def bears(near: float | None, cover: float, background: Background = LARGE, **more: Any) -> float:
    given: dict[str, Any] = {"prompt": PROMPT, "text": "", "kept": False} | more
    passages = background.passages
    return floor.judge_relevance(near=near, cover=cover, background=background, passages=passages, **given).probability


@pytest.mark.parametrize(
    "more", [{"near": 0.5}, {"cover": 0.3}, {"text": "the runner in src/runner.ts"}, {"kept": True}]
)
def test_more_of_any_feature_never_makes_it_less_sure(more: dict[str, Any]):
    less: dict[str, Any] = {"near": 0.4, "cover": 0.2, "prompt": Prompt.of("why does src/runner.ts fail?")}
    assert bears(**less | more) > bears(**less)


@pytest.mark.parametrize(
    ("prompt", "is_worth_less"),
    [
        ("rename tmp2 in the nightly build of the runner", True),
        ("remove the commented-out code of the nightly build", True),
        ("what is the difference between a nightly build and a runner?", True),
        ("how do i run one single nightly test with python's unittest", True),
        ("what does tools/nightly.sh do?", False),
        ("what is the default branch?", False),
        ("what's the difference between our staging and prod?", False),
        ("how do we run the nightly tests in the container?", False),
    ],
)
def test_little_bears_on_tidying_and_on_questions_about_a_language(prompt: str, is_worth_less: bool):
    read = Prompt.of(prompt)
    assert (read.is_general or read.is_tidying) is is_worth_less
    assert not is_worth_less or bears(0.65, 0.4, prompt=read) < bears(0.65, 0.4)


def test_what_is_near_and_speaks_of_it_passes_and_what_is_merely_usual_does_not():
    assert bears(0.65, 0.4) > FLOOR
    assert bears(0.2, 0.05) < 0.05
    assert bears(0.15, 0.0) < 0.02


def test_the_same_nearness_says_less_where_everything_is_near():
    crowded = Background(500, 500 * 0.45, 500 * (0.45**2 + 0.1**2))
    assert bears(0.55, 0.2, crowded) < bears(0.55, 0.2, LARGE)


@pytest.mark.parametrize("passages", [1, 2, 5, 30])
def test_in_a_small_store_what_fits_passes_and_what_does_not_is_silent(passages: int):
    others = Background(passages, 0.5 + (passages - 1) * 0.05, 0.25 + (passages - 1) * 0.01)
    unrelated = Background(passages, passages * 0.05, passages * 0.01)
    assert bears(0.5, 0.2, others) > FLOOR, "no passage is its own background"
    assert bears(0.15, 0.0, unrelated) < FLOOR / 2


def test_words_alone_must_cover_more_and_say_more():
    assert bears(None, 0.2, Background(200)) < FLOOR < bears(None, 0.6, Background(200))
    assert bears(None, 0.3, prompt=Prompt.of("deploy fails")) < bears(None, 0.3)


def test_nearness_says_nothing_in_a_script_that_the_model_does_not_read():
    prompt = Prompt.of("什么是闭包")
    assert bears(0.99, 0.0, prompt=prompt) == bears(None, 0.0, prompt=prompt) < 0.05


def test_names_that_both_have_count():
    prompt = Prompt.of("is `totals.ts` still used by reserve_stock?")
    assert prompt.names == {"totals.ts", "reserve_stock"}
    assert bears(0.4, 0.1, text="Edited services/cart/Totals.ts", prompt=prompt) > bears(0.4, 0.1, prompt=prompt)


def covered(evidence: list[WordEvidence], *passages: int) -> dict[int, float]:
    return cover(floor.information(evidence), evidence[0], passages, floor.NEEDED)


def test_a_word_that_is_common_everywhere_covers_little_and_a_single_word_covers_no_prompt():
    common = [WordEvidence(1, (TermEvidence("test", 1, ((1, 1.0),)), TermEvidence("invoic", 0, ())))]
    rare = [WordEvidence(1, (TermEvidence("invoic", 1, ((1, 1.0),)), TermEvidence("test", 0, ())))]
    assert covered(common, 1)[1] < covered(rare, 1)[1]
    evidence = [WordEvidence(300, (TermEvidence("mutex", 1, ((7, 1.0),)),))]
    assert covered(evidence, 7, 8) == {7: pytest.approx(0.5, abs=0.1), 8: 0.0}

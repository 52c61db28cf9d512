"""Priority: how strength, ratings, outcomes and focus move a memory, and how far at most. What is selected out of a
ranking. Which rules bear on a call."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.strength import strength
from recollect.model.command import How, Lesson
from recollect.model.memory import Kind, Memory, Message, Rating, RuleType, Status
from recollect.model.passage import TURN
from recollect.model.query import REACHED, Hit, Query
from recollect.recall.call_rules import read_call, rules_about
from recollect.recall.selection import (
    BY_CHANCE,
    MAX_AGE_COST,
    Focus,
    evidence,
    focus_boost,
    is_muted,
    priority,
    relevance,
    select,
    strength_factor,
)
from tests.cases import cases
from tests.model.strategies import memories
from tests.values import AGE, NOW, note, rule, thread

GOOD, BAD = Rating(True, NOW), Rating(False, NOW)
ID = "thread_20260201_083000_abc123"
AUTH = thread("Google login", id=ID, topics=("Auth", "web"))
marks = st.lists(st.booleans().map(lambda useful: Rating(useful, NOW)), max_size=30)
trails = st.text("+-", max_size=80)


def focus(topic: str, weight: float = 1.0) -> Focus:
    return Focus(topic, weight, NOW)


@pytest.mark.parametrize(
    ("points", "boost"),
    [
        ([focus("auth")], 0.3), ([focus("AUTH", 0.5)], 0.15), ([focus(ID)], 0.5), ([focus(ID, 0.4)], 0.2),
        ([focus("login")], 0.2), ([focus("LOGIN", 0.5)], 0.1), ([focus("billing")], 0.0), ([focus(ID[:-1])], 0.0),
        ([focus("auth"), focus("login")], 0.5), ([focus("auth"), focus("login"), focus(ID)], 0.5),
    ],
)  # fmt: skip
def test_a_focused_topic_lifts_by_where_it_stands_up_to_a_ceiling(
    points: list[Focus], boost: float
):
    assert focus_boost(AUTH, points) == pytest.approx(boost)


@given(
    st.lists(st.builds(focus, st.sampled_from(["auth", "web", "login", ID, "x"]), st.floats(0, 1)))
)
def test_focus_never_lowers_and_never_lifts_above_its_ceiling(points: list[Focus]):
    assert 0 <= focus_boost(AUTH, points) <= 0.5


TEN = (BAD, *(GOOD,) * 9)


@pytest.mark.parametrize(
    ("ratings", "trail", "score"),
    [
        ((), "", 1.0), ((BAD,), "", 0.75), ((GOOD,) * 20, "", 1.0), ((BAD, GOOD), "", 4.1 / 5.1),
        ((GOOD, BAD), "", 4 / 5.1),
        (TEN, "", (3 + sum(1 + 0.1 * i for i in range(1, 10))) / (3 + 14.5)), ((BAD,) * 50 + TEN, "", 0.9428571),
        ((), "+", 1.0), ((), "-", 0.9375), ((), "-" * 5, 0.75), ((), "-" * 50, 0.2308), ((), "+-" * 25, 0.6154),
    ],
)  # fmt: skip
def test_relevance_is_ratings_and_a_fifth_of_each_outcome_against_a_prior_of_three(
    ratings: tuple[Rating, ...], trail: str, score: float
):
    assert relevance(ratings, trail) == pytest.approx(score, abs=1e-4)


@given(marks, trails, trails)
def test_what_went_well_never_lowers_what_went_badly_never_raises_and_fifty_count(
    ratings: list[Rating], old: str, trail: str
):
    short = trail[-49:]  # nothing falls out at the other end
    full = trail.ljust(50, "-")
    assert 0 < relevance(ratings, trail) <= 1
    assert (
        relevance(ratings, short + "-")
        < relevance(ratings, short)
        <= relevance(ratings, short + "+")
    )
    assert relevance(ratings, old + full) == relevance(ratings, full[-50:])
    assert relevance((), trail + "+" * 50) == 1.0


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ({"outcomes": "-" * 22}, False), ({"outcomes": "-" * 23}, True), ({"outcomes": "-" * 23 + "+"}, False),
        ({"outcomes": "-" * 50, "pinned": True, "boost": 0.3}, False), ({"ratings": (BAD,) * 10}, True),
    ],
)  # fmt: skip
def test_few_observations_move_little_and_many_make_quiet(judged: dict[str, Any], expected: bool):
    assert is_muted(thread("t", **judged)) is expected


def test_what_the_score_is_made_of_can_be_told():
    memory = thread("t", outcomes="+--", ratings=(GOOD,))
    assert evidence(memory) == (("ratings", 1.0), ("went_well", 1.0), ("went_badly", 2.0))
    assert evidence(thread("t")) == ()


def test_priority_is_match_by_strength_by_relevance_and_focus_on_top():
    memory = thread("Auth", topics=("auth",), ratings=(BAD,))
    found = priority(memory, 0.8, 1.0, [focus("auth", 0.5)])
    assert found.score == pytest.approx(0.8 * strength_factor(1.0) * 0.75 + 0.25)
    assert found.relevance == 0.75
    assert found.focus == pytest.approx(0.25)


@given(st.floats(0, 3), st.floats(0, 3))
def test_more_strength_never_lowers_and_is_bounded(one: float, other: float):
    low, high = sorted((one, other))
    assert 0.9 <= strength_factor(low) <= strength_factor(high) <= 1.5


def test_age_costs_nothing_for_a_fortnight_then_a_little_more_each_month_and_never_much():
    fortnight = [strength(thread("t", days_old=days), now=NOW, rules=AGE) for days in range(15)]
    months = [
        strength_factor(strength(thread("t", days_old=30 * n), now=NOW, rules=AGE))
        for n in range(60)
    ]
    assert {strength_factor(one) for one in fortnight} == {1.0}
    assert months == sorted(months, reverse=True)
    assert months[0] > months[1] > months[2]
    assert months[-1] == 1.0 - MAX_AGE_COST
    assert (
        priority(thread("old"), 0.5, 0.0, []).score > priority(thread("fresh"), 0.45, 1.0, []).score
    )
    assert strength_factor(1.0) < strength_factor(1.3) < 1.2 * strength_factor(1.0), "a pin"


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
    without_body = [
        hit(thread("a", body="")),
        hit(thread("b", body="")),
        hit(thread("A", body=" ")),
    ]
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
    fitting = Query(
        kinds=(Kind.NOTE,),
        topic="aUTH",
        group="s1",
        since=NOW.plus(days=-2),
        until=NOW.plus(days=-2),
    )
    assert select([hit(fits)], fitting).drops == ()


def test_what_has_nothing_in_common_with_the_question_is_no_answer():
    far = hit(thread("far"), cover=0.0, near=BY_CHANCE / 2)
    close = hit(thread("close"), cover=0.0, near=BY_CHANCE * 2)
    beside = hit(thread("beside"), cover=0.0, near=0.0, neighbours=0.1)
    focused = hit(thread("focused"), cover=0.0, near=0.0, focus=0.2)
    found = select([far, close, beside, focused], Query())
    assert [h.memory.title for h in found.hits] == ["close", "beside", "focused"]
    assert [drop.reason for drop in found.drops] == ["nothing in common"]


def test_a_waiting_rule_that_has_nothing_in_common_is_not_said_to_be_left_out_because_it_waits():
    waiting = rule("Write the docs in British English.", status=Status.CANDIDATE)
    far = hit(waiting, cover=0.0, near=BY_CHANCE / 2)
    found = select([far], Query(statuses=(Status.ACTIVE,)))
    assert [drop.reason for drop in found.drops] == ["nothing in common"]
    assert found.left_out == ()


def turn(memory: Memory, words: str) -> Hit:
    return replace(hit(memory), turn=Message(words, memory.id, NOW, TURN, words))


def test_only_so_many_turns_of_one_memory_are_shown_and_they_replace_the_body_that_sums_them_up():
    long, other = thread("long"), thread("other")
    ranked = [turn(long, f"turn {number}") for number in range(4)] + [hit(other)]
    assert [h.memory.title for h in select(ranked, Query(turns=2)).hits] == [
        "long",
        "long",
        "other",
    ]
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
    assert {h.memory.id for h in found.hits} | {d.id for d in found.drops} == {
        h.memory.id for h in ranked
    }
    assert {h.memory.id for h in found.hits}.isdisjoint(d.id for d in found.drops)
    assert all(drop.reason for drop in found.drops)
    shown = iter(ranked)
    assert all(any(kept is one for one in shown) for kept in found.hits), "in the order they came"
    for kept in found.hits:
        assert not query.kinds or kept.memory.kind in query.kinds
        by_age = kept.memory.status is Status.ARCHIVED and set(REACHED) <= set(query.statuses)
        assert not query.statuses or kept.memory.status in query.statuses or by_age


# A rule bears on a call when it names its command, its tool, its file or the kind of file; else it is silent.


BASH = "Bash"


@pytest.mark.parametrize(("said", "tool", "given", "bears"), cases("call_rules", "rules", "recall"))
def test_a_rule_bears_on_a_call_that_it_names(
    said: str, tool: str, given: dict[str, Any], bears: bool
):
    tested = rule(said, body=said)
    assert rules_about([tested], read_call(tool, given)) == ([tested] if bears else [])


@pytest.mark.parametrize(
    ("said", "about", "not_about"), cases("call_rules", "subcommands", "recall")
)
def test_a_rule_that_names_a_subcommand_is_about_that_one_alone(
    said: str, about: list[str], not_about: list[str]
):
    tested = rule(said, body=said)

    def bears_on(command: str) -> bool:
        return rules_about([tested], read_call(BASH, {"command": command})) == [tested]

    assert [command for command in about if not bears_on(command)] == []
    assert [command for command in not_about if bears_on(command)] == []


def test_the_closest_comes_first():
    git, push = rule("git", body="git is configured"), rule("push", body="git push needs a ticket")
    assert rules_about([git, push], read_call(BASH, {"command": "git push"})) == [push, git]


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_any_call_can_be_judged(said: str, tool: str, given: dict[str, Any]):
    rules_about(
        [rule("x", body=said)], read_call(tool, given | {"command": said, "file_path": tool})
    )


def test_a_very_long_command_is_judged_in_time():
    call = read_call(BASH, {"command": "a" * 1_000_000, "file_path": "/" * 100_000})
    assert rules_about([rule("x", body="./" * 1_000)] * 20, call) == []


def test_what_is_compared_with_each_rule_does_not_grow_with_the_call():
    same = read_call(BASH, {"command": "make a && " * 400})
    others = read_call(BASH, {"command": "; ".join(f"x{number}" for number in range(800))})
    path = read_call("Read", {"file_path": "/" * 1_000_000})

    assert [program.name for program in same.programs] == ["make"]
    assert len(same.commands) <= 2
    assert len(others.programs) == 100
    assert path.paths == ()


@pytest.mark.parametrize(
    ("failed", "fix", "how", "command", "bears"), cases("call_rules", "lessons", "recall")
)
def test_a_lesson_bears_on_the_command_that_fails_and_not_on_the_one_that_works(
    failed: str, fix: str, how: str, command: str, bears: bool
):
    learnt = rule(
        "Lesson",
        body=Lesson(failed, fix, How(how)).sentence(),
        origin=Lesson.ORIGIN,
        rule_type=RuleType.FAILURE,
    )
    assert rules_about([learnt], read_call(BASH, {"command": command})) == (
        [learnt] if bears else []
    )


def test_a_lesson_of_edits_bears_on_edits_of_that_file():
    learnt = rule(
        "Lesson",
        body=Lesson("src/a.py", "src/a.py", How.READ_AGAIN).sentence(),
        origin=Lesson.ORIGIN,
    )
    assert rules_about(
        [learnt], read_call("Edit", {"file_path": "/p/src/a.py", "old_string": "x"})
    ) == [learnt]
    assert rules_about([learnt], read_call("Read", {"file_path": "/p/src/a.py"})) == []
    assert (
        rules_about([learnt], read_call("Edit", {"file_path": "/p/src/b.py", "old_string": "x"}))
        == []
    )

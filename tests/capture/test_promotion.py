"""Evidence from two sessions brings a lesson into force; none for a month puts it away."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.promotion import FADED_TAG, FADES_DAYS, plan, seen_again, sessions
from recollect.model.lesson import ORIGIN, How, Lesson
from recollect.model.memory import Rule, RuleType, Status
from recollect.model.plan import Plan, Update
from tests.values import NOW, rule

NPM = Lesson("npm test", "pnpm test", How.INSTEAD, "Missing script: test")
BACK = Lesson("pnpm test", "npm test", How.INSTEAD)


def lesson(what: Lesson = NPM, *seen_in: str, days_old: float = 0, status: Status = Status.CANDIDATE) -> Rule:
    return rule(
        "Lesson", body=what.sentence(), origin=ORIGIN, rule_type=RuleType.FAILURE, status=status, days_old=days_old,
        tags=tuple(f"session:{one}" for one in seen_in), group=seen_in[0] if seen_in else "",
    )  # fmt: skip


def statuses(made: Plan) -> dict[str, str]:
    return {change.id: str(dict(change.after).get("status")) for change in made.changes if isinstance(change, Update)}


def test_one_session_is_not_enough_and_two_are():
    once, twice = lesson(NPM, "s-1"), lesson(BACK, "s-1", "s-2")

    assert statuses(plan([once, twice], now=NOW)) == {twice.id: "active"}


def test_what_never_came_again_is_put_away():
    old, young = lesson(NPM, "s-1", days_old=FADES_DAYS), lesson(BACK, "s-1", days_old=FADES_DAYS - 1)

    assert statuses(plan([old, young], now=NOW)) == {old.id: "archived"}


def test_a_candidate_that_is_no_lesson_is_left_to_the_person():
    assert (
        plan([rule("x", status=Status.CANDIDATE, days_old=900, tags=("session:a", "session:b"))], now=NOW)
        == Plan.empty()
    )


def test_the_opposite_lesson_takes_the_place_of_the_old_one():
    old, new = lesson(NPM, "s-1", "s-2", status=Status.ACTIVE), lesson(BACK, "s-3", "s-4")

    assert statuses(plan([old, new], now=NOW)) == {new.id: "active", old.id: "superseded"}


@given(st.lists(st.sampled_from(["s-1", "s-2", "s-3"]), min_size=1))
def test_a_session_counts_once_however_often_it_is_read(seen_in: list[str]):
    seen = lesson(NPM, "s-1")
    for session in seen_in:
        seen = seen_again(seen, session, now=NOW)

    assert seen.seen == len(sessions(seen)) == len({"s-1", *seen_in})


def test_what_had_faded_waits_again_and_what_was_rejected_stays_away():
    faded = replace(lesson(NPM, "s-1", status=Status.ARCHIVED), tags=("session:s-1", FADED_TAG))
    rejected = lesson(NPM, "s-1", status=Status.ARCHIVED)

    assert seen_again(faded, "s-2", now=NOW).status is Status.CANDIDATE
    assert FADED_TAG not in seen_again(faded, "s-2", now=NOW).tags
    assert seen_again(rejected, "s-2", now=NOW).status is Status.ARCHIVED


def test_a_plan_that_was_carried_out_has_no_more_to_do():
    done = replace(lesson(NPM, "s-1", "s-2"), status=Status.ACTIVE)

    assert plan([done], now=NOW) == Plan.empty()

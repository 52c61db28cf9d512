"""Evidence from two sessions brings a lesson into force; none for a month puts it away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.promotion import CONFIRMED_TAG, FADED_TAG, FADES_DAYS, plan, same, seen_again, sessions
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


def test_one_word_of_the_person_is_enough():
    waiting = lesson(NPM, "s-1")

    confirmed = seen_again(waiting, NPM, "s-1", now=NOW, is_confirmed=True)

    assert CONFIRMED_TAG in confirmed.tags
    assert confirmed.seen == waiting.seen
    assert statuses(plan([confirmed], now=NOW)) == {waiting.id: "active"}
    assert seen_again(confirmed, NPM, "s-1", now=NOW, is_confirmed=True) is confirmed


REFUSED = "connection refused (port 5432)"
MISSING = "No module named {}"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (
            Lesson("pytest tests/a.py", "uv run pytest tests/a.py", How.INSTEAD, MISSING.format("yaml")),
            Lesson("pytest tests/b.py -v", "uv run pytest tests/b.py -v", How.INSTEAD, MISSING.format("attrs")),
        ),
        (
            Lesson("git push", "git push -u origin feat/cart", How.INSTEAD, "no upstream branch"),
            Lesson("git push", "git push -u origin fix/total", How.INSTEAD, "no upstream branch"),
        ),
        (
            Lesson("psql shop -c ...", "psql -p 5433 shop -c ...", How.INSTEAD, REFUSED),
            Lesson("psql -U app shop", "psql -U app -p 5433 shop", How.INSTEAD, REFUSED),
        ),
        (
            Lesson("pytest api", "docker compose up -d db", How.AFTER, REFUSED),
            Lesson("pytest api/carts -q", "docker compose up -d db", How.AFTER, REFUSED),
        ),
        (
            Lesson("make lint", "nilerr", How.RULE),
            Lesson("make lint", "gosec, nilerr", How.RULE),
        ),
    ],
)
def test_the_same_failure_and_fix_are_one_lesson_whatever_they_were_run_on(one: Lesson, two: Lesson):
    assert same(one, two)
    assert same(two, one)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (NPM, BACK),
        (
            Lesson("psql shop", "psql -p 5433 shop", How.INSTEAD, REFUSED),
            Lesson("psql shop", "psql -p 5434 shop", How.INSTEAD, REFUSED),
        ),
        (
            Lesson("pytest", "uv run pytest", How.INSTEAD, MISSING.format("yaml")),
            Lesson("pytest", "poetry run pytest", How.INSTEAD, MISSING.format("yaml")),
        ),
        (
            Lesson("pytest", "pip install pyyaml", How.AFTER, MISSING.format("yaml")),
            Lesson("pytest", "pip install attrs", How.AFTER, MISSING.format("attrs")),
        ),
        (
            Lesson("make app", "make setup", How.AFTER),
            Lesson("make docs", "make setup", How.AFTER),
        ),
        (
            Lesson("make lint", "nilerr", How.RULE),
            Lesson("npm run lint", "nilerr", How.RULE),
        ),
    ],
)
def test_another_fix_or_another_failure_is_another_lesson(one: Lesson, two: Lesson):
    assert not same(one, two)


def test_what_differed_between_two_sessions_is_left_out_of_the_words():
    seen = lesson(Lesson("git push", "git push -u origin feat/cart", How.INSTEAD, "no upstream branch"), "s-1")
    again = Lesson("git push", "git push -u origin fix/total", How.INSTEAD, "no upstream branch")

    told = seen_again(seen, again, "s-2", now=NOW)

    assert told.body == '`git push` fails here with "no upstream branch"; `git push -u origin ...` works.'


def test_the_rules_of_a_linter_come_together_in_one_lesson():
    seen = lesson(Lesson("make lint", "nilerr", How.RULE), "s-1")

    told = seen_again(seen, Lesson("make lint", "gosec, nilerr", How.RULE), "s-2", now=NOW)

    assert told.body == "`make lint` fails here where code breaks `nilerr, gosec`."


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
        seen = seen_again(seen, NPM, session, now=NOW)

    assert seen.seen == len(sessions(seen)) == len({"s-1", *seen_in})


def test_what_had_faded_waits_again_and_what_was_rejected_stays_away():
    faded = replace(lesson(NPM, "s-1", status=Status.ARCHIVED), tags=("session:s-1", FADED_TAG))
    rejected = lesson(NPM, "s-1", status=Status.ARCHIVED)

    assert seen_again(faded, NPM, "s-2", now=NOW).status is Status.CANDIDATE
    assert FADED_TAG not in seen_again(faded, NPM, "s-2", now=NOW).tags
    assert seen_again(rejected, NPM, "s-2", now=NOW).status is Status.ARCHIVED


def test_a_plan_that_was_carried_out_has_no_more_to_do():
    done = replace(lesson(NPM, "s-1", "s-2"), status=Status.ACTIVE)

    assert plan([done], now=NOW) == Plan.empty()

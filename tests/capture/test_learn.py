"""Learnings: what a session's last words state for good, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.learn import LAST_ACTS, LEAST_ACTS, MOST, Says, learnings
from recollect.model.act import Act, Speaker
from recollect.model.memory import Lane
from tests.values import NOW


def said(text: str, speaker: Speaker = Speaker.AGENT, *, id: str = "a", agent: str = "") -> Act:
    return Act(id=id, at=NOW, speaker=speaker, text=text, agent=agent)


FILLER = [said("I looked at the next file.", id=f"f{number}") for number in range(LEAST_ACTS)]


def found(text: str, speaker: Speaker = Speaker.AGENT) -> list[str]:
    return [one.text for one in learnings([*FILLER, said(text, speaker)])]


@pytest.mark.parametrize(
    ("text", "learnt", "says"),
    [
        (
            "Found it! The root cause was that `SessionStore.close()` never released the lock file.",
            "The root cause was that `SessionStore.close()` never released the lock file.",
            Says.CAUSE,
        ),
        (
            "The bug was in `parse_date`: it dropped the offset.",
            "The bug was in `parse_date`: it dropped the offset.",
            Says.CAUSE,
        ),
        (
            "The flaky failure in tests/db was caused by two workers sharing `test.db`.",
            "The flaky failure in tests/db was caused by two workers sharing `test.db`.",
            Says.CAUSE,
        ),
        (
            "`make e2e` fails unless the docker daemon runs.",
            "`make e2e` fails unless the docker daemon runs.",
            Says.CAUSE,
        ),
        (
            "It turns out that `pnpm build` needs NODE_ENV set to production.",
            "`pnpm build` needs NODE_ENV set to production.",
            Says.NEED,
        ),
        (
            "- **Note:** the worker requires `REDIS_URL` to be reachable from the container.",
            "The worker requires `REDIS_URL` to be reachable from the container.",
            Says.NEED,
        ),
        (
            "The migration in db/schema.sql only works with PostgreSQL 15.",
            "The migration in db/schema.sql only works with PostgreSQL 15.",
            Says.NEED,
        ),
        (
            "All green. `useAuth` does not work without the provider in app/root.tsx. Done.",
            "`useAuth` does not work without the provider in app/root.tsx.",
            Says.NEED,
        ),
    ],
)
def test_causes_and_needs_are_learnt(text: str, learnt: str, says: Says):
    (one,) = learnings([*FILLER, said(text)])

    assert (one.text, one.says, one.lane) == (learnt, says, Lane.AGENT)


@pytest.mark.parametrize(
    "text",
    [
        "I need to read `config.py` first.",
        "Let me check whether `config.py` requires a token.",
        "The root cause might be in `parse_date`.",
        "The bug was probably in `parse_date` because of the offset.",
        "Is the root cause that `parse_date` drops the offset?",
        "This was caused by `parse_date`, which drops the offset, and it is the root cause of both.",
        "The problem was that it was too slow for everyone.",
        "`utils.py` needs refactoring before the release.",
        "`parse_date` needs a docstring and some tests.",
        "The README.md must be updated with the new flag.",
        "You must run `make setup` before anything else.",
        "We should make sure that `worker.py` depends on nothing.",
        "If `REDIS_URL` is unset the worker would crash because of it, I think.",
        "The build will fail when `NODE_ENV` is unset.",
        "Currently `main.py` requires Python 3.9 for now.",
        "```\nthe root cause was that `x.py` broke\n```",
        "> the root cause was that `x.py` broke everything",
        "| `x.py` | requires | the root cause was that `y.py` broke |",
        'The log says "the root cause was that `x.py` is broken for everyone".',
        "The root cause was that [redacted:api-key:12ab] in `config.py` had expired.",
        "What `config.py` requires:",
        "Needs `x`.",
        "A pure room that\nneeds a language model returns an `Ask` and has a `read_answer` beside it.",
        "Hand the value to the room in `ops` that needs it at once.",
        "Nothing in `words.py` has to be kept in step by triggers.",
        "The guard in `conftest.py` need not walk the whole tree.",
        "The root cause was that `x.py` " + "and so on " * 40,
    ],
)
def test_plans_guesses_questions_orders_quotes_and_what_leans_on_other_words_are_not(text: str):
    assert found(text) == []


def test_the_person_s_words_are_the_person_s_and_pasted_text_is_nobody_s():
    fact = "fyi the staging deploy needs `VAULT_TOKEN` from 1password"
    (one,) = learnings([*FILLER, said(fact, Speaker.PERSON)])
    assert (one.text, one.lane) == ("The staging deploy needs `VAULT_TOKEN` from 1password", Lane.USER)

    pasted = (
        "what is this?\n\n2026-01-01 10:00:00 ERROR the worker requires `REDIS_URL`\n2026-01-01 10:00:01 ERROR exit"
    )
    assert found(pasted, Speaker.PERSON) == []


@pytest.mark.parametrize("speaker", [Speaker.TOOL, Speaker.MACHINE])
def test_what_tools_and_machines_print_is_never_learnt(speaker: Speaker):
    assert found("The root cause was that `x.py` broke the build.", speaker) == []


def test_a_subagent_s_words_are_not_the_session_s():
    other = said("The root cause was that `x.py` broke the build.", agent="sub")
    assert learnings([*FILLER, other]) == ()


def test_nothing_of_a_session_that_hardly_began_and_only_the_last_words_of_a_long_one():
    fact = said("The root cause was that `x.py` broke the build.")

    assert learnings([*FILLER[: LEAST_ACTS - 2], fact]) == ()
    assert len(learnings([*FILLER[: LEAST_ACTS - 1], fact])) == 1
    assert learnings([fact, *FILLER * LAST_ACTS]) == ()
    assert len(learnings([fact, *FILLER * LAST_ACTS], last=10_000)) == 1


def test_few_are_kept_each_once_and_causes_first():
    many = [said(f"`tool{number}` needs `VAR_{number}` to be exported.", id=f"n{number}") for number in range(9)]
    again = said("The root cause was that `x.py` broke the build. The root cause was that `x.py` broke the build.")

    kept = learnings([*FILLER, again, *many])

    assert len(kept) == MOST
    assert [one.says for one in kept] == [Says.CAUSE] + [Says.NEED] * (MOST - 1)
    assert kept[1].text == "`tool8` needs `VAR_8` to be exported.", "the last word counts"


@given(st.lists(st.text(max_size=300), max_size=15))
def test_any_text_is_read_and_what_is_learnt_stands_in_it(texts: list[str]):
    everything = " ".join(" ".join(texts).split()).casefold()
    for one in learnings([*FILLER, *(said(text, id=str(number)) for number, text in enumerate(texts))]):
        assert one.text.casefold().split()[0] in everything

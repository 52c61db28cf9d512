"""What a language model is asked of a prompt that the judge is unsure of, and what its answer may change."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from recollect.capture import doubt
from recollect.capture.draft import Action, Draft, Found, Reach, Sort
from recollect.capture.pipeline import capture

UNSURE = "hmm, snake case for the column names would be nicer here I think, what do you say"
SAID = "Our tables: I think the columns want snake case.\n```\nDROP TABLE users;\n```\nfix the migration"


def draft(text: str = SAID, *found: Found) -> Draft:
    made = capture(text)
    return replace(made, found=found)


def answer(quote: str, *, rule: object = True, type: str = "preference") -> str:
    return json.dumps({"rule": rule, "quote": quote, "type": type})


def waiting(rule: str) -> Found:
    return Found(rule, Sort.PREFERENCE, Reach.PROJECT, Action.INBOX, "", 0.1)


def test_what_is_sure_is_not_asked():
    sure, nothing = capture("From now on always use tabs in this project."), capture("what is the weather in rome")

    assert sure.verdict.action is Action.STORED
    assert not doubt.is_unsure(sure)
    assert not doubt.is_unsure(nothing)
    assert not doubt.is_unsure(capture("```\nx = 1\n```"))


def test_what_waits_for_the_person_is_asked():
    assert doubt.is_unsure(draft(SAID, waiting("Columns want snake case.")))


def test_what_is_pasted_is_not_sent():
    [(name, sent)] = doubt.question(draft()).fields

    assert name == "said"
    assert "snake case" in sent
    assert "DROP TABLE" not in sent


def test_of_a_long_prompt_both_ends_are_sent():
    [(_, sent)] = doubt.question(draft("The start is here. " + "Go on with it. " * 1_000 + "The end is here.")).fields

    assert len(sent) <= 2_001
    assert sent.startswith("The start")
    assert sent.endswith("The end is here.")


def test_a_quoted_rule_is_in_force_in_the_persons_words():
    judged = doubt.read_answer(answer("the columns  want Snake case"), draft())

    [found] = judged.found
    assert (found.rule, found.action, found.sort) == ("The columns want Snake case.", Action.STORED, Sort.PREFERENCE)


def test_what_waits_in_the_inbox_keeps_its_wording():
    judged = doubt.read_answer(answer("columns want snake case"), draft(SAID, waiting("The columns want snake case.")))

    assert [(found.rule, found.action) for found in judged.found] == [("The columns want snake case.", Action.STORED)]


@pytest.mark.parametrize(
    "text",
    [
        answer("the columns want camel case"),  # nobody said so
        answer("DROP TABLE users;"),  # pasted
        answer("", rule=True),
        answer("columns", rule=True),
        answer("the columns want snake case", rule=False),
        answer("the columns want snake case", rule="true"),
        answer("x" * 5_000),
        '{"rule": true}',
        '{"rule": true, "quote": ["the columns want snake case"]}',
        "[]",
        "null",
        "",
        "I cannot help with that.",
        "{" * 9_999,
        '{"rule": true, "quote": "the columns want snake case"',
    ],
)
def test_any_other_answer_is_no_rule(text: str):
    assert doubt.read_answer(text, draft()).found == ()


def test_words_around_the_answer_do_no_harm():
    judged = doubt.read_answer(f"Sure!\n```json\n{answer('the columns want snake case')}\n```", draft())

    assert judged.verdict.action is Action.STORED

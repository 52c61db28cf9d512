"""The learned judge: what it is made of, and what it makes of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture import learned, traits
from recollect.capture.draft import Action
from recollect.capture.pipeline import capture, read


def judge() -> learned.Judge:
    found = learned.judge("en")
    assert found is not None
    return found


def test_the_table_is_small_and_names_no_trait_twice():
    assert 1_000 < len(judge().shares) <= 5_000


@pytest.mark.parametrize("code", ["ja", "zh"])
def test_languages_without_spaces_have_patterns_alone(code: str):
    assert learned.judge(code) is None


def test_words_only_add_what_waits_in_other_languages():
    draft = capture("ya no usamos jenkins, ahora todo corre en github actions. arregla el build")

    assert [(one.action, one.span) for one in draft.found] == [
        (Action.INBOX, "ya no usamos jenkins, ahora todo corre en github actions.")
    ]


def test_names_paths_and_numbers_are_one_class_each():
    assert traits.tokens("we keep parseUser() in src/a.py, port 5433") == [
        "we", "keep", "<name>", "in", "<path>", ",", "port", "<num>",
    ]  # fmt: skip


def test_quotes_and_pastes_are_marks_and_never_words():
    pieces = read('the reviewer said "always use tabs in every single file", see:\n```\nnever push\n```').pieces

    words = " ".join(trait for number in range(len(pieces)) for trait in traits.of(pieces, number))

    assert "tabs" not in words
    assert "push" not in words


def test_a_rule_is_likelier_than_the_task_beside_it():
    task, rule = read("fix the login form. in this repo we only use named exports").pieces

    assert (task.odds or 0.0) < -2.0
    assert (rule.odds or 0.0) > 0.0


@given(st.text(max_size=300))
def test_the_same_text_gets_the_same_verdict(text: str):
    assert capture(text).verdict == capture(text).verdict


def test_words_alone_do_not_bring_a_sentence_into_force_whose_form_speaks_against_it():
    assert capture("the importer must never skip rows in this repo").verdict.action is not Action.STORED

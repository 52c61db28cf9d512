"""The keyword filter before a language model is asked: one keyword is enough, a stop word never is."""

from __future__ import annotations

import pytest

from recollect.recall.pointer import Pointer
from recollect.recall.presearch import keywords, presearched

STOP = frozenset({"how", "do", "we", "the", "a"})
DEPLOY = Pointer(
    "note_1", "ops/deploy-guide.md", "How releases reach production", ("kubernetes", "rollout"), "Ask Anna."
)
PLAIN = Pointer("rule_1", "rule_1", "Use pnpm, never npm")


def found(prompt: str, *pointers: Pointer, in_content: bool = False) -> list[str]:
    return [one.id for one in presearched(prompt, pointers, stop=STOP, in_content=in_content)]


@pytest.mark.parametrize(
    "prompt",
    [
        "how do we roll out: kubernetes?",  # a word that it asks to be found by
        "the DEPLOY is broken",  # a word of its name
        "a kube question",  # part of a word
        "the kubernettes rollouts",  # a letter too many, of twenty
    ],
)
def test_one_keyword_is_enough(prompt: str):
    assert found(prompt, DEPLOY) == ["note_1"]


@pytest.mark.parametrize("prompt", ["how do we do the", "", "???", "an apple", "releases reach production"])
def test_stop_words_others_and_descriptions_of_notes_that_name_words_are_not(prompt: str):
    assert found(prompt, DEPLOY) == []


def test_without_words_of_its_own_name_and_description_are_searched():
    assert found("pnpm or yarn?", PLAIN, DEPLOY) == ["rule_1"]


def test_content_is_searched_only_when_asked_for():
    assert found("who is Anna", DEPLOY) == []
    assert found("who is Anna", DEPLOY, in_content=True) == ["note_1"]


def test_two_letters_are_a_word_but_no_part_of_one():
    golang = Pointer("note_2", "golang.md", "x", ("go modules",))
    assert found("go", golang) == ["note_2"]
    assert found("mo", golang) == []


def test_a_script_without_spaces_is_found_by_a_part():
    assert found("部署", Pointer("note_3", "x.md", "x", ("生产部署流程",))) == ["note_3"]


def test_keywords_come_once_and_in_order():
    assert keywords("How do we Deploy the deploy-guide, deploy?", STOP) == ("deploy", "deploy-guide")

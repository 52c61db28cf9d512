"""A language model chooses among memories: the shape of the question, and what an answer is worth."""

import pytest

from recollect.model.ask import Use
from recollect.recall.model_choice import (
    BROAD_CHARS,
    CandidateLine,
    filter_by_keywords,
    limit_to_room,
    question,
    read_answer,
)

NOTE = CandidateLine("note_20260201_083000_aaaaaa", "memory/deploy.md", "How we deploy", (), "Through staging first.")
RULE = CandidateLine(
    "rule_20260201_083000_bbbbbb", "rule_20260201_083000_bbbbbb", "Use pnpm", (), "Use pnpm, never npm"
)
AMONG = (NOTE, RULE)


def test_the_first_pass_shows_one_pointer_a_line():
    ask = question(Use.RECALL_BROAD, "ship it", AMONG, template="recall-broad", model="opus", seconds=30)

    assert dict(ask.fields) == {
        "asked": "<user_prompt>\nship it\n</user_prompt>\n\nAvailable memories:\n"
        "memory/deploy.md: How we deploy\nrule_20260201_083000_bbbbbb: Use pnpm"
    }
    assert (ask.use, ask.prompt, ask.model, ask.reads, ask.seconds) == (
        Use.RECALL_BROAD, "recall-broad", "opus", "", 30,
    )  # fmt: skip


def test_the_second_pass_shows_them_whole():
    asked = dict(question(Use.RECALL_STRICT, "ship it", AMONG, seconds=30).fields)["asked"]
    assert asked == (
        "<user_prompt>\nship it\n</user_prompt>\n\nCandidate memories:\n\n"
        "## memory/deploy.md: How we deploy\nThrough staging first.\n\n"
        "## rule_20260201_083000_bbbbbb: Use pnpm\nUse pnpm, never npm"
    )


@pytest.mark.parametrize(
    "answer",
    [
        "memory/deploy.md",
        "- memory/deploy.md\n",
        "1. `deploy.md`",
        "deploy",
        "note_20260201_083000_aaaaaa",
        "MEMORY/DEPLOY.MD: How we deploy",
        "memory/deploy.md\nmemory/deploy.md\nmemory/of-another.md",
        "The one that matters is memory/deploy.md, I think.",
    ],
)
def test_a_name_is_known_however_it_is_written(answer: str):
    assert read_answer(answer, AMONG) == (NOTE.id,)


def test_the_order_is_the_answers():
    assert read_answer(f"{RULE.name}\n{NOTE.name}", AMONG) == (RULE.id, NOTE.id)


@pytest.mark.parametrize("answer", ["NONE", "none.", "", " \n", "[]", "Nothing"])
def test_none_is_an_answer(answer: str):
    assert read_answer(answer, AMONG) == ()


@pytest.mark.parametrize(
    "answer", ["I cannot help with that.", "memory/other.md", "\x00\x00", "{" * 10_000, "../../etc/passwd", "deploying"]
)
def test_what_names_nothing_that_was_offered_is_no_answer(answer: str):
    assert read_answer(answer, AMONG) is None


def test_a_name_that_could_be_two_is_neither():
    other = CandidateLine("note_20260201_083000_cccccc", "old/deploy.md", "How we deployed")
    assert read_answer("deploy", (NOTE, other)) is None
    assert read_answer("old/deploy.md", (NOTE, other)) == (other.id,)


def test_only_as_many_are_offered_as_fit():
    many = [CandidateLine(f"rule_{n}", f"rule_{n}", "x" * 1_000) for n in range(100)]
    kept = limit_to_room(many)
    assert kept == tuple(many[: len(kept)])
    assert 50 < len(kept) < 60
    assert sum(len(one.line) + 1 for one in kept) <= BROAD_CHARS


# The keyword filter

STOP = frozenset({"how", "do", "we", "the", "a"})
DEPLOY = CandidateLine(
    "note_1", "ops/deploy-guide.md", "How releases reach production", ("kubernetes", "rollout"), "Ask Anna."
)
PLAIN = CandidateLine("rule_1", "rule_1", "Use pnpm, never npm")


def found(prompt: str, *candidates: CandidateLine, in_content: bool = False) -> list[str]:
    return [one.id for one in filter_by_keywords(prompt, candidates, stop_words=STOP, in_content=in_content)]


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
    golang = CandidateLine("note_2", "golang.md", "x", ("go modules",))
    assert found("go", golang) == ["note_2"]
    assert found("mo", golang) == []


def test_a_script_without_spaces_is_found_by_a_part():
    assert found("部署", CandidateLine("note_3", "x.md", "x", ("生产部署流程",))) == ["note_3"]

"""A language model chooses among memories: the shape of the question, and what an answer is worth."""

from __future__ import annotations

import pytest

from recollect.model.ask import Job
from recollect.recall.choose import BROAD_CHARS, Pass, broad, offered, read_answer, strict
from recollect.recall.pointer import Pointer

NOTE = Pointer("note_20260201_083000_aaaaaa", "memory/deploy.md", "How we deploy", (), "Through staging first.")
RULE = Pointer("rule_20260201_083000_bbbbbb", "rule_20260201_083000_bbbbbb", "Use pnpm", (), "Use pnpm, never npm")
AMONG = (NOTE, RULE)


def test_the_first_pass_shows_one_pointer_a_line():
    ask = broad("ship it", AMONG, Pass("recall-broad", "opus"), seconds=30)

    assert dict(ask.fields) == {
        "asked": "<user_prompt>\nship it\n</user_prompt>\n\nAvailable memories:\n"
        "memory/deploy.md: How we deploy\nrule_20260201_083000_bbbbbb: Use pnpm"
    }
    assert (ask.job, ask.prompt, ask.model, ask.turns, ask.reads, ask.seconds) == (
        Job.RECALL, "recall-broad", "opus", 1, "", 30,
    )  # fmt: skip


def test_the_second_pass_shows_them_whole():
    asked = dict(strict("ship it", AMONG, Pass("recall-strict"), seconds=30).fields)["asked"]

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
    other = Pointer("note_20260201_083000_cccccc", "old/deploy.md", "How we deployed")

    assert read_answer("deploy", (NOTE, other)) is None
    assert read_answer("old/deploy.md", (NOTE, other)) == (other.id,)


def test_only_as_many_are_offered_as_fit():
    many = [Pointer(f"rule_{n}", f"rule_{n}", "x" * 1_000) for n in range(100)]

    kept = offered(many)

    assert kept == tuple(many[: len(kept)])
    assert 50 < len(kept) < 60
    assert sum(len(one.line) + 1 for one in kept) <= BROAD_CHARS

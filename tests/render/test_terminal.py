"""Results for a person, in words and tables."""

import typing
from typing import Any

import pytest

from recollect.model.codec import Json
from recollect.model.memory import Memory
from recollect.model.plan import Plan
from recollect.model.query import ABOUT_CALL, ALWAYS_LOADED, Drop, Hit
from recollect.model.report import Day, Figures
from recollect.model.result import (
    Done,
    Found,
    Overview,
    Reasons,
    Recollection,
    Result,
    Scope,
    Summary,
)
from recollect.model.timeline import Timeline
from recollect.render import blocks as explain
from recollect.render.blocks import Line, Table, Tone
from recollect.render.terminal import blocks
from tests.render.results import DARK, DONE, EVERY_CHANGE, OTHER, RESULTS, shown
from tests.values import NOW, thread


def text(result: Result) -> str:
    rows = []
    for block in blocks(result, now=NOW):
        rows += (
            [block.text]
            if isinstance(block, Line)
            else ["  ".join(row) for row in (block.columns, *block.rows)]
        )
    return "\n".join(rows)


def test_every_kind_of_result_is_tried_here():
    assert {type(result) for result in RESULTS} == set(typing.get_args(Result))


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_has_words_and_every_row_of_a_table_its_columns(result: Result):
    assert text(result).strip()
    tables = [block for block in blocks(result, now=NOW) if isinstance(block, Table)]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


def test_a_memory_is_shown_whole():
    said = text(shown())
    assert f"{OTHER.id} was merged into {DARK.id}." in said
    assert "importance 100; source: user; active 2 days ago; topics: ui, themes" in said
    assert f"-> Light mode (EXTENDS)  {OTHER.id[-6:]}" in said
    assert f"<- Light mode (EXTENDS)  {OTHER.id[-6:]}" in said
    assert "Said apart." in said
    assert f"Merged from: {OTHER.id}" in said


def test_a_message_that_only_repeats_the_body_is_not_shown_twice():
    pin = thread("pin", body="Said apart. And more.")
    assert text(shown(pin)).count("Said apart.") == 1


def test_a_dry_run_lists_the_changes_and_says_that_nothing_was_written():
    said = text(Done("summary", EVERY_CHANGE, Scope.PROJECT, None, True))
    assert said.startswith("Dry run: nothing was written.")
    assert "title: Dark mode -> Dimmed" in said
    assert len(said.splitlines()) == 1 + len(EVERY_CHANGE.changes)
    assert "nothing to change" in text(Done("summary", Plan(), Scope.PROJECT, None, True))


def test_a_note_stands_out():
    assert Line("Kept out: bearer.", Tone.WARN) in list(blocks(DONE, now=NOW))
    assert list(blocks(Summary("Done.", {}), now=NOW)) == [Line("Done.")]


def test_status_says_what_language_models_may_cost_and_did():
    def told(**more: Json) -> str:
        limits: dict[str, Json] = {
            "calls_per_day": 50,
            "tokens_per_day": 500_000,
            "jobs": {},
            "by": "command",
        }
        return text(Overview("1", "/h", None, None, (), 0, (), 0, llm={**limits, **more}))

    spent = "today 3 of 50 calls, 12,345 of 500,000 tokens."
    assert f"Language models: on; {spent}" in told(on=True, calls=3, tokens=12_345)
    assert f"Language models: off; {spent}" in told(on=False, calls=3, tokens=12_345)
    assert "Language models: off." in told(on=False, calls=0, tokens=0)


# Why something was found or left out, in sentences; the numbers only for those who ask.


BOTH = "words and vectors"


@pytest.mark.parametrize(
    ("parts", "how", "sentence"),
    [
        ({"near": 0.6, "cover": 0.5}, BOTH, "Because its meaning is close to your question and it shares `pnpm`."),
        ({"near": 0.3}, BOTH, "Because its meaning is related to your question."),
        ({"near": 0.1, "cover": 0.5}, BOTH, "Because it shares `pnpm`."),
        ({"cover": 0.5, "time": 0.1}, BOTH, "Because it shares `pnpm` and it is from the time you asked about."),
        ({"focus": 0.3}, BOTH, "Because it is in focus."),
        ({"near": 0.1, "group": 0.2}, BOTH, "Because the conversation around it is about your question."),
        ({"pass 1": 1.0, "near": 0.6}, "a language model (single), of 3",
         "Because the language model chose it and its meaning is close to your question."),
        ({"near": 0.6, "relevance": 0.5}, BOTH,
         "Because its meaning is close to your question. It counts less because it often did not help."),
        ({"listed": 1.0}, ALWAYS_LOADED, "Because it is loaded every time."),
        ({"named": 1.0}, ABOUT_CALL, "Because it names what the call does."),
        ({"near": 0.7}, ABOUT_CALL, "Because its meaning is close to the call."),
        ({"near": 1.0}, "by id", "Because you asked for it by its id."),
    ],
)  # fmt: skip
def test_a_hit_is_explained_in_a_sentence(parts: dict[str, float], how: str, sentence: str):
    said = explain.hit_sentence(
        parts, how=how, question="do we use pnpm?", text="Use pnpm, never npm", unasked=False
    )
    assert said == sentence


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("below the floor (0.21 < 0.50)", "it is probably not about the prompt"),
        ("shown before", "this session had already seen it"),
        (
            "says the same as thread_20260201_083000_abc123",
            "it says the same as thread_20260201_083000_abc123",
        ),
        ("is a rule", "it is a rule, and you asked for another kind"),
        ("archived", "it is archived"),
        ("waits to be allowed", "it waits until you allow it with `recollect allow`"),
    ],
)
def test_what_was_left_out_is_explained_in_plain_words(reason: str, sentence: str):
    assert explain.drop_sentence(reason, unasked=True) == sentence


def test_names_and_long_words_are_named_and_small_talk_is_not():
    text = "The deploys of cart_totals.ts go through staging"
    assert explain.shared_words("ok, how do we deploy cart_totals.ts to the staging server?", text) == [
        "cart_totals.ts", "staging", "deploy",
    ]  # fmt: skip


def found(memory: Memory, **more: Any) -> Found:
    hit = Hit(memory, 0.73, (("near", 0.6), ("cover", 0.5)))
    drops = tuple(Drop(f"thread_20260201_083000_00000{n}", "beyond the limit") for n in range(5))
    return Found(
        "recall_1",
        "pnpm",
        NOW,
        (Recollection(Scope.PROJECT, hit, 1.0),),
        drops,
        BOTH,
        explained=True,
        **more,
    )


def test_a_search_is_explained_without_numbers_unless_they_are_asked_for():
    memory = thread("Use pnpm", body="Use pnpm, never npm")
    plain = "\n".join(str(block) for block in explain.found_blocks(found(memory), NOW))
    numbers = "\n".join(
        str(block) for block in explain.found_blocks(found(memory, numbers=True), NOW)
    )
    assert "Because its meaning is close to your question and it shares `pnpm`." in plain
    assert (
        "Left out because the limit of results was reached: 000000, 000001, 000002 and 2 more."
        in plain
    )
    assert "0.73" not in plain
    assert "score 0.73: near 0.60, cover 0.50" in numbers


def test_why_says_when_it_was_shown_and_that_it_was_not_delivered():
    why = {"lane": "user", "score": 0.9, "passage": "", "components": {"near": 0.6}}
    hit = {"id": "rule_1", "title": "Use pnpm", **why}
    recall: dict[str, Any] = {
        "id": "recall_1", "at": NOW.iso(), "query": "add left-pad", "how": BOTH, "ms": 3.0, "hits": [hit],
        "dropped": [], "event": "prompt", "session": "s-1", "chars": 100, "delivered": False,
    }  # fmt: skip
    told = "\n".join(str(block) for block in explain.reason_blocks(Reasons((recall,)), NOW))
    assert "Looked up for the prompt: add left-pad" in told
    assert "the hook had given up" in told
    assert "Because its meaning is close to the prompt." in told
    assert "0.9" not in told


def test_why_says_how_useful_a_memory_proved():
    now = {"relevance": 0.3, "ratings": 1.0, "went_badly": 2.0}
    told = "\n".join(
        str(block) for block in explain.reason_blocks(Reasons((), "rule_1", now, quiet=True), NOW)
    )
    assert "So far it was rated 1 time and followed by work that failed 2 times." in told
    assert "so it is muted" in told


def test_what_was_left_out_of_a_prompt_is_not_said_to_have_come_near():
    said = "\n".join(text(one) for one in RESULTS if isinstance(one, Timeline))
    assert "Nothing was told. Left out because it is muted: 1 memory." in said
    assert "came near" not in said


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (Day("2026-02-01", prompts=1, answered=1), "100% of 1 prompt was told something."),
        (Day("2026-02-01", prompts=4, answered=1), "25% of 4 prompts were told something."),
    ],
)
def test_the_share_of_prompts_agrees_with_their_number(day: Day, said: str):
    assert said in text(Figures((day,), {}, {})).splitlines()

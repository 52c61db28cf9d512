from __future__ import annotations

import typing

import pytest

from recollect.model.codec import Json
from recollect.model.plan import Plan
from recollect.model.result import Card, Cards, Done, Overview, Result, Scope, Told
from recollect.render.agent import ago
from recollect.render.blocks import Line, Table, Tone
from recollect.render.terminal import blocks, plan_lines
from tests.render.results import DARK, DONE, EVERY_CHANGE, OTHER, RESULTS, shown
from tests.values import NOW, thread


def text(result: Result) -> str:
    rows = []
    for block in blocks(result, now=NOW):
        match block:
            case Line(words, _):
                rows.append(words)
            case Table(columns, cells):
                rows += ["  ".join(row) for row in (columns, *cells)]
    return "\n".join(rows)


def test_every_kind_of_result_is_tried_here():
    assert {type(result) for result in RESULTS} == set(typing.get_args(Result))


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_has_words(result: Result):
    assert text(result).strip()


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_row_of_a_table_has_its_columns(result: Result):
    for block in blocks(result, now=NOW):
        if isinstance(block, Table):
            assert {len(row) for row in block.rows} <= {len(block.columns)}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3_599, "59 minutes ago"),
        (3_600, "1 hour ago"),
        (86_399, "23 hours ago"),
        (86_400 * 2, "2 days ago"),
        (86_400 * 400, "400 days ago"),
        (-100, "just now"),
    ],
)
def test_how_long_ago(seconds: int, words: str):
    assert ago(NOW.plus(seconds=-seconds), NOW) == words


def test_a_memory_is_shown_whole():
    said = text(shown())

    assert f"{OTHER.id} was merged into {DARK.id}." in said
    assert "Weight: 0.85 | Topics: ui, themes" in said
    assert "Last active: 2 days ago" in said
    assert f"-> Light mode (EXTENDS, weight: 0.50)  {OTHER.id}" in said
    assert f"<- Light mode (EXTENDS, weight: 0.50)  {OTHER.id}" in said
    assert "Said apart." in said
    assert f"Merged from: {OTHER.id}" in said


def test_a_message_that_only_repeats_the_body_is_not_shown_twice():
    pin = thread("pin", body="Said apart. And more.")

    assert text(shown(pin)).count("Said apart.") == 1


def test_a_dry_run_lists_the_changes_and_says_that_nothing_was_written():
    said = text(Done("summary", EVERY_CHANGE, Scope.PROJECT, None, True))

    assert said.startswith("Dry run: nothing was written.")
    assert "title: Dark mode -> Dimmed" in said
    assert len(plan_lines(EVERY_CHANGE)) == len(EVERY_CHANGE.changes)
    assert plan_lines(Plan.empty()) == ["nothing to change"]


def test_a_note_stands_out():
    assert Line("Kept out: bearer.", Tone.WARN) in list(blocks(DONE, now=NOW))
    assert list(blocks(Told("Done.", {}), now=NOW)) == [Line("Done.")]


def test_a_long_title_is_cut_in_a_list_and_takes_one_line():
    card = Card(thread("word\n" * 40), 1.0, Scope.PROJECT)

    (table,) = blocks(Cards((card,), "threads"), now=NOW)

    assert isinstance(table, Table)
    assert len(table.rows[0][-1]) <= 60
    assert "\n" not in table.rows[0][-1]


def test_status_says_what_language_models_may_cost_and_did():
    spent: dict[str, Json] = {
        "calls": 3,
        "calls_per_day": 50,
        "tokens": 12_345,
        "tokens_per_day": 500_000,
        "jobs": {},
        "by": "command",
    }
    told = [Overview("1", "/h", None, None, (), 0, (), 0, llm={**spent, "on": on}) for on in (True, False)]
    never = Overview("1", "/h", None, None, (), 0, (), 0, llm={**spent, "on": False, "calls": 0, "tokens": 0})

    assert "Language models: on; today 3 of 50 calls, 12,345 of 500,000 tokens." in text(told[0])
    assert "Language models: off; today 3 of 50 calls" in text(told[1])
    assert "Language models: off." in text(never)

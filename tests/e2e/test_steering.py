"""An agent steers its memory with the tools, and the next turn shows what that did."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace
from typing import Any

from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import transfer
from tests.e2e.client import BREAD, World, one_model
from tests.e2e.stand_in import Asked, Use, says
from tests.values import act, messages, plan, thread

ALLOWED = ("--allowedTools", "mcp__recollect")
ID = re.compile(r"[a-z]+_\d{8}_\d{6}_[0-9a-f]{6}")
COOKIE = "The session cookie expires at midnight, as the auditors wanted"


def tool(name: str, **given: object) -> Use:
    return Use(f"mcp__recollect__{name}", given)


def kept(world: World, text: str, *options: str) -> str:
    return str(world.json("pin", text, *options)["ids"][0])


def crowd(world: World) -> None:
    """As many open threads as a session begins with, so that what a test keeps comes by its own merit."""
    for what in ("apples", "bricks", "clouds", "dunes", "engines", "forests"):
        kept(world, f"Somebody once counted the {what} of the town", "--boost", "0.5")


def recent(title: str, *said: str) -> Create:
    """A thread of this hour, which nobody pinned."""
    now = SystemClock().now()
    made = replace(thread(title), body=said[0], created_at=now, reinforced_at=now, last_active_at=now)
    return Create(made, messages(made, *said))


def brought(world: World, *threads: Create) -> None:
    """Into the project's memory, as from another machine."""
    file = world.root / "threads.jsonl"
    elsewhere = Home(world.root / "elsewhere")
    app = App(home=elsewhere, project=None, settings=load(None, None, {}), clock=SystemClock(), actor="test")
    with closing(app):
        app.writer(Scope.USER).apply(plan(*threads), act())
        transfer.export(app, str(file), user=True)
    world.recollect("import", "jsonl", str(file))


def report(result: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(result[result.index("{") : result.rindex("}") + 1])
    return told


@one_model
def test_the_tools_are_there_on_the_first_turn_and_the_skill_costs_nothing_until_it_is_called(installed: World):
    first = installed.run("hello", says("Good day.")).asked[0]
    named = {one["name"] for one in first.body["tools"]}
    assert {f"mcp__recollect__ai_{name}" for name in ("recall", "focus", "pin", "compact", "undo")} <= named
    assert sum(name.startswith("mcp__recollect__") for name in named) == 11
    assert ".ai/recall/" in json.dumps(first.body)
    assert "The user asked about this project's memory" not in json.dumps(first.body)

    called = installed.run("/recollect why midnight?", says("Let me see."))
    assert called.asked[-1].holds("The user asked about this project's memory: why midnight?")


def test_what_is_pinned_and_recalled_comes_back_word_for_word(installed: World):
    installed.run(
        "keep this", says(tool("ai_pin", content=COOKIE, topics=["authentication"])), says("Kept."), args=ALLOWED
    )

    session = installed.run(
        "what do we know", says(tool("ai_recall", query="why does the cookie expire")), says("So."), args=ALLOWED
    )

    (result, failed), *_ = session.asked[-1].results()
    assert not failed
    assert COOKIE in result
    assert "# Memory Recall: why does the cookie expire" in result


def test_after_a_focus_its_memories_come_whatever_the_prompt_says(installed: World):
    crowd(installed)
    kept(installed, COOKIE, "--topics", "authentication", "--boost", "0")
    before = installed.run("knead the dough", says("Yes."))
    assert not before.asked[-1].holds(COOKIE)

    installed.run("we work on login", says(tool("ai_focus", topic="authentication")), says("Noted."), args=ALLOWED)
    after = installed.run("knead the dough again", says("Yes."))

    assert after.asked[-1].holds(COOKIE) == 1

    installed.run("done", says(tool("ai_unfocus")), says("Noted."), args=ALLOWED)
    last = installed.run("knead the dough once more", says("Yes."))
    assert not last.asked[-1].holds(COOKIE)


@one_model
def test_an_agent_rates_merges_splits_tidies_and_takes_back(installed: World):
    one = kept(installed, BREAD, "--topics", "bread")
    other = kept(installed, f"{BREAD}, and not an hour less", "--topics", "bread")
    calls = [
        tool("ai_rate_context", thread_id=one, useful=False, reason="nobody bakes here"),
        tool("ai_rate_context", thread_id=one, useful=False),
        tool("ai_merge", a=one, b=other),
        tool("ai_recall", query=other),
        tool("ai_undo"),
        tool("ai_split", thread_id=one, topics=["bread"]),
        tool("ai_suggestions", context="bread"),
        tool("ai_compact", strategy="gentle", dry_run=True),
        tool("ai_compact", strategy="agressive"),
        tool("ai_status"),
    ]

    session = installed.run("tidy up", *(says(call) for call in calls), says("Done."), args=ALLOWED)

    results = session.asked[-1].results()
    texts = [text for text, _ in results]
    assert [failed for _, failed in results] == [False] * 5 + [True, False, False, True, False]
    assert "Relevance score: 1.00 → 0.75" in texts[0]
    assert "Relevance score: 0.75 → 0.59" in texts[1]
    assert texts[2] == f"Merged {other} into {one}; both ids lead to it."
    assert f"-> {other} was merged into it\n" in texts[3]
    assert "Undid merge" in texts[4]
    assert "fewer than two messages" in texts[5]
    assert "context_pressure" in texts[6]
    assert "Dry run: nothing was written." in texts[7]
    assert "Did you mean aggressive?" in texts[8]
    assert '"thread active"' in texts[9]
    shown = installed.json("show", one)
    assert [rating["useful"] for rating in shown["ratings"]] == [False, False]


@one_model
def test_a_compaction_joins_what_says_the_same_and_one_undo_parts_it(installed: World):
    twins = [recent(f"{BREAD}{end}", f"{BREAD}{end}.") for end in ("", " now")]
    brought(installed, *twins)
    before = installed.run("how long does sourdough want", says("Long."))
    assert len(_order(before.asked[-1], *(one.memory.id for one in twins))) == 2

    done = installed.run(
        "tidy up", says(tool("ai_compact", strategy="normal", dry_run=True)), says(tool("ai_compact")), says("Done."),
        args=ALLOWED,
    )  # fmt: skip
    (shown, _), (made, failed) = done.asked[-1].results()
    assert not failed
    assert report(shown)["actions"] == report(made)["actions"]
    assert [one["action"] for one in report(made)["actions"]] == ["merge"]
    after = installed.run("how long does sourdough want, again", says("Long."))
    assert len(_order(after.asked[-1], *(one.memory.id for one in twins))) == 1

    installed.run("no", says(tool("ai_undo")), says("Undone."), args=ALLOWED)
    last = installed.run("how long does sourdough want, once more", says("Long."))
    assert len(_order(last.asked[-1], *(one.memory.id for one in twins))) == 2


@one_model
def test_a_split_leaves_two_whole_halves_and_each_is_found(installed: World):
    talk = recent("The login form", "The login form wants a label.", "Migrations of the database run at night.")
    brought(installed, talk)

    session = installed.run(
        "part it", says(tool("ai_split", thread_id=talk.memory.id, topics=["database"])), says("Done."), args=ALLOWED
    )

    (told, failed), *_ = session.asked[-1].results()
    assert not failed
    (new,) = set(ID.findall(told)) - {talk.memory.id}
    halves = {id: installed.json("show", id)["messages"] for id in (talk.memory.id, new)}
    assert [one["content"] for one in halves[new]] == ["Migrations of the database run at night."]
    assert [one["content"] for one in halves[talk.memory.id]] == ["The login form wants a label."]
    asked = installed.run("when do the migrations of the database run", says("At night.")).asked[-1]
    assert new in _order(asked, new)


def test_what_was_rated_badly_sinks_in_the_next_prompt(installed: World):
    crowd(installed)
    bad = kept(installed, "Deploys go through the staging cluster first", "--boost", "0")
    good = kept(installed, "Deploys go through the staging cluster at night", "--boost", "0")
    first = installed.run("deploys go through the staging cluster", says("Yes."))
    assert _order(first.asked[-1], bad, good) == [bad, good]

    rating = tool("ai_rate_context", thread_id=bad, useful=False)
    installed.run("wrong", says(rating), says(rating), says(rating), says("Noted."), args=ALLOWED)

    second = installed.run("deploys go through the staging cluster", says("Yes."))
    assert _order(second.asked[-1], bad, good)[:1] == [good]


def _order(asked: Asked, *ids: str) -> list[str]:
    said = "\n".join(text for _, text in asked.messages)
    return [id for id in dict.fromkeys(ID.findall(said)) if id in ids]

"""An agent steers its memory with the tools, and the next turn shows what that did."""

from __future__ import annotations

import json

from tests.e2e.client import BREAD, World, one_model
from tests.e2e.stand_in import Use, says

ALLOWED = ("--allowedTools", "mcp__recollect")
COOKIE = "The session cookie expires at midnight, as the auditors wanted"


def tool(name: str, **given: object) -> Use:
    return Use(f"mcp__recollect__{name}", given)


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


@one_model
def test_after_a_focus_its_memories_come_whatever_the_prompt_says(installed: World):
    # As many open threads as a session begins with, so that what the test keeps comes by its own merit.
    for what in ("apples", "bricks", "clouds", "dunes", "engines", "forests"):
        installed.pin(f"Somebody once counted the {what} of the town", "--boost", "0.5")
    installed.pin(COOKIE, "--topics", "authentication", "--boost", "0")
    before = installed.run("knead the dough", says("Yes."))
    assert not before.asked[-1].holds(COOKIE)

    installed.run("we work on login", says(tool("ai_focus", topic="authentication")), says("Noted."), args=ALLOWED)
    after = installed.run("knead the dough again", says("Yes."))

    assert after.asked[-1].holds(COOKIE) == 1

    installed.run("done", says(tool("ai_unfocus")), says("Noted."), args=ALLOWED)
    last = installed.run("knead the dough once more", says("Yes."))
    assert not last.asked[-1].holds(COOKIE)


@one_model
def test_an_agent_rates_merges_and_takes_back_and_is_told_where_it_erred(installed: World):
    one, other = installed.pin(BREAD, "--topics", "bread"), installed.pin(f"{BREAD}, and not an hour less")
    calls = [
        tool("ai_rate_context", thread_id=one, useful=False, reason="nobody bakes here"),
        tool("ai_merge", a=one, b=other),
        tool("ai_undo"),
        tool("ai_split", thread_id=one, topics=["bread"]),
        tool("ai_compact", strategy="agressive"),
        tool("ai_status"),
    ]

    session = installed.run("tidy up", *(says(call) for call in calls), says("Done."), args=ALLOWED)

    texts, failed = zip(*session.asked[-1].results(), strict=True)
    assert failed == (False, False, False, True, True, False)
    wanted = (
        "Relevance score: 1.00 → 0.75", f"Merged {other} into {one}; both ids lead to it.", "Undid merge",
        "fewer than two messages", "Did you mean aggressive?", '"thread active"',
    )  # fmt: skip
    assert all(words in text for words, text in zip(wanted, texts, strict=True)), texts
    assert [rating["useful"] for rating in installed.json("show", one)["ratings"]] == [False]

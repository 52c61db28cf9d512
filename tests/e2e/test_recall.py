"""Memory reaches the model: at a session's start, at a prompt, at a read, in a subagent, by its tools; and again where
a session goes on. What is written where the client reads by itself reaches it without any hook of ours."""

import json

import pytest

from tests.e2e.client import BREAD, FULL, RULE, SUMMARY, VALIDATORS, World, both_models
from tests.e2e.stand_in import Lane, Use, says, use

VIRTUAL = ".ai/recall/solana validators"


@both_models
def test_a_rule_is_told_at_the_start_and_a_prompt_brings_the_right_memory_once_and_says_so(
    installed: World,
):
    installed.recollect("rule", "add", RULE)
    with installed.session(says("Good day."), says("With a flag."), says("Yes.")) as session:
        session.say("hello")
        # After the session began, so that only a prompt can bring them.
        installed.recollect("pin", VALIDATORS)
        installed.recollect("pin", BREAD)
        session.say("how do solana validators restart?")
        session.say("are you sure that solana validators restart so?")

    assert session.asked[0].holds(RULE) == 1
    assert [asked.holds("vestibule") for asked in session.asked] == [0, 1, 1], (
        "brought once, and not again"
    )
    assert session.asked[1].holds("Sourdough") == 0
    [run] = [
        run for run in session.hooks if run.event == "UserPromptSubmit" and "vestibule" in run.out
    ]
    assert "Recollect: told Claude Code 1 memory" in json.loads(run.out)["systemMessage"]


def test_reading_a_virtual_file_gives_what_is_remembered_and_other_reads_are_left_alone(
    installed: World,
):
    installed.recollect("pin", VALIDATORS)
    (installed.project / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    reads = [
        use("Read", file_path=VIRTUAL),
        use("Read", file_path=f"{installed.project}/{VIRTUAL}"),
        use("Read", file_path=VIRTUAL, offset=1, limit=2),
        use("Read", file_path="a.txt", offset=2, limit=1),
    ]

    session = installed.run("look it up", says(*reads), says("With a flag."))

    relative, absolute, (part, _), other = session.asked[-1].results()
    assert_is_recall(*relative)
    assert_is_recall(*absolute)
    assert ("# Memory Recall" in part, "## Matching" in part) == (True, False)
    assert not (installed.project / ".ai" / "recall").exists()
    assert other == ("2\ttwo", False)
    # Of all that is asked, virtual reads alone are allowed in the person's place.
    assert [run.event for run in session.hooks if "permissionDecision" in run.out] == [
        "PreToolUse"
    ] * 3


def test_a_subagent_is_briefed_and_reads_virtual_files_too(installed: World):
    installed.recollect("rule", "add", RULE)
    installed.recollect("pin", VALIDATORS)
    task = use(
        "Agent", description="a task", prompt="find out how solana validators restart",
        subagent_type="general-purpose", run_in_background=False,
    )  # fmt: skip

    session = installed.run(
        "ask someone", says(task), says(use("Read", file_path=VIRTUAL), lane=Lane.SUB),
        says("With a flag.", lane=Lane.SUB), says("With a flag."),
    )  # fmt: skip

    briefed, reading = session.service.of(Lane.SUB)
    assert briefed.holds(RULE) == briefed.holds("vestibule") == 1
    [result] = reading.results()
    assert_is_recall(*result)


def assert_is_recall(text: str, failed: bool) -> None:
    head = (
        "# Memory Recall: solana validators",
        "Query executed at: ",
        "## Matching Threads (1 found)",
    )
    assert not failed
    assert all(part in text for part in (*head, "### [ACTIVE] ", "vestibule", "Match score: ")), (
        text
    )


@pytest.mark.parametrize("options", [(), ("--fork-session",)], ids=["resumed", "forked"])
def test_a_session_that_goes_on_is_not_told_again_what_it_was_told(
    installed: World, options: tuple[str, ...]
):
    """The client sends again what the model was told before; that is all that may stand there."""
    installed.recollect("rule", "add", RULE)
    installed.recollect("pin", VALIDATORS)
    first = installed.run("how do solana validators restart?", says("With a flag."))
    later = installed.run(
        "do solana validators restart so?", says("Yes."), args=("--resume", first.id, *options)
    )
    assert (later.id != first.id) is bool(options)
    for marker in (RULE, "vestibule"):
        assert first.asked[0].holds(marker) == later.asked[0].holds(marker) == 1, marker


@both_models
def test_rules_come_back_when_the_window_is_full(installed: World):
    installed.recollect("rule", "add", RULE)
    (installed.project / "a.txt").write_text("one\n", encoding="utf-8")
    session = installed.run(
        "look",
        says(use("Read", file_path="a.txt"), tokens=FULL),
        says(SUMMARY, lane=Lane.COMPACT),
        says("One."),
    )
    assert [asked.lane for asked in session.service.asked] == [Lane.MAIN, Lane.COMPACT, Lane.MAIN]
    assert session.asked[-1].holds(RULE) == 1


ALLOWED = ("--allowedTools", "mcp__recollect")
COOKIE = "The session cookie expires at midnight, as the auditors wanted"


def tool(name: str, **given: object) -> Use:
    return Use(f"mcp__recollect__{name}", given)


def test_the_tools_are_there_on_the_first_turn_and_the_skill_costs_nothing_until_it_is_called(
    installed: World,
):
    first = installed.run("hello", says("Good day.")).asked[0]
    named = {one["name"] for one in first.body["tools"]}
    assert {
        f"mcp__recollect__ai_{name}" for name in ("recall", "focus", "pin", "compact", "undo")
    } <= named
    assert sum(name.startswith("mcp__recollect__") for name in named) == 11
    assert ".ai/recall/" in json.dumps(first.body)
    assert "The user asked about this project's memory" not in json.dumps(first.body)
    called = installed.run("/recollect why midnight?", says("Let me see."))
    assert called.asked[-1].holds("The user asked about this project's memory: why midnight?")


def test_after_a_focus_its_memories_come_whatever_the_prompt_says(installed: World):
    # As many open threads as a session begins with, so that what the test keeps comes by its own merit.
    for what in ("apples", "bricks", "clouds", "dunes", "engines", "forests"):
        installed.pin(f"Somebody once counted the {what} of the town", "--boost", "0.5")
    installed.pin(COOKIE, "--topics", "authentication", "--boost", "0")
    before = installed.run("knead the dough", says("Yes."))
    assert not before.asked[-1].holds(COOKIE)

    installed.run(
        "we work on login",
        says(tool("ai_focus", topic="authentication")),
        says("Noted."),
        args=ALLOWED,
    )
    after = installed.run("knead the dough again", says("Yes."))

    assert after.asked[-1].holds(COOKIE) == 1

    installed.run("done", says(tool("ai_unfocus")), says("Noted."), args=ALLOWED)
    last = installed.run("knead the dough once more", says("Yes."))
    assert not last.asked[-1].holds(COOKIE)


def test_an_agent_rates_merges_and_takes_back_and_is_told_where_it_erred(installed: World):
    one, other = (
        installed.pin(BREAD, "--topics", "bread"),
        installed.pin(f"{BREAD}, and not an hour less"),
    )
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
        "Relevance score: 1.00 → 0.75", f"Merged {other} into {one}; both ids lead to it.", "Undone: the thread",
        "fewer than two messages", "Did you mean aggressive?", '"thread active"',
    )  # fmt: skip
    assert all(words in text for words, text in zip(wanted, texts, strict=True)), texts
    assert [rating["useful"] for rating in installed.json("show", one)["ratings"]] == [False]


def switch_on(world: World, *names: str) -> None:
    home = world.home / ".recollect"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "agent.conf").write_text("".join(f"{name}=on\n" for name in names), encoding="utf-8")


def test_a_rule_in_the_client_s_own_memory_is_in_the_first_request_beside_what_it_noted_itself(
    world: World,
):
    switch_on(world, "MEMORY_RULES_SYNC")
    world.recollect("rule", "add", RULE)
    before = world.run("hello", says("Good day."))
    [folder] = (world.home / ".claude" / "projects").glob("*/memory")
    (folder / "MEMORY.md").write_text("- [Role](user_role.md) — keeps bees\n", encoding="utf-8")

    world.recollect("sync")
    told = world.run("hello", says("Good day."))
    world.recollect("sync", "--off")
    after = world.run("hello", says("Good day."))

    assert [session.asked[0].holds(RULE) for session in (before, told, after)] == [0, 1, 0]
    assert told.asked[0].holds("keeps bees") == 1
    assert not told.hooks
    assert not told.asked[0].holds("<!-- recollect")
    assert (folder / "MEMORY.md").read_text(
        encoding="utf-8"
    ) == "- [Role](user_role.md) — keeps bees\n"


def test_a_skill_is_offered_to_the_model(world: World):
    switch_on(world, "MEMORY_SKILLS")
    world.recollect("rule", "add", RULE, "--type", "correction")
    world.recollect("skills")
    told = world.run("hello", says("Good day."))
    assert told.asked[0].holds("auto-corrections") >= 1

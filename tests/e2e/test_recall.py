"""Memory reaches the model: at the start of a session, at a prompt, at a read, in a subagent."""

from __future__ import annotations

import json

from tests.e2e.client import BREAD, RULE, VALIDATORS, World
from tests.e2e.stand_in import Lane, says, use

VIRTUAL = ".ai/recall/solana validators"


def test_a_rule_is_told_at_the_start_and_a_prompt_brings_the_right_memory_once_and_says_so(installed: World):
    installed.recollect("rule", "add", RULE)
    with installed.session(says("Good day."), says("With a flag."), says("Yes.")) as session:
        session.say("hello")
        # After the session began, so that only a prompt can bring them.
        installed.recollect("pin", VALIDATORS)
        installed.recollect("pin", BREAD)
        session.say("how do solana validators restart?")
        session.say("are you sure that solana validators restart so?")

    assert session.asked[0].holds(RULE) == 1
    assert [asked.holds("vestibule") for asked in session.asked] == [0, 1, 1], "brought once, and not again"
    assert session.asked[1].holds("Sourdough") == 0
    [run] = [run for run in session.hooks if run.event == "UserPromptSubmit" and "vestibule" in run.out]
    assert "Recollect: told Claude Code 1 memory" in json.loads(run.out)["systemMessage"]


def test_reading_a_virtual_file_gives_what_is_remembered_and_other_reads_are_left_alone(installed: World):
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
    assert [run.event for run in session.hooks if "permissionDecision" in run.out] == ["PreToolUse"] * 3


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
    assert not failed
    head = ("# Memory Recall: solana validators", "Query executed at: ", "## Matching Threads (1 found)")
    for part in (*head, "### [ACTIVE] ", "vestibule", "Match score: "):
        assert part in text

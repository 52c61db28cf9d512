"""Memory reaches the model: at the start of a session, at a prompt, at a read, in a subagent."""

from __future__ import annotations

import shlex

from tests.e2e.client import ROOT, World, one_model
from tests.e2e.stand_in import Lane, Use, says, use

RULE = "Write every commit subject in the imperative mood"
VALIDATORS = "Solana validators restart with the vestibule flag"
VIRTUAL = ".ai/recall/solana validators"
BREAD = "Sourdough wants eleven hours in the cellar"


def test_a_rule_from_the_command_line_is_in_the_first_request_of_the_next_session(installed: World):
    installed.recollect("rule", "add", RULE)

    session = installed.run("hello", says("Good day."))

    assert session.asked[0].holds(RULE) == 1


def test_what_one_session_keeps_the_next_one_knows(installed: World):
    pin = shlex.join(["env", f"PYTHONPATH={ROOT / 'src'}", *installed.command("pin", VALIDATORS)])

    first = installed.run("keep this", says(use("Bash", command=pin)), says("Kept."), args=("--allowedTools", "Bash"))
    second = installed.run("how do solana validators restart?", says("With a flag."))

    assert not first.asked[0].holds("vestibule")
    assert "Pinned as thread_" in first.asked[1].results()[0][0]
    assert second.asked[0].holds("vestibule") == 1, "told at the start, and not again by the prompt"
    assert second.id != first.id


def test_a_prompt_brings_the_right_memory_once_and_not_twice(installed: World):
    with installed.session(says("Good day."), says("With a flag."), says("Yes.")) as session:
        session.say("hello")
        # After the session began, so that only a prompt can bring them.
        installed.recollect("pin", VALIDATORS)
        installed.recollect("pin", BREAD)
        session.say("how do solana validators restart?")
        session.say("are you sure that solana validators restart so?")

    greeting, first, second = session.asked
    assert greeting.holds("vestibule") == 0
    assert first.holds("vestibule") == 1
    assert first.holds("Sourdough") == 0
    assert second.holds("vestibule") == 1, "the one of the first prompt, and no other"


@one_model
def test_a_person_sees_what_a_prompt_brought(installed: World):
    with installed.session(says("Good day."), says("With a flag.")) as session:
        session.say("hello")
        installed.recollect("pin", VALIDATORS)
        session.say("how do solana validators restart?")

    [run] = [run for run in session.hooks if run.event == "UserPromptSubmit" and "vestibule" in run.out]
    assert '"systemMessage"' in run.out
    assert "Recollect: told Claude Code 1 memory" in run.out


def test_reading_a_virtual_file_gives_what_is_remembered(installed: World):
    installed.recollect("pin", VALIDATORS)

    session = installed.run(
        "look it up",
        says(
            use("Read", file_path=VIRTUAL),
            use("Read", file_path=f"{installed.project}/{VIRTUAL}"),
            use("Read", file_path=VIRTUAL, offset=1, limit=2),
        ),
        says("With a flag."),
    )

    relative, absolute, part = session.asked[-1].results()
    assert_is_recall(*relative)
    assert_is_recall(*absolute)
    assert "# Memory Recall" in part[0]
    assert "## Matching" not in part[0]
    assert not (installed.project / ".ai" / "recall").exists()


def test_a_subagent_reads_virtual_files_too(installed: World):
    installed.recollect("pin", VALIDATORS)

    session = installed.run(
        "ask someone",
        says(agent("find out how validators restart")),
        says(use("Read", file_path=VIRTUAL), lane=Lane.SUB),
        says("With a flag.", lane=Lane.SUB),
        says("With a flag."),
    )

    [result] = session.service.of(Lane.SUB)[-1].results()
    assert_is_recall(*result)


@one_model
def test_other_reads_are_left_alone(installed: World):
    (installed.project / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")

    session = installed.run("look", says(use("Read", file_path="a.txt", offset=2, limit=1)), says("Two."))

    [(text, failed)] = session.asked[-1].results()
    assert not failed
    assert "two" in text
    assert "one" not in text
    assert "three" not in text


def test_a_subagent_is_briefed(installed: World):
    installed.recollect("rule", "add", RULE)
    installed.recollect("pin", VALIDATORS)
    installed.recollect("pin", BREAD)

    session = installed.run(
        "ask someone",
        says(agent("find out how solana validators restart")),
        says("With a flag.", lane=Lane.SUB),
        says("With a flag."),
    )

    [briefed] = session.service.of(Lane.SUB)
    assert briefed.holds(RULE) == 1
    assert briefed.holds("vestibule") == 1


def agent(task: str) -> Use:
    return use("Agent", description="a task", prompt=task, subagent_type="general-purpose", run_in_background=False)


def assert_is_recall(text: str, failed: bool) -> None:
    assert not failed
    for part in (
        "# Memory Recall: solana validators",
        "Query executed at: ",
        "## Matching Threads (1 found)",
        "### [ACTIVE] ",
        "vestibule",
        "Match score: ",
    ):
        assert part in text

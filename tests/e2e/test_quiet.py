"""What is only listened to is not answered, and nothing is allowed or forbidden in the person's place."""

from __future__ import annotations

import json

from tests.e2e.client import World, one_model
from tests.e2e.stand_in import Lane, says, use

ANSWERED = {"SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart"}


@one_model
def test_only_four_events_are_answered_and_none_decides_a_permission(installed: World):
    installed.recollect("rule", "add", "Before `cat`, think of the mouse")
    (installed.project / "a.txt").write_text("one\n", encoding="utf-8")
    agent = use("Agent", description="a task", prompt="count", subagent_type="general-purpose", run_in_background=False)

    session = installed.run(
        "work",
        says(
            use("Read", file_path="a.txt"),
            use("Bash", command="cat nowhere"),
            use("Edit", file_path="a.txt", old_string="not there", new_string="x"),
        ),
        says(agent),
        says("One.", lane=Lane.SUB),
        says("Done."),
        args=("--allowedTools", "Bash", "Edit"),
    )

    assert len(session.asked[-1].results()) == 4
    told = {run.event for run in session.hooks if run.out}
    assert {"SessionStart", "SubagentStart"} <= told <= ANSWERED
    for run in session.hooks:
        assert run.out == "" or isinstance(json.loads(run.out), dict)
        assert "permission" not in run.out.lower()
        assert run.err == ""


@one_model
def test_a_prompt_that_no_person_wrote_brings_nothing(installed: World):
    installed.recollect("pin", "Solana validators restart with the vestibule flag")
    agent = use("Agent", description="a task", prompt="count", subagent_type="general-purpose", run_in_background=True)

    with installed.session(
        says(agent), says("Waiting."), says("Solana validators restart.", lane=Lane.SUB), says("Done.")
    ) as session:
        session.service.hold(Lane.SUB)
        assert session.say("work") == "Waiting."
        session.service.release(Lane.SUB)
        assert session.hear() == "Done."

    asked, notified = [run for run in session.hooks if run.event == "UserPromptSubmit"]
    assert asked.out == ""
    assert notified.out == ""
    assert session.asked[-1].holds("task-notification")

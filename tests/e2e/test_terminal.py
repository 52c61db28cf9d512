"""A person at a terminal: sees what was loaded, clears, compacts and leaves."""

from __future__ import annotations

import pytest

from tests.e2e.client import RULE, SUMMARY, VALIDATORS, World, one_model
from tests.e2e.stand_in import Lane, says
from tests.e2e.terminal import Terminal


@pytest.mark.usefixtures("tmux")
@one_model
def test_a_person_at_a_terminal_has_a_memory(installed: World):
    installed.recollect("rule", "add", RULE)

    with Terminal(
        installed, says("Good day."), says("With a flag."), says("Anew."), says(SUMMARY, lane=Lane.COMPACT), says("On.")
    ) as terminal:
        terminal.say("hello")
        terminal.wait_for("Good day.")
        installed.recollect("pin", VALIDATORS)
        terminal.say("how do solana validators restart?")
        terminal.wait_for("With a flag.")
        terminal.wait_for("Recollect: told Claude Code 1 memory")
        terminal.say("/clear")
        terminal.say("hello once more")
        terminal.wait_for("Anew.")
        terminal.say("/compact")
        terminal.wait_for("Compacted")
        terminal.say("go on")
        terminal.wait_for("On.")
        terminal.leave()

    greeted, asked, cleared, compacted = terminal.service.of(Lane.MAIN)
    assert greeted.holds(RULE) == 1
    assert asked.holds("vestibule") == 1
    assert cleared.holds("Good day.") == 0
    assert cleared.holds(RULE) == 1
    assert compacted.holds(RULE) == 1
    assert all(refused.startswith("CONNECT") for refused in terminal.service.refused)

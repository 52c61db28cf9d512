"""What a session knows when it goes on: resumed, forked, compacted, begun anew."""

from __future__ import annotations

import pytest

from tests.e2e.client import FULL, RULE, SUMMARY, VALIDATORS, World
from tests.e2e.stand_in import Lane, says, use


@pytest.mark.parametrize("options", [(), ("--fork-session",)], ids=["resumed", "forked"])
def test_a_session_that_goes_on_is_not_told_again_what_it_was_told(installed: World, options: tuple[str, ...]):
    """The client sends again what the model was told before; that is all that may stand there."""
    installed.recollect("rule", "add", RULE)
    installed.recollect("pin", VALIDATORS)
    first = installed.run("how do solana validators restart?", says("With a flag."))
    later = installed.run("do solana validators restart so?", says("Yes."), args=("--resume", first.id, *options))
    assert (later.id != first.id) is bool(options)
    for marker in (RULE, "vestibule"):
        assert first.asked[0].holds(marker) == later.asked[0].holds(marker) == 1, marker


def test_rules_come_back_when_the_window_is_full(installed: World):
    installed.recollect("rule", "add", RULE)
    (installed.project / "a.txt").write_text("one\n", encoding="utf-8")

    session = installed.run(
        "look", says(use("Read", file_path="a.txt"), tokens=FULL), says(SUMMARY, lane=Lane.COMPACT), says("One.")
    )

    assert [asked.lane for asked in session.service.asked] == [Lane.MAIN, Lane.COMPACT, Lane.MAIN]
    assert session.asked[-1].holds(RULE) == 1

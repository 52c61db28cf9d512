"""What a session knows when it goes on: resumed, forked, compacted, begun anew."""

from __future__ import annotations

from tests.e2e.client import FULL, Session, World
from tests.e2e.stand_in import Lane, says, use

RULE = "Write every commit subject in the imperative mood"
VALIDATORS = "Solana validators restart with the vestibule flag"
SUMMARY = "<summary>We spoke of one thing and another.</summary>"


def test_a_resumed_session_is_not_told_again_what_it_was_told(installed: World):
    installed.recollect("rule", "add", RULE)
    installed.recollect("pin", VALIDATORS)
    first = installed.run("how do solana validators restart?", says("With a flag."))

    resumed = installed.run("do solana validators restart so?", says("Yes."), args=("--resume", first.id))

    assert_same(resumed, first)


def test_a_forked_session_is_not_told_again_what_it_was_told(installed: World):
    installed.recollect("rule", "add", RULE)
    installed.recollect("pin", VALIDATORS)
    first = installed.run("how do solana validators restart?", says("With a flag."))

    forked = installed.run(
        "do solana validators restart so?", says("Yes."), args=("--resume", first.id, "--fork-session")
    )

    assert forked.id != first.id
    assert_same(forked, first)


def assert_same(later: Session, earlier: Session) -> None:
    """The client sends again what the model was told before; that is all that may stand there."""
    for marker in (RULE, "vestibule"):
        assert earlier.asked[0].holds(marker) == 1, marker
        assert later.asked[0].holds(marker) == 1, marker


def test_rules_come_back_when_a_person_compacts(installed: World):
    installed.recollect("rule", "add", RULE)

    with installed.session(says("Good day."), says(SUMMARY, lane=Lane.COMPACT), says("Yes.")) as session:
        session.say("hello")
        session.say("/compact")
        session.say("go on")

    assert session.asked[-1].holds("We spoke of one thing and another.") == 1
    assert session.asked[-1].holds(RULE) == 1


def test_rules_come_back_when_the_window_is_full(installed: World):
    installed.recollect("rule", "add", RULE)
    (installed.project / "a.txt").write_text("one\n", encoding="utf-8")

    session = installed.run(
        "look", says(use("Read", file_path="a.txt"), tokens=FULL), says(SUMMARY, lane=Lane.COMPACT), says("One.")
    )

    assert [asked.lane for asked in session.service.asked] == [Lane.MAIN, Lane.COMPACT, Lane.MAIN]
    assert session.asked[-1].holds(RULE) == 1


def test_what_was_shown_before_a_compaction_may_be_shown_after_it(installed: World):
    with installed.session(
        says("Good day."), says("With a flag."), says(SUMMARY, lane=Lane.COMPACT), says("With a flag.")
    ) as session:
        session.say("hello")
        installed.recollect("pin", VALIDATORS)
        session.say("how do solana validators restart?")
        session.say("/compact")
        session.say("how did solana validators restart?")

    assert session.asked[1].holds("vestibule") == 1
    assert session.asked[2].holds("vestibule") == 1

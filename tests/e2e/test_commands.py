"""`/memory` inside the real client: what a person tells it to remember is a rule at once, in their words; notes and
reasons come by the program, whose path the skill names."""

import re

import pytest

from tests.e2e.client import Session, World
from tests.e2e.stand_in import says, use
from tests.e2e.test_plugin import plugged, with_the_program

RULE = "we deploy on Tuesdays"


def told_path(session: Session) -> str:
    """What the agent is told to run."""
    said = "\n".join(text for _, text in session.asked[-1].messages)
    found = re.search(r"RECOLLECT stands for `([^`]+)`", said)
    assert found is not None
    return found[1]


def noted(session: Session) -> list[str]:
    return [run.out for run in session.hooks if "Recollect: noted" in run.out]


@pytest.mark.parametrize("name", ["memory", "recollect"])
def test_what_a_person_tells_memory_to_remember_is_a_rule_in_their_words(world: World, name: str):
    world.install()

    session = world.run(f"/{name} remember {RULE}", says("Kept."))

    [rule] = world.json("rules")
    assert (rule["body"], rule["lane"], rule["status"]) == (RULE, "user", "active")
    [notice] = noted(session)
    assert RULE in notice
    assert told_path(session).endswith("/bin/recollect")


def test_notes_are_saved_and_evolved_and_reasons_shown_with_the_path_that_the_skill_names(
    world: World,
):
    world.install()
    allowed = ["--allowedTools", "Bash"]

    with world.session(args=allowed) as session:
        session.service.script(says("Let me see."))
        session.say("/memory save Ask Anna before a deploy")
        program = told_path(session)
        for words in ("note save -", "note evolve ask-anna -", "why"):
            who = "Ben" if "evolve" in words else "Anna"
            command = f"{program} {words} <<'EOF'\nAsk {who} before a deploy\nEOF"
            session.service.script(says(use("Bash", command=command)), says("Done."))
            session.say("go on")

    titles = {note["title"]: note["status"] for note in world.json("list", "--kind", "note")}
    assert titles == {
        "Ask Ben before a deploy": "active",
        "Ask Anna before a deploy": "superseded",
    }
    assert world.json("rules") == [], "what is saved as a note is no rule"
    assert all(not failed for asked in session.asked for _, failed in asked.results())


def test_the_plugin_has_the_same_commands(world: World):
    plugged(world)
    given = with_the_program(world)

    session = world.run(f"/recollect:memory remember {RULE}", says("Kept."), environ=given)

    assert [rule["body"] for rule in world.json("rules")] == [RULE]
    assert len(noted(session)) == 1
    assert told_path(session).endswith("/scripts/call")

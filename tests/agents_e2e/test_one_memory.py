"""One memory, whichever agent is in use: the real programs, one after the other, in one project."""

from __future__ import annotations

from tests.agents_e2e.programs import Agent
from tests.e2e.client import World
from tests.e2e.stand_in import says

RULE = "Write every commit subject in the imperative mood"
SAID = "From now on always run the linter with make lint before you commit."


def test_a_rule_is_told_at_the_start_and_once(other: Agent):
    other.install()
    other.world.recollect("rule", "add", RULE)

    service = other.run("hello there", says("Good day."))

    [asked] = service.asked
    assert asked.holds(RULE) == 1


def test_what_is_said_to_one_agent_is_told_to_another(other: Agent, world: World):
    other.install()
    other.run(SAID, says("I will."))
    world.install()

    session = world.run("hello", says("Good day."))

    assert session.asked[0].holds("make lint") == 1


def test_what_is_said_to_another_agent_is_told_to_this_one(other: Agent, world: World):
    world.install()
    world.run(SAID, says("I will."))
    other.install()

    service = other.run("hello", says("Good day."))

    assert service.asked[0].holds("make lint") == 1

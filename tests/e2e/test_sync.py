"""What is written where the client reads by itself reaches the model, without any hook of ours."""

from __future__ import annotations

from tests.e2e.client import RULE, World, one_model
from tests.e2e.stand_in import says


def switch_on(world: World, *names: str) -> None:
    home = world.home / ".recollect"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "agent.conf").write_text("".join(f"{name}=on\n" for name in names), encoding="utf-8")


def test_a_rule_in_the_client_s_own_memory_is_in_the_first_request_beside_what_it_noted_itself(world: World):
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
    assert (folder / "MEMORY.md").read_text(encoding="utf-8") == "- [Role](user_role.md) — keeps bees\n"


@one_model
def test_a_skill_is_offered_to_the_model(world: World):
    switch_on(world, "MEMORY_SKILLS")
    world.recollect("rule", "add", RULE, "--type", "correction")
    world.recollect("skills")
    told = world.run("hello", says("Good day."))
    assert told.asked[0].holds("auto-corrections") >= 1

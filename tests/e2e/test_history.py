"""Sessions of the time before: the real client leaves them, and the first day does not begin with an empty memory."""

from __future__ import annotations

from typing import Any

from tests.e2e.client import SECRET, World, one_model
from tests.e2e.stand_in import says, use

RULE = "Use pnpm, not npm."


def imported(world: World, *args: str) -> dict[str, Any]:
    (only,) = world.json("import", "claude-code", *args)["projects"]
    return dict(only)


@one_model
def test_what_was_said_before_recollect_came_is_known_to_the_next_session(world: World):
    first = world.run(
        "no, we use pnpm here, not npm", says(use("Bash", command=f"echo {SECRET}; exit 3")), says("I see."),
        args=("--allowedTools", "Bash"),
    )  # fmt: skip
    world.run("go on", says("I do."), args=("--resume", first.id))
    fork = world.run("aside", says("Well."), args=("--resume", first.id, "--fork-session"))

    shown = imported(world, "--dry-run")
    read = imported(world)
    again = imported(world)

    assert (shown["sessions"], shown["acts"]) == (read["sessions"], read["acts"])
    assert read["sessions"] == len({first.id, fork.id})
    assert read["acts"]["person"] == len(["no, we use pnpm here, not npm", "go on", "aside"])
    assert read["copies"] > 0
    assert read["remembers"]["rules"] == 1
    assert again["sessions"] == 0
    files = [path for path in (world.home / ".recollect").rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []

    world.install()
    later = world.run("hello", says("Good day."))
    assert later.asked[0].holds(RULE) == 1
    assert imported(world)["sessions"] == 0

"""What the real client writes down of failures and refusals is understood."""

from __future__ import annotations

from tests.daemon.real import soon
from tests.e2e.client import World, one_model
from tests.e2e.stand_in import says, use

NPM = "#!/bin/sh\necho 'npm ERR! Missing script: \"test\"' >&2\nexit 1\n"


LESSON = '`bin/npm test` fails here with "Missing script: test"; `bin/pnpm test` works.'


def inbox(world: World) -> dict[str, str]:
    """What waits there, by id, once what happened has been read: a moment after the session."""

    def cards() -> list[dict[str, str]]:
        world.recollect("digest")
        return list(world.json("inbox", "list"))

    assert soon(cards)
    return {card["id"]: card["body"] for card in cards()}


@one_model
def test_a_failure_and_its_fix_are_one_lesson_that_is_shown_before_the_call(installed: World):
    tools = installed.project / "bin"
    tools.mkdir()
    for name, script in (("npm", NPM), ("pnpm", "#!/bin/sh\necho 12 passed\n")):
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(0o755)

    calls = [says(use("Bash", command=command)) for command in ("bin/npm test", "bin/pnpm test")]
    installed.run("run the tests", *calls, says("They pass."), args=("--allowedTools", "Bash"))

    [(id, lesson)] = inbox(installed).items()
    assert lesson == LESSON
    installed.recollect("inbox", "accept", id)
    session = installed.run(
        "again", says(use("Bash", command="bin/npm test -- --watch")), says("Oh."), args=("--allowedTools", "Bash")
    )
    assert session.asked[0].holds(f"Failures:\n- [tool] {LESSON}") == 1
    assert session.asked[-1].holds(f"Bears on this call:\n- [tool] {LESSON}") == 1


@one_model
def test_what_is_refused_again_and_again_is_proposed_as_a_rule(installed: World):
    for _ in range(2):
        pushes = [use("Bash", command="git push origin main"), use("Bash", command="git push")]
        installed.run("push it", says(*pushes), says("I may not."))
    assert list(inbox(installed).values()) == ["Ask before `git push`."]

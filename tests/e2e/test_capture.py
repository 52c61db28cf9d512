"""What a session teaches, the next ones know, refusals included; and what must not be kept is nowhere."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from tests.daemon.real import soon
from tests.e2e.client import SECRET, SUMMARY, World
from tests.e2e.stand_in import Lane, Use, says, use

BROKEN, FIXED = "./build.sh --fast", "./build.sh --fast --no-cache"
BASH = ("--allowedTools", "Bash")


def bash(command: str) -> Use:
    return use("Bash", command=command)


def learnt(world: World) -> list[dict[str, object]]:
    found = world.json("rule", "list") + world.json("inbox", "list")
    return [rule for rule in found if rule.get("rule_type") == "failure"]


def waiting(world: World) -> int:
    """How much of what sessions left is not read yet."""
    world.recollect("digest")
    return int(world.json("digest", "--dry-run")["waiting"])


def holding(folder: Path, text: str) -> list[Path]:
    return [
        path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()
    ]


def test_a_failure_and_its_fix_in_two_sessions_are_told_before_the_third_fails(installed: World):
    build = installed.project / "build.sh"  # works only without its cache
    build.write_text(
        '#!/bin/sh\ncase "$*" in *--no-cache*) echo built;; *) echo "error: cache key mismatch" >&2; exit 2;; esac\n'
    )
    build.chmod(0o755)
    for _ in range(2):
        installed.run(
            "please build", says(bash(BROKEN)), says(bash(FIXED)), says("Built."), args=BASH
        )
        assert soon(lambda: not waiting(installed))
    assert soon(lambda: any(rule["status"] == "active" for rule in learnt(installed)))

    third = installed.run(
        "please build", says(bash(BROKEN)), says(bash(FIXED)), says("Built."), args=BASH
    )

    assert third.asked[0].holds("--no-cache"), "among the rules of the session's start"
    [before] = [run for run in third.hooks if run.event == "PreToolUse" and "--no-cache" in run.out]
    assert f"`{BROKEN}` fails here; `{FIXED}` works." in before.out
    assert len(learnt(installed)) == 1, "and nothing of what was injected was learnt again"


def test_a_secret_that_a_tool_prints_is_nowhere_on_disk(installed: World):
    printed = shlex.join(["echo", f"token: {SECRET}"])
    installed.run("print it", says(bash(printed)), says("Done."), args=BASH)
    assert soon(lambda: waiting(installed) == 0)
    installed.recollect("export", str(installed.home / "out.jsonl"))
    ours = [*holding(installed.home / ".recollect", SECRET), *holding(installed.runtime, SECRET)]
    assert [path for path in ours if "claude" not in path.name] == []
    assert not holding(installed.home, SECRET) or all(
        ".claude" in str(p) for p in holding(installed.home, SECRET)
    )


def test_what_is_refused_again_and_again_is_proposed_as_a_rule(installed: World):
    for _ in range(2):
        installed.run(
            "push it", says(bash("git push origin main"), bash("git push")), says("I may not.")
        )
    assert soon(lambda: not waiting(installed) and installed.json("inbox", "list"))
    assert [card["body"] for card in installed.json("inbox", "list")] == ["Ask before `git push`."]


def imported(world: World, *args: str) -> dict[str, Any]:
    (only,) = world.json("import", "claude-code", *args)["projects"]
    return dict(only)


def test_what_was_said_before_recollect_came_is_known_to_the_next_session(world: World):
    first = world.run(
        "no, we use pnpm here, not npm",
        says(bash(f"echo {SECRET}; exit 3")),
        says("I see."),
        args=BASH,
    )
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
    assert holding(world.home / ".recollect", SECRET) == []

    world.install()
    later = world.run("hello", says("Good day."))
    assert later.asked[0].holds("Use pnpm, not npm.") == 1
    assert imported(world)["sessions"] == 0


def test_a_session_leaves_a_thread_and_the_next_one_tells_what_was_kept(installed: World):
    page = str(installed.project / "page.txt")
    with installed.session(
        says("Noted."), says(use("Write", file_path=page, content="hello")), says("The page is there."),
        says(SUMMARY, lane=Lane.COMPACT), says("Good night."), args=("--allowedTools", "Write"),
    ) as session:  # fmt: skip
        session.say("no, we use pnpm here, not npm")
        session.say("write a page that greets people")
        session.say("/compact")
        assert soon(lambda: "swept" in installed.log())
        session.say("good night")

    assert soon(lambda: "session-over" in installed.log())
    [thread] = installed.json("threads")
    assert thread["group"] == session.id
    assert "Asked: write a page that greets people" in str(thread["body"])
    [summed_up] = session.service.of(Lane.COMPACT)
    assert summed_up.holds("Recollect:") == 0, (
        "what a hook prints before a compaction would stand in the summary"
    )

    again = installed.run("hello", says("Good day."))

    assert again.asked[0].holds("Use pnpm, not npm.") == 1
    printed = [json.loads(run.out) for run in (*session.hooks, *again.hooks) if run.out]
    notices = "\n".join(one.get("systemMessage", "") for one in printed)
    assert re.search(r"^💾 Recollect: preserved \d+ memor", notices, re.MULTILINE)
    assert 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo' in notices
    assert re.search(
        r"Recollect: captured \d+ memor\w+ last time: Use pnpm, not npm", notices, re.MULTILINE
    )

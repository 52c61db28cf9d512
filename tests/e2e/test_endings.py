"""What follows a session: its threads, the notices of what was kept, and a verdict on what it was shown."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from tests.e2e.client import WAIT_S, World, one_model
from tests.e2e.stand_in import Lane, says, use

SUMMARY = "<summary>We set up the shop.</summary>"


def soon(found: Callable[[], bool]) -> bool:
    until = time.monotonic() + WAIT_S
    while not found() and time.monotonic() < until:
        time.sleep(0.2)
    return found()


def threads(world: World) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(world.recollect("threads", "--json").stdout)
    return found


@one_model
def test_a_session_leaves_a_thread_and_the_next_one_tells_what_was_kept(installed: World):
    page = str(installed.project / "page.txt")
    with installed.session(
        says("Noted."), says(use("Write", file_path=page, content="hello")), says("The page is there."),
        says(SUMMARY, lane=Lane.COMPACT), says("Good night."), args=("--allowedTools", "Write"),
    ) as session:  # fmt: skip
        session.say("no, we use pnpm here, not npm")
        session.say("write a page that greets people")
        session.say("/compact")
        log = installed.home / ".recollect" / "logs" / "recollect.log"
        assert soon(lambda: "swept" in log.read_text(encoding="utf-8"))
        session.say("good night")

    assert soon(lambda: "session-over" in log.read_text(encoding="utf-8"))
    [thread] = threads(installed)
    assert thread["group"] == session.id
    assert "Asked: write a page that greets people" in str(thread["body"])
    [summed_up] = session.service.of(Lane.COMPACT)
    assert summed_up.holds("Recollect:") == 0, "what a hook prints before a compaction would stand in the summary"

    again = installed.run("hello", says("Good day."))

    printed = [json.loads(run.out) for run in (*session.hooks, *again.hooks) if run.out]
    notices = "\n".join(one.get("systemMessage", "") for one in printed)
    assert re.search(r"^💾 Recollect: preserved \d+ memor", notices, re.MULTILINE)
    assert 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo' in notices
    assert re.search(r"^Recollect: kept last time: Use pnpm, not npm", notices, re.MULTILINE)


@one_model
def test_what_was_shown_is_judged_by_the_call_that_followed(installed: World):
    done = json.loads(installed.recollect("pin", "Solana validators restart with the vestibule flag", "--json").stdout)
    [shown] = done["ids"]
    ruled = json.loads(installed.recollect("rule", "add", "Never run frobnicate without --dry", "--json").stdout)
    [reminded] = ruled["ids"]

    session = installed.run(
        "how do solana validators restart?", says(use("Bash", command="frobnicate now")), says("It failed."),
        args=("--allowedTools", "Bash"),
    )  # fmt: skip

    assert session.asked[0].holds("vestibule") >= 1

    def judged(id: str) -> dict[str, float]:
        told = installed.recollect("why", id, "--json", check=False).stdout
        found: dict[str, float] = json.loads(told)["now"] if told else {}
        return found

    assert soon(lambda: "went_badly" in judged(reminded))
    assert judged(reminded) == {"relevance": 0.9375, "went_badly": 1}
    # The pin was told at the session's start, like everything that is open: nobody chose it for this prompt.
    assert judged(shown) == {"relevance": 1.0}

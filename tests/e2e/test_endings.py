"""What follows a session: its threads, the notices of what was kept, and a verdict on what it was shown."""

from __future__ import annotations

import json
import re

from tests.daemon.real import soon
from tests.e2e.client import World, one_model
from tests.e2e.stand_in import Lane, says, use

SUMMARY = "<summary>We set up the shop.</summary>"


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
        assert soon(lambda: "swept" in installed.log())
        session.say("good night")

    assert soon(lambda: "session-over" in installed.log())
    [thread] = installed.json("threads")
    assert thread["group"] == session.id
    assert "Asked: write a page that greets people" in str(thread["body"])
    [summed_up] = session.service.of(Lane.COMPACT)
    assert summed_up.holds("Recollect:") == 0, "what a hook prints before a compaction would stand in the summary"

    again = installed.run("hello", says("Good day."))

    assert again.asked[0].holds("Use pnpm, not npm.") == 1
    printed = [json.loads(run.out) for run in (*session.hooks, *again.hooks) if run.out]
    notices = "\n".join(one.get("systemMessage", "") for one in printed)
    assert re.search(r"^💾 Recollect: preserved \d+ memor", notices, re.MULTILINE)
    assert 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo' in notices
    assert re.search(r"^Recollect: kept last time: Use pnpm, not npm", notices, re.MULTILINE)

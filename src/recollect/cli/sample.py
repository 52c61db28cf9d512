"""Sample data for `recollect demo --ui`: a week of work on a small shop, told through the real hooks and operations."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.settings import environment
from recollect.cli.extras import announce_page
from recollect.cli.stage import Stage, operate

_PASSED = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG")
_NOTE = """# Releases

Releases go out on **Tuesdays**. Ask Anna first.

1. `make smoke` against staging (cluster *heron*)
2. tag the commit, `git push --tags`
3. watch the dashboard for ten minutes
"""


class Call(NamedTuple):
    command: str
    output: str
    failed: bool = False


class Turn(NamedTuple):
    prompt: str
    reply: str
    calls: Sequence[Call] = ()


_REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:5432\ntests failed"
_WEEK: dict[str, Sequence[Turn]] = {
    "monday": (
        Turn("no, we use pnpm here, not npm", "Understood: pnpm from now on. All packages are installed.",
             (Call("pnpm install", "Done in 4.1s"),)),
        Turn("run the tests", "The tests need the database. I started it, and all 42 pass.",
             (Call("pnpm test", _REFUSED, failed=True), Call("docker compose up -d db && pnpm test", "42 passed"))),
        Turn("why does the checkout total differ from the cart?",
             "Found it: src/checkout/total.ts rounds each line, the cart rounds once at the end. "
             "I changed checkout to round once, as finance wants it.",
             (Call("grep -rn round src/checkout", "src/checkout/total.ts:18: return Math.round(line * 100) / 100"),)),
    ),
    "tuesday": (
        Turn("always run make smoke before you deploy to staging", "I will."),
        Turn("build the shop", "Built, without warnings.", (Call("pnpm build", "built in 9.3s"),)),
        Turn("deploy the checkout fix to staging", "Deployed to heron. The smoke test passed first.",
             (Call("make smoke", "14 checks passed"), Call("./deploy staging", "heron: checkout 1.4.2 is live"))),
        Turn("the staging cluster is called heron, and its logs are in Loki, not in CloudWatch",
             "Noted. I looked at Loki: no errors since the deploy."),
    ),
    "thursday": (
        Turn("add a package for dates", "Added date-fns with pnpm.",
             (Call("pnpm add date-fns", "+ date-fns 4.1.0"),)),
        Turn("run the tests", "All 44 pass, with the database up.",
             (Call("pnpm test", _REFUSED, failed=True), Call("docker compose up -d db && pnpm test", "44 passed"))),
        Turn("maybe we should keep commits small, one change each?", "Happy to. I split this one in two."),
        Turn("how do we round the totals at checkout?", "Once, at the end, as finance wants it."),
    ),
    "friday": (
        Turn("update the packages", "All up to date.", (Call("pnpm update", "Done in 2.7s"),)),
        Turn("use yarn instead of pnpm for the docs", "The docs are built with yarn now."),
        Turn("deploy to staging and look at the logs", "Smoke test first, then deployed; Loki is quiet.",
             (Call("make smoke", "14 checks passed"), Call("./deploy staging", "heron: checkout 1.4.3 is live"))),
    ),
}  # fmt: skip


def fill(folder: Path, now: Moment) -> Path:
    """Plays the week; returns the project's folder."""
    with Stage(folder, "shop", begin=now.plus(days=-4.2)) as shop:
        for day, turns in _WEEK.items():
            _play(shop, day, turns)
            shop.wait(DAY_SECONDS)
        app = shop.own
        operate("pin", app, "Deploys go to staging first; production only on Tuesdays.", topics=("deploy", "release"))
        operate("rule add", app, "Write commit messages in English", user=True)
        operate("note save", app, _NOTE, title="Releases", tags=("release",))
        threads = operate("threads", app, limit=2).cards
        if len(threads) == 2:
            operate("link", app, threads[0].memory.id, threads[1].memory.id)
        return shop.folder


def _play(shop: Stage, session: str, turns: Sequence[Turn]) -> None:
    _tell(shop, session, "SessionStart", source="startup")
    for turn in turns:
        shop.wait(300)
        shop.write(session, "user", {"type": "text", "text": turn.prompt})
        _tell(shop, session, "UserPromptSubmit", prompt=turn.prompt)
        for number, call in enumerate(turn.calls):
            id = f"toolu_{session}_{turns.index(turn)}_{number}"
            given: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": call.command}}
            use = {"type": "tool_use", "id": id, "name": "Bash", "input": given["tool_input"]}
            shop.write(session, "assistant", use)
            _tell(shop, session, "PreToolUse", **given)
            result = {"type": "tool_result", "tool_use_id": id, "content": call.output, "is_error": call.failed}
            shop.write(session, "user", result)
        shop.write(session, "assistant", {"type": "text", "text": turn.reply})
        shop.read(session)


def _tell(shop: Stage, session: str, event: str, **fields: Any) -> None:
    """What a hook adds, as the client writes it down."""
    text = shop.hook(event, session, **fields).get("hookSpecificOutput", {}).get("additionalContext", "")
    if text:
        shop.write(session, "attachment", {"type": "hook_additional_context", "content": [text]})


def show(now: Moment) -> None:
    """The page on the sample, in a scratch home; until it is interrupted."""
    with tempfile.TemporaryDirectory(prefix="recollect-demo-", ignore_cleanup_errors=True) as scratch:
        project = fill(Path(scratch), now)
        environ = {name: value for name, value in environment().items() if name in _PASSED}
        environ |= {"HOME": scratch, "USERPROFILE": scratch, "RECOLLECT_HOME": str(Path(scratch, "home"))}
        program = [sys.executable, "-m", "recollect"]
        page = subprocess.Popen(
            [*program, "ui", "--no-browser"], cwd=project, env=environ, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        with suppress(KeyboardInterrupt):
            # The person's own browser, which would not know itself in the scratch home.
            announce_page(page.stdout.readline().strip() if page.stdout else "")
            page.wait()
        page.wait()  # it was interrupted, too
        subprocess.run([*program, "daemon", "stop"], cwd=project, env=environ, capture_output=True)

"""`recollect demo`: an agent that is corrected once and does not repeat the mistake. Everything goes through the real
hooks and operations, in a scratch home with a clock of its own; no agent is started, and no network is used. The page
on sample data (`--ui`) is demo_page.py's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from recollect.app.core import App
from recollect.base.moment import DAY_SECONDS
from recollect.base.signals import ended_by_signals, interrupt
from recollect.cli.stage import SCRATCH, Stage, operate
from recollect.model.result import Step, Summary, Tour
from recollect.ops.table import Arg
from recollect.render.terminal import short_ids

_CORRECTION = "no, we use pnpm here, not npm"
_FAILURE = "Error: connect ECONNREFUSED 127.0.0.1:5432\ntests failed"
_WORKS = "docker compose up -d db && pnpm test"
_FAILED_SESSION = (
    ("user", {"type": "text", "text": "run the tests"}),
    (
        "assistant",
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pnpm test"}},
    ),
    (
        "user",
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": _FAILURE, "is_error": True},
    ),
    (
        "assistant",
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": _WORKS}},
    ),
    (
        "user",
        {
            "type": "tool_result",
            "tool_use_id": "toolu_2",
            "content": "42 passed",
            "is_error": False,
        },
    ),
    (
        "assistant",
        {"type": "text", "text": "The tests need the database. I started it, and all 42 pass."},
    ),
)
_ENDING = (
    "That was a scratch home, and it is gone. To give your own agents this memory:",
    "",
    "    recollect install",
)


def demo(
    app: App,
    *,
    full: Annotated[
        bool, Arg("Also show pins, redaction, search by meaning, merging, focus, other projects.")
    ] = False,
    ui: Annotated[bool, Arg("Open the page on sample data instead; Ctrl-C ends it.")] = False,
) -> Tour:
    if ui:
        from recollect.cli.demo_page import (
            show_page,
        )  # with its server, which the rest does not need

        show_page(app.clock.now())
        return Tour((), _ENDING)
    begin = app.clock.now().plus(seconds=-DAY_SECONDS - 600)
    with (
        ended_by_signals(interrupt),
        tempfile.TemporaryDirectory(prefix=SCRATCH) as scratch,
        Stage(Path(scratch), "shop", begin=begin) as shop,
        Stage(Path(scratch), "blog", begin=begin) as blog,
    ):
        return Tour((*_story(shop), *(_rest(shop.own, blog.own) if full else ())), _ENDING)


def _story(shop: Stage) -> Iterator[Step]:
    shop.hook("UserPromptSubmit", "monday", prompt=_CORRECTION)
    heard = shop.hook("Stop", "monday")
    yield Step(
        "You correct your agent, once.", f"> {_CORRECTION}", Summary(heard["systemMessage"], {})
    )
    shop.play("monday", _FAILED_SESSION)
    lesson = operate("inbox list", shop.own).cards[0].memory
    accepted = operate("inbox accept", shop.own, (lesson.id,))
    why = "A command fails, another works: a lesson. Accept it, or let it come up again."
    yield Step(
        why, "recollect inbox accept 1", Summary(lesson.body, {}, (short_ids(accepted.summary),))
    )
    shop.wait(DAY_SECONDS)
    start = shop.hook("SessionStart", "tuesday", source="startup")
    why, told = (
        "The next session starts, and the agent knows both before its first move.",
        start["hookSpecificOutput"],
    )
    task, given = (
        "> add a package for dates and run the tests",
        Summary(told["additionalContext"], {}),
    )
    yield Step(why, task, given, box="what the agent is given")
    call = {
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": "npm install date-fns"},
    }
    shop.hook("PreToolUse", "tuesday", **call)
    why = "It is about to run `npm install`, so the rule is repeated. Why?"
    yield Step(why, "recollect why", operate("why", shop.own))
    yield Step("Every change can be taken back.", "recollect undo", operate("undo", shop.own))


def _rest(app: App, other_project: App) -> Iterator[Step]:
    staging = "Deploys go to staging first; the smoke test must pass before production."
    smoke = "The smoke test is `make smoke`; it needs DATABASE_URL=postgres://shop:correct-horse@db/shop."
    question = "how do we ship a new version"
    steps: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
        ("Keep something word for word.", f'pin "{staging}" --topics deploy', (staging,), {"topics": ("deploy",)}),
        ("A password is never stored.", f'pin "{smoke}" --topics deploy', (smoke,), {"topics": ("deploy",)}),
        ("Ask as an agent would; question and answer share no words.", f"recall {question} --limit 1", ((question,),),
         {"limit": 1}),
        ("Merge two memories.", "merge staging DATABASE_URL", ("staging", "DATABASE_URL"), {}),
        ("And take it back.", "undo", (), {}),
        ("Memories on the topic in focus come first.", "focus deploy", ("deploy",), {}),
        ("What could be tidied up.", "suggestions", (), {}),
        ("Nothing is done in secret.", "log", (), {}),
    )  # fmt: skip
    for title, command, args, options in steps:
        yield Step(
            title, f"recollect {command}", operate(command.split()[0], app, *args, **options)
        )
    elsewhere = operate("search", other_project, ("deploy", "pnpm"))
    yield Step(
        "Another project sees none of this.",
        "cd ../blog && recollect search deploy pnpm",
        elsewhere,
    )

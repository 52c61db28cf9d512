"""`recollect demo`: an agent that is corrected once and does not repeat the mistake; and for `--ui` a week of work on a
small shop (sample.json). Everything goes through the real hooks and operations, in a scratch home with a clock of its
own; no agent is started, and no network is used."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from recollect.app.core import App
from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.settings import environment
from recollect.base.shipped import load_table
from recollect.cli.extras import announce_page
from recollect.cli.stage import Stage, operate
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
_PASSED = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG")
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
        show_page(app.clock.now())
        return Tour((), _ENDING)
    begin = app.clock.now().plus(seconds=-DAY_SECONDS - 600)
    with (
        tempfile.TemporaryDirectory(prefix="recollect-demo-") as scratch,
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


def play_week(folder: Path, now: Moment) -> Path:
    """Plays the week of sample.json; returns the project's folder."""
    sample = load_table("recollect.cli", "sample.json")
    with Stage(folder, "shop", begin=now.plus(days=-4.2)) as shop:
        for day, turns in sample["week"].items():
            _play(shop, day, turns)
            shop.wait(DAY_SECONDS)
        app = shop.own
        operate(
            "pin",
            app,
            "Deploys go to staging first; production only on Tuesdays.",
            topics=("deploy", "release"),
        )
        operate("rule add", app, "Write commit messages in English", user=True)
        operate(
            "note save", app, "\n".join((*sample["note"], "")), title="Releases", tags=("release",)
        )
        threads = operate("threads", app, limit=2).cards
        if len(threads) == 2:
            operate("link", app, threads[0].memory.id, threads[1].memory.id)
        return shop.folder


def _play(shop: Stage, session: str, turns: Sequence[Mapping[str, Any]]) -> None:
    """A turn: the prompt, the calls (command, output, and whether it failed), the reply."""
    _tell(shop, session, "SessionStart", source="startup")
    for place, turn in enumerate(turns):
        shop.wait(300)
        shop.write(session, "user", {"type": "text", "text": turn["prompt"]})
        _tell(shop, session, "UserPromptSubmit", prompt=turn["prompt"])
        for number, (command, output, *failed) in enumerate(turn.get("calls", ())):
            id, given = f"toolu_{session}_{place}_{number}", {"command": command}
            shop.write(
                session, "assistant", {"type": "tool_use", "id": id, "name": "Bash", "input": given}
            )
            _tell(shop, session, "PreToolUse", tool_name="Bash", tool_use_id=id, tool_input=given)
            result = {
                "type": "tool_result",
                "tool_use_id": id,
                "content": output,
                "is_error": bool(failed),
            }
            shop.write(session, "user", result)
        shop.write(session, "assistant", {"type": "text", "text": turn["reply"]})
        shop.read(session)


def _tell(shop: Stage, session: str, event: str, **fields: Any) -> None:
    """What a hook adds, as the client writes it down."""
    text = (
        shop.hook(event, session, **fields)
        .get("hookSpecificOutput", {})
        .get("additionalContext", "")
    )
    if text:
        shop.write(session, "attachment", {"type": "hook_additional_context", "content": [text]})


def show_page(now: Moment) -> None:
    """The page on the sample, in a scratch home; until it is interrupted."""
    with tempfile.TemporaryDirectory(
        prefix="recollect-demo-", ignore_cleanup_errors=True
    ) as scratch:
        project = play_week(Path(scratch), now)
        environ = {name: value for name, value in environment().items() if name in _PASSED}
        environ |= {
            "HOME": scratch,
            "USERPROFILE": scratch,
            "RECOLLECT_HOME": str(Path(scratch, "home")),
        }
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

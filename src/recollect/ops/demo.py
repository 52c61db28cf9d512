"""The main job, shown through the real operations in a scratch home that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from recollect.base.paths import Home
from recollect.base.project import find
from recollect.lifecycle.compact import Strategy
from recollect.model.plan import Create
from recollect.model.result import Done, Result, Step, Tour
from recollect.ops import history, links, memories, recalls, rules, shape, steer, tidy
from recollect.ops.app import App

Show = Callable[[str, str, Callable[[], Result]], str]
"""Why, the command, and what it does; the id of what that made."""


def demo(app: App) -> Tour:
    with tempfile.TemporaryDirectory(prefix="recollect-demo-") as scratch:
        shop, blog = Path(scratch, "shop"), Path(scratch, "blog")
        shop.mkdir()
        blog.mkdir()
        here, elsewhere = _app(app, scratch, shop), _app(app, scratch, blog)
        try:
            return Tour(tuple(_steps(here, elsewhere)))
        finally:
            here.close()
            elsewhere.close()


def _app(app: App, scratch: str, folder: Path) -> App:
    home = Home(Path(scratch, "home"))
    return App(home=home, project=find(folder, Path(scratch)), settings=app.settings, clock=app.clock)


def _steps(here: App, elsewhere: App) -> list[Step]:
    steps: list[Step] = []

    def show(why: str, command: str, run: Callable[[], Result]) -> str:
        result = run()
        steps.append(Step(why, command, result))
        return _made(result)

    staging = "Deploys go to staging first; the smoke test must pass before production."
    smoke = "The smoke test is `make smoke`; it needs DATABASE_URL=postgres://shop:correct-horse@db/shop."
    first = show(
        "Something worth keeping, word for word.",
        f'recollect pin "{staging}" --topics deploy',
        lambda: memories.pin(here, staging, topics=("deploy",)),
    )
    second = show(
        "Another one. It holds a password, which is never stored.",
        f'recollect pin "{smoke}" --topics deploy,tests',
        lambda: memories.pin(here, smoke, topics=("deploy", "tests")),
    )
    show(
        "A rule says what to do from now on; --user makes it hold in every project.",
        'recollect rule add "Use pnpm, never npm." --user',
        lambda: rules.add(here, "Use pnpm, never npm.", user=True),
    )
    show(
        "Two memories that belong together.",
        f"recollect link {second} {first} --type EXTENDS",
        lambda: links.link(here, second, first),
    )
    show(
        "Found by its words, whatever their form.",
        "recollect search deploying to production",
        lambda: recalls.search(here, ("deploying", "to", "production")),
    )
    show(
        "Asked as an agent would ask: not one word in common with what was kept.",
        "recollect recall how do we ship a new version --limit 1",
        lambda: recalls.recall(here, ("how do we ship a new version",), limit=1),
    )
    show("And why that was the answer.", "recollect why", lambda: recalls.why(here))
    show(
        "One thread of two: both ids lead to it, no word is lost.",
        f"recollect merge {first} {second}",
        lambda: shape.merge(here, first, second),
    )
    show("Any change can be taken back.", "recollect undo", lambda: history.undo(here))
    _steer(here, second, show)
    show("And nothing is done in secret.", "recollect log", lambda: history.log(here))
    show(
        "In another project none of this is seen, but the rule for every project is.",
        "cd ../blog && recollect search deploy pnpm",
        lambda: recalls.search(elsewhere, ("deploy", "pnpm")),
    )
    return steps


def _steer(here: App, shown: str, show: Show) -> None:
    """What an agent does with its tools: ai_focus, ai_rate_context, ai_suggestions, ai_compact."""
    show(
        "An agent steers too, with tools of the same names. What is in focus comes whatever is asked.",
        "recollect focus tests",
        lambda: steer.focus(here, "tests"),
    )
    show(
        "A question about bread: the memory in focus is there all the same.",
        "recollect recall how long does sourdough rest --limit 1",
        lambda: recalls.recall(here, ("how long does sourdough rest",), limit=1),
    )
    show("The work turns to something else.", "recollect unfocus", lambda: steer.unfocus(here))
    show(
        "What misled someone sinks; it can come back by good ratings.",
        f"recollect rate {shown} not-useful --reason outdated",
        lambda: steer.rate(here, shown, steer.Verdict.NOT_USEFUL, reason="outdated"),
    )
    show("What could be tidied up.", "recollect suggestions", lambda: tidy.suggestions(here))
    show(
        "Compaction merges, archives and fades, in one change with one undo; pins are never touched.",
        "recollect compact --strategy gentle",
        lambda: tidy.compact(here, strategy=Strategy.GENTLE),
    )


def _made(result: Result) -> str:
    created = [c.memory.id for c in result.plan.changes if isinstance(c, Create)] if isinstance(result, Done) else []
    return created[0] if created else ""

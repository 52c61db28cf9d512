"""`recollect demo`: an agent that is corrected once and does not repeat the mistake. Everything goes through the real
hooks and operations, in a scratch home with a clock of its own; no agent is started, and no network is used."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

from recollect import agents
from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.hooks.answer import Hooks
from recollect.model.result import Step, Summary, Tour
from recollect.model.session import EventName, Pointer
from recollect.ops.table import OPS, Arg
from recollect.render.terminal import short_ids

_DAY_S = 86_400
_CORRECTION = "no, we use pnpm here, not npm"
_FAILURE = "Error: connect ECONNREFUSED 127.0.0.1:5432\ntests failed"
_WORKS = "docker compose up -d db && pnpm test"
_FAILED_SESSION = (
    ("user", {"type": "text", "text": "run the tests"}),
    ("assistant", {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pnpm test"}}),
    ("user", {"type": "tool_result", "tool_use_id": "toolu_1", "content": _FAILURE, "is_error": True}),
    ("assistant", {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": _WORKS}}),
    ("user", {"type": "tool_result", "tool_use_id": "toolu_2", "content": "42 passed", "is_error": False}),
    ("assistant", {"type": "text", "text": "The tests need the database. I started it, and all 42 pass."}),
)
_ENDING = ("That was a scratch home, and it is gone. To give your own agents this memory:", "", "    recollect install")


class Stage:
    """One project in a home of its own, and an agent whose sessions are written for it."""

    def __init__(self, folder: Path, name: str, *, begin: Moment, actor: str = "user") -> None:
        self.folder, self._transcripts = folder / name, folder / "transcripts"
        (self.folder / ".git").mkdir(parents=True)
        self._transcripts.mkdir(exist_ok=True)
        self._clock = FixedClock(begin)
        self._line = 0
        self.own = App(
            home=Home(folder / "home"), project=projects.find(self.folder, folder), settings=load(None, None, {}),
            clock=self._clock, actor=actor,
        )  # fmt: skip
        self._hooks = Hooks(self.app, folder / "rendered", self._clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.own.close()

    @contextmanager
    def app(self, _project: str, _cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
        """What the hooks ask for: always the same one."""
        yield self.own

    def play(self, session: str, messages: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Write a session's messages as the agent would have, and read it to its end."""
        for role, block in messages:
            self.wait(50)
            self.write(session, role, block)
        self.read(session)

    def write(self, session: str, role: str, block: Mapping[str, object]) -> None:
        self._line += 1
        self.wait(10)
        line = {"type": role, "uuid": f"line-{self._line}", "timestamp": self._clock.now().iso()}
        said = {"attachment": block} if role == "attachment" else {"message": {"content": [block]}}
        with (self._transcripts / f"{session}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, **said}, ensure_ascii=False) + "\n")

    def read(self, session: str) -> None:
        """The turn has ended: memory is made of it."""
        path = self._transcripts / f"{session}.jsonl"
        ended = Pointer(
            name=str(EventName.TURN_ENDED), host=agents.DEFAULT_HOST, session=session, at=self._clock.now(),
            prompt=str(self._line), transcript=str(path), size=path.stat().st_size,
        )  # fmt: skip
        self.own.writer(self.own.scope).put(ended)
        self.wait(10)
        operate("catch-up", self.own)

    def hook(self, event: str, session: str, **fields: object) -> dict[str, Any]:
        """What a hook prints for this event."""
        self.wait(10)
        payload = {
            "session_id": session, "cwd": str(self.folder), "hook_event_name": event, **fields,
            "transcript_path": str(self._transcripts / f"{session}.jsonl"),
        }  # fmt: skip
        deadline, body = time.monotonic() + 60.0, json.dumps(payload).encode()
        answer = self._hooks.answer(agents.DEFAULT_HOST, event, body, {}, str(self.folder), deadline)
        answer.after(True)
        printed: dict[str, Any] = json.loads(answer.stdout or b"{}")
        return printed

    def wait(self, seconds: float) -> None:
        self._clock.at = self._clock.at.plus(seconds=seconds)


def operate(name: str, app: App, *args: Any, **options: Any) -> Any:
    return next(op for op in OPS if op.name == name).function(app, *args, **options)


def demo(
    app: App,
    *,
    full: Annotated[bool, Arg("Also show pins, redaction, search by meaning, merging, focus, other projects.")] = False,
    ui: Annotated[bool, Arg("Open the page on sample data instead; Ctrl-C ends it.")] = False,
) -> Tour:
    if ui:
        from recollect.cli import sample  # which plays its week on a Stage

        sample.show(app.clock.now())
        return Tour((), _ENDING)
    begin = app.clock.now().plus(seconds=-_DAY_S - 600)
    with (
        tempfile.TemporaryDirectory(prefix="recollect-demo-") as scratch,
        Stage(Path(scratch), "shop", begin=begin) as shop,
        Stage(Path(scratch), "blog", begin=begin) as blog,
    ):
        return Tour((*_story(shop), *(_rest(shop.own, blog.own) if full else ())), _ENDING)


def _story(shop: Stage) -> Iterator[Step]:
    heard = shop.hook("UserPromptSubmit", "monday", prompt=_CORRECTION)
    yield Step("You correct your agent, once.", f"> {_CORRECTION}", Summary(heard["systemMessage"], {}))
    shop.play("monday", _FAILED_SESSION)
    lesson = operate("inbox list", shop.own).cards[0].memory
    accepted = operate("inbox accept", shop.own, (lesson.id,))
    why = "A command fails, another works: a lesson. Accept it, or let it come up again."
    yield Step(why, "recollect inbox accept 1", Summary(lesson.body, {}, (short_ids(accepted.summary),)))
    shop.wait(_DAY_S)
    start = shop.hook("SessionStart", "tuesday", source="startup")
    why, told = "The next session starts, and the agent knows both before its first move.", start["hookSpecificOutput"]
    task, given = "> add a package for dates and run the tests", Summary(told["additionalContext"], {})
    yield Step(why, task, given, box="what the agent is given")
    call = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "npm install date-fns"}}
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
        yield Step(title, f"recollect {command}", operate(command.split()[0], app, *args, **options))
    elsewhere = operate("search", other_project, ("deploy", "pnpm"))
    yield Step("Another project sees none of this.", "cd ../blog && recollect search deploy pnpm", elsewhere)

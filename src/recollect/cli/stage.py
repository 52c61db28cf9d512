"""A stage for the demo and its sample data: a project in a scratch home with a clock of its own, and an agent whose
sessions are written for it. Everything goes through the real hooks and operations."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from recollect import agents
from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.hooks.answer import Hooks
from recollect.model.session import EventName, Pointer
from recollect.ops.table import OPS

SCRATCH = "recollect-demo-"  # how the names of scratch folders begin


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
        answer = self._hooks.answer(
            agents.DEFAULT_HOST, event, body, {}, str(self.folder), deadline
        )
        answer.after(True)
        printed: dict[str, Any] = json.loads(answer.stdout or b"{}")
        return printed

    def wait(self, seconds: float) -> None:
        self._clock.at = self._clock.at.plus(seconds=seconds)


def operate(name: str, app: App, *args: Any, **options: Any) -> Any:
    return next(op for op in OPS if op.name == name).function(app, *args, **options)

"""From the bytes that a hook was given to the bytes it prints. Raises as `ops` does: BadInput for an event that cannot
be read, StoreBusy or StoreFull where trying later helps. What was put in front of the agent counts only when the hook
has confirmed that it printed it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, suppress
from enum import Enum, auto
from importlib import import_module
from pathlib import Path

from recollect import agents
from recollect.app import session_ledger
from recollect.app.core import App
from recollect.base.clock import Clock, SystemClock
from recollect.base.errors import RecollectError
from recollect.base.settings import environment
from recollect.base.structs import Struct, replace
from recollect.model.session import Event, EventName
from recollect.ops.hook_reply import HookReply, HookRequest, SubagentTasks
from recollect.wire.place import find_place

EVENTS = {
    EventName.SESSION_STARTED: "session_start:start_session",
    EventName.PROMPT: "prompt_recall:answer_prompt",
    EventName.TOOL_CALLED: "tool_use:answer_call",
    EventName.SUBAGENT_STARTED: "prompt_recall:brief_subagent",
    EventName.TURN_ENDED: "hook_reply:end_turn",
    EventName.SESSION_ENDED: "hook_reply:end_session",
}
"""The operations in `ops` behind events that are not only kept for later, each loaded when first needed: a first prompt
does not wait for what others need."""

_TRANSCRIPT_WITHIN_S = (
    60.0  # an agent makes a session's transcript when all hooks of its first prompt have ended
)
_ROUTE = "RECOLLECT_VIA"  # set by a plugin's calls; those that settings make have none

OpenApp = Callable[[str, str, Mapping[str, str]], AbstractContextManager[App]]
"""Opens the App of a project (its folder, the current folder, the environment) for one thread."""


def open_once(
    project_folder: str, cwd: str, _environ: Mapping[str, str]
) -> AbstractContextManager[App]:
    """For one event: hooks without a daemon, for a person who wants to see what an agent would get."""
    return closing(App.open(Path(project_folder or cwd), actor="agent"))


class Received(Enum):
    NEW = auto()
    KNOWN = auto()  # a daemon had received it, and its hook did not learn of that in time
    NOT_YET = auto()  # there is no transcript yet: to be tried again
    LOST = auto()  # a prompt that is in no transcript: nobody will ever read it


class Answer(Struct):
    stdout: bytes = b""  # what the hook prints, as it is
    after: Callable[[bool], None] = lambda _confirmed: (
        None
    )  # once it was sent: whether the hook confirmed printing it
    is_kept: bool = True  # the event was written down; an agent is told what is remembered even where it was not


class Hooks:
    def __init__(
        self,
        open_app: OpenApp,
        folder: str | Path = "",
        clock: Clock | None = None,
        own: OpenApp | None = None,
    ) -> None:
        """`folder`: of the answers of virtual files, else found from the home. `own` opens an App that none shares."""
        self._open_app, self._own = open_app, own or open_app
        self._folder = folder
        self._clock = clock or SystemClock()
        self._tasks = SubagentTasks()
        self._places: dict[str, str] = {}  # by session, the latest last
        self._counts: dict[
            str, dict[str, int]
        ] = {}  # how often each route reported an event, the latest last
        self._guard = threading.Lock()

    def answer(
        self, host: str, event_name: str, body: bytes, environ: Mapping[str, str], cwd: str, until_s: float,
        hold: Callable[[float], float] = lambda _seconds: 0.0, transcript_bytes: int = 0,
        send: Callable[[bytes], None] = lambda _stdout: None,
    ) -> Answer:  # fmt: skip
        """`until_s`, by the monotonic clock: when the answer has to be there. `hold` asks for this many seconds more
        and returns until when they are granted, 0 where they are not. `transcript_bytes`: before the event. `send` is
        given the answer before what can wait is written; nobody else gets the App in between."""
        began_s = time.monotonic()
        if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
            return Answer()
        host = host or agents.DEFAULT_HOST
        event = agents.agent(host).parse(event_name, body, at=self._clock.now(), environ=environ)
        key = session_ledger.make_pointer(event).key
        if event.name is EventName.OTHER or not self._is_first(key, environ.get(_ROUTE, "")):
            return Answer()
        place = (self._place(event, cwd), event.cwd or cwd, environ)
        module, operation = EVENTS.get(event.name, "hook_reply:receive_event").split(":")
        if event.name not in EVENTS:
            send(b"")  # it is only kept: nobody waits for the App, which may be writing
        with self._open_app(*place) as app:
            folder = (
                event.reads_below
                or self._folder
                or find_place(str(app.home.root), environment()).recalls
            )
            request = HookRequest(app, event, until_s, self._tasks, Path(folder), transcript_bytes)
            reply: HookReply = getattr(import_module(f"recollect.ops.{module}"), operation)(request)
            held_s = hold(reply.slower[0]) if reply.slower else 0.0
            stdout, took_ms = (
                agents.agent(host).render(event_name, reply.reply),
                (time.monotonic() - began_s) * 1_000,
            )
            if reply.write is not None:
                if not held_s:
                    send(stdout)
                reply.write(request)
        if reply.slower is not None and held_s:
            # The App is free again: no other hook waits for this one.
            with suppress(RecollectError), self._own(*place) as app:
                reply = reply.slower[1](replace(request, app=app, until_s=held_s))
            stdout, took_ms = (
                agents.agent(host).render(event_name, reply.reply),
                (time.monotonic() - began_s) * 1_000,
            )

        def finish(confirmed: bool) -> None:
            if reply.injection is not None:
                # Where this fails, a memory is at worst shown once more.
                with suppress(RecollectError), self._open_app(*place) as app:
                    reply.finish(replace(request, app=app), confirmed and bool(stdout), took_ms)

        return Answer(stdout, finish, is_kept=not request.unwritten)

    def receive(self, pointer: Mapping[str, object]) -> Received:
        """An event that no daemon received when it happened, as the hook left it (daemon/spool.py)."""
        event = agents.parse_pointer(pointer)
        can_be_read = event.name is not EventName.PROMPT or os.path.exists(event.transcript)
        # Of an event of the future the clock was set back since: it is not waited for until then.
        is_young = (
            abs(self._clock.now().micros - event.at.micros) < _TRANSCRIPT_WITHIN_S * 1_000_000
        )
        if not can_be_read and event.transcript and is_young:
            return Received.NOT_YET
        size, mark = pointer.get("transcript_bytes"), pointer.get("mark")
        size, mark = size if isinstance(size, int) else 0, mark if isinstance(mark, str) else ""
        with self._open_app(self._place(event, event.cwd), event.cwd, {}) as app:
            if not app.writer(app.scope).put(session_ledger.make_pointer(event, size, mark)):
                return Received.KNOWN
        return Received.NEW if can_be_read else Received.LOST

    def _place(self, event: Event, cwd: str) -> str:
        """A session stays with the project that it first spoke of, wherever its agent goes."""
        with self._guard:
            known = self._places.pop(event.session_id, "")
            place = self._places[event.session_id] = (
                event.project_folder or known or event.cwd or cwd
            )
            if len(self._places) > 1_000:
                del self._places[next(iter(self._places))]
            return place

    def _is_first(self, event: str, route: str) -> bool:
        """Whether no other route has reported it yet. An agent can call us by its settings and by a plugin, at the same
        moment, with the same event: the first call is answered. Events can repeat (a turn that ends twice alike), so
        each route counts. One that lost a call lags behind and stays silent; the other goes on speaking."""
        with self._guard:
            counts = self._counts[event] = self._counts.pop(event, {})
            if len(self._counts) > 5_000:
                del self._counts[next(iter(self._counts))]
            counts[route] = counts.get(route, 0) + 1
            return all(count < counts[route] for other, count in counts.items() if other != route)

"""From the bytes that a hook was given to the bytes it prints.

Raises as `ops` does: BadInput for an event that cannot be read, StoreBusy or StoreFull where trying later helps. What
was put in front of the agent counts only when the hook has confirmed that it printed it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from importlib import import_module
from pathlib import Path

from recollect import agents
from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.base.clock import Clock, SystemClock
from recollect.base.errors import RecollectError
from recollect.model.session import Event, EventName
from recollect.ops import virtual_files
from recollect.ops.hook_reply import HookReply, HookRequest, SubagentTasks

EVENTS: dict[EventName, str] = {
    EventName.SESSION_STARTED: "session_start:start_session",
    EventName.PROMPT: "prompt_recall:answer_prompt",
    EventName.TOOL_CALLED: "tool_use:answer_call",
    EventName.TOOLS_RAN: "hook_reply:receive_event",
    EventName.TOOL_FAILED: "hook_reply:receive_event",
    EventName.TURN_ENDED: "hook_reply:receive_event",
    EventName.SUBAGENT_STARTED: "prompt_recall:brief_subagent",
    EventName.SUBAGENT_ENDED: "hook_reply:receive_event",
    EventName.COMPACTING: "hook_reply:receive_event",
    EventName.PERMISSION_DENIED: "hook_reply:receive_event",
    EventName.SESSION_ENDED: "hook_reply:end_session",
}
"""The operation behind each event, in `ops`, loaded when first needed: a first prompt does not wait for what others
need. Events not listed here are ignored."""

_MAX_SESSIONS = 1_000
_MAX_EVENTS = 5_000
_TRANSCRIPT_WITHIN_S = 60.0  # an agent makes a session's transcript when all hooks of its first prompt have ended
_ROUTE = "RECOLLECT_VIA"  # set by a plugin's calls; those that settings make have none

OpenApp = Callable[[str, str, Mapping[str, str]], AbstractContextManager[App]]
"""Opens the App of a project (its folder, the current folder, the environment) for one thread."""


@contextmanager
def open_once(project_folder: str, cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
    """For one event: hooks without a daemon, for a person who wants to see what an agent would get."""
    app = App.open(Path(project_folder or cwd), actor="agent")
    try:
        yield app
    finally:
        app.close()


class Received(Enum):
    NEW = auto()
    KNOWN = auto()  # a daemon had received it, and its hook did not learn of that in time
    NOT_YET = auto()  # there is no transcript yet: to be tried again
    LOST = auto()  # a prompt that is in no transcript: nobody will ever read it


@dataclass(frozen=True, slots=True)
class Answer:
    stdout: bytes = b""  # what the hook prints, as it is
    after: Callable[[bool], None] = lambda _confirmed: None
    """To be called once it was sent, with whether the hook confirmed that it printed it."""
    is_kept: bool = True
    """Whether the event was written down; an agent is told what is remembered even where it could not be."""


class Hooks:
    def __init__(
        self, open_app: OpenApp, folder: str | Path = "", clock: Clock | None = None, own: OpenApp | None = None
    ) -> None:
        """`folder`: where the answers of virtual files go; found from the home where none is given. `own` opens an App
        that nobody else uses, for what takes long."""
        self._open_app = open_app
        self._own = own or open_app
        self._folder = folder
        self._clock = clock or SystemClock()
        self._tasks = SubagentTasks()
        self._seen = _SeenEvents()
        self._places: OrderedDict[str, str] = OrderedDict()
        self._guard = threading.Lock()

    def answer(
        self,
        host: str,
        event_name: str,
        body: bytes,
        environ: Mapping[str, str],
        cwd: str,
        until_s: float,
        hold: Callable[[float], float] = lambda _seconds: 0.0,
        transcript_bytes: int = 0,
    ) -> Answer:
        """`until_s`, by the monotonic clock: when the answer has to be there. `hold` asks for this many seconds more
        and returns until when they are granted, 0 where they are not. `transcript_bytes`: before the event."""
        if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
            return Answer()
        host = host or agents.DEFAULT_HOST
        event = agents.parse(host, event_name, body, at=self._clock.now(), environ=environ)
        key, route = session_ledger.make_pointer(event).key, environ.get(_ROUTE, "")
        if event.name not in EVENTS or not self._seen.is_first(key, route):
            return Answer()
        place = (self._place(event, cwd), event.cwd or cwd, environ)
        module, operation = EVENTS[event.name].split(":")
        with self._open_app(*place) as app:
            folder = Path(event.reads_below or self._folder or virtual_files.answers_folder(app))
            request = HookRequest(app, event, until_s, self._tasks, folder, transcript_bytes)
            reply: HookReply = getattr(import_module(f"recollect.ops.{module}"), operation)(request)
            shows_notices = notices.are_shown(app, event.host)
        if reply.slower is not None and (held_s := hold(reply.slower.seconds)):
            # The App is free again: no other hook waits for this one.
            with suppress(RecollectError), self._own(*place) as app:
                reply = reply.slower.make(replace(request, app=app, until_s=held_s))
        stdout = agents.render(host, event_name, reply.reply if shows_notices else replace(reply.reply, notice=""))

        def finish(confirmed: bool) -> None:
            if reply.injection is not None:
                # Where this fails, a memory is at worst shown once more.
                with suppress(RecollectError), self._open_app(*place) as app:
                    reply.finish(replace(request, app=app), confirmed and bool(stdout))

        return Answer(stdout, finish, is_kept=not request.unwritten)

    def receive(self, pointer: Mapping[str, object]) -> Received:
        """An event that no daemon received when it happened, as the hook left it (daemon/spool.py)."""
        event = agents.parse_pointer(pointer)
        size, mark = pointer.get("transcript_bytes"), pointer.get("mark")
        can_be_read = event.name is not EventName.PROMPT or os.path.exists(event.transcript)
        # Of an event of the future the clock was set back since: it is not waited for until then.
        is_young = abs(self._clock.now().micros - event.at.micros) < _TRANSCRIPT_WITHIN_S * 1_000_000
        if not can_be_read and event.transcript and is_young:
            return Received.NOT_YET
        left = session_ledger.make_pointer(
            event, size if isinstance(size, int) else 0, mark if isinstance(mark, str) else ""
        )
        with self._open_app(self._place(event, event.cwd), event.cwd, {}) as app:
            if not app.writer(app.scope).put(left):
                return Received.KNOWN
        return Received.NEW if can_be_read else Received.LOST

    def _place(self, event: Event, cwd: str) -> str:
        """A session stays with the project that it first spoke of, wherever its agent goes."""
        with self._guard:
            place = event.project_folder or self._places.get(event.session_id) or event.cwd or cwd
            self._places[event.session_id] = place
            self._places.move_to_end(event.session_id)
            while len(self._places) > _MAX_SESSIONS:
                self._places.popitem(last=False)
            return place


class _SeenEvents:
    """An agent can call us by its settings and by a plugin, at the same moment, with the same event: the first call is
    answered, the other gets nothing. Events can repeat (a turn that ends twice alike), so the events of each route are
    counted. A route that lost a call lags behind and stays silent; the other goes on speaking. In memory alone."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._guard = threading.Lock()

    def is_first(self, event: str, route: str) -> bool:
        """Whether no other route has reported this one yet. `event` is the same for the same event."""
        with self._guard:
            counts = self._counts.setdefault(event, {})
            self._counts.move_to_end(event)
            while len(self._counts) > _MAX_EVENTS:
                self._counts.popitem(last=False)
            counts[route] = counts.get(route, 0) + 1
            return all(count < counts[route] for other, count in counts.items() if other != route)

"""From the bytes a hook was given to the bytes it prints.

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
from pathlib import Path
from typing import Protocol

from recollect import agents
from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.base.clock import Clock, SystemClock
from recollect.base.errors import RecollectError
from recollect.hooks.events import EVENTS
from recollect.model.session import Event, EventName
from recollect.ops import virtual_files
from recollect.ops.hook_reply import HookReply, HookRequest, SlowerReply, SubagentTasks

_MAX_SESSIONS = 1_000
_MAX_EVENTS = 5_000
_TRANSCRIPT_WITHIN_S = 60.0  # an agent makes a session's transcript when all hooks of its first prompt have ended
_ROUTE = "RECOLLECT_VIA"  # set by a plugin's calls; those that settings make have none


OwnApp = Callable[[str, str, Mapping[str, str]], AbstractContextManager[App]]
"""An App that nobody else uses, for what takes long."""


class Apps(Protocol):
    def app(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> AbstractContextManager[App]:
        """The App of a project, for one thread."""


class OneShotApps:
    """Opens an App for one event and closes it after: hooks without a daemon, for tests and for a person who wants to
    see what an agent would get."""

    @contextmanager
    def app(self, project_folder: str, cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
        app = App.open(Path(project_folder or cwd), actor="agent")
        try:
            yield app
        finally:
            app.close()


def do_nothing(_confirmed: bool) -> None:
    pass


def cannot_wait(_seconds: float) -> float:
    return 0.0


class Received(Enum):
    NEW = auto()
    KNOWN = auto()  # a daemon had received it, and its hook did not learn of that in time
    NOT_YET = auto()  # there is no transcript yet: to be tried again
    LOST = auto()  # a prompt that is in no transcript: nobody will ever read it


@dataclass(frozen=True, slots=True)
class Answer:
    stdout: bytes = b""  # what the hook prints, as it is
    after: Callable[[bool], None] = do_nothing
    """To be called once it was sent, with whether the hook confirmed that it printed it."""
    is_kept: bool = True
    """Whether the event was written down; an agent is told what is remembered even where it could not be."""


class Hooks:
    def __init__(
        self, apps: Apps, folder: str | Path = "", clock: Clock | None = None, own: OwnApp | None = None
    ) -> None:
        """`folder`: where the answers of virtual files go; found from the home where none is given. Without `own` no
        reply takes longer than a hook has."""
        self._apps = apps
        self._own = own
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
        hold: Callable[[float], float] = cannot_wait,
        transcript_bytes: int = 0,
    ) -> Answer:
        """`until_s`, by the monotonic clock: when the answer has to be there. `hold` asks for this many seconds more
        and returns until when they are granted, 0 where they are not. `transcript_bytes`: before the event."""
        if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
            return Answer()
        host = host or agents.DEFAULT_HOST
        event = agents.parse(host, event_name, body, at=self._clock.now(), environ=environ)
        row = EVENTS.get(event.name)
        if row is None or not self._seen.is_first(session_ledger.make_pointer(event).key, environ.get(_ROUTE, "")):
            return Answer()
        place = self._place(event, cwd)
        with self._apps.app(place, event.cwd or cwd, environ) as app:
            folder = Path(event.reads_below or self._folder or virtual_files.answers_folder(app))
            request = HookRequest(app, event, until_s, self._tasks, folder, transcript_bytes)
            said = row.load()(request)
            shows_notices = notices.are_shown(app, event.host)
        if said.slower is not None:  # the App is free again: no other hook waits for this one
            said = self._wait_for(said.slower, request, place, environ, hold) or said
        stdout = agents.render(host, event_name, said.reply if shows_notices else replace(said.reply, notice=""))
        return Answer(
            stdout,
            lambda confirmed: self._finish(said, request, place, environ, confirmed and bool(stdout)),
            is_kept=not request.unwritten,
        )

    def receive(self, pointer: Mapping[str, object]) -> Received:
        """An event that no daemon received when it happened, as the hook left it (wire/spool.py)."""
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
        with self._apps.app(self._place(event, event.cwd), event.cwd, {}) as app:
            is_new = session_ledger.receive_pointer(app, left)
        if not is_new:
            return Received.KNOWN
        return Received.NEW if can_be_read else Received.LOST

    def _wait_for(
        self,
        slower: SlowerReply,
        request: HookRequest,
        place: str,
        environ: Mapping[str, str],
        hold: Callable[[float], float],
    ) -> HookReply | None:
        until_s = hold(slower.seconds) if self._own else 0.0
        if until_s and self._own:
            with suppress(RecollectError), self._own(place, request.event.cwd or place, environ) as app:
                return slower.make(replace(request, app=app, until_s=until_s))
        return None

    def _finish(
        self, said: HookReply, request: HookRequest, place: str, environ: Mapping[str, str], was_printed: bool
    ) -> None:
        showing = said.showing if was_printed else None
        if said.after is None and showing is None:
            return
        # Where this fails, a memory is at worst shown once more.
        with suppress(RecollectError), self._apps.app(place, request.event.cwd or place, environ) as app:
            if showing is not None:
                session_ledger.record_shown(app, showing)
            if said.after is not None:
                said.after(replace(request, app=app), was_printed)

    def _place(self, event: Event, cwd: str) -> str:
        """A session stays with the project that it first spoke of, wherever its agent goes."""
        with self._guard:
            place = self._places.get(event.session_id) or event.project_folder or event.cwd or cwd
            self._places[event.session_id] = event.project_folder or place
            self._places.move_to_end(event.session_id)
            while len(self._places) > _MAX_SESSIONS:
                self._places.popitem(last=False)
            return self._places[event.session_id]


class _SeenEvents:
    """An event that an agent reports over two routes is answered once.

    An agent can call us by its settings and by a plugin; both calls run at the same moment, with the same event. The
    first is answered, the other gets nothing. Events can repeat (a turn that ends twice alike), so the events of each
    route are counted: the second of one route is the second of the other, not a repetition of the first.

    In memory alone. A route that lost a call (killed, too late) lags behind and stays silent: nothing is ever said
    twice, and the other route goes on speaking.
    """

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

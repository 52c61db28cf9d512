"""What can wait: loading the model, warming stores, missing vectors, the heartbeat, the spool, tidying up.

One thread does them in turn, a small piece at a time, and stands aside while a hook is being answered. Each chore is
on its own: one that fails is logged and tried again when it is next due.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.errors import BadInput, ModelError, RecollectError, StoreBusy
from recollect.base.log import Log
from recollect.daemon.apps import Apps
from recollect.daemon.model import LOADING, Model
from recollect.hooks import Hooks, Received
from recollect.model.result import Scope
from recollect.ops import asking
from recollect.ops.app import App
from recollect.ops.here import scope_here
from recollect.wire import spool
from recollect.wire.place import Place

if TYPE_CHECKING:
    from recollect.ops import digest

BEAT_S = 300.0
SPOOL_S = 5.0
TIDY_S = 60.0
VECTORS_S = 10.0
"""How often a project that was spoken of is looked through for passages without a vector."""
ALL_PROJECTS_S = 600.0
"""How often every project is gone through for transcripts that grew although nobody said so."""
QUIET_S = 1.5
"""A project whose sessions are quiet for so long is read up on."""
FEW_POINTERS = 10
_LOOKED_UP = 64  # passages that lack a vector: each look goes through all that have one
FIRST_ANSWER_WITHIN_S = 1.0
STAND_ASIDE_S = 2.0  # of unbroken hooks; then one piece is done between them
_LOOK_S = 0.005


@dataclass(slots=True)
class Chore:
    name: str
    every_s: float
    do: Callable[[], bool]
    """True: there is more to do at once."""
    heavy: bool = False
    """Takes the processor for long: stands aside while hooks come."""
    due_s: float = 0.0


class Chores:
    def __init__(self, chores: list[Chore], is_asked: Callable[[], bool], log: Log) -> None:
        self._chores = chores
        self._is_asked = is_asked
        self._log = log
        self._stopped = threading.Event()
        self._first_answer = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chores", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def first_answer_given(self) -> None:
        """Loading the model takes the interpreter to itself for long; the hook that started us goes first."""
        self._first_answer.set()

    def stop(self, within_s: float) -> None:
        self._stopped.set()
        self._first_answer.set()
        self._thread.join(within_s)

    def _run(self) -> None:
        self._first_answer.wait(FIRST_ANSWER_WITHIN_S)
        while not self._stopped.is_set():
            now_s = time.monotonic()
            for chore in self._chores:
                if chore.due_s <= now_s and not self._stopped.is_set():
                    if chore.heavy:
                        self._stand_aside()
                    more = self._done(chore)
                    chore.due_s = 0.0 if more else time.monotonic() + chore.every_s
            next_s = min(chore.due_s for chore in self._chores)
            self._stopped.wait(max(0.0, next_s - time.monotonic()))

    def _done(self, chore: Chore) -> bool:
        try:
            return chore.do()
        except RecollectError as problem:
            self._log.line("chore-failed", chore=chore.name, problem=problem.message)
        except Exception as problem:  # noqa: BLE001 a job's edge: the others go on
            self._log.line("chore-failed", chore=chore.name, problem=type(problem).__name__)
        return False

    def _stand_aside(self) -> None:
        until_s = time.monotonic() + STAND_ASIDE_S
        while self._is_asked() and time.monotonic() < until_s and not self._stopped.is_set():
            time.sleep(_LOOK_S)


class _Waiting(NamedTuple):
    scope: Scope
    model: str
    seq: int
    text: str


class Vectors:
    """Gives passages the vectors they lack, a few at a time, on connections of its own."""

    def __init__(self, apps: Apps, model: Model) -> None:
        self._apps = apps
        self._model = model
        self._app: App | None = None
        self._waiting: deque[_Waiting] = deque()
        self._told = ""
        self.given = 0

    def fill(self) -> bool:
        self._app = self._app or self._apps.background(VECTORS_S)
        if self._app is None:
            return False
        try:
            given = self._fill_some(self._app)
        except ModelError as problem:
            self.close()
            if problem.message in (LOADING, self._told):  # once is enough: it is tried again every few seconds
                return False
            self._told = problem.message
            raise
        except BaseException:
            self.close()
            raise
        self._told = ""
        if not given:
            self.close()
        return True  # here, or in the next project

    def close(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None
        self._waiting.clear()

    def _fill_some(self, app: App) -> int:
        """Of what waits a few; once nothing does, vectors of a model that was in use before are taken away."""
        embedder = self._model.embedder(self._apps.embedding_model())
        if not self._waiting:
            self._waiting.extend(
                _Waiting(scope, embedder.id, seq, text)
                for scope, _ in app.scopes()
                for seq, text in app.writing(scope).vectorless(embedder.id, _LOOKED_UP)
            )
        if not self._waiting:
            return sum(asking.settle_vectors(app.writing(scope), embedder.id) for scope, _ in app.scopes())
        first = self._waiting[0]
        few = list(takewhile(lambda one: one[:2] == first[:2], islice(self._waiting, embedder.at_once)))
        if first.model == embedder.id:  # else the setting changed meanwhile
            vectors = embedder.embed([one.text for one in few])
            made = [(one.seq, row.tobytes()) for one, row in zip(few, vectors, strict=True)]
            app.writing(first.scope).put_vectors(embedder.id, made)
            self.given += len(few)
        for _ in few:
            self._waiting.popleft()
        return len(few)


class Digests:
    """Reads what sessions left, a few pointers at a time, on connections of its own. At the start, and every so often,
    it goes through every project: a session may have gone on while no hook could reach a daemon."""

    def __init__(self, apps: Apps) -> None:
        self._apps = apps
        self._app: App | None = None
        self._held: digest.Held | None = None
        self._roots: list[str] = []
        """Of projects that are still to be gone through."""
        self._through_s = float("-inf")

    def read_some(self) -> bool:
        self._app = self._app or self._apps.told(QUIET_S) or self._next_project()
        if self._app is None:
            return False
        from recollect.ops import digest  # no first answer waits for it

        self._held = self._held or digest.Held()
        try:
            more = digest.some(self._app, self._held)
        except BaseException:
            self.close()
            raise
        if not more:
            self.close()
        return True  # here, or in the next project

    def close(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None

    def _next_project(self) -> App | None:
        now_s = time.monotonic()
        if not self._roots and now_s - self._through_s >= ALL_PROJECTS_S:
            self._roots, self._through_s = self._apps.roots_kept(), now_s
        while self._roots:
            app = self._apps.of(self._roots.pop())
            if app.store_path(scope_here(app)) is not None:
                return app
            app.close()
        return None


class Spooled:
    """Events that hooks left for later. A pointer is deleted once its event is committed; taking one in twice does
    nothing the second time, so a daemon that ends in between does no harm."""

    def __init__(self, place: Place, hooks: Hooks, log: Log) -> None:
        self._place = place
        self._hooks = hooks
        self._log = log
        self._left: Iterator[tuple[str, dict[str, object]]] | None = None
        self._refused: set[str] = set()
        """Not tried again in this life; whatever it was may be mended by the next."""
        self.received = 0
        """Those that no daemon had taken."""
        self.lost = 0
        """Of those, the ones whose words were never written down."""

    def receive_some(self) -> bool:
        self._left = self._left or spool.drain(self._place)
        for _ in range(FEW_POINTERS):
            found = next(self._left, None)
            if found is None or not self._receive(*found):
                self._left = None
                return False
        return True

    def _receive(self, path: str, pointer: dict[str, object]) -> bool:
        """False: later."""
        if path in self._refused:
            return True
        try:
            received = self._hooks.receive(pointer)
            if received is Received.NOT_YET:
                return True
            self.received += received is not Received.KNOWN
            self.lost += received is Received.LOST
        except StoreBusy:
            return False
        except BadInput:
            pass  # an event of nothing that is known: there is nothing to read later
        except (RecollectError, OSError) as problem:
            self._log.line("spool-refused", hook=pointer.get("event", ""), problem=type(problem).__name__)
            self._refused.add(path)
            return True
        with suppress(OSError):
            os.unlink(path)
        return True

"""What the operation behind a hook is given, and what it returns: a reply, and what is written once it was delivered.

A store that cannot be written does not keep an agent from being told what is remembered: the failure is logged and the
work goes on. A damaged store is reported to the caller.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.app.session_ledger import Showing
from recollect.base.errors import RecollectError, StoreDamaged
from recollect.model.codec import Json
from recollect.model.memory import Memory
from recollect.model.query import ALWAYS_LOADED, Drop, Hit
from recollect.model.result import Found, Recollection, Scope
from recollect.model.session import Event, LedgerKey, Reply, ToolCall, Way, memory_of
from recollect.ops import virtual_files
from recollect.ops.recall import record_recall
from recollect.render.inject import Injection

_MAX_SESSIONS = 200
_MAX_TASKS = 20
_TASK_CHARS = 4_000


class SubagentTasks:
    """What subagents were just given to do. The start of a subagent does not say; the call before it did. In memory
    alone: these are a person's or an agent's own words."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, list[tuple[str, str]]] = OrderedDict()
        self._guard = threading.Lock()

    def add(self, session: str, call: ToolCall) -> None:
        task, kind = call.input.get("prompt"), call.input.get("subagent_type")
        if not isinstance(task, str) or not (isinstance(kind, str) or "description" in call.input):
            return
        with self._guard:
            tasks = self._tasks.setdefault(session, [])
            tasks.append((kind if isinstance(kind, str) else "", task[:_TASK_CHARS]))
            del tasks[:-_MAX_TASKS]
            self._tasks.move_to_end(session)
            while len(self._tasks) > _MAX_SESSIONS:
                self._tasks.popitem(last=False)

    def pop(self, session: str, kind: str) -> str:
        """The oldest task for this kind of agent; else the oldest. Empty: none is known."""
        with self._guard:
            tasks = self._tasks.get(session, [])
            which = next((number for number, (to, _) in enumerate(tasks) if to == kind), 0)
            return tasks.pop(which)[1] if tasks else ""

    def forget(self, session: str) -> None:
        with self._guard:
            self._tasks.pop(session, None)


@dataclass(frozen=True, slots=True)
class HookRequest:
    app: App
    event: Event
    until_s: float  # by the monotonic clock: when the reply has to be there
    tasks: SubagentTasks
    folder: Path  # where the answers of virtual files go
    transcript_bytes: int = 0  # how long the transcript was before the event
    unwritten: list[str] = field(default_factory=list)
    """What could not be written so far, and why. Then the hook keeps its pointer."""

    @property
    def left_s(self) -> float:
        return self.until_s - time.monotonic()

    def write(self, write: Callable[[], None]) -> bool:
        """One transaction. False where the store could not be written, which is logged."""
        try:
            with self.app.writer(self.app.scope).transaction():
                write()
        except StoreDamaged:
            raise
        except RecollectError as problem:
            self.app.log.line(
                "not-kept", of=self.event.name, session=self.event.session_id, problem=problem.message
            )  # fmt: skip
            self.unwritten.append(problem.message)
            return False
        return True

    def receive(self) -> None:
        """The event is kept for later: where to read it, not what it says."""
        session_ledger.receive_pointer(self.app, session_ledger.make_pointer(self.event, self.transcript_bytes))


@dataclass(frozen=True, slots=True)
class SlowerReply:
    """A better reply that takes longer than a hook usually has."""

    seconds: float
    make: Callable[[HookRequest], HookReply]
    """Called with an App of its own, so that no other hook waits for it, and with more time."""


@dataclass(frozen=True, slots=True)
class HookReply:
    reply: Reply = field(default_factory=Reply)
    showing: Showing | None = None  # what counts as shown once the reply was printed
    after: Callable[[HookRequest, bool], None] | None = None
    """What nobody waits for: called with the same event, an App of its own, and whether the reply was printed."""
    slower: SlowerReply | None = None  # given instead of this one, where the hook can wait for it


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search for a prompt brought: memories and where each is kept, or why it was not searched."""

    found: Found | None
    why_not: str = ""
    failed: bool = False  # the store refused, which is worth telling the person

    @property
    def hits(self) -> tuple[Hit, ...]:
        return tuple(one.hit for one in self.found.found) if self.found else ()

    @property
    def scopes(self) -> dict[str, Scope]:
        return {one.hit.memory.id: one.scope for one in self.found.found} if self.found else {}

    def with_remark(self, remark: str) -> Outcome:
        """With something more about how it was searched."""
        return replace(self, found=replace(self.found, how=f"{self.found.how}; {remark}")) if self.found else self


NOT_SEARCHED = Outcome(None, "not asked")
NOTHING_TO_SEARCH = Outcome(None, "nothing to look for")


def inject(
    said: Injection,
    talker: LedgerKey,
    scopes: Mapping[str, Scope],
    after: Callable[[HookRequest, bool], None],
    *,
    notice: str = "",
    way: Way = Way.TOLD,
    call: str = "",
) -> HookReply:
    """Puts a text in front of the agent. `scopes`: where each memory in it is kept."""
    marks = {mark: scopes[memory_of(mark)] for mark in said.shown}
    showing = Showing(talker=talker, marks=marks, way=way, call=call) if marks else None
    return HookReply(Reply(context=said.text, notice=notice, shown=said.shown), showing, after)


def found_without_search(app: App, what: str, memories: Iterable[tuple[Scope, Hit]], how: str) -> Found:
    listed = tuple(Recollection(scope, hit, hit.memory.weight) for scope, hit in memories)
    return Found(app.mint.draw("recall"), what, app.clock.now(), listed, (), how)


def receive_event(request: HookRequest) -> HookReply:
    """Kept for later; nothing is said. It must be written, or the hook is told that it was not."""
    request.receive()
    return HookReply()


def end_session(request: HookRequest) -> HookReply:
    """The session's runtime files go, what is durable stays."""
    event = request.event
    virtual_files.remove_answers(request.folder, event.session_id, with_folder=bool(event.reads_below))
    request.tasks.forget(event.session_id)
    return receive_event(request)


# What is written once it is known whether the reply was delivered


def record_and_log(request: HookRequest, outcome: Outcome, said: Injection, delivered: bool) -> None:
    if outcome.found is not None:
        request.write(lambda: record_search(request, outcome, said, delivered))
    log_reply(request, outcome, said, delivered)


def record_search(request: HookRequest, outcome: Outcome, said: Injection, delivered: bool) -> None:
    """For `why`: without what there was no room for."""
    if outcome.found is None:
        return
    left_out = {drop.id for drop in said.left_out}
    kept = tuple(one for one in outcome.found.found if one.hit.memory.id not in left_out)
    found = replace(outcome.found, found=kept, drops=(*said.left_out, *outcome.found.drops))
    record_recall(request.app, found, _injected(request, said, delivered))


def record_listed(
    request: HookRequest, what: str, memories: Sequence[tuple[Scope, Memory]], said: Injection, delivered: bool
) -> None:
    """So that `why` can say of something that was simply loaded that it was, and when."""
    ids = {memory_of(mark) for mark in said.shown}
    hits = [(scope, Hit(memory, 1.0, (("listed", 1.0),))) for scope, memory in memories if memory.id in ids]
    found = replace(found_without_search(request.app, what, hits, ALWAYS_LOADED), drops=said.left_out)
    record_recall(request.app, found, _injected(request, said, delivered))


def _injected(request: HookRequest, said: Injection, delivered: bool) -> dict[str, Json]:
    event = request.event
    return {
        "event": str(event.name), "session": event.session_id, "agent": event.agent_id, "chars": len(said.text),
        "delivered": delivered,
    }  # fmt: skip


def log_reply(request: HookRequest, outcome: Outcome, said: Injection, delivered: bool) -> None:
    found, event = outcome.found, request.event
    dropped = _count_reasons([*(found.drops if found else ()), *said.left_out])
    searched = {"recall": found.id, "how": found.how, "ms": round(found.ms, 1)} if found else {"not": outcome.why_not}
    request.app.log.line(
        str(event.name),
        session=event.session_id,
        **({"agent": event.agent_id} if event.agent_id else {}),
        **({"source": event.source} if event.source else {}),
        **searched,
        shown=len(said.shown) if delivered else 0,
        chars=len(said.text) if delivered else 0,
        **({} if delivered or not said.text else {"undelivered": len(said.shown)}),
        **({"dropped": dropped} if dropped else {}),
    )


def _count_reasons(drops: Iterable[Drop]) -> str:
    counts = Counter(drop.reason.partition(" (")[0] for drop in drops)
    return ",".join(f"{reason}:{count}" for reason, count in sorted(counts.items()))

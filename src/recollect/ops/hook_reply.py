"""What the operation behind a hook is given (a request) and what it returns: a reply, and what is written once that was
printed; and events that need no answer. A store that cannot be written does not keep an agent from being told what is
remembered: the failure is logged and the work goes on. A store that is
damaged, or that a newer Recollect wrote, is reported to the caller."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path

from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.states import count_answer
from recollect.base.errors import RecollectError, StoreDamaged, StoreTooNew
from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.structs import Struct, field, replace
from recollect.base.text import blake2b
from recollect.model.codec import Json
from recollect.model.memory import Memory
from recollect.model.query import ALWAYS_LOADED, Hit
from recollect.model.result import Found, Recollection, Scope
from recollect.model.session import Event, EventName, LedgerKey, Reply, ToolCall, Way, memory_of
from recollect.render.inject import Injection

_MAX_TASKS = 500
_TASK_CHARS = 4_000


class SubagentTasks:
    """What subagents were given to do: their start does not say, the call before it did. Words, so in memory alone."""

    def __init__(self) -> None:
        self._tasks: deque[tuple[str, str, str]] = deque(
            maxlen=_MAX_TASKS
        )  # session, kind of agent, task
        self._guard = threading.Lock()

    def add(self, session: str, call: ToolCall) -> None:
        task, kind = call.input.get("prompt"), call.input.get("subagent_type")
        if isinstance(task, str) and (isinstance(kind, str) or "description" in call.input):
            with self._guard:
                self._tasks.append(
                    (session, kind if isinstance(kind, str) else "", task[:_TASK_CHARS])
                )

    def pop(self, session: str, kind: str) -> str:
        """The session's oldest task for this kind of agent, or its oldest at all. Empty if none is known."""
        with self._guard:
            own = [one for one in self._tasks if one[0] == session]
            for found in [one for one in own if one[1] == kind] or own:
                self._tasks.remove(found)
                return found[2]
        return ""


class HookRequest(Struct):
    app: App
    event: Event
    until_s: float  # by the monotonic clock: when the reply has to be there
    tasks: SubagentTasks
    folder: Path  # where the answers of virtual files go
    transcript_bytes: int = 0  # how long the transcript was before the event
    unwritten: list[str] = field(
        default_factory=list
    )  # why something was not: then the hook keeps its pointer

    @property
    def left_s(self) -> float:
        return self.until_s - time.monotonic()

    @property
    def session_folder(self) -> Path:
        """Of the answers of this session; no part of a session's id becomes a name on disk."""
        session = self.event.session_id.encode("utf-8", "replace")
        return self.folder / blake2b(session, digest_size=12).hexdigest()

    def write(self, write: Callable[[], object]) -> bool:
        """One transaction. False where the store could not be written, which is logged."""
        try:
            with self._transaction():
                write()
        except (StoreDamaged, StoreTooNew):
            raise
        except RecollectError as problem:
            event = self.event
            self.app.log.line(
                "not-kept", of=event.name, session=event.session_id, problem=problem.message
            )
            self.unwritten.append(problem.message)
            return False
        return True

    def log_late(self, left_out: str) -> None:
        self.app.log.line("late", session=self.event.session_id, left_out=left_out)

    def receive(self) -> None:
        """Keep the event for later: where to read it, not what it says."""
        pointer = session_ledger.make_pointer(self.event, self.transcript_bytes)
        with self._transaction():
            self.app.writer(self.app.scope).put(pointer)

    def _transaction(self) -> AbstractContextManager[None]:
        """Where a transcript holds the words, the disk is not waited for: what the machine's crash takes is read again.
        The start of a session is what makes its transcript known."""
        is_first = self.event.name is EventName.SESSION_STARTED
        durable = is_first or not self.event.transcript
        return self.app.writer(self.app.scope).transaction(durable=durable)


class PromptSearch(Struct):
    """What a search for a prompt brought, or why nothing was searched."""

    found: Found | None
    why_not: str = ""
    failed: bool = False  # the store refused, which is worth telling the person

    @property
    def hits(self) -> tuple[Hit, ...]:
        return tuple(one.hit for one in self.found.found) if self.found else ()

    def with_remark(self, remark: str) -> PromptSearch:
        """About how it was searched."""
        return (
            replace(self, found=replace(self.found, how=f"{self.found.how}; {remark}"))
            if self.found
            else self
        )


NOT_SEARCHED = PromptSearch(None, "not asked")
NOTHING_TO_SEARCH = PromptSearch(None, "nothing to look for")
SWITCHED_OFF = PromptSearch(None, "recall is off")


class ReplyOutcome(StrEnum):  # in the record of a recall for an agent: what became of it
    SHOWN = "shown"
    NOT_CONFIRMED = (
        "not confirmed"  # there was something to show, and the hook did not say that it printed it
    )
    NOT_SHOWN = "not shown"  # some came near, and each was left out for a reason
    NOTHING_FOUND = "nothing found"
    NOT_SEARCHED = "not searched"


class HookReply(Struct):
    reply: Reply = field(default_factory=Reply)
    injection: Injection | None = None  # None: nothing is recorded or logged
    outcome: PromptSearch = NOT_SEARCHED
    listed: Found | None = None  # what was loaded without a search
    write: Callable[[HookRequest], object] | None = (
        None  # what the reply need not wait for; nothing comes in between
    )
    record_shown: Callable[[App], None] | None = (
        None  # what counts as shown, once the reply was printed
    )
    waiting: Sequence[str] = ()  # notices that waited for this reply, which shows them
    after: Callable[[HookRequest, bool], None] | None = (
        None  # the last of all; told whether it was printed
    )
    # A better reply that takes this many seconds, for a hook that can wait, made with an App that no other waits for.
    slower: tuple[float, Callable[[HookRequest], HookReply]] | None = None

    @property
    def recalls(self) -> list[Found]:
        listed = self.listed if self.listed and self.listed.found else None
        return [found for found in (self.outcome.found, listed) if found is not None]

    def finish(self, request: HookRequest, delivered: bool, took_ms: float) -> None:
        """Writes what depends on whether the reply was printed: the ledger, the record for `why`, the log. `took_ms`:
        to make the reply."""
        app, event, injection = request.app, request.event, self.injection
        if injection is None:
            return
        from recollect.ops.recall import record_recall  # no reply waits for it

        injected: dict[str, Json] = {
            "event": str(event.name),
            "session": event.session_id,
            "agent": event.agent_id,
            "chars": len(injection.text),
            "outcome": str(self._outcome(injection, delivered)),
        }
        if injection.text:  # where there was nothing to show, nothing failed to be
            injected["delivered"] = delivered

        def write() -> None:
            if delivered and self.record_shown is not None:
                self.record_shown(app)
            left_out = {drop.id for drop in injection.left_out}
            for number, found in enumerate(self.recalls):
                kept = tuple(one for one in found.found if one.hit.memory.id not in left_out)
                told = (
                    injected if number == 0 else injected | {"chars": 0}
                )  # both in one text, which counts once
                record_recall(
                    app, replace(found, found=kept, drops=(*injection.left_out, *found.drops)), told
                )
            if not self.recalls and self.outcome is not NOT_SEARCHED:
                nothing = found_without_search(app, event.asked, (), "")
                record_recall(app, nothing, injected | {"not_searched": self.outcome.why_not})
            if delivered and self.waiting:
                notices.clear(app, self.waiting)
            count_answer(app, event.name, shown if delivered else 0, chars, took_ms)

        shown, chars = len(injection.shown), len(injection.text) if delivered else 0
        request.write(write)
        found = self.outcome.found
        drops = (*(found.drops if found else ()), *injection.left_out)
        reasons = Counter(drop.reason.partition(" (")[0] for drop in drops)
        searched = {"recall": found.id, "how": found.how, "ms": round(found.ms, 1)} if found else {}
        facts = {
            "agent": event.agent_id, "source": event.source, **(searched or {"not": self.outcome.why_not}),
            "took": round(took_ms, 1), "shown": shown if delivered else 0, "chars": chars,
            "undelivered": shown if injection.text and not delivered else "",
            "dropped": ",".join(f"{reason}:{count}" for reason, count in sorted(reasons.items())),
        }  # fmt: skip
        told = {name: value for name, value in facts.items() if value != ""}
        app.log.line(str(event.name), session=event.session_id, **told)
        if self.after is not None:
            self.after(request, delivered)

    def _outcome(self, injection: Injection, delivered: bool) -> ReplyOutcome:
        if injection.text:
            return ReplyOutcome.SHOWN if delivered else ReplyOutcome.NOT_CONFIRMED
        found = self.outcome.found
        if found is None:
            return ReplyOutcome.NOT_SEARCHED
        return ReplyOutcome.NOT_SHOWN if found.drops else ReplyOutcome.NOTHING_FOUND


def inject(
    request: HookRequest, injection: Injection, key: LedgerKey, outcome: PromptSearch = NOT_SEARCHED,
    listed: Found | None = None, *, notice: Sequence[str] | None = None, way: Way = Way.TOLD, call: str = "",
) -> HookReply:  # fmt: skip
    """Puts a text before the agent. `notice`: lines for the person, after those that waited; None: it shows none."""
    waiting, told = list[str](), ""
    if notice is not None and notices.are_shown(request.app, request.event.host):
        waiting = notices.waiting(request.app)
        told = "\n".join(filter(None, (*waiting, *notice)))
    reply = Reply(context=injection.text, notice=told)
    made = HookReply(reply, injection, outcome, listed, waiting=waiting)
    scopes = {one.hit.memory.id: one.scope for found in made.recalls for one in found.found}
    marks = {mark: scopes[memory_of(mark)] for mark in injection.shown}
    shown = partial(session_ledger.record_shown, key=key, marks=marks, way=way, call=call)
    return replace(made, record_shown=shown if marks else None)


def list_loaded(
    app: App, what: str, memories: Mapping[str, tuple[Scope, Memory]], injection: Injection
) -> Found:
    """So that `why` can say of something that was simply loaded that it was, and when."""
    ids = {memory_of(mark) for mark in injection.shown}
    hits = [
        (scope, Hit(memory, 1.0, (("listed", 1.0),)))
        for scope, memory in memories.values()
        if memory.id in ids
    ]
    return found_without_search(app, what, hits, ALWAYS_LOADED)


def found_without_search(app: App, what: str, hits: Iterable[tuple[Scope, Hit]], how: str) -> Found:
    listed = tuple(Recollection(scope, hit, hit.memory.weight) for scope, hit in hits)
    return Found(app.mint.draw("recall"), what, app.clock.now(), listed, (), how)


def receive_event(request: HookRequest) -> HookReply:
    """Kept for later; nothing is said. Where it cannot be written, a client that left no pointer is told."""
    return HookReply(write=HookRequest.receive)


def end_turn(request: HookRequest) -> HookReply:
    """Kept for later. The person is shown the notices that wait: of rules in the turn's prompt, for one."""
    reply = inject(request, Injection(), LedgerKey(request.event.session_id), notice=())
    return replace(reply if reply.waiting else HookReply(), write=HookRequest.receive)


# Answers of virtual files (tool_use.py) stand in a private folder per session until it ends or a day has passed: agents
# read files again after compaction.


def end_session(request: HookRequest) -> HookReply:
    """Removes the session's runtime files; what is durable stays."""
    _remove_folder(request.session_folder)
    if (
        request.event.reads_below
    ):  # it stands among an agent's own files, where nothing of ours stays without use
        with suppress(OSError):
            os.rmdir(request.folder)
            os.rmdir(request.folder.parent)
    return receive_event(request)


def sweep_old_answers(folder: Path, now: Moment) -> None:
    """Removes the answers of sessions that never ended, and answers dated in the future."""
    now_s = now.micros / 1_000_000
    with suppress(OSError):
        for session in [one for one in os.scandir(folder) if one.is_dir(follow_symlinks=False)]:
            newest_s = max(
                os.stat(path).st_mtime for path in (session.path, *os.scandir(session.path))
            )
            if abs(now_s - newest_s) > DAY_SECONDS:
                _remove_folder(Path(session.path))


def _remove_folder(folder: Path) -> None:
    import shutil  # its import takes longer than all the rest of this file

    shutil.rmtree(folder, ignore_errors=True)

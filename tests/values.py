"""Small makers of values for tests: one clock that stands still, ids that rise, memories of few words."""

from dataclasses import replace
from typing import Any, TypeVar

from recollect.base.clock import FixedClock
from recollect.base.ids import Mint
from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules
from recollect.model.memory import Bridge, BridgeType, Memory, Message, Note, Rule, Thread
from recollect.model.plan import Change, Plan
from recollect.store import ChangeHeader

NOW = Moment.parse("2026-02-01T08:30:00Z")
AGE = AgeRules()
MINT = Mint(FixedClock(NOW))

M = TypeVar("M", bound=Memory)


def _made(kind: type[M], title: str, days_old: float, fields: dict[str, Any]) -> M:
    born = NOW.plus(days=-days_old)
    times = {"created_at": born, "reinforced_at": born, "last_active_at": born}
    shared = {"id": MINT.draw(str(kind.kind)), "title": title, "body": f"About {title}."}
    return kind(**(shared | times | fields))


def thread(title: str, *, days_old: float = 0, **fields: Any) -> Thread:
    return _made(Thread, title, days_old, fields)


def rule(title: str, *, days_old: float = 0, **fields: Any) -> Rule:
    return _made(Rule, title, days_old, fields)


def note(title: str, *, days_old: float = 0, **fields: Any) -> Note:
    return _made(Note, title, days_old, fields)


def messages(thread: Thread, *contents: str) -> tuple[Message, ...]:
    """A second apart, oldest first."""
    return tuple(
        Message(MINT.draw("message"), thread.id, thread.created_at.plus(seconds=i), "user", content)
        for i, content in enumerate(contents)
    )


def bridge(
    source: Memory, target: Memory, type: BridgeType = BridgeType.EXTENDS, weight: float = 0.5
) -> Bridge:
    return Bridge(source.id, target.id, type, weight, NOW)


def plan(*changes: Change) -> Plan:
    return Plan.of(changes)


def act(
    op: str = "test", *, undoes: str | None = None, summary: str = "", at: Moment = NOW
) -> ChangeHeader:
    return ChangeHeader(MINT.draw("change"), op, "user", summary, at, undoes)


def renamed(memory: M, title: str) -> M:
    return replace(memory, title=title)

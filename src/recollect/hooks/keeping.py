"""What is kept of an answer: one transaction of marks, a line for `why`, a line in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from recollect.base.errors import RecollectError, StoreDamaged
from recollect.hooks.visit import Visit
from recollect.model.query import Drop
from recollect.ops import briefs, recalls
from recollect.ops.here import scope_here
from recollect.render import inject


def together(visit: Visit, write: Callable[[], None]) -> bool:
    """One transaction. False where the store could not be written, which is logged."""
    app, event = visit.app, visit.event
    try:
        with app.writing(scope_here(app)).together():
            write()
    except StoreDamaged:
        raise
    except RecollectError as problem:
        app.log.line("not-kept", of=event.name, session=event.session_id, problem=problem.message)
        visit.unwritten.append(problem.message)
        return False
    return True


def note(visit: Visit, mind: briefs.Mind, said: inject.Injection, delivered: bool) -> None:
    if mind.found is not None:
        recalls.note(visit.app, mind.with_drops(said.left_out), injected(visit, said, delivered))


def injected(visit: Visit, said: inject.Injection, delivered: bool) -> recalls.Injected:
    event = visit.event
    return recalls.Injected(
        session=event.session_id, event=event.name, agent=event.agent_id, chars=len(said.text), delivered=delivered
    )


def log(visit: Visit, mind: briefs.Mind, said: inject.Injection, delivered: bool) -> None:
    found, event = mind.found, visit.event
    drops = _tallied([*(found.drops if found else ()), *said.left_out])
    searched = {"recall": found.id, "how": found.how, "ms": round(found.ms, 1)} if found else {"not": mind.why_not}
    visit.app.log.line(
        str(event.name),
        session=event.session_id,
        **({"agent": event.agent_id} if event.agent_id else {}),
        **({"source": event.source} if event.source else {}),
        **searched,
        shown=len(said.shown) if delivered else 0,
        chars=len(said.text) if delivered else 0,
        **({} if delivered or not said.text else {"undelivered": len(said.shown)}),
        **({"dropped": drops} if drops else {}),
    )


def _tallied(drops: Iterable[Drop]) -> str:
    return ",".join(
        f"{reason}:{count}"
        for reason, count in sorted(Counter(drop.reason.partition(" (")[0] for drop in drops).items())
    )

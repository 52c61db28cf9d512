"""`outcomes`: how calls, turns and subagents ended, as it was recorded, and the memories that had a part in it."""

from __future__ import annotations

from typing import Annotated

from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.base.text import one_line
from recollect.model.report import Outcomes, RecordedOutcome
from recollect.model.session import Ending, Outcome
from recollect.ops.library import Limit, parse_limit, read_day
from recollect.ops.memories import find_id
from recollect.ops.table import Arg


def outcomes(
    app: App,
    memory: Annotated[
        str | None, Arg("Only outcomes that this memory had a part in.", "[ID]")
    ] = None,
    *,
    ending: Annotated[Ending | None, Arg("Only those that ended so.")] = None,
    session: Annotated[
        str, Arg("Only this session; the beginning of its id is enough.", "ID")
    ] = "",
    since: Annotated[str | None, Arg("Only those on or after this day.", metavar="DATE")] = None,
    limit: Limit = 20,
) -> Outcomes:
    most, first_day = parse_limit(limit), read_day("since", since) or Moment(0)
    wanted = find_id(app, memory)[1] if memory else ""
    found: list[Outcome] = []
    for _, store in app.own_scopes():
        recorded = store.records(Outcome, kind=ending)
        found += [
            outcome
            for outcome in recorded
            if first_day <= outcome.at
            and outcome.session.startswith(session)
            and wanted in ("", *outcome.shown)
        ]
    found.sort(key=lambda outcome: outcome.at, reverse=True)
    return Outcomes(tuple(_row(app, outcome) for outcome in found[:most]), len(found))


def _row(app: App, outcome: Outcome) -> RecordedOutcome:
    memories = [(id, app.exact(id)) for id in outcome.shown]
    return RecordedOutcome(
        at=outcome.at,
        ending=str(outcome.kind),
        did=one_line(f"{outcome.actor}: {outcome.action}".strip(": ")),
        came=outcome.next_state,
        session=outcome.session,
        memories=tuple((id, found[1].title if found else "") for id, found in memories),
    )

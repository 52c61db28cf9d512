"""Sessions of this project: those that were heard of in the last weeks, and those that were imported; and one of them,
turn by turn. The transcript is the truth, joined with what is on record (session_turns.py); where the transcript is
gone, the record alone is shown. `outcomes`: how calls, turns and subagents ended, and the memories that had a part."""

from __future__ import annotations

import os
from functools import cache, reduce
from pathlib import Path
from typing import Annotated, NamedTuple

from recollect import agents
from recollect.app.core import App
from recollect.app.states import CURSORS, ReadTranscript
from recollect.base.errors import BadInput, NotFound
from recollect.base.moment import Moment
from recollect.base.text import estimate_tokens, one_line, storable
from recollect.jobs.transcript_reader import find_turns, is_undone
from recollect.jobs.transcripts import changed_at
from recollect.model.report import Outcomes, RecordedOutcome
from recollect.model.session import Ending, Outcome, Session, SessionCounts
from recollect.model.timeline import SessionRow, Sessions, Timeline
from recollect.ops.library import Limit, parse_limit, read_day
from recollect.ops.memories import find_id
from recollect.ops.session_turns import RawTurn, Turns, load_records, read_raw, recorded_turns
from recollect.ops.table import Arg

_LAST = "last"
_GONE = "Its transcript is gone: what follows is only what is on record."
_UNREADABLE = "No transcript of it can be read: what follows is only what is on record."


class KnownSession(NamedTuple):
    id: str
    host: str
    began: Moment
    last_at: Moment
    counts: SessionCounts
    cwd: str = ""

    @property
    def has_transcript(self) -> bool:
        return os.path.isfile(self.counts.transcript)


def listing(
    app: App,
    *,
    limit: Annotated[int, Arg("Maximum number of sessions.", metavar="N")] = 20,
    offset: Annotated[int, Arg("Skip the first N.", metavar="N")] = 0,
) -> Sessions:
    if offset < 0:
        raise BadInput(
            f"--offset is {offset}, which is less than 0.", hint="`recollect sessions --offset 20`"
        )
    known = known_sessions(app)
    page = known[offset : offset + parse_limit(limit)]
    return Sessions(tuple(map(_row, page)), len(known), offset)


def session(
    app: App,
    id: Annotated[
        str, Arg("The beginning of its id; by default the last session.", metavar="[SESSION]")
    ] = _LAST,
    *,
    turn: Annotated[
        int | None, Arg("The first turn to show; by default the last turns.", metavar="N")
    ] = None,
    limit: Annotated[int, Arg("Maximum number of turns.", metavar="N")] = 10,
) -> Timeline:
    one, most = _find(app, id), parse_limit(limit)
    if turn is not None and turn < 1:
        raise BadInput(
            f"--turn is {turn}; turns are counted from 1.", hint="`recollect session --turn 1`"
        )
    records = load_records(app, one.id)
    note = _UNREADABLE if not one.counts.transcript else "" if one.has_transcript else _GONE
    begun = RawTurn(0, one.began, folder=one.cwd)
    if note:
        turns = recorded_turns(records)
        total, first = len(turns), _first(turn, most, len(turns))
        raw = [*([begun] if first == 1 else ()), *turns[first - 1 : first - 1 + most]]
        until, following = next(((each.at, "") for each in turns[first - 1 + most :]), (None, ""))
    else:
        path = Path(one.counts.transcript)
        starts, reading = find_turns(app, one.host, path)
        total, first = len(starts), _first(turn, most, len(starts))
        raw = list(read_raw(app, one.host, path, starts, reading, first, most, begun))
        until, following = next(
            ((each.at, each.id) for each in starts[first - 1 + most :]), (None, "")
        )
    steps = Turns(app, one.id, records, raw, until, following).steps()
    return Timeline(_row(one), tuple(steps), total, note)


def _first(turn: int | None, most: int, total: int) -> int:
    if turn is not None and turn > max(1, total):
        raise BadInput(
            f"It has {total} turns, and no turn {turn}.",
            hint="`recollect session ID` shows the last ones.",
        )
    return turn or max(1, total - most + 1)


def _find(app: App, id: str) -> KnownSession:
    known, id = known_sessions(app), storable(id).strip()
    fitting = known[:1] if id in ("", _LAST) else [one for one in known if one.id == id]
    fitting = fitting or [one for one in known if one.id.startswith(id)]
    if len(fitting) > 1:
        raise BadInput(f"{len(fitting)} sessions begin with {id!r}.", hint="Name more of the id.")
    if not fitting:
        message = (
            f"No session begins with {id!r}."
            if id not in ("", _LAST)
            else "No session is known here yet."
        )
        raise NotFound(
            message,
            hint="`recollect sessions` lists them; `recollect import sessions` reads past ones.",
        )
    return fitting[0]


def known_sessions(app: App) -> list[KnownSession]:
    """Newest first, without those in which nobody has spoken."""
    store = app.reader(app.scope)
    heard = {one.id: one for one in store.records(Session, agent="")}
    read: dict[str, ReadTranscript] = {}
    is_taken_back = cache(lambda change: is_undone(store, change))
    for one in CURSORS.find_all(store).values():
        stands = any(not is_taken_back(part.change) for part in one.parts)
        if stands and not one.agent and _last_at(one) >= _last_at(read.get(one.session)):
            read[one.session] = one
    counts = [own.session_counts() for _, own in app.scopes()]
    found = [_join(id, heard.get(id), read.get(id), counts) for id in heard.keys() | read.keys()]
    return sorted(
        (one for one in found if one.counts.prompts),
        key=lambda one: (one.last_at, one.id),
        reverse=True,
    )


def _last_at(one: ReadTranscript | None) -> Moment:
    times = [part.last_at for part in one.parts if part.last_at] if one else []
    return max(times, default=Moment(0))


def _join(
    id: str,
    heard: Session | None,
    read: ReadTranscript | None,
    counts: list[dict[str, SessionCounts]],
) -> KnownSession:
    count = reduce(SessionCounts.plus, (one[id] for one in counts if id in one), SessionCounts())
    if read is not None:
        prompts = max(count.prompts, sum(part.prompts for part in read.parts))
        count = count._replace(prompts=prompts, transcript=read.path)
    began = [part.began for part in read.parts if part.began] if read else []
    last = [_last_at(read)] if began else []
    if heard is not None:
        began, last = [*began, heard.started_at], [*last, heard.last_at]
    if read is not None and not began:
        began = last = [Moment(changed_at(read.path, read.read_at.micros))]
    host = heard.host if heard else read.host if read else ""
    return KnownSession(id, host, min(began), max(last), count, read.cwd if read else "")


def _row(one: KnownSession) -> SessionRow:
    count = one.counts
    return SessionRow(
        one.id, agents.title_of(one.host), one.began, one.last_at, count.prompts, count.told, count.kept,
        estimate_tokens(count.chars), one.has_transcript,
    )  # fmt: skip


def outcomes(
    app: App,
    memory: Annotated[
        str | None, Arg("Only outcomes that this memory had a part in.", "[ID]")
    ] = None,
    *,
    ending: Annotated[Ending | None, Arg("Only those that ended this way.")] = None,
    session: Annotated[
        str, Arg("Only this session; the beginning of its id is enough.", "ID")
    ] = "",
    since: Annotated[str | None, Arg("Only those on or after this day.", metavar="DATE")] = None,
    limit: Limit = 20,
) -> Outcomes:
    most = parse_limit(limit)
    first_day = read_day("since", since) or Moment(0)
    wanted = find_id(app, memory)[1] if memory else ""
    matching: list[Outcome] = []
    for _, store in app.own_scopes():
        matching += [
            outcome
            for outcome in store.records(Outcome, kind=ending)
            if first_day <= outcome.at
            and outcome.session.startswith(session)
            and wanted in ("", *outcome.shown)
        ]
    matching.sort(key=lambda outcome: outcome.at, reverse=True)
    rows = tuple(_outcome_row(app, outcome) for outcome in matching[:most])
    return Outcomes(rows, len(matching))


def _outcome_row(app: App, outcome: Outcome) -> RecordedOutcome:
    shown: list[tuple[str, str]] = []
    for id in outcome.shown:
        known = app.exact(id)
        shown.append((id, known[1].title if known else ""))
    return RecordedOutcome(
        at=outcome.at,
        ending=str(outcome.kind),
        did=one_line(f"{outcome.actor}: {outcome.action}".strip(": ")),
        came=outcome.next_state,
        session=outcome.session,
        memories=tuple(shown),
    )

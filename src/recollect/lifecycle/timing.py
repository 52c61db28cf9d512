"""Time in our own units: the heartbeat's beats of five minutes, and jobs that are due by a count of sessions.

Beats are counted by the clock, whoever looks and however often. A clock that was set back takes no beat away."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.model.session import BEAT_MINUTES, Heartbeat

# A beat is five minutes so that `since_last <= 2` reads as "still talking".
BEAT_SECONDS = 60 * BEAT_MINUTES
_BEAT_MICROS = BEAT_SECONDS * 1_000_000


def new_heartbeat(now: Moment) -> Heartbeat:
    return Heartbeat(0, now, now, now, 0)


def tick(heart: Heartbeat, now: Moment) -> Heartbeat:
    """Adds the beats that have passed since."""
    if now < heart.last_beat_at:
        heard = min(heart.last_interaction_at, now)
        return replace(heart, last_beat_at=now, last_interaction_at=heard, started_at=min(heart.started_at, now))
    missed = (now.micros - heart.last_beat_at.micros) // _BEAT_MICROS
    last = Moment(heart.last_beat_at.micros + missed * _BEAT_MICROS)
    return replace(heart, beat=heart.beat + missed, last_beat_at=last) if missed else heart


def record_interaction(heart: Heartbeat, now: Moment) -> Heartbeat:
    """Someone spoke. Read `since_last` before calling this."""
    heart = tick(heart, now)
    return replace(heart, last_interaction_at=now, last_interaction_beat=heart.beat)


class DueState(StrEnum):
    WAIT = "wait"
    BASELINE = "baseline"  # only record this session as the starting point
    RUN = "run"


class Schedule(NamedTuple):
    offset: int
    cycle: int

    def last_point(self, session: int) -> int:
        """The last session number so far at which the job was due; 0 or less: none yet."""
        return session - (session - self.offset) % self.cycle

    def next_point(self, session: int) -> int:
        return self.last_point(session) + self.cycle

    def due_state(self, session: int, last: int | None) -> DueState:
        """`last`: the session of its last run or baseline; None: it never ran."""
        if last is not None and session < last:
            return DueState.BASELINE
        point = self.last_point(session)
        if point <= 0 or (last is not None and point <= last):
            return DueState.WAIT
        return DueState.BASELINE if last is None else DueState.RUN

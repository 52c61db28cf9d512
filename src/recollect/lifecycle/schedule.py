"""When a job is due, by a count of sessions: `offset/cycle`, at every session whose number leaves the offset.

A job is due once the count has reached or passed such a number since it last ran: nobody has to be there at that very
session, and a count that jumps over several owes one run. The first time only sets the baseline, and so does a count
that fell back (a backup was brought back). Counts sessions and nothing else: who runs jobs is for `ops`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Turn(StrEnum):
    WAIT = "wait"
    BASELINE = "baseline"
    """Only note that it was here."""
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Schedule:
    offset: int
    cycle: int

    def last_point(self, session: int) -> int:
        """The last number up to this session at which the job is due; 0 or less: there was none yet."""
        return session - (session - self.offset) % self.cycle

    def next_point(self, session: int) -> int:
        return self.last_point(session) + self.cycle

    def turn(self, session: int, last: int | None) -> Turn:
        """`last`: the session at which it last ran, or the baseline; None: it never did."""
        if last is not None and session < last:
            return Turn.BASELINE
        point = self.last_point(session)
        if point <= 0 or (last is not None and point <= last):
            return Turn.WAIT
        return Turn.BASELINE if last is None else Turn.RUN

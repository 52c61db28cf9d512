"""The only place that reads the time of day."""

from __future__ import annotations

import time
from typing import Protocol

from recollect.base.moment import Moment


class Clock(Protocol):
    def now(self) -> Moment: ...


class SystemClock:
    def now(self) -> Moment:
        return Moment(time.time_ns() // 1_000)


class FixedClock:
    """Stands still until told otherwise: for tests and the demo."""

    def __init__(self, at: Moment) -> None:
        self.at = at

    def now(self) -> Moment:
        return self.at

"""Ends a daemon that hangs, so that the next hook starts another.

Code that never returns to the interpreter (a pattern, a library) stops every thread of the process. The timer is
faulthandler's: a thread of its own that needs no interpreter. A beat puts it off again and again; where no beat comes,
the process ends. Which text was being read is written down beforehand (jobs/reading_attempts.py).
"""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Callable
from pathlib import Path

STUCK_S = 30.0  # nothing that we call holds the interpreter for more than a second or two
LONGEST_STEP_S = 900.0  # a step of a background job takes seconds
_BEATS = 10
_MOST_REPORT_BYTES = 100_000


class Watchdog:
    def __init__(self, report: Path, step_s: Callable[[], float], stuck_s: float = STUCK_S) -> None:
        """`report`: where the places in the code are written, never a text; it stays for `doctor`. `step_s`: how long
        the current step of the jobs has taken."""
        self._report = report
        self._step_s = step_s
        self._stuck_s = stuck_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="watchdog", daemon=True)

    def start(self) -> None:
        """Armed when it returns: what comes next may never let another thread run."""
        self._report.parent.mkdir(parents=True, exist_ok=True)
        is_long = self._report.exists() and self._report.stat().st_size > _MOST_REPORT_BYTES
        self._file = self._report.open("w" if is_long else "a", encoding="ascii")
        self._arm()
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(1.0)
        faulthandler.cancel_dump_traceback_later()

    def _arm(self) -> None:
        faulthandler.dump_traceback_later(self._stuck_s, exit=True, file=self._file)

    def _beat(self) -> None:
        while not self._stopped.wait(self._stuck_s / _BEATS):
            self._arm()
            if self._step_s() > LONGEST_STEP_S:
                faulthandler.dump_traceback(file=self._file)
                os._exit(1)

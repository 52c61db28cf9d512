"""Work that goes on beside: begun now, needed later, done in a thread of its own meanwhile.

Worth it for what leaves the interpreter alone, as numpy does while it multiplies. Nobody has to fetch the outcome: who
runs out of time goes on without.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")


class Aside(Generic[Outcome]):
    def __init__(self, work: Callable[[], Outcome]) -> None:
        self._work = work
        self._outcome: Outcome | None = None
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="aside", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome = self._work()
        except Exception as problem:  # noqa: BLE001 told to who asks for the outcome
            self._problem = problem

    def wait(self, until_s: float) -> Outcome | None:
        """None where it is not there by then (monotonic clock). Raises what the work raised."""
        self._thread.join(max(0.0, until_s - time.monotonic()))
        if self._problem is not None:
            raise self._problem
        return self._outcome

"""The one embedder of the process, loaded while hooks are already being answered.

Loading takes a tenth of a second and more; nobody waits for it. Until it is there `embedder` raises what the recall
then says: words alone, and why. numpy's own threads are held to one before it is loaded (base/settings.py): a second
one makes hooks that are answered beside background embedding twenty times slower.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.errors import BadInput, ModelError, ModelLoading

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder

RETRY_S = (5.0, 120.0)
"""A folder may be written at last, an endpoint started: how long until the next try, at first and at most."""


class _Problem(NamedTuple):
    message: str
    hint: str
    retry_at_s: float
    wait_s: float


class Model:
    def __init__(self, wanted: str = "shipped", key_file: Path | None = None) -> None:
        self._loaded: dict[str, Embedder] = {}
        self._problems: dict[str, _Problem] = {}
        self._key_file = key_file
        self._guard = threading.Lock()
        self.wanted = wanted  # what the settings named last: loaded by the next `load`

    def embedder(self, name: str) -> Embedder:
        found = self._loaded.get(name)
        if found is not None:
            return found
        problem = self._problems.get(name)
        if problem is not None:
            # A new one each time: an error that is raised again and again only grows.
            raise ModelError(problem.message, hint=problem.hint)
        self.wanted = name
        raise ModelLoading

    def is_ready(self, name: str) -> bool:
        return name in self._loaded

    @property
    def state(self) -> str:
        if self.wanted in self._loaded:
            return "ready"
        return next((problem.message for problem in self._problems.values()), ModelLoading().message)

    def load(self) -> bool:
        """Loads what is wanted, one at a time; False where that is done, or was tried in vain."""
        name = self.wanted
        with self._guard:
            before = self._problems.get(name)
            if name in self._loaded or (before is not None and time.monotonic() < before.retry_at_s):
                return False
            from recollect.embed.embedder import load

            try:
                loaded = load(name, self._key_file)
            except (ModelError, BadInput) as problem:
                wait_s = min(2 * before.wait_s, RETRY_S[1]) if before else RETRY_S[0]
                self._problems = {name: _Problem(problem.message, problem.hint, time.monotonic() + wait_s, wait_s)}
                return False
            self._loaded = {name: loaded}  # one at a time: each is about 90 MB
            self._problems = {}
            return True

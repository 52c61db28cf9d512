"""The one embedder of the process, loaded while hooks are already being answered.

Loading takes a tenth of a second and more; nobody waits for it. Until it is there `embedder` raises what the recall
then says: words alone, and why. numpy has one thread (recollect/__init__.py): a second one makes hooks that are
answered beside background embedding twenty times slower.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import BadInput, ModelError, ModelLoading

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder

RETRY_S = (5.0, 120.0)
"""A folder may be written at last, an endpoint started: how long until the next try, at first and at most."""


class Model:
    def __init__(self, wanted: str = "shipped", key_file: Path | None = None) -> None:
        self.wanted = wanted  # what the settings named last: loaded by the next `load`
        self._key_file = key_file
        self._guard = threading.Lock()
        self._loaded: dict[str, Embedder] = {}  # one at most: each is about 90 MB
        self._failed: dict[str, ModelError | BadInput] = {}  # one at most
        self._retry_at_s = self._wait_s = 0.0

    def embedder(self, name: str) -> Embedder:
        found = self._loaded.get(name)
        if found is not None:
            return found
        problem = self._failed.get(name)
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
        return next((problem.message for problem in self._failed.values()), ModelLoading().message)

    def load(self) -> bool:
        """Loads what is wanted, one at a time; False where that is done, or was tried in vain."""
        name = self.wanted
        with self._guard:
            if name in self._loaded or (name in self._failed and time.monotonic() < self._retry_at_s):
                return False
            from recollect.embed.embedder import load

            try:
                self._loaded = {name: load(name, self._key_file)}
            except (ModelError, BadInput) as problem:
                self._wait_s = min(2 * self._wait_s, RETRY_S[1]) if name in self._failed else RETRY_S[0]
                self._retry_at_s = time.monotonic() + self._wait_s
                self._failed = {name: problem}
                return False
            self._failed = {}
            return True

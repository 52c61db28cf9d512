"""The one embedder of the process, loaded while hooks are already being answered.

Loading takes a tenth of a second and more; nobody waits for it. Until it is there `embedder` raises what the
recall then says: words alone, and why. numpy's own threads are held to one before it is loaded (base/settings.py):
a second one makes hooks that are answered beside background embedding twenty times slower.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from recollect.base.errors import BadInput, ModelError

if TYPE_CHECKING:
    from recollect.embed import Embedder

LOADING = "The embedding model is still being loaded."


class Model:
    def __init__(self, wanted: str = "shipped") -> None:
        self._loaded: dict[str, Embedder] = {}
        self._problems: dict[str, tuple[str, str]] = {}
        self._guard = threading.Lock()
        self.wanted = wanted
        """What the settings last named: loaded at the next chance."""

    def embedder(self, name: str) -> Embedder:
        found = self._loaded.get(name)
        if found is not None:
            return found
        problem = self._problems.get(name)
        if problem is not None:
            message, hint = problem
            raise ModelError(message, hint=hint)  # a new one: an error that is raised again and again only grows
        self.wanted = name
        raise ModelError(LOADING, hint="It takes a moment.")

    def ready(self, name: str) -> bool:
        return name in self._loaded

    @property
    def state(self) -> str:
        if self._loaded:
            return "ready"
        return next((message for message, _ in self._problems.values()), LOADING)

    def load(self) -> bool:
        """Loads what is wanted, one at a time; False where that is done, or was tried in vain."""
        name = self.wanted
        with self._guard:
            if name in self._loaded or name in self._problems:
                return False
            from recollect.embed import load

            try:
                loaded = load(name)
            except (ModelError, BadInput) as problem:
                self._problems[name] = problem.message, problem.hint
                return False
            self._loaded = {name: loaded}  # one at a time: each is about 90 MB
            return True

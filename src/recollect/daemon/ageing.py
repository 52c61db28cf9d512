"""Chore: threads that nobody used fall asleep, in every open project, every hour.

A few at a time, on connections of its own; when it was last done is known to the project's store, so that a daemon
that lives for minutes does it too, and one that lives for days does it no oftener.
"""

from __future__ import annotations

from recollect.daemon.apps import Apps
from recollect.ops import ageing
from recollect.ops.app import App

LOOK_S = 600.0
"""How often a project is asked whether it is due."""


class Ageing:
    def __init__(self, apps: Apps) -> None:
        self._apps = apps
        self._app: App | None = None
        self._runs: list[ageing.Run] = []

    def age_some(self) -> bool:
        """True: there is more to do, here or in the next project."""
        try:
            if self._app is None:
                return self._begin()
            self._runs = [run for run in self._runs if ageing.some(self._app, run)]
        except BaseException:
            self.close()
            raise
        if not self._runs:
            self.close()
        return True

    def _begin(self) -> bool:
        self._app = self._apps.unlooked(LOOK_S)
        if self._app is None:
            return False
        self._app.actor = "daemon"
        if ageing.is_due(self._app):
            self._runs = ageing.begun(self._app)
        if not self._runs:
            self.close()
        return True

    def close(self) -> None:
        self._runs = []
        if self._app is not None:
            self._app.close()
            self._app = None

"""Chore: jobs that ask language models. On a thread of its own, since an answer takes seconds, and on connections of
its own; nobody waits for it."""

from __future__ import annotations

from recollect.daemon.apps import Apps

EVERY_S = 5.0


class Thinking:
    def __init__(self, apps: Apps) -> None:
        self._apps = apps

    def think_some(self) -> bool:
        for app in self._apps.thinkers():
            try:
                from recollect.ops import jobs  # no first answer waits for it

                while jobs.work_some(app):
                    pass
            finally:
                app.close()
        return False

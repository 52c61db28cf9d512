"""Work that asks language models, in the background: a job at a time, a project at a time.

A job is `(app) -> bool`; True: there is more to do at once. It finds its own work, is called only while MEMORY_LLM is
on, and may take its time: the daemon gives it a thread and an App that nobody waits for. One that breaks is logged,
and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from recollect.base.errors import RecollectError
from recollect.ops import asks
from recollect.ops.app import App

Work = Callable[[App], bool]

JOBS: tuple[str, ...] = ()
"""`module:function` of this room, loaded when first needed."""


def work_some(app: App) -> bool:
    """One look at every job; True: there is more to do at once."""
    if not asks.is_on(app):
        return False
    more = False
    for target in JOBS:
        module, name = target.split(":")
        try:
            work: Work = getattr(import_module(f"recollect.ops.{module}"), name)
            more |= work(app)
        except RecollectError as problem:
            app.log.line("job-failed", job=target, problem=problem.message)
        except Exception as problem:  # noqa: BLE001 a job's edge: the others go on
            app.log.line("job-failed", job=target, problem=type(problem).__name__)
    return more

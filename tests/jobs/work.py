"""Runs jobs in tests: as the daemon does, without its thread."""

import os
from pathlib import Path

from recollect.app.core import App
from recollect.app.states import Memo
from recollect.base.clock import Clock, SystemClock
from recollect.base.paths import Home
from recollect.daemon.apps import Apps, Model
from recollect.jobs import runner
from recollect.jobs.runner import Task


def open_home() -> Home:
    home = Home(Path(os.environ["RECOLLECT_HOME"]))
    home.prepare()
    return home


def open_apps(clock: Clock | None = None, model: Model | None = None) -> Apps:
    return Apps(open_home(), Path.home(), clock or SystemClock(), model or Model())


def run_task(task: Task) -> int:
    """Until nothing is left to do; the number of pieces."""
    pieces = 0
    while task.step():
        pieces += 1
    return pieces


def run_job(name: str, apps: Apps) -> int:
    """As if it were due everywhere."""
    return run_task(Task(runner.job(name), apps))


def run_model_jobs(app: App) -> None:
    """Those that ask a language model by themselves, in one App."""
    if app.settings.switch("MEMORY_LLM"):
        for job in runner.JOBS:
            if job.model == "required":
                while job.function(app, Memo()):
                    pass

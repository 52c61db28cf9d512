"""Runs jobs: one thread, in turn, a small piece of each at a time, one project at a time per job.

It stands aside while a hook is being answered. A job that fails is logged and tried again when it is next due; the
others go on. Jobs that may ask a language model have a runner of their own, since an answer takes seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.base.errors import RecollectError
from recollect.base.log import Log
from recollect.jobs import session_schedule
from recollect.jobs.job_table import AfterTalk, EverySessions, Job, Memo, Model

if TYPE_CHECKING:
    from recollect.app.core import App

FIRST_ANSWER_WITHIN_S = 1.0
STAND_ASIDE_S = 2.0  # while hooks come without a pause; then one piece is done between them
LOOK_S = 2.0  # how often a job looks for a project that is due
_POLL_S = 0.005


class Projects(Protocol):
    def open_roots(self) -> Mapping[str, float]:
        """The folders of the open projects, and `/` for none; when each was last used (monotonic)."""

    def known_roots(self) -> list[str]:
        """The folders of all projects that have a memory, and `/`."""

    def background_app(self, root: str) -> App:
        """An App of its own, to be closed."""


class Runner:
    def __init__(self, jobs: Sequence[Job], projects: Projects, is_asked: Callable[[], bool], log: Log) -> None:
        self._tasks = [Task(job, projects) for job in jobs]
        self._is_asked = is_asked
        self._log = log
        self._stopped = threading.Event()
        self._first_answer = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def first_answer_given(self) -> None:
        """Loading the model holds the interpreter for long; the hook that started the process goes first."""
        self._first_answer.set()

    def stop(self, timeout_s: float) -> None:
        self._stopped.set()
        self._first_answer.set()
        self._thread.join(timeout_s)
        if not self._thread.is_alive():
            for task in self._tasks:
                task.close()

    def _run(self) -> None:
        self._first_answer.wait(FIRST_ANSWER_WITHIN_S)
        while not self._stopped.is_set():
            now_s = time.monotonic()
            for task in self._tasks:
                if task.due_s <= now_s and not self._stopped.is_set():
                    if not task.job.light:
                        self._stand_aside()
                    task.due_s = 0.0 if self._step(task) else time.monotonic() + task.look_s
            next_s = min(task.due_s for task in self._tasks)
            self._stopped.wait(max(0.0, next_s - time.monotonic()))

    def _step(self, task: Task) -> bool:
        try:
            return task.step()
        except RecollectError as problem:
            self._log.line("job-failed", job=task.job.name, problem=problem.message)
        except Exception as problem:  # noqa: BLE001 a job's edge: the others go on
            self._log.line("job-failed", job=task.job.name, problem=type(problem).__name__)
        return False

    def _stand_aside(self) -> None:
        until_s = time.monotonic() + STAND_ASIDE_S
        while self._is_asked() and time.monotonic() < until_s and not self._stopped.is_set():
            time.sleep(_POLL_S)


class Task:
    """A job on its way: in which project it is, and when it was last done in each."""

    def __init__(self, job: Job, projects: Projects) -> None:
        self.job = job
        self.due_s = 0.0
        self._projects = projects
        self._app: App | None = None
        self._root = ""
        self._done_s: dict[str, float] = {}
        self._memos: dict[str, Memo] = {}
        self._others: list[str] = []
        """Roots that are not open and still to be gone through."""
        self._everywhere_s = float("-inf")

    @property
    def look_s(self) -> float:
        """How often it looks for a project that is due."""
        when = self.job.when
        if isinstance(when, AfterTalk):
            return when.quiet_s / 4
        return min(when.seconds, LOOK_S) if isinstance(self.job.target, str) else when.seconds

    def step(self) -> bool:
        """One piece. True: there is more to do at once, here or in the next project."""
        if not isinstance(self.job.target, str):
            return bool(self.job.function())
        app = self._app = self._app or self._open_next()
        if app is None:
            return False
        more = False
        try:
            if isinstance(self.job.when, EverySessions):
                list(session_schedule.run_due(app, self.job))
            else:
                more = self.job.function(app, self._memos.setdefault(self._root, Memo()))
        finally:
            if not more:
                self.close()
        return True

    def close(self) -> None:
        app, self._app = self._app, None
        if app is not None:
            app.close()

    def _open_next(self) -> App | None:
        while (root := self._next_root()) is not None:
            app = self._projects.background_app(root)
            if self.job.model is not Model.REQUIRED or app.settings.switch("MEMORY_LLM"):
                self._root = root
                return app
            app.close()
        return None

    def _next_root(self) -> str | None:
        now_s = time.monotonic()
        used_s = self._projects.open_roots()
        self._done_s = {root: at_s for root, at_s in self._done_s.items() if root in used_s}
        self._memos = {root: memo for root, memo in self._memos.items() if root in used_s}
        when = self.job.when
        for root, at_s in used_s.items():
            done_s = self._done_s.get(root, float("-inf"))
            is_talk_over = isinstance(when, AfterTalk) and at_s > done_s and now_s - at_s >= when.quiet_s
            if is_talk_over or (not isinstance(when, AfterTalk) and now_s - done_s >= when.seconds):
                self._done_s[root] = now_s
                return root
        if isinstance(when, AfterTalk) and not self._others and now_s - self._everywhere_s >= when.everywhere_s:
            self._others, self._everywhere_s = self._projects.known_roots(), now_s
        return self._others.pop() if self._others else None

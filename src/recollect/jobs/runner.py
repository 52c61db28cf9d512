"""The table of background jobs (JOBS), and the thread that runs them in turn, a small piece of each at a time, one
project at a time per job. It stands aside while a hook is being answered. A job that fails is logged and tried again
when it is next due. A job survives being killed at any moment: the next run finds the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from recollect.app.states import JOB_RECORDS, SESSIONS, JobRecord, Memo
from recollect.base.errors import RecollectError
from recollect.base.log import Log
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.model.result import Scope
from recollect.wire import lockfile

if TYPE_CHECKING:
    from recollect.app.core import App
    from recollect.store import Store

STAND_ASIDE_S = 2.0  # while hooks come without a pause; then one piece is done between them
MAX_TRIES = 3  # per turn: what always fails does not run for ever


class Job(NamedTuple):
    """Its function: at intervals or after talk `(app, memo) -> bool`, a small piece of work; True: there is more to do
    here. By sessions `(app, run) -> Iterator[str]`, a line for the log after each piece. For each turn that is read, in
    the order of the table: `(app, part) -> Callable[[], None] | None` looks; what it returns writes with the cursor."""

    name: str
    target: str | Callable[[], object]
    """`module:function`, loaded when first needed; or a function of the process itself, which belongs to no project."""
    every_s: float = 0.0  # how often it runs in each open project; 0: for each turn that is read
    quiet_s: float | None = (
        None  # it runs once sessions were quiet for so long, and in every project each `every_s`
    )
    elsewhere_s: float = 0.0
    """How often it also runs in projects that nobody has open, whenever none that is open needs it; 0: never."""
    by_sessions: bool = (
        False  # it runs by each store's count, as MEMORY_<NAME> and MEMORY_<NAME>_SCHEDULE say
    )
    model: Literal["", "optional", "required"] = (
        ""  # asks a language model; required: runs only while MEMORY_LLM is on
    )
    remote: bool = False  # talks to another machine: in a thread of its own
    light: bool = (
        False  # takes no time worth mentioning: does not stand aside while hooks are answered
    )

    @property
    def switch(self) -> str:
        return f"MEMORY_{self.name.upper()}"

    @property
    def function(self) -> Callable[..., Any]:
        if not isinstance(self.target, str):
            return self.target
        from pkgutil import resolve_name  # no first answer waits for it

        found: Callable[..., Any] = resolve_name(f"recollect.{self.target}")
        return found


JOBS: tuple[Job, ...] = (
    Job("vectors", "app.embedding:fill", 10, elsewhere_s=60),
    Job("indexes", "app.embedding:build_indexes", 20),
    Job("transcripts", "jobs.transcripts:work", 600, quiet_s=1.5),
    Job("erasures", "ops.purge:work", 600, quiet_s=1.5),
    Job("rule-copies", "ops.install:update_copies", 60),
    Job("vaults", "jobs.vault_sync:watch", 0.6),
    Job("first commits", "app.offered_memory:note_first_commit", 3_600, quiet_s=5),
    Job("heartbeat", "app.session_ledger:tick", 300, light=True),
    Job("questions", "ops.turn_questions:ask_next", 2, model="required"),
    Job("team", "jobs.team_sync:work", 2, remote=True),
    Job("forgetting", "ops.forget:review_lowest", 600, by_sessions=True, model="optional"),
    Job("validation", "ops.validate:check_sample", 600, by_sessions=True, model="optional"),
    Job("prompts heard", "jobs.transcripts:capture_late_prompts"),
    Job("outcomes", "jobs.learning:record_outcomes"),
    Job("lessons", "jobs.learning:learn_lessons"),
    Job("threads", "jobs.turn_threads:record_turns"),
    Job(
        "session ends", "jobs.learning:finish_session"
    ),  # after all that belong to the session itself
    Job("questions noted", "ops.turn_questions:note_questions"),
)


def job(name: str) -> Job:
    return next(one for one in JOBS if one.name == name)


FORGETTING, VALIDATION = job("forgetting"), job("validation")


class Projects(Protocol):  # of the daemon. A root is the folder of a project, or `/` for none
    def open_roots(self) -> Mapping[str, float]: ...  # when each was last used (monotonic)
    def known_roots(self) -> list[str]: ...  # all that have a memory
    def background_app(self, root: str) -> App: ...  # an App of its own, to be closed


class Runner:
    def __init__(
        self, jobs: Sequence[Job], projects: Projects, is_asked: Callable[[], bool], log: Log
    ) -> None:
        self._tasks = [Task(job, projects) for job in jobs]
        self._is_asked = is_asked
        self._log = log
        self._stopped = threading.Event()
        self.first_answer_given = threading.Event()
        """Loading the model holds the interpreter for long; the hook that started the process goes first."""
        self._step_began_s = 0.0
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self.start = self._thread.start

    def step_s(self) -> float:
        """How long the step that runs now has taken; 0 where none runs."""
        began_s = self._step_began_s
        return time.monotonic() - began_s if began_s else 0.0

    def stop(self, timeout_s: float) -> None:
        self._stopped.set()
        self.first_answer_given.set()
        self._thread.join(timeout_s)
        if not self._thread.is_alive():
            for task in self._tasks:
                task.close()

    def _run(self) -> None:
        self.first_answer_given.wait(1.0)
        while not self._stopped.is_set():
            now_s = time.monotonic()
            for task in self._tasks:
                if task.due_s <= now_s and not self._stopped.is_set():
                    task.due_s = 0.0 if self._step(task) else time.monotonic() + task.look_s
            next_s = min(task.due_s for task in self._tasks)
            self._stopped.wait(max(0.0, next_s - time.monotonic()))

    def _step(self, task: Task) -> bool:
        until_s = time.monotonic() + (0.0 if task.job.light else STAND_ASIDE_S)
        while self._is_asked() and time.monotonic() < until_s and not self._stopped.is_set():
            time.sleep(0.005)
        self._step_began_s = time.monotonic()
        try:
            return task.step()
        except Exception as problem:  # noqa: BLE001 a job's edge: the others go on
            said = (
                problem.message if isinstance(problem, RecollectError) else type(problem).__name__
            )
            self._log.line("job-failed", job=task.job.name, problem=said)
            return False
        finally:
            self._step_began_s = 0.0


class Task:  # a job at work: the project it is in, and when it last ran in each
    def __init__(self, job: Job, projects: Projects) -> None:
        self.job = job
        self.due_s = 0.0
        self.look_s = job.every_s if job.quiet_s is None else job.quiet_s / 4
        if isinstance(job.target, str):
            self.look_s = min(self.look_s, 2.0)  # how often a job looks for a project that is due
        self._projects = projects
        self._app: App | None = None
        self._root = ""
        self._done_s: dict[str, float] = {}
        self._memos: dict[str, Memo] = {}
        self._others: list[str] = []  # roots that are not open and still to be gone through
        self._everywhere_s = float("-inf")
        self._is_elsewhere = False  # in a project that nobody has open, and that can wait

    def step(self) -> bool:
        """One piece. True: there is more to do at once, here or in the next project."""
        if not isinstance(self.job.target, str):
            return bool(self.job.function())
        if self._app is not None and self._is_elsewhere and self._due_root() is not None:
            self._others.append(self._root)  # who works in an open project goes first
            self.close()
        while self._app is None:
            root = self._next_root()
            if root is None:
                return False
            self._root, self._app = root, self._projects.background_app(root)
            if self.job.model == "required" and not self._app.settings.switch("MEMORY_LLM"):
                self.close()
        more = False
        try:
            if self.job.by_sessions:
                list(run_due(self._app, self.job))
            else:
                more = self.job.function(self._app, self._memos.setdefault(self._root, Memo()))
        finally:
            if not more:
                self.close()
        return True

    def close(self) -> None:
        app, self._app = self._app, None
        if app is not None:
            app.close()

    def _next_root(self) -> str | None:
        now_s = time.monotonic()
        used_s = self._projects.open_roots()
        self._done_s = {root: at_s for root, at_s in self._done_s.items() if root in used_s}
        self._memos = {root: memo for root, memo in self._memos.items() if root in used_s}
        if (due := self._due_root()) is not None:
            self._done_s[due] = now_s
            self._is_elsewhere = False
            return due
        every_s = self.job.every_s if self.job.quiet_s is not None else self.job.elsewhere_s
        if every_s and not self._others and now_s - self._everywhere_s >= every_s:
            self._others, self._everywhere_s = self._projects.known_roots(), now_s
        self._is_elsewhere = bool(self.job.elsewhere_s)
        return self._others.pop() if self._others else None

    def _due_root(self) -> str | None:
        """The first open project whose turn it is."""
        now_s, quiet_s = time.monotonic(), self.job.quiet_s
        for root, at_s in self._projects.open_roots().items():
            done_s = self._done_s.get(root, float("-inf"))
            is_talk_over = quiet_s is not None and at_s > done_s and now_s - at_s >= quiet_s
            if is_talk_over or (quiet_s is None and now_s - done_s >= self.job.every_s):
                return root
        return None


# Jobs that run every so many sessions. Each store counts its sessions, so each store has its own turn. A lock beside
# the store, which the system releases when its process ends, keeps two from running one job at a time.


class Run(NamedTuple):  # one run of a job, in one store
    scope: Scope
    session: int
    since: Moment | None  # when it last ran, or the baseline; None: never


DueState = Literal[
    "wait", "baseline", "run"
]  # a baseline only records the session as the starting point


class Schedule(NamedTuple):
    offset: int
    cycle: int

    def last_point(self, session: int) -> int:
        """The last session number so far at which the job was due; 0 or less: none yet."""
        return session - (session - self.offset) % self.cycle

    def due_state(self, session: int, last: int | None) -> DueState:
        """`last`: the session of its last run or baseline; None: it never ran."""
        if last is not None and session < last:
            return "baseline"
        point = self.last_point(session)
        if point <= 0 or (last is not None and point <= last):
            return "wait"
        return "baseline" if last is None else "run"


def run_due(app: App, job: Job) -> Iterator[str]:
    """All that is due in this project's stores."""
    app.actor = "daemon"
    for scope, store in list(app.own_scopes()):
        if app.settings.switch(job.switch) and _due_state(app, job, store) != "wait":
            try:
                for line in _run(app, job, scope):
                    app.log.line(job.name, said=line)
                    yield line
            except (
                RecollectError
            ) as problem:  # the other store goes on; this one is tried again at the next look
                app.log.line("job-failed", job=job.name, scope=scope, problem=problem.message)


def run_by_hand(app: App, job: Job) -> list[str]:
    """Runs the job in every store, whatever the schedule says. Returns its lines."""
    scopes = [scope for scope, _ in app.own_scopes()]
    return [line for scope in scopes for line in _run(app, job, scope, by_hand=True)]


def _run(app: App, job: Job, scope: Scope, *, by_hand: bool = False) -> Iterator[str]:
    """A line for the log after each piece. A caller that stops asking for more leaves the rest to the next run."""
    store = app.writer(scope)
    lock = lockfile.acquire(f"{store.path}.{job.name}.lock")
    if lock is None:
        if by_hand:
            yield f"{job.name.capitalize()} of the {scope}'s memory is already running."
        return
    try:
        record, session = JOB_RECORDS.read(store, job.name), SESSIONS.read(store)
        done = JobRecord(last=session, at=max(0, app.clock.now().micros))
        turn = "run" if by_hand else _due_state(app, job, store)
        if turn == "baseline":
            JOB_RECORDS.write(store, done, job.name)
            app.log.line(f"{job.name}-baseline", scope=scope, session=session)
        if turn != "run":
            return
        tried = replace(record, tries=record.tries + 1)
        JOB_RECORDS.write(store, done if tried.tries >= MAX_TRIES else tried, job.name)
        yield from job.function(app, Run(scope, session, record.ran_at))
        JOB_RECORDS.write(app.writer(scope), done, job.name)
    finally:
        lockfile.release(lock)


def describe_schedule(app: App, job: Job, scope: Scope) -> str:
    """When it comes next, for a person."""
    if not app.settings.switch(job.switch):
        return f"switched off ({job.switch})"
    store, schedule = app.reader(scope), Schedule(*app.settings.schedule(f"{job.switch}_SCHEDULE"))
    session = SESSIONS.read(store)
    following = schedule.last_point(session) + schedule.cycle
    if JOB_RECORDS.read(store, job.name).last is None:
        return f"session {session} of the {scope}; baseline at {following}, first run at {following + schedule.cycle}"
    return f"session {session} of the {scope}; next at {following}"


def _due_state(app: App, job: Job, store: Store) -> DueState:
    schedule = Schedule(*app.settings.schedule(f"{job.switch}_SCHEDULE"))
    return schedule.due_state(SESSIONS.read(store), JOB_RECORDS.read(store, job.name).last)

"""JOBS: everything that is done in the background, and when. Functions are named, not imported: reading the table loads
nothing. A job must survive being killed at any moment: what it did is committed, and the next run finds the rest."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple


class Job(NamedTuple):
    """Three kinds of function:

    * at intervals or after talk: `(app, memo) -> bool`, one small piece of work; True: there is more to do here;
    * by sessions: `(app, run) -> Iterator[str]`, a line for the log after each piece (runner.py);
    * for each turn that is read in a transcript, in the order of the table: `(app, part) -> Callable[[], None] | None`
      looks; what it returns writes, with the transcript's cursor.
    """

    name: str
    target: str | Callable[[], object]
    """`module:function`, loaded when first needed; or a function of the process itself, which belongs to no project."""
    every_s: float = 0.0  # how often it runs in each open project; 0: for each turn that is read
    quiet_s: float | None = None  # it runs once sessions were quiet for so long, and in every project each `every_s`
    by_sessions: bool = False  # by each store's count, as MEMORY_<NAME> and MEMORY_<NAME>_SCHEDULE say; else it waits
    model: Literal["", "optional", "required"] = ""  # asks a language model; required: runs only while MEMORY_LLM is on
    light: bool = False  # takes no time worth mentioning: does not stand aside while hooks are answered

    @property
    def switch(self) -> str:
        return f"MEMORY_{self.name.upper()}"

    @property
    def function(self) -> Callable[..., Any]:
        if not isinstance(self.target, str):
            return self.target
        module, name = self.target.split(":")
        found: Callable[..., Any] = getattr(import_module(f"recollect.{module}"), name)
        return found


JOBS: tuple[Job, ...] = (
    Job("vectors", "app.question_vector:fill", 10),
    Job("transcripts", "jobs.transcripts:work", 600, quiet_s=1.5),
    Job("rule-copies", "ops.install:update_copies", 60),
    Job("vaults", "jobs.vault_sync:watch", 0.6),
    Job("heartbeat", "app.session_ledger:tick", 300, light=True),
    Job("questions", "ops.turn_questions:ask_next", 2, model="required"),
    Job("forgetting", "ops.forget:review_lowest", 600, by_sessions=True, model="optional"),
    Job("validation", "ops.validate:check_sample", 600, by_sessions=True, model="optional"),
    Job("prompts heard", "jobs.transcripts:capture_late_prompts"),
    Job("outcomes", "jobs.outcomes:record_outcomes"),
    Job("lessons", "jobs.lessons:learn_lessons"),
    Job("threads", "jobs.turn_threads:record_turns"),
    Job("session ends", "jobs.lessons:finish_session"),  # after all that belong to the session itself
    Job("questions noted", "ops.turn_questions:note_questions"),
)


def job(name: str) -> Job:
    return next(one for one in JOBS if one.name == name)


FORGETTING, VALIDATION = job("forgetting"), job("validation")

"""JOBS: everything that is done in the background, and when. Functions are named, not imported: reading the table loads
nothing. A job must survive being killed at any moment: what it did is committed, and the next run finds the rest.

* `Every`, `AfterTalk`: `(app, memo) -> bool`, one small piece of work; True: there is more to do here at once.
* `EverySessions`: `(app, run) -> Iterator[str]`, a line for the log after each piece (runner.py).
* `PerTurn`: `(app, part) -> Callable[[], None] | None` looks; what it returns writes, with the transcript's cursor.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Every(NamedTuple):
    """Runs in each open project at this interval."""

    seconds: float


class AfterTalk(NamedTuple):
    """Runs in each open project shortly after its sessions went quiet, and in every project now and then."""

    quiet_s: float
    everywhere_s: float


class EverySessions(NamedTuple):
    """Runs in each store, by its count of sessions, as MEMORY_<NAME> (on or off) and MEMORY_<NAME>_SCHEDULE say."""

    seconds: float = 600  # how often a project is asked whether anything is due


class PerTurn(NamedTuple):
    """Runs for each turn that is read in a transcript, in the order of the table."""

    seconds: float = float("inf")  # the runner never starts it


class Model(StrEnum):
    NONE = "none"
    OPTIONAL = "optional"  # asks a language model where it may; runs without one too
    REQUIRED = "required"  # runs only while MEMORY_LLM is on


class Job(NamedTuple):
    name: str
    target: str | Callable[[], bool]
    """`module:function`, loaded when first needed; or a function of the process itself, which belongs to no project."""
    when: Every | AfterTalk | EverySessions | PerTurn
    model: Model = Model.NONE
    light: bool = False  # takes no time worth mentioning: does not stand aside while hooks are answered

    @property
    def switch(self) -> str:
        """The setting of one that counts sessions."""
        return f"MEMORY_{self.name.upper()}"

    @property
    def function(self) -> Callable[..., Any]:
        if not isinstance(self.target, str):
            return self.target
        module, name = self.target.split(":")
        found: Callable[..., Any] = getattr(import_module(f"recollect.{module}"), name)
        return found


class Memo(dict[type, Any]):
    """What a job keeps in memory between two runs in one project. Lost with the process."""

    def of(self, kind: type[T]) -> T:
        """The value of this type; a new one at first."""
        found: T = self.setdefault(kind, kind())
        return found


JOBS: tuple[Job, ...] = (
    Job("vectors", "jobs.vector_filling:fill", Every(10)),
    Job("transcripts", "jobs.transcripts:work", AfterTalk(quiet_s=1.5, everywhere_s=600)),
    Job("rule-copies", "ops.sync:work", Every(60)),
    Job("vaults", "jobs.vault_sync:watch", Every(0.6)),
    Job("heartbeat", "app.session_ledger:tick", Every(300), light=True),
    Job("questions", "ops.turn_questions:ask_next", Every(2), Model.REQUIRED),
    Job("forgetting", "ops.forget:review_lowest", EverySessions(), Model.OPTIONAL),
    Job("validation", "ops.validate:check_sample", EverySessions(), Model.OPTIONAL),
    Job("prompts heard", "jobs.transcripts:capture_late_prompts", PerTurn()),
    Job("outcomes", "jobs.outcomes:record_outcomes", PerTurn()),
    Job("lessons", "jobs.lessons:learn_lessons", PerTurn()),
    Job("threads", "jobs.turn_threads:record_turns", PerTurn()),
    Job("session ends", "jobs.lessons:finish_session", PerTurn()),  # after all that belong to the session itself
    Job("questions noted", "ops.turn_questions:note_questions", PerTurn()),
)


def job(name: str) -> Job:
    return next(one for one in JOBS if one.name == name)


FORGETTING, VALIDATION = job("forgetting"), job("validation")

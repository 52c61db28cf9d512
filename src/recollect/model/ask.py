"""A question to a language model, as a value: what a room that decides would like to know, and never asks itself.

The room that makes an `Ask` has a `read_answer` beside it, which takes nothing on trust. Who asks, and whether anyone
may be asked at all, is `ops/asks.py`'s matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Job(StrEnum):
    """What a question is for; a budget is shown by it."""

    RECALL = "recall"
    UPDATE = "update"
    FORGET = "forget"
    VALIDATE = "validate"
    CLASSIFY = "classify"
    EXTRACT = "extract"


@dataclass(frozen=True, slots=True)
class Ask:
    job: Job
    prompt: str
    """The name of a template, `llm/prompts/<name>.md`; one of the same name in the home's `prompts/` goes before it."""
    fields: tuple[tuple[str, str], ...] = ()
    """What is filled in for `{{name}}`. A text is never itself read as a template."""
    model: str = ""
    """The name of one; nothing: the one that is set."""
    reads: str = ""
    """A folder that the model may read files of, by tools that only read; nothing: it has no tools."""
    turns: int = 1
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of it: an answer with what it cost, or why there is none."""

    text: str = ""
    tokens: int | None = None
    """Read and written together; None where nobody said."""
    problem: str = ""
    """Why there is no answer, in a few words of ours; nothing where there is one."""

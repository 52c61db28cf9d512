"""A question to a language model, as a value: what a room that decides would like to know, and never asks itself.

The room that makes an `Ask` has a reader of the answer beside it, which takes nothing on trust. Whether anyone may be
asked, who is asked and what it may cost is up to `app/language_model.py`, which has a row for every use.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Use(StrEnum):
    """What language models are asked for."""

    CLASSIFY = "classify"
    EXTRACT = "extract"
    REVIEW = "review"
    FORGET = "forget"
    VALIDATE_CLAIMS = "validate claims"
    VALIDATE_DESCRIPTIONS = "validate descriptions"
    RECALL_BROAD = "recall, first pass"
    RECALL_STRICT = "recall, second pass"


@dataclass(frozen=True, slots=True)
class Ask:
    use: Use
    fields: tuple[tuple[str, str], ...] = ()
    """What is filled in for `{{name}}` in the prompt. The text of a field is never itself read as a template."""
    prompt: str = ""  # another prompt than the use's own
    model: str = ""  # another model than the one in the settings
    reads: str = ""  # a folder whose files the model may read, with tools that only read; empty: it has no tools
    seconds: float | None = None  # another limit than the use's own


@dataclass(frozen=True, slots=True)
class Answer:
    """The text with what it cost, or why there is none."""

    text: str = ""
    tokens: int | None = None  # read and written together; None where nobody said
    problem: str = ""  # why there is no answer, in a few words of ours; empty where there is one

"""A question to a language model, as a value, and the first step of reading an answer, in which nothing is taken on
trust. Whether a model may be asked, which one, and at what cost is decided in `app/language_model.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from itertools import islice

from recollect.base.structs import Struct


class Use(StrEnum):  # what language models are asked for
    CLASSIFY = "classify"
    EXTRACT = "extract"
    REVIEW = "review"
    FORGET = "forget"
    VALIDATE_CLAIMS = "validate claims"
    VALIDATE_DESCRIPTIONS = "validate descriptions"
    RECALL_BROAD = "recall, first pass"
    RECALL_STRICT = "recall, second pass"


class Ask(Struct):
    use: Use
    fields: tuple[
        tuple[str, str], ...
    ] = ()  # filled in for `{{name}}` in the prompt; never read as a template
    prompt: str = ""  # another prompt than the use's own
    model: str = ""  # another model than the one in the settings
    reads: str = ""  # a folder whose files the model may read, with tools that only read; empty: it has no tools
    seconds: float | None = None  # another limit than the use's own


class Answer(Struct):  # the text with what it cost, or why there is none
    text: str = ""
    tokens: int | None = None  # read and written together; None: unknown
    problem: str = ""  # why there is no answer, in a few words; empty: there is one


def read_objects(text: str, opening: str = "[") -> list[Mapping[str, object]]:
    """The objects of the first JSON list that holds any; with `{` as `opening`, the first object. Models wrap their
    answers in words and fences. Nothing in an answer can make this fail: it may find nothing."""
    decoder = json.JSONDecoder()
    for found in islice(re.finditer(re.escape(opening), text[:200_000]), 50):
        try:
            value = decoder.raw_decode(text, found.start())[0]
        except (ValueError, RecursionError):
            continue
        if objects := [
            one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)
        ]:
            return [*objects]
    return []


def read_by_id(text: str, known: Collection[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The objects of an answer that are about one of the ids that were asked about."""
    for entry in read_objects(text):
        if isinstance(id := entry.get("id"), str) and id in known:
            yield id, entry

"""Reads what a language model answered: a JSON list of objects, wherever it stands in the text. Nothing in an answer
can make this fail; what is no such list is an empty one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

_MOST_CHARS = 200_000
_MOST_TRIED = 50


def listed(text: str) -> list[Mapping[str, object]]:
    """The objects of the first list in it that holds any; models wrap their answers in words and fences."""
    text = text[:_MOST_CHARS]
    decoder = json.JSONDecoder()
    at = text.find("[")
    for _ in range(_MOST_TRIED):
        if at < 0:
            break
        try:
            found, _end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found = None
        objects: list[Mapping[str, object]] = (
            [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        )
        if objects:
            return objects
        at = text.find("[", at + 1)
    return []


def one_of(entry: Mapping[str, object], name: str, known: Collection[str]) -> str:
    """The value of this name if it is one of those that were asked about; else empty."""
    value = entry.get(name)
    return value if isinstance(value, str) and value in known else ""

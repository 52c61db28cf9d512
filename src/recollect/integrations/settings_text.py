"""Edits the text of a settings file that belongs to others, touching no other byte. Text in, text out.

Adding only ever inserts, and says what was inserted where, so that taking it back leaves the text as it was. Where the
text has changed since, our entries are found by what they hold, and cut out together with the comma that belongs to
them. How each notation is edited: json_text.py (JSON, also with comments) and toml_text.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType
from typing import Any

from recollect.agents import Form
from recollect.integrations import json_text, toml_text
from recollect.integrations.json_text import Addition, Insertion, Way


def load(form: Form, text: str, additions: Sequence[Addition] = ()) -> dict[str, Any]:
    """The settings as values. NotPlain where they cannot be read, or where it is unclear what an addition is added to
    because a key is written twice."""
    found: dict[str, Any] = _notation(form).load(_searchable(form, text), additions)
    return found


def insertions(form: Form, text: str, additions: Sequence[Addition]) -> tuple[Insertion, ...]:
    """What makes each of them the last entry where it belongs."""
    found: tuple[Insertion, ...] = _notation(form).insertions(_searchable(form, text), additions)
    return found


def without(form: Form, text: str, ways: Collection[Way], keep: Collection[Way] = ()) -> str:
    """The text without these entries, and without the objects and lists that they leave empty, except those to keep."""
    cuts: list[tuple[int, int]] = _notation(form).cuts(_searchable(form, text), ways, keep) if ways else []
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def insert(text: str, what: Sequence[Insertion]) -> str:
    for at, new in sorted(what, reverse=True):
        text = text[:at] + new + text[at:]
    return text


def take_back(text: str, what: Sequence[Insertion]) -> str | None:
    """The text before; None where what was inserted no longer stands there."""
    for at, new in sorted(what):
        if not text.startswith(new, at):
            return None
        text = text[:at] + text[at + len(new) :]
    return text


def _notation(form: Form) -> ModuleType:
    return toml_text if form is Form.TOML else json_text


def _searchable(form: Form, text: str) -> str:
    """A text of the same length, with every place in it the same, that is plain if it was JSON with comments."""
    return json_text.blank_comments(text) if form is Form.COMMENTED else text

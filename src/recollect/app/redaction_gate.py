"""The last gate before a store: no text of a plan passes that the redactor has not seen.

Everything but what the program itself made up (ids, kinds, times) counts as text, so that a field that is
added later is covered without anyone thinking of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.model.codec import FIELDS, Json, decode_memory, encode
from recollect.model.memory import Message
from recollect.model.plan import Change, Create, FileChange, Plan, Say, Update

if TYPE_CHECKING:
    from recollect.redact import Redactor

_SHORT_CHARS = 100
_OURS = frozenset({"kind", "timestamp", "hash", *(name for name, one in FIELDS.items() if one.made)})


def redact_plan(plan: Plan, redactor: Redactor) -> tuple[Plan, Counter[str]]:
    """What comes out of the store again (before-images, removals) went through here when it went in."""
    found: Counter[str] = Counter()
    harmless: set[str] = set()  # tags, topics and the like come again and again

    def clean(text: str) -> str:
        if text in harmless:
            return text
        cleaned = redactor.clean(text)
        if cleaned.found:
            found.update(dict(cleaned.found))
        elif len(text) <= _SHORT_CHARS:
            harmless.add(text)
        return cleaned.text

    return Plan(tuple(_clean(one, clean) for one in plan.changes)), found


def _clean(change: Change, clean: Callable[[str], str]) -> Change:
    match change:
        case Create(memory, messages):
            fields = encode(memory)
            cleaned = _clean_fields(fields, clean)
            return Create(memory if cleaned == fields else decode_memory(cleaned), _clean_messages(messages, clean))
        case Say(id, messages):
            return Say(id, _clean_messages(messages, clean))
        case Update(id, before, after) if not after.keys() <= _OURS:  # most of a compaction's changes hold no text
            return Update(id, before, _clean_fields(dict(after), clean))
        case FileChange(old=old, new=new):
            # A file says what it says. Only what the journal would keep of it is looked at.
            return replace(change, is_kept=change.is_kept and clean(old) == old and clean(new) == new)
        case _:
            return change


def _clean_messages(messages: Iterable[Message], clean: Callable[[str], str]) -> tuple[Message, ...]:
    return tuple(replace(one, content=clean(one.content), source=clean(one.source)) for one in messages)


def _clean_fields(fields: dict[str, Json], clean: Callable[[str], str]) -> dict[str, Json]:
    return {name: value if name in _OURS else _clean_json(value, clean) for name, value in fields.items()}


def _clean_json(value: Json, clean: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_json(part, clean) for part in value]
    return _clean_fields(value, clean) if isinstance(value, dict) else value

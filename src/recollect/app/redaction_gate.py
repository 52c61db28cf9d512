"""The last gate before a store: no text of a plan passes that the redactor has not seen.

Everything but what the program itself made up (ids, kinds, times) counts as text, so that a field that is
added later is covered without anyone thinking of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.model.codec import FIELDS, Json, decode_memory, encode
from recollect.model.plan import Change, Create, FileChange, Plan, Say, Update

if TYPE_CHECKING:
    from recollect.redact import Redactor

_SHORT_CHARS = 100
_OURS = frozenset({"kind", "timestamp", "hash", *(name for name, one in FIELDS.items() if one.made)})


def clean_plan(plan: Plan, redactor: Redactor) -> tuple[Plan, Counter[str]]:
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

    # Of a compaction there may be a hundred thousand changes that hold no text.
    return Plan(tuple([one if _is_ours(one) else _clean(one, clean) for one in plan.changes])), found


def _is_ours(change: Change) -> bool:
    return isinstance(change, Update) and change.after.keys() <= _OURS


def _clean(change: Change, clean: Callable[[str], str]) -> Change:
    match change:
        case Create(memory, messages):
            fields = encode(memory)
            cleaned = _clean_fields(fields, clean)
            seen = memory if cleaned == fields else decode_memory(cleaned)
            said = (replace(m, content=clean(m.content), source=clean(m.source)) for m in messages)
            return Create(seen, tuple(said))
        case Say(id, messages):
            return Say(id, tuple(replace(m, content=clean(m.content), source=clean(m.source)) for m in messages))
        case Update(id, before, after):
            return Update(id, before, _clean_fields(dict(after), clean))
        case FileChange(old=old, new=new):
            # A file says what it says. Only what the journal would keep of it is looked at.
            return replace(change, is_kept=change.is_kept and clean(old) == old and clean(new) == new)
        case _:
            return change


def _clean_fields(fields: dict[str, Json], clean: Callable[[str], str]) -> dict[str, Json]:
    return {name: value if name in _OURS else _clean_json(value, clean) for name, value in fields.items()}


def _clean_json(value: Json, clean: Callable[[str], str]) -> Json:
    match value:
        case str():
            return clean(value)
        case list():
            return [_clean_json(part, clean) for part in value]
        case dict():
            return _clean_fields(value, clean)
        case _:
            return value

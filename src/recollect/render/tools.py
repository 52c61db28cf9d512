"""What an agent's tools answer: text, and data beside it where the answer is data.

The whole answer, written as JSON, stays under 8,000 characters: a long memory is given in pages, of a long report the
first entries and how many there are. Stored words are fenced and made harmless (inject.py, harmless.py).
"""

from __future__ import annotations

import json
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.base.text import clip
from recollect.model.codec import Json, encode
from recollect.model.result import Cards, Compacted, Done, Overview, Recalled, Result, Shown, Suggested, Summary
from recollect.render import inject
from recollect.render.harmless import neutral, plain

_ASK = 'ai_recall("{}")'
_SAID_CHARS = 1_500
_LISTED = 50
_MOST_ENTRIES = 200
_TITLE_CHARS = 80


def answer(result: Result, *, now: Moment, nonce: str, offset: int = 0) -> dict[str, Json]:
    match result:
        case Recalled():
            return _text(inject.read(result, nonce=nonce, now=now, ask=_ASK, archived="archived=true").text)
        case Shown():
            return _text(inject.show(result, nonce=nonce, now=now, ask=_ASK, offset=offset))
        case Suggested():
            return _data(result.as_json(), ("merge_candidates", "split_candidates"))
        case Compacted():
            return _data(_compacted(result), ("actions",))
        case Overview():
            return _data(_status(result), ("focus",))
        case Done(summary, _, _, _, dry_run, notes):
            return _text(_said(f"Dry run: nothing was written. {summary}" if dry_run else summary, notes))
        case Summary(summary, _, notes):
            return _text(_said(summary, notes))
        case Cards(cards):
            listed: list[Json] = [
                {"id": card.memory.id, "title": plain(card.memory.title, _TITLE_CHARS), "kind": str(card.memory.kind)}
                for card in cards[:_LISTED]
            ]
            return {"text": "", "data": {"memories": listed}}
        case _:
            return _data({"result": encode(result)}, ())


def _text(text: str) -> dict[str, Json]:
    return {"text": text, "data": None}


def _said(summary: str, notes: tuple[str, ...]) -> str:
    return clip(neutral("\n".join((summary, *notes))), _SAID_CHARS)


def _status(overview: Overview) -> dict[str, Json]:
    kinds: dict[str, Json] = {}
    for scope, _, counts in overview.stores:
        kinds[str(scope)] = {f"{kind} {status}": count for kind, status, count in counts.by_kind_and_status}
    return {
        "version": overview.version,
        "project": overview.project,
        "memories": kinds,
        "focus": [{**point, "topic": plain(str(point["topic"]), _TITLE_CHARS)} for point in overview.focus],
        "passages_without_vector": overview.embedding.waiting if overview.embedding else 0,
        "set_aside_as_damaged": len(overview.set_aside),
        "settings_problems": overview.problems,
    }


def _data(data: dict[str, Json], lists: tuple[str, ...]) -> dict[str, Json]:
    """Data is told twice, as data and as text: some agents read the one, some the other."""
    for name in lists:
        entries = data.get(name)
        if isinstance(entries, list) and len(entries) > _MOST_ENTRIES:
            data = _cut(data, name, entries[:_MOST_ENTRIES], len(entries))
    text = json.dumps(data, ensure_ascii=False)
    while inject.json_chars(text) + len(text) > inject.READ_ROOM:
        longest = max(lists, key=lambda name: inject.json_chars(data.get(name)), default="")
        entries = data.get(longest)
        if not isinstance(entries, list) or not entries:
            data = {"summary": clip(text, 1_000)}
            return {"text": json.dumps(data, ensure_ascii=False), "data": data}
        data = _cut(data, longest, entries[: len(entries) * 3 // 4], len(entries))
        text = json.dumps(data, ensure_ascii=False)
    return {"text": text, "data": data}


def _compacted(compacted: Compacted) -> dict[str, Json]:
    """Only what will be told is made: there may be a hundred thousand actions."""
    first = replace(compacted, actions=compacted.actions[:_MOST_ENTRIES])
    told: dict[str, Json] = {**first.as_json(), "summary": compacted.summary}
    left = len(compacted.actions) - len(first.actions)
    return told | ({"left_out": {"actions": left}} if left else {})


def _cut(data: dict[str, Json], name: str, kept: list[Json], of: int) -> dict[str, Json]:
    """Fewer entries, and how many are left out in all."""
    before = data.get("left_out")
    left = before if isinstance(before, dict) else {}
    counted = left.get(name, 0)
    out = (counted if isinstance(counted, int) else 0) + of - len(kept)
    return {**data, name: kept, "left_out": {**left, name: out}}

"""What an agent's tools answer: text, and data beside it where the answer is data.

The whole answer, written as JSON, stays under 8,000 characters: a long memory is given in pages, of a long report the
first entries and how many there are. Stored words are fenced and made harmless (inject.py, harmless.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line
from recollect.model.codec import Json
from recollect.model.result import Cards, Compacted, Done, Overview, Recalled, Result, Shown, Suggested, Told
from recollect.render import inject
from recollect.render.agent import ago
from recollect.render.data import as_json, compacted_json, suggested_json
from recollect.render.harmless import neutral, plain

MAX_CHARS = 8_000
_AROUND = 420  # the protocol's own words around an answer
_ROOM = MAX_CHARS - _AROUND
_SAID_CHARS = 1_500
_LISTED = 50
_MOST_ENTRIES = 200
_TITLE_CHARS = 80


def answer(result: Result, *, now: Moment, nonce: str, offset: int = 0) -> dict[str, Json]:
    match result:
        case Recalled():
            return _text(_recalled(result, now, nonce))
        case Shown():
            return _text(_shown(result, now, nonce, offset))
        case Suggested():
            return _data(suggested_json(result), ("merge_candidates", "split_candidates"))
        case Compacted():
            return _data(_compacted(result), ("actions",))
        case Overview():
            return _data(_status(result), ("focus",))
        case Done(summary, _, _, _, dry_run, notes):
            return _text(_said(f"Dry run: nothing was written. {summary}" if dry_run else summary, notes))
        case Told(summary, _, notes):
            return _text(_said(summary, notes))
        case Cards(cards):
            listed: list[Json] = [
                {"id": card.memory.id, "title": plain(card.memory.title, _TITLE_CHARS), "kind": str(card.memory.kind)}
                for card in cards[:_LISTED]
            ]
            return {"text": "", "data": {"memories": listed}}
        case _:
            return _data({"result": as_json(result)}, ())


def _text(text: str) -> dict[str, Json]:
    return {"text": text, "data": None}


def _said(summary: str, notes: tuple[str, ...]) -> str:
    return clip(neutral("\n".join((summary, *notes))), _SAID_CHARS)


def spelt(value: Json) -> int:
    """How many characters it takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _fitting(make: Callable[[int], str], room: int = _ROOM) -> str:
    """The text, made for fewer characters until it fits as JSON, where a newline takes two."""
    chars = room
    while spelt(text := make(chars)) > room and chars > 200:
        chars -= max(50, (spelt(text) - room) // 2)
    return text


def _recalled(recalled: Recalled, now: Moment, nonce: str) -> str:
    def read(chars: int) -> str:
        return inject.read(recalled, nonce=nonce, now=now, max_chars=chars, ids=True, archived="archived=true").text

    return _fitting(read)


def _shown(shown: Shown, now: Moment, nonce: str, offset: int) -> str:
    """One memory whole; a long one a page at a time, from `offset` on."""
    memory = shown.card.memory
    marks = [str(memory.kind), str(memory.status), f"from {memory.lane}", *(["pinned"] if memory.pinned else [])]
    topics = f" | Topics: {plain(', '.join(memory.topics), 200)}" if memory.topics else ""
    merged = f"\n{shown.asked} was merged into it." if shown.asked != memory.id else ""
    head = (
        f"# {plain(memory.title, 120)}\n{memory.id} ({', '.join(marks)}){merged}\n"
        f"Weight: {shown.card.strength:.2f}{topics}\nLast active: {ago(memory.last_active_at, now)}"
    )
    others = [m for m in shown.messages if m.content not in memory.body]
    said = [memory.body, *(f"[{m.at.iso()[:16]} {one_line(m.source)}] {m.content}" for m in others)]
    whole = neutral("\n\n".join(part for part in said if part))
    begin = min(max(0, offset), len(whole))

    def page(chars: int) -> str:
        end = min(len(whole), begin + max(100, chars - len(head) - 400))
        more = f'\n\n(characters {begin:,} to {end:,} of {len(whole):,}; ai_recall("{memory.id}+{end}") goes on)'
        shown_all = begin == 0 and end == len(whole)
        last = f"\n\n(characters {begin:,} to {end:,}, the end)"
        tail = "" if shown_all else last if end == len(whole) else more
        return inject.fenced(f"{head}\n\n{whole[begin:end]}{tail}", nonce=nonce)

    return _fitting(page)


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
    while spelt(text) + len(text) > _ROOM:
        longest = max(lists, key=lambda name: spelt(data.get(name)), default="")
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
    told: dict[str, Json] = {**compacted_json(first), "summary": compacted.summary}
    left = len(compacted.actions) - len(first.actions)
    return told | ({"left_out": {"actions": left}} if left else {})


def _cut(data: dict[str, Json], name: str, kept: list[Json], of: int) -> dict[str, Json]:
    """Fewer entries, and how many are left out in all."""
    before = data.get("left_out")
    left = before if isinstance(before, dict) else {}
    counted = left.get(name, 0)
    out = (counted if isinstance(counted, int) else 0) + of - len(kept)
    return {**data, name: kept, "left_out": {**left, name: out}}

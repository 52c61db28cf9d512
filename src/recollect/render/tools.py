"""What the MCP tools answer: text, and structured data where there is some; as JSON under 8,000 characters in all.

A long memory comes in pages, and of a long report the first entries and how many were left out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from recollect.base.moment import Moment
from recollect.base.text import clip
from recollect.model.codec import Json, encode
from recollect.model.result import Cards, Compacted, Done, Overview, Recalled, Result, Shown, Suggested, Summary
from recollect.render import inject
from recollect.render.inject import neutral, plain
from recollect.render.recall_text import memory_text

_ASK = 'ai_recall("{}")'
_TITLE_CHARS = 80


def answer(result: Result, *, now: Moment, nonce: str, offset: int = 0) -> dict[str, Json]:
    match result:
        case Recalled():
            told = inject.requested_recall(result, nonce=nonce, now=now, ask=_ASK, archived="archived=true")
            return {"text": told.text, "data": None}
        case Shown():
            text = partial(memory_text, result, now=now, ask=_ASK, offset=offset)
            return {"text": inject.fence(nonce, lambda chars: text(max_chars=chars)), "data": None}
        case Suggested():
            merges, splits = len(result.merge_candidates), len(result.split_candidates)
            return _data(result.as_json(), merge_candidates=merges, split_candidates=splits)
        case Compacted(actions=actions):  # there may be a hundred thousand actions: only the first are encoded
            data = replace(result, actions=actions[:200]).as_json()
            return _data({**data, "summary": result.summary}, actions=len(actions))
        case Overview():
            return _data(_status(result), focus=len(result.focus))
        case Done(summary, _, _, _, dry_run, notes):
            return _text(f"Dry run: nothing was written. {summary}" if dry_run else summary, notes)
        case Summary(summary, _, notes):
            return _text(summary, notes)
        case Cards(cards):
            listed: list[Json] = [
                {"id": card.memory.id, "title": plain(card.memory.title, _TITLE_CHARS), "kind": str(card.memory.kind)}
                for card in cards[:50]
            ]
            return {"text": "", "data": {"memories": listed}}
        case _:
            return _data({"result": encode(result)})


def _text(summary: str, notes: tuple[str, ...]) -> dict[str, Json]:
    return {"text": clip(neutral("\n".join((summary, *notes))), 1_500), "data": None}


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
        "settings_problems": overview.settings_problems,
    }


def _data(data: dict[str, Any], **totals: int) -> dict[str, Json]:
    """Sent twice, as data and as text, because some agents read the one and some the other. `totals`: the lists that
    may be cut until both fit, and how many entries there are of each."""
    while True:
        left_out = {name: total - len(data[name]) for name, total in totals.items() if total > len(data[name])}
        sent = {**data, **({"left_out": left_out} if left_out else {})}
        text = json.dumps(sent, ensure_ascii=False)
        if inject.json_chars(text) + len(text) <= inject.ANSWER_CHARS:
            return {"text": text, "data": sent}
        longest = max(totals, key=lambda name: len(data[name]), default="")
        if not longest or not data[longest]:
            return _data({"summary": clip(text, 1_000)})
        data = {**data, longest: data[longest][: len(data[longest]) * 3 // 4]}

"""A prompt that is seen through two hosts is one prompt: an agent that runs another one's hooks, or two of ours.

Known by a check sum of its words, the host that told of it, and the time; the words are kept nowhere. The same words
twice through one host are two prompts.
"""

from __future__ import annotations

import json

from recollect.model.session import Event
from recollect.ops.app import App
from recollect.ops.here import scope_here
from recollect.wire.pointer import checksum

WITHIN_S = 10.0
_NAME = "prompts-lately"
_MOST = 20

_Told = tuple[str, str, int]
"""Mark, host, when."""


def is_told_twice(app: App, event: Event) -> bool:
    """Whether another host has just told of it. Notes that this one did."""
    sessions = app.writing(scope_here(app)).sessions
    mark = checksum(" ".join(event.asked.split()))
    lately = [one for one in _read(sessions.state(_NAME)) if abs(event.at.micros - one[2]) <= WITHIN_S * 1_000_000]
    sessions.put_state(_NAME, json.dumps([*lately, (mark, event.host, event.at.micros)][-_MOST:]))
    return bool(mark) and any(known == mark and host != event.host for known, host, _ in lately)


def _read(state: str | None) -> list[_Told]:
    try:
        kept = json.loads(state or "[]")
    except ValueError:
        return []
    return [
        (mark, host, at)
        for mark, host, at in (one for one in kept if isinstance(one, list) and len(one) == 3)
        if isinstance(mark, str) and isinstance(host, str) and isinstance(at, int)
    ]

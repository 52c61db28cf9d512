"""Whether what a spooled pointer speaks of stands in the transcript yet.

Agents write their transcripts in their own time: a prompt after its hooks have ended, results a moment after the
hook that tells of them. A pointer that is taken in too early points at nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from recollect import agents
from recollect.agents.transcript import Tail, Voice
from recollect.base.moment import Moment
from recollect.model.session import Event, EventName

# As long as other hooks of the same event may run, which hold the agent up.
STILL_S = 60.0
_RESULTS = frozenset({EventName.TOOLS_RAN, EventName.TOOL_FAILED})


def is_written(event: Event, size: int) -> bool:
    """`size` of the transcript when the event came: what it speaks of comes after that."""
    if not event.transcript or not (event.name is EventName.PROMPT or event.name in _RESULTS):
        return True
    wanted = {call.id for call in event.tools if call.id}
    for said in agents.utterances(event.host, Tail.after(Path(event.transcript), size)):
        # By its place, not by its id: a prompt that waited in line is written under another.
        if event.name is EventName.PROMPT and said.voice is Voice.PROMPT:
            return True
        if said.voice is Voice.TOOL_RESULT and said.call is not None:
            wanted.discard(said.call.id)
    return event.name in _RESULTS and not wanted


def may_be_written_yet(event: Event, now: Moment) -> bool:
    """The event is young, or the transcript still grows."""
    if _is_young(event.at.micros, now):
        return True
    try:
        return _is_young(os.stat(event.transcript).st_mtime_ns // 1_000, now)
    except (OSError, ValueError):
        return False


def _is_young(micros: int, now: Moment) -> bool:
    """What is of the future is of a clock that was set back since; it would be waited for until then."""
    return abs(now.micros - micros) < STILL_S * 1_000_000

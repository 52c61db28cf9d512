"""A turn: what a person asked for, and everything that was done and said until the next thing asked for. The unit in
which work is grouped: a prompt alone is often too short to say what it is about, and a call alone always is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.model.act import Act, Deed, Speaker

MOST_WAITING = 150
"""A turn that has so many new acts is not waited for any longer: what is held of a transcript is limited."""


@dataclass(frozen=True, slots=True)
class Turn:
    acts: tuple[Act, ...]
    """All of it, as far as it is known."""
    new_from: int = 0
    """Those before were taken already."""
    over: bool = True
    before: str = ""
    """What the agent said last before it: a nod answers that."""

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]

    @property
    def is_whole(self) -> bool:
        """Its beginning is known."""
        return bool(self.acts) and _begins(self.acts[0])

    @property
    def conclusion(self) -> str:
        """What the agent said last."""
        return next((act.text for act in reversed(self.acts) if act.speaker is Speaker.AGENT and act.text), "")

    def files(self, *deeds: Deed) -> tuple[str, ...]:
        found = (file for act in self.acts if act.doing and act.doing.deed in deeds for file in act.doing.files)
        return tuple(dict.fromkeys(found))


def turns(acts: Sequence[Act], start: int, *, finished: bool) -> Iterator[Turn]:
    """Those that have something from `start` on. The last one is left for later while the agent is at work on it,
    because what it is about is best seen when it is done."""
    begin = next((at for at in range(min(start, len(acts) - 1), -1, -1) if _begins(acts[at])), 0) if acts else 0
    while begin < len(acts):
        end = next((at for at in range(begin + 1, len(acts)) if _begins(acts[at])), len(acts))
        over = finished or end < len(acts) or acts[end - 1].speaker is Speaker.AGENT
        if end > start and (over or end - max(start, begin) >= MOST_WAITING):
            before = next((act.text for act in reversed(acts[:begin]) if act.speaker is Speaker.AGENT and act.text), "")
            yield Turn(tuple(acts[begin:end]), max(0, start - begin), over, before)
        begin = end


def message_id(act: Act) -> str:
    """Of the message that is the record of the turn that begins with this act: the same whenever it is read again."""
    named = act.id or f"{act.at.micros} {act.speaker} {act.text}"
    return f"message_{act.at.stamp()}_{hashlib.blake2b(named.encode(), digest_size=6).hexdigest()}"


def _begins(act: Act) -> bool:
    """What a person says when refusing a call belongs to the turn of that call."""
    return act.speaker is Speaker.PERSON and not act.refuses

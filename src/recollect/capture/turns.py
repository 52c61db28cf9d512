"""A turn: what a person asked for, and everything that was done and said until he asked for the next thing. Work is
grouped by turns: a prompt alone is often too short to say what it is about, and a call alone always is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.model.act import Act, Deed, Speaker

MAX_WAITING_ACTS = 150
"""A turn with this many new acts is recorded before it ends: only part of a transcript is held in memory."""


@dataclass(frozen=True, slots=True)
class Turn:
    acts: tuple[Act, ...]
    new_from: int = 0  # acts before this one were recorded already
    over: bool = True
    before: str = ""  # what the agent said last before it: a short "yes" answers that

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]

    @property
    def is_whole(self) -> bool:
        """Its beginning is known."""
        return bool(self.acts) and _begins(self.acts, 0)

    @property
    def conclusion(self) -> str:
        """What the agent said last."""
        return next((act.text for act in reversed(self.acts) if _is_reply(act) and act.text), "")

    def files(self, *deeds: Deed) -> tuple[str, ...]:
        found = (file for act in self.acts if act.doing and act.doing.deed in deeds for file in act.doing.files)
        return tuple(dict.fromkeys(found))


def split_turns(acts: Sequence[Act], start: int, *, finished: bool) -> Iterator[Turn]:
    """The turns that have acts from `start` on. The last one is left for later while the agent is at work on it: what
    it is about is best seen when it is done."""
    begin = next((at for at in range(min(start, len(acts) - 1), -1, -1) if _begins(acts, at)), 0) if acts else 0
    while begin < len(acts):
        end = next((at for at in range(begin + 1, len(acts)) if _begins(acts, at)), len(acts))
        over = finished or end < len(acts) or _is_reply(acts[end - 1])
        if end > start and (over or end - max(start, begin) >= MAX_WAITING_ACTS):
            before = next((act.text for act in reversed(acts[:begin]) if act.speaker is Speaker.AGENT and act.text), "")
            yield Turn(tuple(acts[begin:end]), max(0, start - begin), over, before)
        begin = end


def message_id(act: Act) -> str:
    """The id of the message that records the turn which this act begins: the same whenever it is read again."""
    named = act.id or f"{act.at.micros} {act.speaker} {act.text}"
    return f"message_{act.at.stamp()}_{hashlib.blake2b(named.encode(), digest_size=6).hexdigest()}"


def _begins(acts: Sequence[Act], at: int) -> bool:
    """What a person says when refusing a call belongs to that call's turn, and what he adds to a plan to the plan's."""
    act, before = acts[at], acts[at - 1] if at else None
    is_added = before is not None and before.plan and before.id == act.id
    return act.plan or (act.speaker is Speaker.PERSON and not act.refuses and not is_added)


def _is_reply(act: Act) -> bool:
    return act.speaker is Speaker.AGENT and not act.plan

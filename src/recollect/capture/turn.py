"""A turn: what a person asked for, and everything that was done and said until the next thing asked for. The unit in
which work is grouped: a prompt alone is often too short to say what it is about, and a call alone always is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.model.act import Act, Deed, Speaker

MOST_WAITING = 40
"""So many new acts are not waited with for the turn's end."""


@dataclass(frozen=True, slots=True)
class Turn:
    acts: tuple[Act, ...]
    """All of it, as far as it is known."""
    new_from: int = 0
    """Those before were taken already."""
    over: bool = True

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]

    @property
    def prompt(self) -> str:
        """The person's words, or the plan that the agent was given."""
        first = self.acts[0] if self.acts else None
        return first.text if first is not None and (first.speaker is Speaker.PERSON or first.plan) else ""

    @property
    def conclusion(self) -> str:
        """What the agent said last."""
        return next((act.text for act in reversed(self.acts) if _is_reply(act) and act.text), "")

    def files(self, *deeds: Deed) -> tuple[str, ...]:
        found = (file for act in self.acts if act.doing and act.doing.deed in deeds for file in act.doing.files)
        return tuple(dict.fromkeys(found))


def turns(acts: Sequence[Act], start: int, *, finished: bool) -> Iterator[Turn]:
    """Those that have something from `start` on. The last one is left for later while the agent is at work on it,
    because what it is about is best seen when it is done."""
    begin = next((at for at in range(min(start, len(acts) - 1), -1, -1) if _begins(acts, at)), 0) if acts else 0
    while begin < len(acts):
        end = next((at for at in range(begin + 1, len(acts)) if _begins(acts, at)), len(acts))
        over = finished or end < len(acts) or _is_reply(acts[end - 1])
        if end > start and (over or end - max(start, begin) >= MOST_WAITING):
            yield Turn(tuple(acts[begin:end]), max(0, start - begin), over)
        begin = end


def _begins(acts: Sequence[Act], at: int) -> bool:
    """What a person adds to a plan belongs to the plan's turn."""
    act, before = acts[at], acts[at - 1] if at else None
    return act.plan or (act.speaker is Speaker.PERSON and not (before and before.plan and before.id == act.id))


def _is_reply(act: Act) -> bool:
    return act.speaker is Speaker.AGENT and not act.plan

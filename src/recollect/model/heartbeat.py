"""How long nobody spoke, in beats of five minutes. How it moves on is lifecycle's."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.base.moment import Moment

BEAT_MINUTES = 5
MEANINGS = ((2, "active conversation"), (12, "short pause"), (72, "session interrupted"), (288, "new day"))
LONG_ABSENCE = "long absence"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    beat: int
    started_at: Moment
    last_beat_at: Moment
    last_interaction_at: Moment
    last_interaction_beat: int

    @property
    def since_last(self) -> int:
        return max(0, self.beat - self.last_interaction_beat)

    @property
    def has_paused(self) -> bool:
        """Time has really passed."""
        return self.since_last > MEANINGS[0][0]

    @property
    def meaning(self) -> str:
        return next((said for most, said in MEANINGS if self.since_last <= most), LONG_ABSENCE)

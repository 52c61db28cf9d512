"""The heartbeat: how much time has passed since anyone last spoke, in beats of five minutes.

Beats are counted by the clock, so it does not matter who looks, how often, or whether anyone was there to tick. All
times are in UTC: daylight saving changes nothing. A clock that was set back takes no beat away; counting goes on
from where it now stands.

Where the state is kept is ops' matter; what it reads there may be damaged, and is then begun anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.model.codec import Json
from recollect.model.heartbeat import BEAT_MINUTES, Heartbeat

# A beat is five minutes so that `since_last <= 2` reads as "still talking".
BEAT_SECONDS = 60 * BEAT_MINUTES
_BEAT_MICROS = BEAT_SECONDS * 1_000_000
_MOST_BEATS = 2**53  # what any reader of JSON can hold


def begun(now: Moment) -> Heartbeat:
    return Heartbeat(0, now, now, now, 0)


def ticked(heart: Heartbeat, now: Moment) -> Heartbeat:
    """With the beats that the clock says have passed."""
    if now < heart.last_beat_at:
        heard = min(heart.last_interaction_at, now)
        return replace(heart, last_beat_at=now, last_interaction_at=heard, started_at=min(heart.started_at, now))
    missed = (now.micros - heart.last_beat_at.micros) // _BEAT_MICROS
    if not missed:
        return heart
    return replace(
        heart, beat=heart.beat + missed, last_beat_at=Moment(heart.last_beat_at.micros + missed * _BEAT_MICROS)
    )


def interacted(heart: Heartbeat, now: Moment) -> Heartbeat:
    """Someone spoke. What `since_last` was is to be asked before."""
    heart = ticked(heart, now)
    return replace(heart, last_interaction_at=now, last_interaction_beat=heart.beat)


def as_json(heart: Heartbeat) -> dict[str, Json]:
    return {
        "beat": heart.beat,
        "started_at": heart.started_at.iso(),
        "last_beat_at": heart.last_beat_at.iso(),
        "last_interaction_at": heart.last_interaction_at.iso(),
        "last_interaction_beat": heart.last_interaction_beat,
    }


def from_json(data: object) -> Heartbeat | None:
    """None for anything that is not a heartbeat, whatever it is."""
    if not isinstance(data, Mapping):
        return None
    beat, heard = _count(data.get("beat")), _count(data.get("last_interaction_beat"))
    if beat is None or heard is None:
        return None
    try:
        started, beaten, spoken = (
            Moment.parse(data[name]) for name in ("started_at", "last_beat_at", "last_interaction_at")
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return Heartbeat(beat, started, beaten, spoken, min(heard, beat))


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_BEATS:
        return value
    return None

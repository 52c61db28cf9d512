"""Compaction: merges what says the same, archives what is old, weakens the rest a little, and archives the weakest
beyond the limit; in this order. It is one plan, so one transaction and one undo. Pinned threads are left alone, so
more than the limit may remain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from recollect.base.moment import DAY_MICROS, Moment
from recollect.lifecycle.edits import Whole, merge_all
from recollect.lifecycle.strength import AgeRules, decayed_weight, status_at, status_by_age
from recollect.model.memory import Memory, Sketch, Status
from recollect.model.plan import Plan, Update, UpdateAll

Pair = tuple[str, str, float]  # two threads and how similar they are


class Strategy(StrEnum):
    GENTLE = "gentle"
    NORMAL = "normal"
    AGGRESSIVE = "aggressive"


class Figures(NamedTuple):
    merge_above: float
    archive_after_days: float
    most_active: int
    decay: float


FIGURES = {
    Strategy.GENTLE: Figures(0.95, 30, 50, 0.95),
    Strategy.NORMAL: Figures(0.85, 14, 30, 0.90),
    Strategy.AGGRESSIVE: Figures(0.75, 7, 15, 0.80),
}


class Chosen(NamedTuple):
    merges: tuple[Pair, ...] = ()  # kept, lost, similarity
    archives: tuple[tuple[str, str], ...] = ()  # with the reason: age or capacity
    weakened: tuple[str, ...] = ()
    decay: float = 1.0
    before: tuple[int, float] = (0, 0.0)  # how many threads are active, and their weight
    after: tuple[int, float] = (0, 0.0)


class ThreadState(NamedTuple):
    sketch: Sketch
    strength: float  # now, and so the status
    status: Status


def assess(sketches: Sequence[Sketch], *, now: Moment, rules: AgeRules) -> list[ThreadState]:
    """Computed once: there may be a hundred thousand, and most need no second look at their age."""
    found = []
    for one in sketches:
        age_days = 0 if one.pinned else max(0, now.micros - one.reinforced_us) / DAY_MICROS
        strength, status = decayed_weight(one.weight, age_days, rules), one.status
        if not one.pinned and strength < rules.suspend_below:
            status = status_by_age(one, age_days, rules)
        found.append(ThreadState(one, strength, status))
    return found


def choose(
    threads: Sequence[ThreadState],
    pairs: Sequence[Pair],
    figures: Figures,
    *,
    now: Moment,
    rules: AgeRules,
) -> Chosen:
    """`pairs` nearest first, of any threads; those that may not be merged are passed over."""
    awake = [one for one in threads if one.status is Status.ACTIVE]
    near = {id for a, b, _ in pairs for id in (a, b)}
    may_merge = {
        one.sketch.id: one for one in awake if one.sketch.id in near and not one.sketch.pinned
    }
    merges = _choose_merges(may_merge, pairs, figures.merge_above)
    aside = {lose for _, lose, _ in merges}
    later: dict[str, int] = {}  # when what a thread took in was last active
    for keep, lose, _ in merges:
        later[keep] = max(later.get(keep, 0), may_merge[lose].sketch.active_us)
    too_old = now.plus(days=-figures.archive_after_days).micros
    old = [
        one.id
        for one in (each.sketch for each in threads)
        if not one.pinned and one.id not in aside
        # Imported history is young by its import.
        and max(one.active_us, one.reinforced_us, later.get(one.id, 0)) < too_old
    ]  # fmt: skip
    aside.update(old)
    pins = [one.strength for one in awake if one.sketch.pinned]
    left = [one for one in awake if not one.sketch.pinned and one.sketch.id not in aside]

    def stays_awake(one: ThreadState) -> bool:
        """When it is weakened. What a recall woke from next to nothing does."""
        if one.strength * figures.decay >= rules.suspend_below:
            return True
        weaker = one.sketch._replace(weight=one.sketch.weight * figures.decay)
        return status_at(weaker, now=now, rules=rules) is Status.ACTIVE

    ranked = sorted(
        (one.strength, max(one.sketch.active_us, later.get(one.sketch.id, 0)), one.sketch.id)
        for one in left
        if stays_awake(one)
    )
    beyond = [id for _, _, id in ranked[: max(0, len(pins) + len(ranked) - figures.most_active)]]
    aside.update(beyond)
    stay = pins + [strength * figures.decay for strength, _, _ in ranked[len(beyond) :]]
    archives = (*((id, "age") for id in old), *((id, "capacity") for id in beyond))
    weakened = tuple(one.sketch.id for one in left if one.sketch.id not in aside)
    before, after = (len(awake), sum(one.strength for one in awake)), (len(stay), sum(stay))
    return Chosen(tuple(merges), archives, weakened, figures.decay, before, after)


def _choose_merges(
    may_merge: Mapping[str, ThreadState], pairs: Sequence[Pair], above: float
) -> list[Pair]:
    """Each thread is lost at most once, and none that took another in. What is near to a lost one goes where that
    went, if it is surely near enough to what is there: so any number of copies become one or a few at once."""
    kept: set[str] = set()
    went: dict[str, tuple[str, float]] = {}
    made = []
    for a, b, similarity in pairs:
        if (
            a not in may_merge
            or b not in may_merge
            or may_merge[a].sketch.lane is not may_merge[b].sketch.lane
        ):
            continue
        (one, first), (other, second) = went.get(a, (a, 1.0)), went.get(b, (b, 1.0))
        # The similarity of the ends of a chain is at least this: angles add up at most.
        angle = sum(math.acos(max(-1.0, min(1.0, each))) for each in (similarity, first, second))
        sure = math.cos(min(math.pi, angle))
        if sure <= above or one == other:
            continue
        keep, lose = sorted(
            (one, other), key=lambda id: (id not in kept, -may_merge[id].strength, id)
        )
        if lose in kept:
            continue
        kept.add(keep)
        went[lose] = (keep, sure)
        made.append((keep, lose, sure))
    return made


def plan(
    chosen: Chosen,
    sketches: Sequence[Sketch],
    whole: Mapping[str, Whole],
    *,
    now: Moment,
    rules: AgeRules,
) -> Plan:
    """`whole`: every thread that is merged."""
    pairs = [(whole[keep], whole[lose]) for keep, lose, _ in chosen.merges]
    changes, grown = merge_all(pairs, now=now, rules=rules)
    found: dict[str, Memory | Sketch] = {**{one.id: one for one in sketches}, **grown}
    for status in (Status.ACTIVE, Status.SUSPENDED):
        ids = tuple([id for id, _ in chosen.archives if found[id].status is status])
        if ids:
            changes.append(
                UpdateAll(ids, {"status": str(status)}, {"status": str(Status.ARCHIVED)})
            )
    for weight, id in ((found[id].weight, id) for id in chosen.weakened):
        changes.append(Update(id, {"weight": weight}, {"weight": weight * chosen.decay}))
    return Plan.of(changes)

"""Compaction: fewer threads, nothing lost. Merge what says the same, archive what is old, let the rest fade a
little, archive the weakest beyond the cap; in this order.

`choose` looks at sketches and decides; `plan` makes it one plan, so it is one transaction and one undo. What is
pinned is neither merged nor archived nor faded, so the cap may be missed when only pinned threads remain. Merges
stay within a lane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from recollect.base.moment import DAY_MICROS, Moment
from recollect.lifecycle.reshape import joined, merge_into
from recollect.lifecycle.strength import AgeRules, after, status_at
from recollect.model.memory import Bridge, Memory, Message, Sketch, Status
from recollect.model.plan import Change, Link, Plan, Unlink, Update

Pair = tuple[str, str, float]  # two threads and how similar they are


class Strategy(StrEnum):
    GENTLE = "gentle"
    NORMAL = "normal"
    AGGRESSIVE = "aggressive"


@dataclass(frozen=True, slots=True)
class Figures:
    merge_above: float
    archive_after_days: float
    most_active: int
    decay: float


FIGURES = {
    Strategy.GENTLE: Figures(0.95, 30, 50, 0.95),
    Strategy.NORMAL: Figures(0.85, 14, 30, 0.90),
    Strategy.AGGRESSIVE: Figures(0.75, 7, 15, 0.80),
}


class Reason(StrEnum):
    AGE = "age"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Tally:
    active_threads: int
    total_weight: float


@dataclass(frozen=True, slots=True)
class Chosen:
    merges: tuple[Pair, ...]  # kept, lost, similarity
    archives: tuple[tuple[str, Reason], ...]
    faded: tuple[str, ...]
    before: Tally
    after: Tally


class Standing(NamedTuple):
    """A thread as it stands now."""

    sketch: Sketch
    force: float
    status: Status


def standing(sketches: Sequence[Sketch], *, now: Moment, rules: AgeRules) -> list[Standing]:
    """Worked out once: there may be a hundred thousand, so most are not asked twice whether they fade."""
    found = []
    for one in sketches:
        force, status = one.weight, one.status
        if not one.pinned:
            force = after(force, max(0, now.micros - one.reinforced_us) / DAY_MICROS, rules)
            if force < rules.suspend_below:
                status = status_at(one, now=now, rules=rules, force=force)
        found.append(Standing(one, force, status))
    return found


def choose(
    threads: Sequence[Standing], pairs: Sequence[Pair], figures: Figures, *, now: Moment, rules: AgeRules
) -> Chosen:
    """`pairs` nearest first, of any threads; those that may not be merged are passed over."""
    awake = [one for one in threads if one.status is Status.ACTIVE]
    before = _tally([one.force for one in awake])
    near = {id for a, b, _ in pairs for id in (a, b)}
    may_merge = {one.sketch.id: one for one in awake if one.sketch.id in near}
    merges = _merges(may_merge, pairs, figures.merge_above)
    lost = {lose for _, lose, _ in merges}
    later: dict[str, int] = {}
    for keep, lose, _ in merges:
        later[keep] = max(later.get(keep, 0), may_merge[lose].sketch.active_us)
    too_old = now.plus(days=-figures.archive_after_days).micros
    old = [
        one.sketch.id
        for one in threads
        if max(one.sketch.active_us, one.sketch.reinforced_us) < too_old  # imported history is young by its import
        and not one.sketch.pinned
        and one.sketch.id not in lost
        and later.get(one.sketch.id, 0) < too_old
    ]
    aside = lost.union(old)
    pins = [one.force for one in awake if one.sketch.pinned]
    left = [one for one in awake if not one.sketch.pinned and one.sketch.id not in aside]
    least = rules.suspend_below / figures.decay
    ranked = [
        (one.force, max(one.sketch.active_us, later.get(one.sketch.id, 0)), one.sketch.id)
        for one in left
        if one.force >= least
    ]
    ranked.sort()
    beyond = [id for _, _, id in ranked[: max(0, len(pins) + len(ranked) - figures.most_active)]]
    over = frozenset(beyond)
    archives = [*((id, Reason.AGE) for id in old), *((id, Reason.CAPACITY) for id in beyond)]
    fading = tuple(one.sketch.id for one in left if one.sketch.id not in over)
    stay = [force * figures.decay for force, _, _ in ranked[len(beyond) :]]
    return Chosen(tuple(merges), tuple(archives), fading, before, _tally(pins + stay))


def _tally(forces: Sequence[float]) -> Tally:
    return Tally(len(forces), sum(forces))


def _merges(awake: Mapping[str, Standing], pairs: Sequence[Pair], above: float) -> list[Pair]:
    """Each thread is lost at most once, and none that took another in. Whoever is near to a lost one goes where that
    went, if it is surely near enough to what is there: so a heap of copies becomes one or a few at once."""
    kept: set[str] = set()
    went: dict[str, tuple[str, float]] = {}
    made = []
    for a, b, similarity in pairs:
        if not _may_join(awake.get(a), awake.get(b)):
            continue
        (one, first), (other, second) = went.get(a, (a, 1.0)), went.get(b, (b, 1.0))
        sure = _at_least(similarity, first, second)
        if sure <= above or one == other:
            continue
        keep, lose = sorted((one, other), key=lambda id: (id not in kept, -awake[id].force, id))
        if lose in kept:
            continue
        kept.add(keep)
        went[lose] = (keep, sure)
        made.append((keep, lose, sure))
    return made


def _at_least(*similarities: float) -> float:
    """Of the ends of a chain: angles add up at most."""
    return math.cos(min(math.pi, sum(math.acos(max(-1.0, min(1.0, one))) for one in similarities)))


def _may_join(one: Standing | None, other: Standing | None) -> bool:
    if one is None or other is None or one.sketch.pinned or other.sketch.pinned:
        return False
    return one.sketch.lane is other.sketch.lane


@dataclass(frozen=True, slots=True)
class Whole:
    """What merging needs of those that are merged."""

    memories: Mapping[str, Memory]
    messages: Mapping[str, tuple[Message, ...]]  # of the lost
    bridges: tuple[Bridge, ...]
    aliases: Mapping[str, tuple[str, ...]]


def plan(
    chosen: Chosen, sketches: Sequence[Sketch], whole: Whole, figures: Figures, *, now: Moment, rules: AgeRules
) -> Plan:
    changes: list[Change] = []
    grown = dict(whole.memories)
    bridges = _Bridges(whole.bridges)
    for keep, lose, _ in chosen.merges:
        one, other = grown[keep], grown[lose]
        grown[keep] = joined(one, other, now=now, rules=rules)
        made = merge_into(
            grown[keep], one, other, messages=whole.messages.get(lose, ()), bridges=bridges.of(keep, lose),
            aliases=whole.aliases.get(lose, ()),
        )  # fmt: skip
        for change in made.changes:
            if isinstance(change, Unlink):
                bridges.drop(change.bridge)
            elif isinstance(change, Link):
                bridges.add(change.bridge)
        changes += made.changes
    found: dict[str, Memory | Sketch] = {one.id: one for one in sketches}
    found.update(grown)
    put_away = {"status": str(Status.ARCHIVED)}
    awake, asleep = {"status": str(Status.ACTIVE)}, {"status": str(Status.SUSPENDED)}
    changes += [
        Update(id, awake if found[id].status is Status.ACTIVE else asleep, put_away) for id, _ in chosen.archives
    ]
    for id in chosen.faded:
        weight = found[id].weight
        changes.append(Update(id, {"weight": weight}, {"weight": weight * figures.decay}))
    return Plan.of(changes)


class _Bridges:
    """As they stand while one merge after the other moves them."""

    def __init__(self, bridges: Sequence[Bridge]) -> None:
        self._at: dict[str, dict[tuple[str, str, str], Bridge]] = {}
        for bridge in bridges:
            self.add(bridge)

    def add(self, bridge: Bridge) -> None:
        for end in (bridge.source, bridge.target):
            self._at.setdefault(end, {})[bridge.key] = bridge

    def drop(self, bridge: Bridge) -> None:
        for end in (bridge.source, bridge.target):
            self._at.get(end, {}).pop(bridge.key, None)

    def of(self, *ids: str) -> tuple[Bridge, ...]:
        return tuple({key: bridge for id in ids for key, bridge in self._at.get(id, {}).items()}.values())

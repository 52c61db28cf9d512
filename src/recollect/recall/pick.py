"""Picks what is shown: the filters of the question, no two that say the same, at most K, at most so many of one memory,
and why the rest is not.

Does not rank (fuse.py, weigh.py), does not word anything (render).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from recollect.base.text import one_line
from recollect.model.ledger import is_entered
from recollect.model.memory import Status
from recollect.model.query import REACHED, Drop, Hit, Query
from recollect.recall.weigh import is_quiet

_COMPARED_CHARS = 200  # of the beginning and of the end
BY_CHANCE = 0.15  # cosine of two texts about nothing alike, by the shipped model

NOTHING_IN_COMMON = "nothing in common"
BESIDE_THE_BEST = 0.8
"""Of the best one's probability: what bears on a prompt much less surely is not told beside it."""

_Key = tuple[int, str]
"""A memory: one id may stand in two stores."""


@dataclass(frozen=True, slots=True)
class Picked:
    hits: tuple[Hit, ...]
    drops: tuple[Drop, ...]
    left_out: tuple[tuple[Status, int], ...] = ()
    """How many of each status would be among the hits, had the question not ruled out their status."""


def pick(ranked: Iterable[Hit], query: Query, *, seen: Set[str] = frozenset()) -> Picked:
    """`ranked` in order, best first. `seen`: the marks of what this session knows already."""
    hits: list[Hit] = []
    drops: dict[_Key, Drop] = {}
    said: dict[tuple[str, str], str] = {}
    turns: Counter[_Key] = Counter()
    of_any_status = replace(query, statuses=())
    left_out: dict[_Key, Status] = {}
    ranked = list(ranked)
    told = {(hit.store, hit.memory.id) for hit in ranked if hit.turn is not None}
    for hit in ranked:
        memory = hit.memory
        key = hit.store, memory.id
        words = _words(hit, query)
        reason = refused(hit, query)
        if not reason and nothing_in_common(hit):
            reason = NOTHING_IN_COMMON
        elif not reason and query.unasked and hit.score < query.floor and not dict(hit.components).get("focus"):
            reason = f"below the floor ({hit.score:.2f} < {query.floor:.2f})"
        elif not reason and query.unasked and hits and hit.score < BESIDE_THE_BEST * hits[0].score:
            reason = "far below the best"
        elif not reason and query.unasked and not hit.shown:
            reason = "nothing in it answers"
        elif not reason and is_entered(seen, hit.mark):
            reason = "shown before"
        elif not reason and hit.turn is None and key in told:
            reason = "its turns say it"  # a thread's body sums them up
        elif not reason and words in said:
            reason = f"says the same as {said[words]}"
        elif not reason and turns[key] == query.turns:
            reason = "other turns of it match better"
        elif not reason and len(hits) == query.limit:
            reason = "beyond the limit"
        elif (
            reason
            and words not in said
            and len(hits) + len(left_out) < query.limit
            and not (refused(hit, of_any_status) or nothing_in_common(hit))
        ):
            left_out[key] = memory.status
        if reason:
            drops.setdefault(key, Drop(memory.id, reason))
            continue
        said[words] = memory.id
        turns[key] += 1
        hits.append(hit)
    dropped = tuple(drop for key, drop in drops.items() if key not in turns)
    return Picked(tuple(hits), dropped, tuple(Counter(left_out.values()).items()))


def _is_of_status(hit: Hit, wanted: tuple[Status, ...]) -> bool:
    status = hit.memory.status
    by_age = status is Status.ARCHIVED and not hit.put_away
    return not wanted or status in wanted or (by_age and set(REACHED) <= set(wanted))


def _words(hit: Hit, query: Query) -> tuple[str, str]:
    """What must not be shown twice. The same words in two sessions or threads are two events, unless each should come
    once."""
    said = one_line(hit.text[:_COMPARED_CHARS] + hit.text[_COMPARED_CHARS:][-_COMPARED_CHARS:]).casefold()
    title = f"# {one_line(hit.memory.title).casefold()}"  # alone it says less
    event = hit.memory.group if hit.turn is None else hit.memory.id
    return said or title, "" if query.once else event


def nothing_in_common(hit: Hit) -> bool:
    """Not one of the question's words, and a meaning no nearer than any two texts have by chance."""
    parts = dict(hit.components)
    company = parts.get("neighbours", 0.0) + parts.get("group", 0.0) + parts.get("focus", 0.0)
    return parts.get("cover", 0.0) == 0 and parts.get("near", 0.0) < BY_CHANCE and company == 0


def refused(hit: Hit, query: Query) -> str:
    """Why the question does not want it; empty when it does."""
    memory = hit.memory
    if query.kinds and memory.kind not in query.kinds:
        return f"is a {memory.kind}"
    if not _is_of_status(hit, query.statuses):
        return "in the inbox" if memory.status is Status.CANDIDATE else str(memory.status)
    if query.unasked and is_quiet(memory):
        return "went quiet"
    if query.topic and query.topic.lower() not in {topic.lower() for topic in memory.topics}:
        return "another topic"
    if query.tag and query.tag.lower() not in {tag.lower() for tag in memory.tags}:
        return "another tag"
    if query.group and memory.group != query.group:
        return "another group"
    if query.since and memory.last_active_at < query.since:
        return "before the time asked for"
    if query.until and memory.last_active_at > query.until:
        return "after the time asked for"
    return ""

"""Selects what is shown: applies the filters of the question, drops repetitions, keeps to the limits, and says why the
rest is left out.

Does not rank (fuse.py, priority.py), does not word anything (render).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace

from recollect.base.text import one_line
from recollect.model.memory import Status
from recollect.model.query import REACHED, Drop, Hit, Query
from recollect.model.session import is_entered
from recollect.recall.priority import is_quiet

BY_CHANCE = 0.15  # cosine of two unrelated texts, by the shipped model
NOTHING_IN_COMMON = "nothing in common"
SHARE_OF_BEST = 0.8  # of the best hit's probability: a hit that is much less certain is not shown beside it
_COMPARED_CHARS = 200  # of the beginning and of the end

_Key = tuple[int, str]  # a memory: one id may stand in two stores


@dataclass(frozen=True, slots=True)
class Selection:
    hits: tuple[Hit, ...]
    drops: tuple[Drop, ...]
    left_out: tuple[tuple[Status, int], ...] = ()
    """How many of each status would be among the hits, had the question not ruled out their status."""


@dataclass(slots=True)
class _Chosen:
    hits: list[Hit] = field(default_factory=list)
    turns: Counter[_Key] = field(default_factory=Counter)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)  # what was said, and by which memory


def select(
    ranked: Iterable[Hit], query: Query, *, seen: Set[str] = frozenset(), withheld: Set[str] = frozenset()
) -> Selection:
    """`ranked` in order, best first. `seen`: the ledger marks of what this session knows already. `withheld`: the ids
    of memories that nobody has allowed."""
    ranked = list(ranked)
    of_any_status = replace(query, statuses=())
    has_turns = {(hit.store, hit.memory.id) for hit in ranked if hit.turn is not None}
    chosen = _Chosen()
    drops: dict[_Key, Drop] = {}
    left_out: dict[_Key, Status] = {}
    for hit in ranked:
        key, text = (hit.store, hit.memory.id), _comparable(hit, query)
        refusal = why_refused(hit, query)
        reason = refusal or _why_dropped(hit, key, text, query, chosen, seen, has_turns)
        if hit.memory.id in withheld:
            refusal, reason = "", "waits to be allowed"
        if not reason:
            chosen.texts[text] = hit.memory.id
            chosen.turns[key] += 1
            chosen.hits.append(hit)
            continue
        drops.setdefault(key, Drop(hit.memory.id, reason))
        has_room = len(chosen.hits) + len(left_out) < query.limit and text not in chosen.texts
        if refusal and has_room and not (why_refused(hit, of_any_status) or has_nothing_in_common(hit)):
            left_out[key] = hit.memory.status
    dropped = tuple(drop for key, drop in drops.items() if key not in chosen.turns)
    return Selection(tuple(chosen.hits), dropped, tuple(Counter(left_out.values()).items()))


def _why_dropped(
    hit: Hit, key: _Key, text: tuple[str, str], query: Query, chosen: _Chosen, seen: Set[str], has_turns: Set[_Key]
) -> str:
    """Why a hit that the question wants is not shown; empty when it is."""
    if has_nothing_in_common(hit):
        return NOTHING_IN_COMMON
    if query.unasked:
        if hit.score < query.floor and not hit.part("focus"):
            return f"below the floor ({hit.score:.2f} < {query.floor:.2f})"
        if chosen.hits and hit.score < SHARE_OF_BEST * chosen.hits[0].score:
            return "far below the best"
        if not hit.shown:
            return "nothing in it answers"
    if is_entered(seen, hit.mark):
        return "shown before"
    if hit.turn is None and key in has_turns:
        return "its turns say it"  # a thread's body sums them up
    if text in chosen.texts:
        return f"says the same as {chosen.texts[text]}"
    if chosen.turns[key] == query.turns:
        return "other turns of it match better"
    return "beyond the limit" if len(chosen.hits) == query.limit else ""


def why_refused(hit: Hit, query: Query) -> str:
    """Which filter of the question keeps it out; empty when none does."""
    memory = hit.memory
    if query.kinds and memory.kind not in query.kinds:
        return f"is a {memory.kind}"
    if not _has_status(hit, query.statuses):
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


def has_nothing_in_common(hit: Hit) -> bool:
    """None of the question's words, and no nearer in meaning than any two texts are by chance."""
    company = hit.part("neighbours") + hit.part("group") + hit.part("focus")
    return hit.part("cover") == 0 and hit.part("near") < BY_CHANCE and company == 0


def _has_status(hit: Hit, wanted: tuple[Status, ...]) -> bool:
    status = hit.memory.status
    by_age = status is Status.ARCHIVED and not hit.put_away
    return not wanted or status in wanted or (by_age and set(REACHED) <= set(wanted))


def _comparable(hit: Hit, query: Query) -> tuple[str, str]:
    """What must not be shown twice. The same words in two sessions or threads are two events, unless the query wants
    each text once."""
    text = one_line(hit.text[:_COMPARED_CHARS] + hit.text[_COMPARED_CHARS:][-_COMPARED_CHARS:]).casefold()
    title = f"# {one_line(hit.memory.title).casefold()}"  # alone it says less
    event = hit.memory.group if hit.turn is None else hit.memory.id
    return text or title, "" if query.once else event

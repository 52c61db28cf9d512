"""Ranks hits by priority, selects those to show, and says why the rest are left out. Priority is `match x g(strength)
x relevance + focus`, where g is nearly flat: age decides between matches that are about equal, never between a good and
a poor one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import Struct, replace
from recollect.base.text import one_line
from recollect.model.memory import Condition, Memory, Rating, Status
from recollect.model.query import BEYOND_LIMIT, REACHED, Drop, Hit, Query
from recollect.model.session import is_entered

FREE_HALVINGS = (
    5.0  # half-lives that cost nothing: by default all memories of a fortnight are ranked alike
)
AGE_COST = (
    0.001  # of the match, for each half-life after those; docs/BENCHMARKS.md says how it was chosen
)
MAX_AGE_COST = 0.03
MUTED_BELOW = 0.4
_MIN_STRENGTH, _PRIOR = 1e-300, 3.0
_RATINGS, _OUTCOMES = 10, 50  # how many of the latest count
_OUTCOME_SHARE = 0.2  # of a rating
# Without so many marks against it no memory is muted: one for an outcome, and at most ten for a rating.
MARKS_TO_MUTE = int((1 / MUTED_BELOW - 1) * _PRIOR / _OUTCOME_SHARE)
BY_CHANCE = 0.15  # cosine of two unrelated texts, by the shipped model
NOTHING_IN_COMMON = "nothing in common"
BELOW_FLOOR = "below the floor"
TURNS_SAY_IT = "its turns say it"
HAS_ITS_WORDS = 0.8  # the share of a question: what has nearly all of its words answers it
NEAR_WITHOUT_WORDS = (
    0.2  # the cosine: what shares no word with a question comes nearer than random letters do
)
# Measured over Chinese, Japanese and Russian memories: unrelated ones stay below 0.04, answers begin at 0.04.
FOREIGN_SHARE = 0.35
MAX_NEAREST = 2
SHARE_OF_BEST = (
    0.8  # of the best hit's probability: a hit that is much less certain is not shown beside it
)
LIKENESS = 0.10  # for the hit that says most of the question in words of like meaning
_COMPARED_CHARS = 200  # of the beginning and of the end

_Key = tuple[int, str]  # a memory: one id may stand in two stores


class Focus(Struct):
    topic: str
    weight: float
    set_at: Moment


class Priority(NamedTuple):
    score: float
    relevance: float
    focus: float


def priority(memory: Memory, match: float, strength: float, focus: Sequence[Focus]) -> Priority:
    useful, boost = relevance(memory.ratings, memory.outcomes), focus_boost(memory, focus)
    return Priority(match * strength_factor(strength) * useful + boost, useful, boost)


def raise_by_likeness(hits: Sequence[Hit], likeness: Mapping[tuple[int, int], float]) -> list[Hit]:
    """`likeness`: by unit, of those that were compared with the question."""
    lead = max(likeness.values(), default=0.0) or 1.0
    raised = []
    for hit in hits:
        more = LIKENESS * likeness.get(hit.unit_key, 0.0) / lead * hit.part("relevance")
        raised.append(replace(hit, score=hit.score + more) if more else hit)
    return sorted(raised, key=lambda hit: (hit.score, hit.part("strength")), reverse=True)


def strength_factor(strength: float) -> float:
    """1 for a memory used within the last few half-lives, slowly a little less for older ones, more for a pin."""
    halvings = -math.log2(max(_MIN_STRENGTH, min(strength, 1.0)))
    lost = min(MAX_AGE_COST, AGE_COST * max(0.0, halvings - FREE_HALVINGS))
    return 1.0 - lost + 0.2 * max(0.0, strength - 1.0)


def relevance(ratings: Sequence[Rating], outcomes: str = "") -> float:
    """How useful it proved, above 0 and at most 1: a prior of three good ratings, the latest ratings, the later ones
    weighing more, and a fifth of one for each of the latest calls and turns that it was about."""
    weights = [
        (1.0 + 0.1 * number, rating.useful) for number, rating in enumerate(ratings[-_RATINGS:])
    ]
    recent = outcomes[-_OUTCOMES:]
    good = (
        _PRIOR
        + sum(weight for weight, useful in weights if useful)
        + _OUTCOME_SHARE * recent.count("+")
    )
    return good / (_PRIOR + sum(weight for weight, _ in weights) + _OUTCOME_SHARE * len(recent))


def evidence(memory: Memory) -> tuple[tuple[str, float], ...]:
    recent = memory.outcomes[-_OUTCOMES:]
    counts = {
        "ratings": len(memory.ratings[-_RATINGS:]), "went_well": recent.count("+"), "went_badly": recent.count("-")
    }  # fmt: skip
    return tuple((name, float(count)) for name, count in counts.items() if count)


def is_muted(memory: Memory) -> bool:
    """Shown only to who asks: it never helped, or a person said so; `restore` brings it back. What is pinned is muted
    by a person's word alone."""
    is_useless = not memory.pinned and relevance(memory.ratings, memory.outcomes) < MUTED_BELOW
    return is_useless or is_unwanted(memory)


def is_unwanted(memory: Memory) -> bool:
    return any(rating.never for rating in memory.ratings)


_CONDITIONS = {
    Status.ACTIVE: Condition.ACTIVE, Status.SUPERSEDED: Condition.REPLACED, Status.CANDIDATE: Condition.WAITING,
}  # fmt: skip


def condition(memory: Memory, *, put_away: bool) -> Condition:
    """`memory`: with the status that age gives it. `put_away`: that it is archived is stored."""
    if put_away:
        return Condition.ARCHIVED
    stands = _CONDITIONS.get(memory.status, Condition.ASLEEP)
    return (
        Condition.MUTED
        if stands in (Condition.ACTIVE, Condition.ASLEEP) and is_muted(memory)
        else stands
    )


def focus_boost(memory: Memory, focus: Sequence[Focus]) -> float:
    boost = 0.0
    topics, title = {topic.lower() for topic in memory.topics}, memory.title.lower()
    for point in focus:
        topic = point.topic.lower()
        boost += point.weight * (
            0.3 * (topic in topics) + 0.5 * (point.topic == memory.id) + 0.2 * (topic in title)
        )
    return min(boost, 0.5)


class Selection(Struct):
    hits: tuple[Hit, ...]
    drops: tuple[Drop, ...]
    left_out: tuple[tuple[Status, int], ...] = ()
    """How many of each status would be among the hits, had the question not ruled out their status."""
    judged: tuple[Hit, ...] = ()
    """For a prompt: the best candidates, each with how likely it is relevant, shown or not."""
    nearest: tuple[Hit, ...] = ()
    """Where nothing answers a question: what came nearest to it."""
    are_more: bool = False
    """Whether candidates are left that were not looked at, as enough others came nearer."""


def select(ranked: Iterable[Hit], query: Query) -> Selection:
    """`ranked` in order, best first."""
    ranked = list(ranked)
    of_any_status = replace(query, statuses=())
    has_turns = {(hit.store, hit.memory.id) for hit in ranked if hit.turn is not None}
    hits: list[Hit] = []
    turns: Counter[_Key] = Counter()
    texts: dict[tuple[str, str], str] = {}  # what is said, and by which memory
    drops: dict[_Key, Drop] = {}
    left_out: dict[_Key, Status] = {}

    def why_dropped(hit: Hit, key: _Key, text: tuple[str, str]) -> str:
        """Why a hit that no filter keeps out is not shown; empty when it is."""
        if has_nothing_in_common(hit):
            return NOTHING_IN_COMMON
        if query.unasked:
            if hit.score < query.floor and not hit.part("focus"):
                return f"below the floor ({hit.score:.2f} < {query.floor:.2f})"
            if hits and hit.score < SHARE_OF_BEST * hits[0].score:
                return "far below the best"
            if not hit.shown:
                return "nothing in it answers"
        if is_entered(query.seen, hit.mark):
            return "shown before"
        if hit.turn is None and key in has_turns:
            return TURNS_SAY_IT  # a thread's body sums them up
        if text in texts:
            return f"says the same as {texts[text]}"
        if turns[key] == query.turns:
            return "other turns of it match better"
        return BEYOND_LIMIT if len(hits) == query.limit else ""

    for hit in ranked:
        key = hit.store, hit.memory.id
        # What must not be shown twice. The same words in two sessions or threads are two events, unless the query asks
        # for each text once. A title alone says less.
        ends = hit.text[:_COMPARED_CHARS] + hit.text[_COMPARED_CHARS:][-_COMPARED_CHARS:]
        said = one_line(ends).casefold() or f"# {one_line(hit.memory.title).casefold()}"
        text = said, "" if query.once else hit.memory.group if hit.turn is None else hit.memory.id
        refusal = why_refused(hit, query)
        reason = refusal or why_dropped(hit, key, text)
        if refusal and has_nothing_in_common(hit):
            reason = NOTHING_IN_COMMON
        if hit.memory.id in query.withheld:
            refusal, reason = "", "waits to be allowed"
        if not reason:
            texts[text] = hit.memory.id
            turns[key] += 1
            hits.append(hit)
            continue
        if reason != TURNS_SAY_IT:  # where none of them is shown, the reason is why they are not
            drops.setdefault(key, Drop(hit.memory.id, reason))
        has_room = len(hits) + len(left_out) < query.limit and text not in texts
        if (
            refusal
            and has_room
            and not (why_refused(hit, of_any_status) or has_nothing_in_common(hit))
        ):
            left_out[key] = hit.memory.status
    dropped = tuple(drop for key, drop in drops.items() if key not in turns)
    return Selection(tuple(hits), dropped, tuple(Counter(left_out.values()).items()))


def is_answer(hit: Hit, probability: float, *, foreign: bool, floor: float) -> bool:
    """Whether a hit has to do with a question that somebody asked; else it is only the nearest of what there is.
    `probability`: how likely it is relevant. `foreign`: in another script, where vectors say little and no word is
    reduced to its stem, a passage that answers has fewer of the question's words."""
    if hit.part("cover") >= HAS_ITS_WORDS or hit.part("time") > 0:
        return True
    is_by_chance = hit.part("cover") == 0 and hit.part("near") < NEAR_WITHOUT_WORDS
    least = floor * FOREIGN_SHARE if foreign else floor
    return probability >= least and not is_by_chance


def without_hits(selected: Selection) -> Selection:
    """Nothing answers: the hits are left out, and the first of them named as the nearest. Nothing is left out because
    there was no room: there was."""
    nearest = {hit.memory.id: hit for hit in reversed(selected.hits)}
    in_order = [hit for hit in selected.hits if nearest[hit.memory.id] is hit]
    drops = [Drop(hit.memory.id, BELOW_FLOOR) for hit in in_order]
    for drop in selected.drops:
        no_room = drop.reason == BEYOND_LIMIT
        drops.append(Drop(drop.id, BELOW_FLOOR) if no_room else drop)
    return replace(
        selected,
        hits=(),
        drops=tuple(drops),
        nearest=tuple(in_order[:MAX_NEAREST]),
    )


def why_refused(hit: Hit, query: Query) -> str:
    """Which filter of the question keeps it out; empty when none does."""
    memory = hit.memory
    by_age = (
        memory.status is Status.ARCHIVED
        and not hit.put_away
        and set(REACHED) <= set(query.statuses)
    )
    status = "in the inbox" if memory.status is Status.CANDIDATE else str(memory.status)
    refusals = (
        (query.kinds and memory.kind not in query.kinds, f"is a {memory.kind}"),
        (query.statuses and memory.status not in query.statuses and not by_age, status),
        (query.unasked and is_muted(memory), "went quiet"),
        (
            query.condition and condition(memory, put_away=hit.put_away) is not query.condition,
            "not in that condition",
        ),
        (query.lane and memory.lane is not query.lane, "from another source"),
        (query.topic and query.topic.lower() not in map(str.lower, memory.topics), "another topic"),
        (query.tag and query.tag.lower() not in map(str.lower, memory.tags), "another tag"),
        (query.group and memory.group != query.group, "another group"),
        (query.since and memory.last_active_at < query.since, "before the time asked for"),
        (query.until and memory.last_active_at > query.until, "after the time asked for"),
    )
    return next((reason for is_out, reason in refusals if is_out), "")


def has_nothing_in_common(hit: Hit) -> bool:
    """None of the question's words, and no nearer in meaning than any two texts are by chance."""
    company = hit.part("neighbours") + hit.part("group") + hit.part("focus")
    return hit.part("cover") == 0 and hit.part("near") < BY_CHANCE and company == 0

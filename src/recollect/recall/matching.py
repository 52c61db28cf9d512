"""How well each unit (model/query.py) matches a question, by words and vectors: each counts against the best of this
question (which leads?) and against a perfect match (is the lead worth anything?). And how likely a memory is relevant
to someone who did not ask (floor.json has the learned weights; selection.py applies the threshold)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from recollect.base.shipped import load_table
from recollect.model.query import Background, Nearness, Owner, Place, TermValues, WordEvidence
from recollect.model.small_talk import WORDS as SMALL_TALK
from recollect.recall.time_words import Span

KEPT = 400  # passages of a store that are looked at further; the rest cannot reach the top
_MAX_TERM_SCORE = 2.2  # before its rarity: BM25's k1 + 1
# Terms that say what kind of answer is expected ("how many days ago"), more than what it is about.
_FRAME_TERMS = frozenset(
    " ".join(load_table("recollect.recall", "search_words.json")["frame_terms"]).split()
)
_FRAME_SHARE = 0.5

# Weights, chosen by measurement; docs/BENCHMARKS.md says how, and what else was tried. The second of a pair counts
# against a perfect match.
_BEST, _BEST_OF_ALL = 0.10, 0.25  # the best passage by words
_WHOLE, _WHOLE_OF_ALL = 0.10, 0.15  # each term where it is strongest in the unit
_NEAR, _NEAR_OF_ALL = 0.10, 0.30  # the nearest passage
_MIDDLE, _MIDDLE_OF_ALL = 0.10, 0.25  # the mean of all passages
_NEIGHBOURS = 0.07
_ANSWER = 0.30  # more for what follows a question: an answer has few of the question's words
_QUESTION = 0.90  # a question is seldom what answers another
_GROUP, _GROUP_OF_ALL = 0.15, 0.15
_THREAD = 0.50  # the share of that for a turn of a thread: a long thread is about everything
_LONG_TURN = 0.15  # in a conversation the short turn is what was said, the long one the reply to it
TIME = 0.20  # for a memory from the time that a question names
VOICE = 0.60  # how much more a passage all in the first person counts, where a question is about its asker
_BY_WORDS = _BEST + _BEST_OF_ALL + _WHOLE + _WHOLE_OF_ALL
OWN = (
    _BY_WORDS + _NEAR + _NEAR_OF_ALL + _MIDDLE + _MIDDLE_OF_ALL
)  # a perfect match without any company
_MIN_LEAD = 1e-9  # a lead over nothing is no lead
TURN_BYTES = 500  # up to here a turn of a conversation is short

_FLOOR = load_table("recollect.recall", "floor.json")
_WEIGHTS: Mapping[str, Mapping[str, float]] = _FLOOR["weights"]
_PATTERNS = {kind: "|".join(alternatives) for kind, alternatives in _FLOOR["patterns"].items()}
_NAME = re.compile(_PATTERNS["name"])
_TIDYING, _PROJECT = (
    re.compile(rf"\b(?:{_PATTERNS[kind]})\b", re.IGNORECASE) for kind in ("tidying", "project")
)
_GENERAL = re.compile(rf"\b(?:{_PATTERNS['general']})", re.IGNORECASE)
# Small talk and the words of every piece of work, as the index has them.
_COMMON = SMALL_TALK.union(*(line.split() for line in _FLOOR["common_words"]))

NEEDED = (
    5.0  # information that a prompt must have before it can be covered: one rare word is not enough
)
_MOSTLY_FOREIGN = 0.5  # from here on the shipped model's vectors add nothing to what the words say
# How near unrelated texts are by the shipped model, of which so many are added to a store's own. Letters other than
# plain Latin ones mean little to it: all texts in them are near to each other.
_USUAL_MEAN, _USUAL_DEVIATION, _USUAL_COUNT = 0.05, 0.09, 10
_FOREIGN_MEAN, _FOREIGN_MORE = 0.25, 0.17
_MIN_DEVIATION, _MAX_STANDING_OUT = 0.01, 8.0
# How rare a word is assumed to be before anything is known of it, as if this many passages had been seen.
_SEEN, _COMMON_SHARE, _OTHER_SHARE = 50, 0.10, 0.005
_MAX_NAMES, _MAX_WORDS, _MAX_CHARS = 2, 60, 4_000
_CROWDED_FROM = 4_000  # passages: among more than these some always fit by chance

Ref = tuple[int, int]  # a unit: which store, and its number there


class TermScores(NamedTuple):
    passages: tuple[
        Mapping[int, TermValues], ...
    ]  # by store, the best passages with the terms they have
    rarity: Mapping[str, float]

    @property
    def perfect(self) -> float:
        return _MAX_TERM_SCORE * sum(self.rarity.values())


class WordMatch(NamedTuple):
    best: float  # of its best passage
    whole: float  # each term where it is strongest in the unit
    cover: float  # the share of the question's rarity that it has
    terms: TermValues


Words = Mapping[Ref, WordMatch]


class Match(NamedTuple):
    score: float
    """0 to 1 for the memory itself; company, a time that fits and words in the first person may lift it above 1."""
    words: float = 0.0
    cover: float = 0.0
    near: float = 0.0
    neighbours: float = 0.0
    group: float = 0.0
    length: float = 0.0
    time: float = 0.0


def count_terms(evidence: Sequence[WordEvidence]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for term in (term for one in evidence for term in one.terms):
        counts[term.term] += term.passages
    return counts


def score_terms(evidence: Sequence[WordEvidence], kept: int = KEPT) -> TermScores:
    passages, counts = sum(one.passages for one in evidence), count_terms(evidence)
    framed = _FRAME_TERMS if not counts.keys() <= _FRAME_TERMS else frozenset()
    rarity = {
        term: math.log(1 + (max(passages, n) - n + 0.5) / (n + 0.5))
        * (_FRAME_SHARE if term in framed else 1)
        for term, n in counts.items()
    }
    return TermScores(tuple(one.best(rarity, kept) for one in evidence), rarity)


def cover(
    worth: Mapping[str, float], evidence: WordEvidence, passages: Iterable[int], needed: float = 0.0
) -> dict[int, float]:
    """The share of the question's `worth`, by term, that each of these passages has. `needed`: added to the whole."""
    whole = sum(worth.values()) + needed or 1.0
    held = evidence.terms_of(passages)
    return {
        passage: sum([worth[term] for term in terms]) / whole for passage, terms in held.items()
    }


def match_units(
    scores: TermScores, owners: Sequence[Mapping[int, Owner]], voice: float = 0.0
) -> dict[Ref, WordMatch]:
    """`owners`: for each store whose passage it is. `voice`: how much more a passage counts that is all in the first
    person; a perfect match stays what it is, and another passage counts for less."""
    by_unit: dict[Ref, list[TermValues]] = {}
    for store, passages in enumerate(scores.passages):
        for passage, values in passages.items():
            owner = owners[store].get(passage)
            if owner is None:
                continue
            if voice:
                share = (1 + voice * owner.voice / 100) / (1 + voice)
                values = [(term, value * share) for term, value in values]
            by_unit.setdefault((store, owner.unit), []).append(values)
    all_rarity = sum(scores.rarity.values()) or 1.0
    return {ref: _match_words(scores.rarity, own, all_rarity) for ref, own in by_unit.items()}


def _match_words(
    rarity: Mapping[str, float], passages: list[TermValues], all_rarity: float
) -> WordMatch:
    if len(passages) == 1:  # most have one, and hundreds are matched for a question
        best = sum([value for _, value in passages[0]])
        covered = sum([rarity[term] for term, _ in passages[0]])
        return WordMatch(best, best, covered / all_rarity, passages[0])
    strongest = dict(passages[0])
    for term, value in (pair for values in passages[1:] for pair in values):
        if value > strongest.get(term, 0.0):
            strongest[term] = value
    best = max([sum([value for _, value in values]) for values in passages])
    covered = sum([rarity[term] for term in strongest])
    return WordMatch(best, sum(strongest.values()), covered / all_rarity, tuple(strongest.items()))


def fuse(words: Words, near: Mapping[Ref, Nearness], perfect: float) -> dict[Ref, Match]:
    """`perfect`: what a perfect match of the words would score."""

    def lead_of(values: Iterable[float]) -> float:
        return max([_MIN_LEAD, *values])

    perfect = perfect or 1.0
    lead_near, lead_middle = (
        lead_of(n.voiced for n in near.values()),
        lead_of(n.middle for n in near.values()),
    )
    # What a point of each kind of evidence is worth for this question.
    best = (_BEST / lead_of(m.best for m in words.values()) + _BEST_OF_ALL / perfect) / OWN
    whole = (_WHOLE / lead_of(m.whole for m in words.values()) + _WHOLE_OF_ALL / perfect) / OWN
    nearest = (_NEAR / lead_near + _NEAR_OF_ALL) / OWN
    middle = (_MIDDLE / lead_middle + _MIDDLE_OF_ALL) / OWN
    # Without a vector its meaning is assumed to be as near as its words are, not to be nothing.
    by_words_alone = (
        _NEAR + _NEAR_OF_ALL * lead_near + _MIDDLE + _MIDDLE_OF_ALL * lead_middle
    ) / _BY_WORDS
    if not near:  # nothing has one: a perfect match of the words is a perfect match
        by_words_alone = OWN / _BY_WORDS - 1

    def match(word: WordMatch | None, close: Nearness | None) -> Match:
        score = best * word.best + whole * word.whole if word is not None else 0.0
        cover = word.cover if word is not None else 0.0
        if close is None:
            return Match(score + score * by_words_alone, score, cover)
        total = score + nearest * max(0.0, close.voiced) + middle * max(0.0, close.middle)
        return Match(total, score, cover, max(0.0, close.best))

    return {ref: match(words.get(ref), near.get(ref)) for ref in {*words, *near}}


def passage_score(cover: float, near: float) -> float:
    """How well a single passage answers: the share of the question that it has, and how near it is."""
    words, meaning = _BEST_OF_ALL + _WHOLE_OF_ALL, _NEAR_OF_ALL
    return (words * cover + meaning * max(0.0, near)) / (words + meaning)


def raise_by_context(
    matches: Mapping[Ref, Match],
    words: Words,
    places: Mapping[Ref, Place],
    perfect: float,
    asked: Span | None = None,
) -> dict[Ref, Match]:
    """A unit gains by its neighbours in the conversation, by how much of the question the whole conversation is about,
    and by being from the time that was asked for."""
    # Of a group, each term where it is strongest. A group of one is no company.
    strongest: dict[tuple[int, str], dict[str, float]] = {}
    sizes: Counter[tuple[int, str]] = Counter()
    for ref, place in places.items():
        if place.group:
            sizes[ref[0], place.group] += 1 + len(place.before) + len(place.after)
        if place.group and ref in words:
            own = strongest.setdefault((ref[0], place.group), {})
            for term, value in words[ref].terms:
                own[term] = max(value, own.get(term, 0.0))
    groups = {key: sum(own.values()) for key, own in strongest.items() if sizes[key] > 1}
    lead = max(groups.values(), default=0.0) or 1.0
    answers = {
        (ref[0], place.after[0]): _ANSWER * matches[ref].score
        for ref, place in places.items()
        if place.asks and place.after and ref in matches
    }
    lifted = dict(matches)
    for ref, place in places.items():
        match = matches.get(ref)
        if match is None:
            continue
        if asked is not None and place.times:
            time = TIME * max(asked.holds(at) for at in place.times) / OWN
            match = lifted[ref] = match._replace(score=match.score + time, time=time)
        if not place.group:
            continue
        beside = [matches.get((ref[0], seq)) for seq in (*place.before[:1], *place.after[:1])]
        neighbours = _NEIGHBOURS * sum(m.score for m in beside if m is not None) + answers.pop(
            ref, 0.0
        )
        score = groups.get((ref[0], place.group))
        group = length = 0.0
        if score is not None:
            group = (_GROUP * score / lead + _GROUP_OF_ALL * score / (perfect or 1.0)) / OWN
            group *= _THREAD if ref[1] < 0 else 1.0
            length = -_LONG_TURN * math.log(max(place.size, TURN_BYTES) / TURN_BYTES) / OWN
        said = (match.score + neighbours) * (_QUESTION if place.asks else 1.0)
        total = max(0.0, said + group + length)
        lifted[ref] = match._replace(score=total, neighbours=neighbours, group=group, length=length)
    for ref, more in answers.items():  # that nothing else brought up
        match = lifted.get(ref, Match(0.0))
        lifted[ref] = match._replace(score=match.score + more, neighbours=match.neighbours + more)
    return lifted


class Prompt(NamedTuple):  # the features of a prompt, computed once
    length: float
    names: frozenset[str]
    foreign: float  # the share of its letters that are not plain Latin ones
    is_tidying: bool = False  # renaming, sorting, removing what is unused
    is_general: bool = False  # a question about a language or a tool, not about this project

    @classmethod
    def of(cls, text: str) -> Prompt:
        text = text[:_MAX_CHARS]
        letters = [char for char in text if char.isalpha()]
        return cls(
            length=math.log(1 + min(len(text.split()), _MAX_WORDS)),
            names=frozenset(found.group().strip("`").casefold() for found in _NAME.finditer(text)),
            foreign=sum(not char.isascii() for char in letters) / max(1, len(letters)),
            is_tidying=bool(_TIDYING.search(text)),
            is_general=_GENERAL.search(text) is not None and not _PROJECT.search(text),
        )

    @classmethod
    def of_question(cls, text: str) -> Prompt:
        """Whoever asks memory means memory: what would be said to an agent about a tool in general is not."""
        return cls.of(text)._replace(is_tidying=False, is_general=False)

    @property
    def is_foreign(self) -> bool:
        return self.foreign > _MOSTLY_FOREIGN


def judge_relevance(
    prompt: Prompt,
    text: str,
    *,
    near: float | None,
    cover: float,
    background: Background,
    passages: int,
    kept: bool,
) -> tuple[float, tuple[tuple[str, float], ...]]:
    """A probability, and what it is made of. `near`: the cosine of the best passage, None without vectors; `cover`: of
    the passage that covers most; `passages`: how many there are in the stores; `kept`: it is a rule or a note."""
    lowered = text.casefold() if prompt.names else ""
    values = {
        "cover": cover,
        "names": float(min(_MAX_NAMES, sum(name in lowered for name in prompt.names))),
        "length": prompt.length,
        # The more passages there are, the more are near by chance: 1 in an empty store, nearly 0 among hundreds.
        "fresh": _USUAL_COUNT / (_USUAL_COUNT + passages),
        "crowded": math.log(max(1.0, passages / _CROWDED_FROM)),
        "tidying": prompt.is_tidying,
        "general": prompt.is_general,
        "kept": kept,
    }
    told: tuple[tuple[str, float], ...] = (("covered", cover), ("names", values["names"]))
    weights = _WEIGHTS["words_alone"]
    if near is not None and not prompt.is_foreign:
        weights = _WEIGHTS["with_vectors"]
        # Of the other passages: this one is taken out, the typical ones are added.
        usual = _FOREIGN_MEAN + _FOREIGN_MORE * prompt.foreign if prompt.foreign else _USUAL_MEAN
        others = max(0, background.passages - 1)
        total = background.total - near if others else 0.0
        squares = background.squares - near * near if others else 0.0
        mean = min(0.95, (total + _USUAL_COUNT * usual) / (others + _USUAL_COUNT))
        usual_squares = _USUAL_DEVIATION * _USUAL_DEVIATION + usual * usual
        variance = (squares + _USUAL_COUNT * usual_squares) / (others + _USUAL_COUNT) - mean * mean
        deviation = math.sqrt(max(variance, _MIN_DEVIATION * _MIN_DEVIATION))
        lift, stands_out = (
            (near - mean) / (1 - mean),
            min(_MAX_STANDING_OUT, (near - mean) / deviation),
        )
        values |= {"lift": lift, "stands_out": stands_out}
        told = (("lift", lift), ("stands_out", stands_out), *told)
    odds = weights["bias"] + sum(weights[name] * value for name, value in values.items())
    return 1 / (1 + math.exp(-odds)), told


def information(evidence: Sequence[WordEvidence]) -> dict[str, float]:
    """What each word tells: little where every passage has it. A new store knows too little about that, so words that
    are common everywhere are assumed to be common here."""
    passages = sum(one.passages for one in evidence)
    found = {}
    for term, count in count_terms(evidence).items():
        share = _COMMON_SHARE if term in _COMMON else _OTHER_SHARE
        found[term] = math.log(max(1.0, (passages + _SEEN + 1) / (count + _SEEN * share + 0.5)))
    return found

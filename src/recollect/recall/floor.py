"""Whether what was found bears on a prompt: a probability, made of features that mean the same in every store.

Ranking says which comes first; this says whether any of it is worth saying. It looks at how near the best passage is,
how far that stands out from the other passages of the stores, which share of the prompt's information the passage
covers, which names (files, identifiers, options) both have, how much the prompt says at all, and what kind of prompt
it is: little that was remembered bears on a rename, and next to nothing on a question about a language. What was kept
on purpose, as a rule or a note, bears on more than a record of past work does.

In a store of a few passages there is little to stand out from. What is usual for unrelated texts then fills in, as if
a handful of such passages were there too.

Does not rank for questions that were asked (fuse.py, weigh.py), does not pick (pick.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.model.evidence import Background, WordEvidence
from recollect.model.small_talk import WORDS as SMALL_TALK


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a logistic model, fitted as docs/BENCHMARKS.md says."""

    bias: float
    lift: float = 0.0
    stands_out: float = 0.0
    cover: float = 0.0
    names: float = 0.0
    length: float = 0.0
    fresh: float = 0.0
    tidying: float = -1.2
    general: float = -5.3
    kept: float = 1.2


WITH_VECTORS = Weights(bias=-7.18, lift=8.09, stands_out=0.33, cover=4.98, names=1.65, length=0.18, fresh=4.06)
# Fitted likewise, then made stricter: with words alone more of what is unrelated looks alike, in small stores above
# all.
WORDS_ALONE = Weights(bias=-6.29, cover=11.52, names=1.46, length=0.74, fresh=1.2, kept=0.0)

# What the shipped model says of texts that have nothing to do with each other. Other scripts than Latin, and letters
# with accents, mean little to it: everything in them is near to everything.
_MOSTLY_FOREIGN = 0.5  # from here on its vectors say nothing that words do not say better
_USUAL_MEAN, _USUAL_DEVIATION, _USUAL_COUNT = 0.05, 0.09, 10
_FOREIGN_MEAN, _FOREIGN_MORE = 0.25, 0.17
_LEAST_DEVIATION = 0.01
_MOST_STANDING_OUT = 8.0
# How rare a word is taken to be before anything is known of it, as if so many passages had been seen.
_NEEDED = 5.0  # information that a prompt must have before it can be covered: one rare word is not enough
_SEEN, _COMMON_SHARE, _OTHER_SHARE = 50, 0.10, 0.005
_MOST_NAMES = 2
_MOST_WORDS = 60
_LOOKED_AT = 4_000
_NAME = re.compile(
    r"`[^`\n]{2,60}`|(?:[\w@.-]+/)+[\w@.-]*\w|\b\w[\w-]*\.[A-Za-z]\w{0,5}\b|\b\w+_\w+\b"
    r"|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+[A-Z]\w*\b|(?<!\w)--\w[\w-]+"
)
_TIDYING = re.compile(
    r"\b(?:renam(?:e|ing)|sort(?:ing)?|reformat|re-?indent|typos?|unused|commented[- ]out|spelling|whitespace"
    r"|indentation|merge conflicts?|line endings?|alphabetical\w*|badge|copyright)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"\b(?:what(?:'s| is| are) the differences?\b|(?:what|which|how) .{0,60}\bdifferences? between"
    r"|(?:what(?:'s| is) the default|what does|how (?:do|can|would) (?:i|you)) .{1,80}\b(?:in|with|of)"
    r" (?:python|rust|typescript|javascript|java|go|bash|sql|css|git|docker|kubernetes|postgres|react|vim|c\+\+|ruby"
    r"|php|\w+'s)\b)",
    re.IGNORECASE,
)
_OURS = re.compile(r"\b(?:our|ours|we|us|this (?:repo(?:sitory)?|project|code(?:base)?))\b", re.IGNORECASE)
# Small talk and the words of every piece of work, as the index has them.
_COMMON = SMALL_TALK | frozenset(
    """ad add ani befor bug build call chang check code command commit config creat current dai data debug delet
    differ doe error fail featur file find folder function handl happen implement improv instead issu last line
    list look mani mention method miss need new number onli open order output pass pleas problem project read
    recent recommend remov renam replac repo repositori return review run section server set show sinc singl solut
    someth still suggest support task test thei thi thing think time tip togeth total updat us user valu veri
    version want wonder work write""".split()
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked of a prompt itself, once."""

    length: float
    names: frozenset[str]
    foreign: float
    """The share of its letters that are not plain Latin ones."""
    is_tidying: bool = False
    """Renaming, sorting, removing what is unused."""
    is_general: bool = False
    """A question about a language or a tool, not about this project."""

    @classmethod
    def of(cls, text: str) -> Prompt:
        said = text[:_LOOKED_AT]
        letters = [char for char in said if char.isalpha()]
        foreign = sum(not char.isascii() for char in letters) / max(1, len(letters))
        names = frozenset(found.group().strip("`").casefold() for found in _NAME.finditer(said))
        length = math.log(1 + min(len(said.split()), _MOST_WORDS))
        is_general = _GENERAL.search(said) is not None and not _OURS.search(said)
        return cls(length, names, foreign, bool(_TIDYING.search(said)), is_general)


@dataclass(frozen=True, slots=True)
class Features:
    lift: float | None
    """How near, between what is usual in these stores (0) and the same text (1). None: by words alone."""
    stands_out: float
    """How many standard deviations above the other passages."""
    cover: float
    names: int
    prompt: Prompt
    fresh: float
    """1 in an empty store, nearly 0 in one of hundreds of passages: the more there are, the more are near by chance."""
    kept: bool
    """A rule or a note."""

    @property
    def probability(self) -> float:
        by = WORDS_ALONE if self.lift is None else WITH_VECTORS
        score = by.bias + by.cover * self.cover + by.names * self.names + by.length * self.prompt.length
        score += by.lift * (self.lift or 0.0) + by.stands_out * self.stands_out + by.fresh * self.fresh
        score += by.tidying * self.prompt.is_tidying + by.general * self.prompt.is_general + by.kept * self.kept
        return 1 / (1 + math.exp(-score))

    @property
    def components(self) -> tuple[tuple[str, float], ...]:
        near = () if self.lift is None else (("lift", self.lift), ("stands_out", self.stands_out))
        return (*near, ("covered", self.cover), ("names", float(self.names)))


def features(
    prompt: Prompt,
    text: str,
    *,
    near: float | None,
    cover: float,
    background: Background,
    passages: int,
    kept: bool,
) -> Features:
    """`near`: the cosine of the best passage, None without vectors. `cover`: of the passage that covers most.
    `passages`: how many there are."""
    fresh = _USUAL_COUNT / (_USUAL_COUNT + passages)
    lowered = text.casefold() if prompt.names else ""
    names = min(_MOST_NAMES, sum(name in lowered for name in prompt.names))
    if near is None or prompt.foreign > _MOSTLY_FOREIGN:
        return Features(None, 0.0, cover, names, prompt, fresh, kept)
    mean, deviation = _usual(prompt, near, background)
    stands_out = min(_MOST_STANDING_OUT, (near - mean) / deviation)
    return Features((near - mean) / (1 - mean), stands_out, cover, names, prompt, fresh, kept)


def _usual(prompt: Prompt, near: float, background: Background) -> tuple[float, float]:
    """Mean and deviation of the other passages: this one is taken out, what is usual put in."""
    usual = _FOREIGN_MEAN + _FOREIGN_MORE * prompt.foreign if prompt.foreign else _USUAL_MEAN
    others = max(0, background.passages - 1)
    total = background.total - near if others else 0.0
    squares = background.squares - near * near if others else 0.0
    mean = min(0.95, (total + _USUAL_COUNT * usual) / (others + _USUAL_COUNT))
    usual_squares = _USUAL_DEVIATION * _USUAL_DEVIATION + usual * usual
    variance = (squares + _USUAL_COUNT * usual_squares) / (others + _USUAL_COUNT) - mean * mean
    return mean, math.sqrt(max(variance, _LEAST_DEVIATION * _LEAST_DEVIATION))


def cover(evidence: Sequence[WordEvidence], store: int, passages: Iterable[int]) -> Mapping[int, float]:
    """Of these passages of one store: which share of the prompt's information each covers."""
    worth = _information(evidence)
    whole = sum(worth.values()) + _NEEDED
    found = dict.fromkeys(passages, 0.0)
    for term in evidence[store].terms:
        for passage, _ in term.rows:
            if passage in found:
                found[passage] += worth[term.term] / whole
    return found


def _information(evidence: Sequence[WordEvidence]) -> dict[str, float]:
    """What a word says by being there: little where every passage has it. New stores know too little about that, so
    words that are common everywhere are taken to be common here."""
    passages = sum(one.passages for one in evidence)
    counts: dict[str, int] = {}
    for one in evidence:
        for term in one.terms:
            counts[term.term] = counts.get(term.term, 0) + term.passages
    return {
        term: math.log(
            max(
                1.0,
                (passages + _SEEN + 1) / (count + _SEEN * (_COMMON_SHARE if term in _COMMON else _OTHER_SHARE) + 0.5),
            )
        )
        for term, count in counts.items()
    }

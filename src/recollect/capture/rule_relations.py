"""Does a new rule say the same as an old one, or the opposite? By words where they are plain. Vectors say that two
rules are about one thing, but opposites are as near as paraphrases: where words do not tell which it is, a person is
asked."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from recollect.capture.tables import Patterns, Words, table

_REJECTS = 3  # so many words after a "not" are what is not wanted
_ALIKE, _SAME_SUBJECT, _SLOT_WORDS = 0.85, 0.75, 2
# How near two rules are by their vectors if they are about one thing, by the share of the shorter one's words that the
# other has, and if they may contradict each other. Unrelated rules of one field are up to 0.7 near.
_ONE_THING, _MAY_CLASH = ((0.99, 0.6), (0.66, 0.72), (0.0, 0.77)), 0.6
_PATTERNS = Patterns("rule_relations")
_WORDS = Words("rule_relations")


class Relation(StrEnum):
    SAME = "same"
    OPPOSED = "opposed"
    MAY_REPLACE = "may replace"
    APART = "apart"


def _stem(word: str) -> str:
    """ "adding" and "add", "tests" and "test"; names and values stay as they are."""
    if not word.isalpha() or len(word) < 5:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > 5:
        bare = word[:-3]
        return (
            bare[:-1] if len(bare) > 2 and bare[-1] == bare[-2] and bare[-1] not in "ds" else bare
        )
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


@cache
def _choices() -> tuple[frozenset[str], ...]:
    """Sets of things of which a project usually chooses one."""
    return tuple(
        frozenset(_stem(word) for word in group.split())
        for group in table("rule_relations.toml")["choices"]
    )


class _Reading(NamedTuple):
    wanted: frozenset[str]
    rejected: frozenset[str]
    where: frozenset[
        str
    ]  # what narrows it: "in tests", "for the legacy app". Part of the others, too.
    refuses: bool  # it is a refusal and nothing else: "Never push", "Do not use tabs"

    @property
    def content(self) -> frozenset[str]:
        return self.wanted | self.rejected

    def wants(self, word: str) -> bool:
        return word in self.wanted and not self.refuses


def relation(new: str, old: str, near: float | None = None) -> Relation:
    """`near`: how near their vectors are, where both have one by the same model."""
    if says_same(new, old):
        return Relation.SAME
    one, two = _parse(new), _parse(old)
    shared = one.content & two.content
    cover = len(shared) / max(1, min(len(one.content), len(two.content)))
    # Of the words that they share, how many one asks for and the other does not.
    clash = sum(one.wants(word) != two.wants(word) for word in shared) / max(1, len(shared))
    is_near = near is not None and near >= next(bar for least, bar in _ONE_THING if cover >= least)
    if is_opposed(new, old) and (clash or not is_near or not _is_reversed(one, two)):
        return Relation.OPPOSED
    if near is None or near < _MAY_CLASH:
        return Relation.APART
    wants_other_choice = not (one.refuses or two.refuses) and any(
        group & one.wanted and group & two.wanted and not group & one.wanted & two.wanted
        for group in _choices()
    )
    if clash or wants_other_choice:
        is_plain = is_near and 2 * clash >= 1 and cover >= _ALIKE and one.where == two.where
        return Relation.OPPOSED if is_plain else Relation.MAY_REPLACE
    if not is_near:
        return Relation.APART
    mine, theirs = _values(one.wanted), _values(two.wanted)
    is_changed = _differs_by_a_word(new, old) or bool(mine and theirs and mine != theirs)
    return Relation.MAY_REPLACE if is_changed else Relation.SAME


def says_same(new: str, old: str) -> bool:
    one, two = _parse(new), _parse(old)
    is_alike = _are_alike(one.wanted, two.wanted, _ALIKE) and _are_alike(
        one.rejected, two.rejected, _ALIKE
    )
    return new.casefold() == old.casefold() or (is_alike and one.refuses == two.refuses)


def is_opposed(new: str, old: str) -> bool:
    one, two = _parse(new), _parse(old)
    if not one.content or not two.content or says_same(new, old) or one.where != two.where:
        return False
    mine, theirs = _values(one.wanted), _values(two.wanted)
    subject, other = one.wanted - mine, two.wanted - theirs
    is_other_value = (
        bool(mine and theirs and subject) and mine.isdisjoint(theirs) and one.refuses == two.refuses
    )
    has_other_value = is_other_value and _are_alike(subject, other, _SAME_SUBJECT)
    return has_other_value or _replaces_choice(one, two) or _is_reversed(one, two)


def _differs_by_a_word(new: str, old: str) -> bool:
    """One sentence but for a word or two: "use absolute imports", "use relative imports"."""
    mine, theirs = (
        [w for clause in _clauses(text) for w in clause if w not in _WORDS.openers]
        for text in (new, old)
    )
    while mine and theirs and mine[0] == theirs[0]:
        mine, theirs = mine[1:], theirs[1:]
    while mine and theirs and mine[-1] == theirs[-1]:
        mine, theirs = mine[:-1], theirs[:-1]
    left, right = ([_stem(w) for w in words if w not in _WORDS.small] for words in (mine, theirs))
    return (
        0 < len(left) <= _SLOT_WORDS
        and 0 < len(right) <= _SLOT_WORDS
        and set(left).isdisjoint(right)
    )


def _replaces_choice(new: _Reading, old: _Reading) -> bool:
    if new.refuses and old.refuses:
        return False  # two things may both be forbidden
    groups = [group for group in _choices() if group & new.content and group & old.content]
    if not groups:
        # "Use ky, not axios" after "Use axios": what was asked for is now rejected.
        named = new.rejected & old.wanted
        return (
            bool(named)
            and len(old.wanted) <= len(named) + 2
            and not old.refuses
            and not old.rejected & new.rejected
        )
    clash = False
    for group in groups:
        chosen, stood = (new.wanted - new.rejected) & group, (old.wanted - old.rejected) & group
        is_other = (chosen and stood) or new.rejected & group & stood or chosen & old.rejected
        clash |= bool(is_other and not chosen & stood)
    named = frozenset().union(*groups)
    mine, theirs = new.wanted - named, old.wanted - named
    return clash and new.refuses == old.refuses and (not mine or bool(mine & theirs))


def _is_reversed(new: _Reading, old: _Reading) -> bool:
    if new.refuses != old.refuses:
        return (
            not new.rejected and not old.rejected and _are_alike(new.content, old.content, _ALIKE)
        )
    return new.content == old.content and bool(new.rejected) != bool(old.rejected)


def _values(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if _PATTERNS.value.match(word))


def _are_alike(one: frozenset[str], two: frozenset[str], at_least: float) -> bool:
    return one == two or len(one & two) >= at_least * len(one | two) > 0


@lru_cache(maxsize=4096)
def _parse(rule: str) -> _Reading:
    clauses = [clause for clause in _clauses(rule) if clause]
    firsts = [
        next((word for word in clause if word not in _WORDS.openers), "") for clause in clauses
    ]
    refusing = [first in _WORDS.negations for first in firsts]
    refuses = bool(clauses) and all(refusing)
    wanted: set[str] = set()
    rejected: set[str] = set()
    where: set[str] = set()
    for clause, is_refusal in zip(clauses, refusing, strict=True):
        # "Use uv, do not use pip": the refusal is about what is not wanted, and the rule is none.
        left = len(clause) if is_refusal and not refuses else 0
        place = False
        for number, word in enumerate(clause):
            place = (place and word not in _WORDS.negations) or word in _WORDS.place_words
            if word in _WORDS.negations:
                left = max(left, _REJECTS if number > 1 and not is_refusal else 0)
            elif word not in _WORDS.small:
                stem = _stem(word)
                (rejected if left > 0 else wanted).add(stem)
                is_choice = any(stem in group for group in _choices())
                if place and not is_choice and not _PATTERNS.value.match(word.rstrip("/")):
                    where.add(stem)
                left -= 1
    return _Reading(frozenset(wanted), frozenset(rejected), frozenset(where), refuses)


def _clauses(rule: str) -> Iterator[list[str]]:
    said = _PATTERNS.reason.sub(
        "", rule.casefold().replace("\u2019", "'").replace("do not", "don't")
    )
    said = _PATTERNS.no_longer.sub("not", said)
    for clause in _PATTERNS.clause.split(said):
        yield [word.strip("`") for word in _PATTERNS.word.findall(clause)]

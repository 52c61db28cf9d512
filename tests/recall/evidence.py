"""Small evidence for tests: terms that stand in passages, memories that are near."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from recollect.base.moment import Moment
from recollect.model.evidence import Nearness, Owner, Place, TermEvidence, WordEvidence
from recollect.recall.lexical import Ref, Wording, WordMatch, matches, wording


def term(name: str, *passages: int, strength: float = 1.0, of: int | None = None) -> TermEvidence:
    """Stands in these passages; `of` where it stands in more of them than are told."""
    return TermEvidence(name, len(passages) if of is None else of, tuple((p, strength) for p in passages))


def spoken(passages: int, *terms: TermEvidence) -> WordEvidence:
    return WordEvidence(passages, terms)


def matched(
    *stores: WordEvidence,
    owners: dict[int, int] | None = None,
    voices: Mapping[int, int] = MappingProxyType({}),
    voice: float = 0.0,
) -> tuple[Wording, dict[Ref, WordMatch]]:
    """Every passage is its own memory unless `owners` says whose it is; `voices` says which are in the first person."""
    words = wording(stores)
    own = [owners or {p: p for t in store.terms for p, _ in t.rows} for store in stores]
    whose = [{p: Owner(memory, memory, voices.get(p, 0)) for p, memory in of_store.items()} for of_store in own]
    return words, matches(words, whose, voice)


def near(best: float, middle: float | None = None, *, voiced: float | None = None) -> Nearness:
    return Nearness(best, best if middle is None else middle, 1, best if voiced is None else voiced)


def place(
    group: str = "",
    *,
    before: tuple[int, ...] = (),
    after: tuple[int, ...] = (),
    size: int = 0,
    times: tuple[Moment, ...] = (),
) -> Place:
    """Of a short turn in a conversation, unless its size is given."""
    return Place(group, before, after, size, times)

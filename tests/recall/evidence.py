"""Small evidence for tests: terms that stand in passages, memories that are near."""

from __future__ import annotations

from recollect.model.evidence import Nearness, Place, TermEvidence, WordEvidence
from recollect.recall.lexical import Ref, Wording, WordMatch, matches, wording


def term(name: str, *passages: int, strength: float = 1.0, of: int | None = None) -> TermEvidence:
    """Stands in these passages; `of` where it stands in more of them than are told."""
    return TermEvidence(name, len(passages) if of is None else of, tuple((p, strength) for p in passages))


def spoken(passages: int, *terms: TermEvidence) -> WordEvidence:
    return WordEvidence(passages, terms)


def matched(*stores: WordEvidence, owners: dict[int, int] | None = None) -> tuple[Wording, dict[Ref, WordMatch]]:
    """Every passage is its own memory unless `owners` says whose it is."""
    words = wording(stores)
    own = [owners or {p: p for t in store.terms for p, _ in t.rows} for store in stores]
    return words, matches(words, own)


def near(best: float, middle: float | None = None) -> Nearness:
    return Nearness(best, best if middle is None else middle, 1)


def place(group: str, *, before: tuple[int, ...] = (), after: tuple[int, ...] = ()) -> Place:
    """Of a short turn in a conversation."""
    return Place(group, before, after)

"""Asking the stores: loads the evidence, lets `recall` decide, loads what it chose. One engine for every door.

Words always; vectors when the embedder answers. Memories that have no vector yet are found by their words, and
a few of them are given theirs on the way.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, status_at, strength
from recollect.model.evidence import NO_BACKGROUND, Background, Nearness, Place, WordEvidence
from recollect.model.memory import Kind, Status
from recollect.model.query import Hit, Piece, Query
from recollect.model.voice import asks_of_self
from recollect.recall import floor, fuse, lexical, pick, weigh, when
from recollect.recall.lexical import Ref
from recollect.recall.passages import answering, chars_each, unasked_passages
from recollect.recall.weigh import Focus

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.store import Store

NEAREST = 150  # passages by vector whose units join those by words
IN_COMPANY = 60  # of the best: whose neighbours are looked up
PLACED = 300  # whose groups are looked up
CANDIDATES = 12  # of the best: looked at for whether they bear on a prompt
FOCUSED = 40  # memories that are in focus and so are looked at whatever the question says
_PAGE = 20  # units read whole at a time
_MOST_READ = 400
_DROPPED_AT_ONCE = 2_000  # some 20 ms: no hook's write waits longer than it can
_FURTHER = 15  # times as deep, where filters or one very long memory leave less than was asked for


@dataclass(frozen=True, slots=True)
class Asked:
    """The question as a vector, and of which model."""

    model: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    picked: pick.Picked
    without_vectors: int
    ms: float
    """CPU time of this thread."""


Vector = Asked | Callable[[], Asked | None] | None
"""The question's, or who will have it by the time it is needed; None: words alone."""


def ask(
    stores: Sequence[Store],
    query: Query,
    *,
    now: Moment,
    rules: AgeRules,
    asked: Vector = None,
    focus: Sequence[Focus] = (),
    seen: Set[str] = frozenset(),
    deep: bool = True,
) -> Answer:
    """Not `deep`: no second look where filters leave less than was asked for, because somebody waits."""
    began = time.thread_time()
    evidence = [store.words(query.text) for store in stores]
    answer = _answer(stores, evidence, query, 1, now=now, rules=rules, asked=asked, focus=focus, seen=seen)
    if deep and len(answer.picked.hits) < query.limit and _cut_short(evidence, answer):
        answer = _answer(stores, evidence, query, _FURTHER, now=now, rules=rules, asked=asked, focus=focus, seen=seen)
    return replace(answer, ms=(time.thread_time() - began) * 1_000)


def _cut_short(evidence: Sequence[WordEvidence], answer: Answer) -> bool:
    """Something stood in the way of others: by words there is more, or what was read was not what was asked for."""
    more_words = any(sum(len(term.rows) for term in e.terms) > lexical.KEPT for e in evidence)
    refused = sum(drop.reason != pick.NOTHING_IN_COMMON for drop in answer.picked.drops)
    return more_words or refused >= NEAREST // 2


def _answer(
    stores: Sequence[Store],
    evidence: Sequence[WordEvidence],
    query: Query,
    depth: int,
    *,
    now: Moment,
    rules: AgeRules,
    asked: Vector,
    focus: Sequence[Focus],
    seen: Set[str],
) -> Answer:
    words = lexical.wording(evidence, depth * lexical.KEPT)
    owners = [store.owners(list(spoken.passages)) for store, spoken in zip(stores, words.spoken, strict=True)]
    voice = fuse.WEIGHTS.voice if asks_of_self(query.text) else 0.0
    said = lexical.matches(words, owners, voice)
    aimed_at = _in_focus(stores, focus)
    vector = asked() if callable(asked) else asked
    near, missing, background = _near(stores, {*said, *aimed_at}, vector, depth * NEAREST, voice)
    matches = dict.fromkeys(aimed_at, fuse.UNMATCHED) | fuse.fuse(said, near, words.most)
    best = sorted(matches, key=lambda ref: (-matches[ref].score, ref))
    matches = fuse.in_company(matches, said, _places(stores, best), words.most, when.asked_time(query.text, now))
    ranked = _ranked(stores, matches, aimed_at, query, depth * _MOST_READ, now=now, rules=rules, focus=focus)
    if query.unasked:
        wanted = [hit for hit in ranked if not pick.refused(hit, query)][:CANDIDATES]
        candidates = _by_bearing(evidence, query, _with_pieces(stores, evidence, words, wanted, vector), background)
        refused = (hit for hit in ranked if pick.refused(hit, query))
        picked = pick.pick((*candidates, *refused), query, seen=seen)
        return Answer(picked, missing, 0.0)
    picked = pick.pick(ranked, query, seen=seen)
    most_chars = chars_each(len(picked.hits))
    hits = _with_pieces(stores, evidence, words, picked.hits, vector)
    return Answer(replace(picked, hits=tuple(answering(hit, most_chars) for hit in hits)), missing, 0.0)


def _by_bearing(
    evidence: Sequence[WordEvidence], query: Query, hits: Sequence[Hit], background: Background
) -> list[Hit]:
    """In the order of how surely each bears on the prompt, which is their score; what is in focus comes before. What
    proved useless counts less."""
    prompt = floor.Prompt.of(query.text)
    passages_in_all = sum(one.passages for one in evidence)
    covers = [
        floor.cover(evidence, number, [piece.passage for hit in hits if hit.store == number for piece in hit.pieces])
        for number in range(len(evidence))
    ]
    found: list[Hit] = []
    for hit in hits:
        parts = dict(hit.components)
        known = [piece.near for piece in hit.pieces if piece.near]  # 0: it has no vector
        bears = floor.features(
            prompt,
            f"{hit.memory.title}\n{hit.text}",
            near=max(known) if known else None,
            cover=max((covers[hit.store][piece.passage] for piece in hit.pieces), default=0.0),
            background=background,
            passages=passages_in_all,
            kept=hit.memory.kind is not Kind.THREAD,
        )
        score = bears.probability * parts["relevance"]
        shown = unasked_passages(hit) if score >= query.floor or parts["focus"] else ()
        found.append(replace(hit, score=score, components=(*hit.components, *bears.components), shown=shown))
    return sorted(found, key=lambda hit: hit.score + dict(hit.components)["focus"], reverse=True)


def _with_pieces(
    stores: Sequence[Store],
    evidence: Sequence[WordEvidence],
    words: lexical.Wording,
    hits: Sequence[Hit],
    vector: Asked | None,
) -> list[Hit]:
    """How well each passage of these answers."""
    pieces: dict[Ref, list[Piece]] = {(hit.store, hit.unit): [] for hit in hits}
    for number, store in enumerate(stores):
        units = [hit.unit for hit in hits if hit.store == number]
        found = store.pieces(units, vector.model, vector.vector) if vector is not None else store.pieces(units)
        cover = lexical.cover(words, evidence, number, [one.passage for one in found])
        for one in found:
            score = fuse.passage_score(cover[one.passage], one.near)
            pieces[number, one.unit].append(Piece(one.start, one.start + one.length, score, one.near, one.passage))
    return [replace(hit, pieces=tuple(pieces[hit.store, hit.unit])) for hit in hits]


def _in_focus(stores: Sequence[Store], focus: Sequence[Focus]) -> list[Ref]:
    found = {
        (number, seq): None
        for point in focus
        for number, store in enumerate(stores)
        for seq in store.about(point.topic, FOCUSED)
    }
    return list(found)[: 2 * FOCUSED]


def _near(
    stores: Sequence[Store], known: Set[Ref], asked: Asked | None, count: int, voice: float
) -> tuple[dict[Ref, Nearness], int, Background]:
    found: dict[Ref, Nearness] = {}
    missing = 0
    background = NO_BACKGROUND
    if asked is None:
        return found, missing, background
    for number, store in enumerate(stores):
        also = [seq for which, seq in known if which == number]
        evidence = store.nearest(asked.model, asked.vector, count, also, voice=voice)
        missing += evidence.missing
        background = background.with_more(evidence.background)
        found |= {(number, seq): near for seq, near in evidence.near.items()}
    return found, missing, background


def _places(stores: Sequence[Store], best: list[Ref]) -> dict[Ref, Place]:
    found: dict[Ref, Place] = {}
    for number, store in enumerate(stores):
        own = [seq for which, seq in best[:PLACED] if which == number]
        found |= {(number, seq): place for seq, place in store.places(own, beside=IN_COMPANY).items()}
    return found


def _ranked(
    stores: Sequence[Store],
    matches: dict[Ref, fuse.Match],
    aimed_at: Sequence[Ref],
    query: Query,
    most: int,
    *,
    now: Moment,
    rules: AgeRules,
    focus: Sequence[Focus],
) -> list[Hit]:
    """Units with their memories, in order of priority. Strength, relevance and focus can move a memory only so far, so
    the best matches are read a page at a time until enough of them pass the question's filters; those in focus
    always."""
    hits = list(_read(stores, list(aimed_at), matches, now, rules, focus))
    rest = matches.keys() - set(aimed_at)
    order = sorted(rest, key=lambda ref: (-matches[ref].score, ref))  # of equals the first that came
    wanted: Counter[str] = Counter()
    for start in range(0, min(len(order), most), _PAGE):
        for hit in _read(stores, order[start : start + _PAGE], matches, now, rules, focus):
            hits.append(hit)
            wanted[hit.memory.id] += not pick.refused(hit, query)
        if sum(min(count, query.turns) for count in wanted.values()) >= 2 * query.limit:
            break
    return sorted(hits, key=lambda hit: (hit.score, dict(hit.components)["strength"]), reverse=True)


def _read(
    stores: Sequence[Store],
    refs: list[Ref],
    matches: dict[Ref, fuse.Match],
    now: Moment,
    rules: AgeRules,
    focus: Sequence[Focus],
) -> Iterator[Hit]:
    for number, store in enumerate(stores):
        for unit, stored, turn in store.whole([unit for which, unit in refs if which == number]):
            memory = replace(stored, status=status_at(stored, now=now, rules=rules))
            match = matches[number, unit]
            force = strength(memory, now=now, rules=rules)
            weighed = weigh.priority(memory, match.score, force, focus)
            components = (
                ("match", match.score),
                ("words", match.words),
                ("cover", match.cover),
                ("near", match.near),
                ("neighbours", match.neighbours),
                ("group", match.group),
                ("length", match.length),
                ("time", match.time),
                ("strength", weighed.strength),
                ("relevance", weighed.relevance),
                ("focus", weighed.focus),
                *weigh.evidence(memory),
            )
            put_away = stored.status is Status.ARCHIVED
            yield Hit(memory, weighed.score, components, turn, store=number, unit=unit, put_away=put_away)


def fill_vectors(store: Store, embedder: Embedder, most: int) -> int:
    """Gives passages their vectors, at most so many; returns how many it gave."""
    missing = store.vectorless(embedder.id, most)
    if missing:
        vectors = embedder.embed([text for _, text in missing])
        store.put_vectors(embedder.id, [(seq, row.tobytes()) for (seq, _), row in zip(missing, vectors, strict=True)])
    return len(missing)


def settle_vectors(store: Store, keep: str) -> int:
    """Where every passage has one of this model: those of others go, some at a time; returns how many went."""
    if store.vectorless(keep, 1):
        return 0
    return store.drop_vectors(keep, _DROPPED_AT_ONCE)


def turn_vectors(embedder: Embedder, texts: Sequence[str], most_tokens: int) -> list[Asked]:
    """Of many texts at once."""
    vectors = embedder.embed(texts, most_tokens) if texts else ()
    return [Asked(embedder.id, row.tobytes()) for row in vectors]


def question_vector(embedder: Embedder, text: str, most_tokens: int | None = None) -> Asked:
    """`most_tokens`: of a longer text the beginning and the end."""
    vector = embedder.embed_one(text) if most_tokens is None else embedder.embed_ends(text, most_tokens)
    return Asked(embedder.id, vector.tobytes())

"""What is kept of a prompt: an ordered tuple of pure steps over a draft. Any step may drop it, with a reason.

The text that is handed in is already redacted and free of our own injections: both need rooms that stand beside or
below this one, and `ops` does them first (redact before anything, or two secrets that differ make two drafts).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from recollect.base.text import one_line
from recollect.capture import judge, learned, mask, split, traits
from recollect.capture.draft import Action, Draft, Found, Leaning, Piece, Reach, Sort
from recollect.capture.languages import spoken
from recollect.capture.word import worded

MAX_CHARS = 20_000
"""Of a longer prompt only its ends are looked at: the middle is a paste."""
_END_CHARS = MAX_CHARS // 2
_HEAD_CHARS = 2_000
EAR_CHARS = 600
"""Of a longer text the ends are listened to: the ear's cost grows with every word."""
_SHORT_WORDS = 4
_ONE_OF_THEM = 0.5
"""Log odds from which a sentence is part of the rule beside the likeliest one."""
_UNSURE = frozenset(("not decided", "roleplay or fiction"))
"""Never in force at once, however much it is worded like a rule."""
_BESIDE = -3.0
"""What a sentence points back to is taken in unless it is clearly something else."""
_PASTES = re.compile(rf"{mask.BLOT}[{mask.BLOT}\s]*")
_RANK = {Action.STORED: 2, Action.INBOX: 1, Action.DROPPED: 0}

Step = Callable[[Draft], Draft]
Ear = Callable[[str], Sequence[float]]


def capture(text: str, ear: Ear | None = None) -> Draft:
    """`ear` reads the tone of a text where there is a model to read it with; without one, words decide alone."""
    draft = read(text)
    return draft if draft.dropped else word(lean(draft, ear))


def read(text: str) -> Draft:
    """As far as patterns go: cleaned, masked, cut, each sentence weighed."""
    draft = Draft(text, spoken(text))
    for step in STEPS:
        draft = step(draft)
        if draft.dropped:
            break
    return draft


def clean(draft: Draft) -> Draft:
    text = draft.text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2019", "'").replace("\x01", " ")
    text = text.replace("\x02", " ").expandtabs(4).strip()
    if len(text) > MAX_CHARS:
        text = f"{text[:_END_CHARS]}\n\n{text[-_END_CHARS:]}"
    draft = replace(draft, text=text)
    if not any(char.isalpha() for char in text):
        return draft.drop("no words")
    return draft


def blot(draft: Draft) -> Draft:
    seen = mask.masked(draft.text)
    if not any(char.isalpha() for char in seen):
        return draft.drop("pasted or quoted text alone")
    return replace(draft, seen=seen)


def look_at_all(draft: Draft) -> Draft:
    """What the whole prompt is, before its sentences are read."""
    for why, pattern in draft.language.whole.items():
        if pattern.search(draft.seen[:_HEAD_CHARS]) or pattern.search(draft.seen[-_HEAD_CHARS:]):
            return replace(draft, whole=why) if draft.language.code in learned.LANGUAGES else draft.drop(why)
    return draft


def cut(draft: Draft) -> Draft:
    pieces = split.pieces(draft.text, draft.seen)
    return replace(draft, pieces=pieces) if pieces else draft.drop("pasted or quoted text alone")


def classify(draft: Draft) -> Draft:
    return replace(draft, pieces=judge.weighed(draft.pieces, draft.language))


def lean(draft: Draft, ear: Ear | None) -> Draft:
    """What the learned judge says, where the language has one: patterns are among what it goes by."""
    learnt = learned.judge(draft.language.code)
    if learnt is None:
        return draft
    told = traits.of(draft)
    leaning = learnt.leaning(told, None)
    if ear is not None and leaning.words > learned.NOT_A_WORD_OF_IT:
        leaning = learnt.leaning(told, ear(own_words(draft)))
    if leaning.action is Action.STORED and not _UNSURE.isdisjoint({draft.whole, *(p.veto for p in draft.pieces)}):
        leaning = replace(leaning, action=Action.INBOX)
    return replace(draft, leaning=leaning)


def own_words(draft: Draft) -> str:
    """What an ear is given."""
    said = said_himself(draft.text, draft.seen)
    return said if len(said) <= EAR_CHARS else f"{said[: EAR_CHARS // 2]} {said[-EAR_CHARS // 2 :]}"


def said_himself(text: str, seen: str) -> str:
    """Of a text and its masked form: what the person says himself, pasted parts left out."""
    said = "".join(char if mark == mask.QUOTE else mark for char, mark in zip(text, seen, strict=True))
    return _PASTES.sub(" ... ", said).strip()


def word(draft: Draft) -> Draft:
    """Neighbours that are rules make one rule; what stands apart makes another."""
    actions = _actions(draft)
    found: list[Found] = []
    run: list[int] = []
    for number, action in enumerate(actions):
        if action is not Action.DROPPED:
            run.append(number)
        elif run:
            found.append(_found(draft, actions, run))
            run = []
    if run:
        found.append(_found(draft, actions, run))
    kept = tuple(one for one in found if one.rule)
    return replace(draft, found=kept) if kept else draft.drop(_why_nothing(draft))


STEPS: tuple[Step, ...] = (clean, blot, look_at_all, cut, classify)


def _actions(draft: Draft) -> list[Action]:
    """What becomes of each sentence. The learned judge looks at the whole, then says which sentences it meant."""
    leaning = draft.leaning
    if leaning is None:
        return [judge.action_of(piece) for piece in draft.pieces]
    kept = _meant(draft, leaning.pieces)
    return [leaning.action if number in kept else Action.DROPPED for number in range(len(draft.pieces))]


def _meant(draft: Draft, odds: Sequence[float]) -> set[int]:
    """The sentences that state the rule: the likeliest, and whatever else is likely. Not what it was said about."""
    short = [number for number, piece in enumerate(draft.pieces) if len(piece.text) <= split.MOST_CHARS]
    told = [number for number in short if not draft.language.complaint.search(draft.pieces[number].seen)] or short
    if not told:
        return set()
    least = min(max(odds[number] for number in told), _ONE_OF_THEM)
    kept = {number for number in told if odds[number] >= least}
    first = min(kept)
    before = first - 1
    if before >= 0 and draft.language.pointing.search(draft.pieces[first].seen) and odds[before] > _BESIDE:
        kept.add(before)
    return kept


def _found(draft: Draft, actions: list[Action], run: list[int]) -> Found:
    pieces = [draft.pieces[number] for number in run]
    best = max(run, key=lambda number: (_RANK[actions[number]], draft.pieces[number].score))
    said = [piece.text for piece in pieces]
    if len(run) == 1 and _is_short(pieces[0]):
        said = _with_neighbours(draft, run[0])
    rule = worded(said, draft.language)
    text = " ".join(piece.seen for piece in pieces)
    leaning = draft.leaning
    if leaning is None:
        reason, score = "; ".join(draft.pieces[best].signals), draft.pieces[best].score
        return Found(rule, _sort(draft, text), reach(draft, text), actions[best], reason, score)
    return Found(rule, leaning.sort, leaning.reach, actions[best], _why(draft.pieces[best], leaning), leaning.odds)


def _why(piece: Piece, leaning: Leaning) -> str:
    shown = [f"\u201c{trait}\u201d" for trait in leaning.speaks_for if trait[0].isalpha()]
    return "; ".join([*piece.signals, *([f"worded like a rule: {', '.join(shown)}"] if shown else [])]) or "by its tone"


def _is_short(piece: Piece) -> bool:
    return piece.text.isascii() and len(one_line(piece.text).split()) <= _SHORT_WORDS


def _with_neighbours(draft: Draft, number: int) -> list[str]:
    """ "We don't." says nothing alone: the words around it are taken in."""
    around = [n for n in (number - 1, number, number + 1) if 0 <= n < len(draft.pieces)]
    near = [draft.pieces[n] for n in around]
    return [p.text for p in near if p is draft.pieces[number] or (not p.veto and "a task" not in p.signals)]


def _sort(draft: Draft, text: str) -> Sort:
    language = draft.language
    if language.correction.search(draft.seen[:_HEAD_CHARS]):
        return Sort.CORRECTION
    return Sort.DEVOPS if language.devops.search(text) else Sort.PREFERENCE


def reach(draft: Draft, text: str) -> Reach:
    language = draft.language
    if language.everywhere.search(draft.seen[:_HEAD_CHARS]):
        return Reach.USER
    return Reach.USER if language.user.search(text) and not language.project.search(text) else Reach.PROJECT


def _why_nothing(draft: Draft) -> str:
    """The reason of the piece that came nearest."""
    if draft.whole:
        return draft.whole
    nearest = max(draft.pieces, key=lambda piece: piece.score)
    if nearest.veto and nearest.score > 0:
        return nearest.veto
    return next((piece.veto for piece in draft.pieces if piece.veto), "nothing lasting is said")

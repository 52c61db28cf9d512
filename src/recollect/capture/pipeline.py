"""What is kept of a prompt: an ordered tuple of pure steps over a draft. Any step may drop it, with a reason.

Each sentence is judged by itself (judge.py); the prompt around it can only make it count for less. The text that is
handed in is already redacted and free of our own injections: both need rooms that stand beside or below this one, and
`ops` does them first (redact before anything, or two secrets that differ make two drafts).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from recollect.base.text import one_line
from recollect.capture import judge, mask, split
from recollect.capture.draft import Action, Draft, Found, Piece, Reach, Sort
from recollect.capture.languages import spoken
from recollect.capture.word import worded

MAX_CHARS = 20_000
"""Of a longer prompt only its ends are looked at: the middle is a paste."""
_END_CHARS = MAX_CHARS // 2
_HEAD_CHARS = 2_000
_SHORT_WORDS = 4
_LONG_WORDS, _LONG_SENTENCES, _LONG_LIST = 200, 14, 5
"""From so many on a prompt is a specification, a plan or a paste: nobody tells a rule in passing there."""
_LINE_OF_A_LIST = re.compile(r"^\s*(?:[-*\u2022+]|\d{1,2}[.)]|#{1,6})\s+\S", re.MULTILINE)
_PASTES = re.compile(rf"{mask.BLOT}[{mask.BLOT}\s]*")
_LONG = "in a long text, which reads like a specification or a paste"

Step = Callable[[Draft], Draft]


def capture(text: str) -> Draft:
    draft = read(text)
    return draft if draft.dropped else word(draft)


def read(text: str) -> Draft:
    """Cleaned, masked, cut, each sentence weighed."""
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
            return replace(draft, whole=why)
    return draft


def cut(draft: Draft) -> Draft:
    pieces = split.pieces(draft.text, draft.seen)
    if not pieces:
        return draft.drop("pasted or quoted text alone")
    if not draft.whole and _is_long(draft, pieces):
        draft = replace(draft, whole=_LONG)
    return replace(draft, pieces=pieces)


def classify(draft: Draft) -> Draft:
    return replace(draft, pieces=judge.weighed(draft.pieces, draft.language))


def said_himself(text: str, seen: str) -> str:
    """Of a text and its masked form: what the person says himself, pasted parts left out."""
    said = "".join(char if mark == mask.QUOTE else mark for char, mark in zip(text, seen, strict=True))
    return _PASTES.sub(" ... ", said).strip()


def word(draft: Draft) -> Draft:
    """Each sentence that is a rule makes one; a short one is told with what stands beside it."""
    found = [_found(draft, number) for number in range(len(draft.pieces))]
    rules = [one for one in found if one is not None and one.rule]
    kept = tuple(one for one in rules if one.action is not Action.DROPPED)
    refused = tuple(one for one in rules if one.action is Action.DROPPED)
    if kept:
        return replace(draft, found=kept, refused=refused)
    return replace(draft.drop(_why_nothing(draft)), refused=refused)


STEPS: tuple[Step, ...] = (clean, blot, look_at_all, cut, classify)


def _is_long(draft: Draft, pieces: tuple[Piece, ...]) -> bool:
    own = said_himself(draft.text, draft.seen)
    words = len(own.split()) if own.isascii() else max(len(own.split()), len(own) // 5)
    return (
        words > _LONG_WORDS
        or len(pieces) > _LONG_SENTENCES
        or (len(_LINE_OF_A_LIST.findall(draft.seen)) >= _LONG_LIST and not mask.is_own_list(draft.seen))
    )


def _found(draft: Draft, number: int) -> Found | None:
    """None where the sentence does not even look like a rule."""
    piece = draft.pieces[number]
    if not judge.is_like_a_rule(piece) or len(piece.text) > split.MOST_CHARS:
        return None
    action, reason = judge.action_of(piece), "; ".join(piece.signals) or "worded like a rule"
    if piece.veto:
        reason = piece.veto
    elif draft.whole:
        # At best it waits, and only where it says itself that it is to last.
        action = Action.INBOX if judge.is_explicit(piece) and _is_likeliest(draft, number) else Action.DROPPED
        reason = draft.whole
    run = _run(draft, number)
    first, last = draft.pieces[run[0]], draft.pieces[run[-1]]
    span = draft.text[first.start : last.start + len(last.text)]
    rule = worded([draft.pieces[n].text for n in run], draft.language)
    text = " ".join(draft.pieces[n].seen for n in run)
    return Found(rule, _sort(draft, text), reach(draft, text), action, reason, piece.score, span)


def _is_likeliest(draft: Draft, number: int) -> bool:
    explicit = [n for n, piece in enumerate(draft.pieces) if judge.is_explicit(piece) and not piece.veto]
    return number == max(explicit, key=lambda n: draft.pieces[n].score)


def _run(draft: Draft, number: int) -> list[int]:
    """The sentence, and those without which it says nothing: "We don't.", "Hands off that folder."."""
    piece = draft.pieces[number]
    run = [number]
    is_short = piece.text.isascii() and len(one_line(piece.text).split()) <= _SHORT_WORDS
    before = number - 1
    if before >= 0 and (is_short or draft.language.pointing.search(piece.seen)) and _may_join(draft, before):
        run.insert(0, before)
    after = number + 1
    if after < len(draft.pieces) and len(run) == 1:
        following = draft.pieces[after]
        is_part = draft.language.back.search(following.seen) or (is_short and len(draft.pieces) <= 3)
        if is_part and _may_join(draft, after):
            run.append(after)
    return run


def _may_join(draft: Draft, number: int) -> bool:
    """Not what is a rule of its own, nor a question, nor a task."""
    piece = draft.pieces[number]
    if piece.veto == judge.COMPLAINT:
        return True
    return (
        not piece.veto
        and not judge.is_like_a_rule(piece)
        and "a task" not in piece.signals
        and "a wish" not in piece.signals
    )


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

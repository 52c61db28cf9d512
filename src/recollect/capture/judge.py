"""Weighs each sentence by itself: what speaks for a standing rule, what speaks against it, and what rules it out.

Two things are known of a sentence: its form, a sum of named signals, and, where the language has a learned judge, how
its words speak for a rule. A rule comes into force at once only where both are sure: of real prompts three in a hundred
state anything that lasts. Where one of them is, it waits in the inbox. Does not word anything (word.py).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from recollect.capture import learned, traits
from recollect.capture.draft import Action, Piece
from recollect.capture.language import EXPLICIT, Language, plain

STORE = 4.0
"""From here on a rule is in force at once."""
STORE_IF_FIRM = 3.0
"""The same, where its form is unmistakable."""
INBOX = 2.5
"""From here on it waits for the person."""
# Log odds of the learned judge, at the real base rate, from which a rule is in force:
SURE_IF_EXPLICIT = -2.8
"""Where it says itself that it is to last, or all of its form does."""
SURE_IF_FIRM = -2.5
SURE_IF_LIKE_A_RULE = 0.5
"""By its form, though another kind of sentence might look so, too."""
SURE_BY_WORDS = 2.0
"""Where the form is not that of a rule, but speaks for one."""
WAITS = 0.2
"""From which it waits in the inbox, whatever its form."""
_SPEAKS_FOR, _PLAIN = 1.0, 6.0
"""Weights of a form from which it speaks for a rule at all, and from which it is as good as said."""
_BACKED = 3.0
_POLITE_END = plain(r"[,\s]*\b(?:ok|okay|yeah|yes|please|thanks|thx|alright)\s*\?+\s*$")
_ASKED = "a question"
_TASK = "a task"
_MADE_LASTING = "what follows makes it lasting"
COMPLAINT = "what was done, not what is to be done"
_OF_THE_PRODUCT = "what a thing has to do"
_HARD = frozenset(
    (_ASKED, "an order for this once", "somebody else's words", "said again of what was asked for", "a permission")
)
"""What rules out even a sentence that says itself that it is to last."""
_SOFT = frozenset(("an idiom", "a story"))
"""What does not count against an unmistakable form: "stop adding notes, I never read them"."""


def weighed(pieces: tuple[Piece, ...], language: Language) -> tuple[Piece, ...]:
    judged = [_judged(piece, language) for piece in pieces]
    for number in range(len(judged)):
        if language.back.search(judged[number].seen) and judged[number].veto != _ASKED:
            before = next((n for n in range(number - 1, -1, -1) if judged[n].veto != _ASKED), None)
            last = judged[number]
            if before is None or judged[before].veto:
                judged[number] = replace(last, score=min(last.score, INBOX), firm=False)
                continue
            own = judged[before]
            judged[before] = replace(
                own,
                score=max(own.score, 0.0) + _BACKED,
                signals=(*own.signals, _MADE_LASTING),
                firm=True,
            )
            if last.score < INBOX or is_explicit(last):
                judged[number] = replace(last, score=0.0)
    for number in range(1, len(judged)):
        # "The importer must skip empty lines. Never throw.": an order to the importer.
        if _OF_THE_PRODUCT in judged[number - 1].signals and not is_explicit(judged[number]):
            judged[number] = replace(judged[number], firm=False, score=min(judged[number].score, INBOX))
    known = learned.judge(language.code)
    if known is None:
        return tuple(judged)
    # It learned most from English. Elsewhere form decides where there is one, and words only add what waits.
    return tuple(
        replace(piece, odds=known.odds(traits.of(judged, number)))
        if language.code == "en" or piece.score < INBOX
        else piece
        for number, piece in enumerate(judged)
    )


def action_of(piece: Piece) -> Action:
    if piece.veto or not is_like_a_rule(piece):
        return Action.DROPPED
    if _TASK in piece.signals and piece.odds is not None and piece.odds < SURE_IF_LIKE_A_RULE:
        return Action.INBOX
    is_sure_form = piece.score >= (STORE_IF_FIRM if piece.firm else STORE)
    if piece.odds is None:
        return Action.STORED if is_sure_form else Action.INBOX
    return Action.STORED if piece.odds >= _sure_from(piece, is_sure_form) else Action.INBOX


def _sure_from(piece: Piece, is_sure_form: bool) -> float:
    if _MADE_LASTING in piece.signals or (is_explicit(piece) and ": " in piece.seen):  # "remember this: ..."
        return -inf
    if is_sure_form:
        return SURE_IF_EXPLICIT if is_explicit(piece) or piece.score >= _PLAIN else SURE_IF_FIRM
    if piece.score >= INBOX:
        return SURE_IF_LIKE_A_RULE
    return SURE_BY_WORDS if piece.score >= _SPEAKS_FOR else inf


def is_like_a_rule(piece: Piece) -> bool:
    """By its form or by its words."""
    return piece.score >= INBOX or (piece.odds is not None and piece.odds >= WAITS)


def is_explicit(piece: Piece) -> bool:
    """It says in so many words that it is to last."""
    return not EXPLICIT.isdisjoint(piece.signals)


def _judged(piece: Piece, language: Language) -> Piece:
    if piece.veto:
        return piece
    seen = _POLITE_END.sub("", piece.seen)
    said = [signal for signal in language.signals if signal.pattern.search(seen)]
    firm = any(signal.firm for signal in said)
    if firm:
        said = [signal for signal in said if not signal.yields]
    score = sum(signal.weight for signal in said)
    explicit = not EXPLICIT.isdisjoint(signal.name for signal in said)
    counts = {why: why in _HARD or not (explicit or (firm and why in _SOFT)) for why in language.vetoes}
    veto = next((why for why, pattern in language.vetoes.items() if counts[why] and pattern.search(seen)), "")
    if not veto and not firm and language.complaint.search(seen):
        veto = COMPLAINT
    return replace(piece, score=score, signals=tuple(signal.name for signal in said), veto=veto, firm=firm)

"""Weighs each piece: what speaks for a standing rule, what speaks against it, and what rules it out.

Weights are sums of named signals, so that `--explain` can show them. Does not word anything (word.py).
"""

from __future__ import annotations

from dataclasses import replace

from recollect.capture.draft import Action, Piece
from recollect.capture.language import Language, plain

STORE = 4.0
"""From here on a rule is in force at once."""
STORE_IF_FIRM = 3.0
"""The same, where something in it says plainly that it is to last."""
INBOX = 2.5
"""From here on it waits for the person."""
_BACKED = 3.0
_AFTER_A_CORRECTION = 0.5
_POLITE_END = plain(r"[,\s]*\b(?:ok|okay|yeah|yes|please|thanks|thx|alright)\s*\?+\s*$")
_ASKED = "a question"


def weighed(pieces: tuple[Piece, ...], language: Language) -> tuple[Piece, ...]:
    corrected = any(language.correction.search(piece.seen) for piece in pieces if not piece.veto)
    judged = [_judged(piece, language, corrected) for piece in pieces]
    for number in range(1, len(judged)):
        if language.back.search(judged[number].seen) and judged[number].veto != _ASKED:
            before = next((n for n in range(number - 1, -1, -1) if judged[n].veto != _ASKED), None)
            if before is None:
                continue
            own, last = judged[before], judged[number]
            raised = max(own.score, 0.0) + (_BACKED if not own.veto else 0.0)
            judged[before] = replace(
                own, score=raised, signals=(*own.signals, "what follows makes it lasting"), firm=True
            )
            if not own.veto and last.score < _BACKED:
                judged[number] = replace(last, score=0.0)
    return tuple(judged)


def action_of(piece: Piece) -> Action:
    if piece.veto or piece.score < INBOX:
        return Action.DROPPED
    return Action.STORED if piece.score >= (STORE_IF_FIRM if piece.firm else STORE) else Action.INBOX


def _judged(piece: Piece, language: Language, corrected: bool) -> Piece:
    if piece.veto:
        return piece
    seen = _POLITE_END.sub("", piece.seen)
    said = [signal for signal in language.signals if signal.pattern.search(seen)]
    firm = any(signal.firm for signal in said)
    if firm:
        said = [signal for signal in said if not signal.yields]
    score = sum(signal.weight for signal in said)
    if corrected and score > 0:
        score += _AFTER_A_CORRECTION
    veto = next((why for why, pattern in language.vetoes.items() if pattern.search(seen)), "")
    return replace(piece, score=score, signals=tuple(signal.name for signal in said), veto=veto, firm=firm)

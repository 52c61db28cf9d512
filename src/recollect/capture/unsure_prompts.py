"""Prompts that the judge is unsure of: what a language model is asked about them, and what its answer may change.

Only what would wait for the person, or was dropped by a little, is worth a question. An answer counts only if it quotes
the person's own words; then what it quotes is a rule in force. "No" changes nothing: what waits, waits for the person.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.capture import judge
from recollect.capture.draft import NOTHING_LASTING, Action, Draft, FoundRule, Piece
from recollect.capture.prompt_rules import scope_of, word_rule
from recollect.capture.prompt_text import spoken_text
from recollect.model.ask import Ask, Use, read_objects
from recollect.model.memory import RuleType

NEARLY = 2.0
"""A prompt is worth a question down to this far below the log odds for the inbox; further down the judge is sure."""
_MAX_CHARS = 2_000
_MIN_QUOTE_WORDS, _MAX_QUOTE_CHARS = 2, 400
_RULE_TYPES = (RuleType.PREFERENCE, RuleType.CORRECTION, RuleType.DEVOPS)


def is_unsure(draft: Draft) -> bool:
    if draft.found:
        return all(found.action is not Action.STORED for found in draft.found)
    return not draft.whole and any(_is_nearly_a_rule(piece) for piece in draft.pieces if not piece.veto)


def question(draft: Draft) -> Ask:
    return Ask(Use.CLASSIFY, (("said", _spoken(draft)),))


def read_answer(text: str, draft: Draft) -> Draft:
    """The draft as it stands after the answer: with a rule in force, or without any."""
    quote, rule_type = _quoted_rule(text)
    if len(quote.split()) < _MIN_QUOTE_WORDS and quote.isascii():
        return draft.drop("a language model sees no rule in it")
    if flat(quote) not in flat(_spoken(draft)):
        return draft.drop("a language model quoted what was not said")
    waiting = [found for found in draft.found if _overlap(found.rule, quote)]
    if waiting:  # worded as it is in the inbox, so that it is known there
        return replace(draft, found=tuple(replace(one, action=Action.STORED) for one in waiting), dropped="")
    rule = word_rule([quote], draft.language)
    reason = "a language model took it for a rule"
    found = FoundRule(rule, rule_type, scope_of(draft, quote), Action.STORED, reason, 0.0)
    return replace(draft, found=(found,), dropped="") if rule else draft.drop(NOTHING_LASTING)


def flat(text: str) -> str:
    """Without differences of case and spacing."""
    return " ".join(text.casefold().replace("\u2019", "'").split())


def _is_nearly_a_rule(piece: Piece) -> bool:
    return piece.score > 0 if piece.odds is None else piece.odds > judge.WAITS - NEARLY


def _quoted_rule(text: str) -> tuple[str, RuleType]:
    """What the answer quotes, where it says that it is a rule."""
    match read_objects(text, "{"):
        case [{"rule": True, "quote": str(quote), **rest}]:
            named = next((one for one in _RULE_TYPES if one == rest.get("type")), RuleType.PREFERENCE)
            return quote.strip()[:_MAX_QUOTE_CHARS], named
        case _:
            return "", RuleType.PREFERENCE


def _spoken(draft: Draft) -> str:
    said = spoken_text(draft.text, draft.seen)
    return said if len(said) <= _MAX_CHARS else f"{said[: _MAX_CHARS // 2]} {said[-_MAX_CHARS // 2 :]}"


def _overlap(rule: str, quote: str) -> bool:
    """Whether both speak of the same words: most of the shorter one's are in the other."""
    one, other = (set(flat(text).strip(".!?").split()) for text in (rule, quote))
    return 2 * len(one & other) > min(len(one), len(other))

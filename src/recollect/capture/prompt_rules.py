"""The rules that a prompt states, worded as they were typed, without greetings and asides; "we use X" becomes "Use X".

Each sentence is judged by itself (judge.py); the prompt around it can only make it count for less. The text is already
redacted (or two secrets that differ would make two rules) and free of what we put in front of the agent.
"""

from __future__ import annotations

import re
from dataclasses import replace

from recollect.base.text import clip, one_line
from recollect.capture import judge, prompt_text
from recollect.capture.language import Language, language, language_code
from recollect.capture.prompt_text import NOTHING_LASTING, Action, Draft, FoundRule, Piece
from recollect.model.memory import RuleType
from recollect.model.result import Scope

MAX_CHARS = 20_000  # of a longer prompt only its ends are looked at: the middle is a paste
_HEAD_CHARS = 2_000
_SHORT_WORDS = 4
# A prompt that is longer is a specification, a plan or a paste: nobody tells a rule in passing there.
_LONG_WORDS, _LONG_SENTENCES, _LONG_LIST = 200, 14, 5
_LONG = "in a long text, which reads like a specification or a paste"
_PASTE_ALONE = "pasted or quoted text alone"
_LIST_ITEM = re.compile(r"^\s*(?:[-*\u2022+]|\d{1,2}[.)]|#{1,6})\s+\S", re.MULTILINE)
_MAX_RULE_CHARS = 400
_SENTENCE_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f")
_DASH = re.compile(r"^[-\u2013\u2014]+\s+")
_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def find_rules(text: str) -> Draft:
    draft = judge_prompt(text)
    if draft.dropped:
        return draft
    rules = [rule for number in range(len(draft.pieces)) if (rule := _found_rule(draft, number)) and rule.rule]
    kept = tuple(rule for rule in rules if rule.action is not Action.DROPPED)
    refused = tuple(rule for rule in rules if rule.action is Action.DROPPED)
    return replace(draft, found=kept, refused=refused, dropped="" if kept else _why_nothing(draft))


def judge_prompt(text: str) -> Draft:
    """Cleaned, masked, cut, each sentence weighed; no rule is worded yet."""
    spoken = language(language_code(text))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2019", "'")
    text = text.replace(prompt_text.BLOT, " ").replace(prompt_text.QUOTE, " ").expandtabs(4).strip()
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n\n{text[-(MAX_CHARS // 2) :]}"
    if not any(map(str.isalpha, text)):
        return Draft(text, spoken, dropped="no words")
    seen = prompt_text.masked(text)
    pieces = prompt_text.sentences(text, seen)
    if not pieces or not any(map(str.isalpha, seen)):
        return Draft(text, spoken, dropped=_PASTE_ALONE)
    ends = (seen[:_HEAD_CHARS], seen[-_HEAD_CHARS:])
    whole = next((why for why, pattern in spoken.whole_prompt.items() if any(map(pattern.search, ends))), "")
    whole = whole or (_LONG if _is_long(text, seen, pieces) else "")
    return Draft(text, spoken, seen, judge.weigh(pieces, spoken), whole)


def scope_of(draft: Draft, text: str) -> Scope:
    language = draft.language
    is_everywhere = language.has("everywhere", draft.seen[:_HEAD_CHARS])
    is_own = language.has("user", text) and not language.has("project", text)
    return Scope.USER if is_everywhere or is_own else Scope.PROJECT


def word_rule(sentences: list[str], language: Language) -> str:
    return clip(" ".join(filter(None, (_word_sentence(one, language) for one in sentences))), _MAX_RULE_CHARS)


def _is_long(text: str, seen: str, pieces: tuple[Piece, ...]) -> bool:
    own = prompt_text.spoken_text(text, seen)
    words = len(own.split()) if own.isascii() else max(len(own.split()), len(own) // 5)
    is_list = len(_LIST_ITEM.findall(seen)) >= _LONG_LIST and not prompt_text.is_own_list(seen)
    return words > _LONG_WORDS or len(pieces) > _LONG_SENTENCES or is_list


def _found_rule(draft: Draft, number: int) -> FoundRule | None:
    """None where the sentence does not even look like a rule."""
    piece = draft.pieces[number]
    if not judge.is_like_a_rule(piece) or len(piece.text) > prompt_text.MAX_SENTENCE_CHARS:
        return None
    action, reason = judge.action_of(piece), "; ".join(piece.signals) or "worded like a rule"
    if piece.veto:
        reason = piece.veto
    elif draft.whole:
        # At best one sentence waits: the likeliest of those that say themselves that they are to last.
        explicit = [one for one in draft.pieces if judge.is_explicit(one) and not one.veto]
        is_likeliest = piece is max(explicit, key=lambda one: one.score, default=None)
        action, reason = Action.INBOX if is_likeliest else Action.DROPPED, draft.whole
    run = _with_context(draft, number)
    span = draft.text[run[0].start : run[-1].start + len(run[-1].text)]
    rule = word_rule([one.text for one in run], draft.language)
    seen = " ".join(one.seen for one in run)
    return FoundRule(rule, _rule_type(draft, seen), scope_of(draft, seen), action, reason, piece.score, span)


def _with_context(draft: Draft, number: int) -> list[Piece]:
    """The sentence, and those without which it says nothing: "We don't.", "Hands off that folder."."""
    pieces, language = draft.pieces, draft.language
    piece = pieces[number]
    is_short = piece.text.isascii() and len(one_line(piece.text).split()) <= _SHORT_WORDS
    if number and (is_short or language.has("pointing", piece.seen)) and _may_join(pieces[number - 1]):
        return [pieces[number - 1], piece]
    if number + 1 < len(pieces):
        following = pieces[number + 1]
        is_part = language.has("back", following.seen) or (is_short and len(pieces) <= 3)
        if is_part and _may_join(following):
            return [piece, following]
    return [piece]


def _may_join(piece: Piece) -> bool:
    """Not what is a rule of its own, nor a question, nor a task."""
    is_plain = not piece.veto and not judge.is_like_a_rule(piece) and not {"a task", "a wish"} & set(piece.signals)
    return is_plain or piece.veto == judge.COMPLAINT


def _rule_type(draft: Draft, text: str) -> RuleType:
    if draft.language.has("correction", draft.seen[:_HEAD_CHARS]):
        return RuleType.CORRECTION
    return RuleType.DEVOPS if draft.language.has("devops", text) else RuleType.PREFERENCE


def _why_nothing(draft: Draft) -> str:
    """The reason of the sentence that came nearest."""
    if draft.whole:
        return draft.whole
    nearest = max(draft.pieces, key=lambda piece: piece.score)
    if nearest.veto and nearest.score > 0:
        return nearest.veto
    return next((piece.veto for piece in draft.pieces if piece.veto), NOTHING_LASTING)


def _word_sentence(text: str, language: Language) -> str:
    """Capitalised, with a full stop. What is not as certain as "we use X" is left as it was typed."""
    text = one_line(text)
    bare = text
    for needless in ("lead", "tail", "asides"):
        bare = language.without(needless, bare)
    bare = bare.strip() or text
    for pattern, instead in language.rewrites:
        bare = pattern.sub(instead, bare, count=1)
    bare = _with_whole_brackets(_DASH.sub("", bare.strip(" ,;:")).rstrip("-"))
    if not bare:
        return ""
    first = bare.split(maxsplit=1)[0]
    if first.islower() and first.replace("'", "").rstrip(",").isalpha():  # a name keeps its case: `makeUser`, iOS
        bare = bare[0].upper() + bare[1:]
    if bare.endswith(_SENTENCE_ENDS):
        return bare
    return bare + ("。" if _WIDE.search(bare) else ".")


def _with_whole_brackets(text: str) -> str:
    """A bracket whose other half was cut away goes too."""
    if text.count("(") > text.count(")"):
        return text[1:] if text.startswith("(") else text + ")"
    if text.count(")") > text.count("("):
        return text[::-1].replace(")", "", 1)[::-1]
    return text

"""The rules that a prompt states: an ordered tuple of steps over a draft. Any step may drop it, with a reason.

Each sentence is judged by itself (judge.py); the prompt around it can only make it count for less. What is a rule is
worded like one: the sentence as it was typed, without greetings and asides; "we use X" becomes "Use X". Every content
word is the person's.

The text that is handed in is already redacted and free of what we ourselves put in front of the agent (redact before
anything else, or two secrets that differ make two drafts).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from recollect.base.text import clip, one_line
from recollect.capture import judge, prompt_text
from recollect.capture.draft import NOTHING_LASTING, Action, Draft, FoundRule, Piece
from recollect.capture.language import Language, language_of
from recollect.model.memory import RuleType
from recollect.model.result import Scope

MAX_CHARS = 20_000  # of a longer prompt only its ends are looked at: the middle is a paste
_HEAD_CHARS = 2_000
_SHORT_WORDS = 4
_LONG_WORDS, _LONG_SENTENCES, _LONG_LIST = 200, 14, 5
"""A prompt that is longer is a specification, a plan or a paste: nobody tells a rule in passing there."""
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
    if kept:
        return replace(draft, found=kept, refused=refused)
    return replace(draft.drop(_why_nothing(draft)), refused=refused)


def judge_prompt(text: str) -> Draft:
    """Cleaned, masked, cut, each sentence weighed; no rule is worded yet."""
    draft = Draft(text, language_of(text))
    for step in STEPS:
        draft = step(draft)
        if draft.dropped:
            break
    return draft


def clean(draft: Draft) -> Draft:
    text = draft.text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2019", "'")
    text = text.replace(prompt_text.BLOT, " ").replace(prompt_text.QUOTE, " ").expandtabs(4).strip()
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n\n{text[-(MAX_CHARS // 2) :]}"
    draft = replace(draft, text=text)
    return draft if any(char.isalpha() for char in text) else draft.drop("no words")


def mask(draft: Draft) -> Draft:
    seen = prompt_text.masked(draft.text)
    return replace(draft, seen=seen) if any(char.isalpha() for char in seen) else draft.drop(_PASTE_ALONE)


def look_at_all(draft: Draft) -> Draft:
    """What the whole prompt is, before its sentences are read."""
    ends = (draft.seen[:_HEAD_CHARS], draft.seen[-_HEAD_CHARS:])
    whole = draft.language.whole_prompt.items()
    return replace(draft, whole=next((why for why, pattern in whole if any(map(pattern.search, ends))), ""))


def cut(draft: Draft) -> Draft:
    pieces = prompt_text.sentences(draft.text, draft.seen)
    if not pieces:
        return draft.drop(_PASTE_ALONE)
    return replace(draft, pieces=pieces, whole=draft.whole or (_LONG if _is_long(draft, pieces) else ""))


def weigh(draft: Draft) -> Draft:
    return replace(draft, pieces=judge.weigh(draft.pieces, draft.language))


STEPS: tuple[Callable[[Draft], Draft], ...] = (clean, mask, look_at_all, cut, weigh)


def scope_of(draft: Draft, text: str) -> Scope:
    language = draft.language
    if language.has("everywhere", draft.seen[:_HEAD_CHARS]):
        return Scope.USER
    return Scope.USER if language.has("user", text) and not language.has("project", text) else Scope.PROJECT


def word_rule(sentences: list[str], language: Language) -> str:
    said = [_worded(one, language) for one in sentences]
    return clip(" ".join(one for one in said if one), _MAX_RULE_CHARS)


def _is_long(draft: Draft, pieces: tuple[Piece, ...]) -> bool:
    own = prompt_text.spoken_text(draft.text, draft.seen)
    words = len(own.split()) if own.isascii() else max(len(own.split()), len(own) // 5)
    return (
        words > _LONG_WORDS
        or len(pieces) > _LONG_SENTENCES
        or (len(_LIST_ITEM.findall(draft.seen)) >= _LONG_LIST and not prompt_text.is_own_list(draft.seen))
    )


def _found_rule(draft: Draft, number: int) -> FoundRule | None:
    """None where the sentence does not even look like a rule."""
    piece = draft.pieces[number]
    if not judge.is_like_a_rule(piece) or len(piece.text) > prompt_text.MAX_SENTENCE_CHARS:
        return None
    action, reason = judge.action_of(piece), "; ".join(piece.signals) or "worded like a rule"
    if piece.veto:
        reason = piece.veto
    elif draft.whole:
        # At best it waits, and only where it says itself that it is to last.
        action = Action.INBOX if judge.is_explicit(piece) and _is_likeliest(draft, number) else Action.DROPPED
        reason = draft.whole
    run = _told_together(draft, number)
    span = draft.text[run[0].start : run[-1].start + len(run[-1].text)]
    rule = word_rule([one.text for one in run], draft.language)
    seen = " ".join(one.seen for one in run)
    return FoundRule(rule, _rule_type(draft, seen), scope_of(draft, seen), action, reason, piece.score, span)


def _is_likeliest(draft: Draft, number: int) -> bool:
    explicit = [n for n, piece in enumerate(draft.pieces) if judge.is_explicit(piece) and not piece.veto]
    return number == max(explicit, key=lambda n: draft.pieces[n].score)


def _told_together(draft: Draft, number: int) -> list[Piece]:
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
    if piece.veto == judge.COMPLAINT:
        return True
    return not piece.veto and not judge.is_like_a_rule(piece) and not {"a task", "a wish"} & set(piece.signals)


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


def _worded(text: str, language: Language) -> str:
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

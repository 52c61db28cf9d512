"""Learnings: sentences that state a durable fact about the work, out of the last words of a session.

Precision first: a sentence must say what something needs or what the cause was, name something that can be looked up
(a command, a file, an identifier), make sense alone, and be neither a plan, a guess, a question nor an order. What is
found is proposed, never put in force. English so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.text import one_line
from recollect.capture.mask import BLOT, masked
from recollect.capture.split import pieces
from recollect.model.act import Act, Speaker
from recollect.model.memory import Lane

LEAST_ACTS = 10
LAST_ACTS = 50
MOST = 5
_CHARS = range(25, 260)
_MOST_WORDS = 45


class Says(StrEnum):
    """The surer first."""

    CAUSE = "what the cause was"
    NEED = "what something needs"


@dataclass(frozen=True, slots=True)
class Learning:
    text: str
    says: Says
    lane: Lane


_WAS = r"(?:was|is|were|are)"
_CAUSE = re.compile(
    rf"""
    \b(?:root|actual|real|underlying)\s(?:cause|problem|issue|reason|culprit)\b[^.]{{0,80}}?\b{_WAS}\b
    | \b(?:bug|failure|crash|error|problem|issue|hang|leak|regression|flake|flakiness)\b[^.]{{0,60}}?\b{_WAS}\s
      (?:that\b|because\b|caused\sby\b|due\sto\b|triggered\sby\b|in\s(?=[`\w]))
    | \b(?:fails?|failed|crashe[sd]|breaks?|broke|hangs?|hung)\s(?:because|when|unless|without|if)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Work that is still to be done says nothing that lasts.
_WORK = r"""(?!(?:\s(?:a|an|some|more|to|to\sbe|be|its|another|further|proper|better|your|my))*\s(?:\w+ing|fix\w*
    |updat\w*|chang\w*|refactor\w*|rework\w*|rewrit\w*|clean\w*|check\w*|review\w*|tests?|docstring|docs|documentation|comment|add\w*|done
    |remov\w*|renam\w*|mov\w*|attention|work|look|love|adjust\w*|implement\w*|extend\w*|investigat\w*|handl\w*)\b)"""
_NEED = re.compile(
    rf"""
    (?<!that\s)(?<!which\s)(?<!what\s)(?<!who\s)(?<!it\s)(?<!they\s)
    \b(?:requires?{_WORK}|needs?(?!\snot\b){_WORK}|depends\son|expects?|must{_WORK}\s(?:be|have|run|come|stay)
       |has\sto{_WORK}\s(?:be|run|come)|have\sto{_WORK}\s(?:be|run|come)|only\sworks?\s(?:with|when|if|on|in|from|after)
       |does(?:\snot|n't)\swork\s(?:with|without|when|if|on|in)|do(?:\snot|n't)\swork\s(?:with|without|when|if|on|in)
       |does(?:\snot|n't)\ssupport|is\sincompatible\swith|are\sincompatible\swith|conflicts?\swith)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Something that can be looked up: code in ticks, a path, a flag, a name in capitals or with a hump, a dotted name.
_NAMED = re.compile(
    r"`[^`]{2,80}`|(?<!\w)--?[a-z][\w-]+|\b\w+[/_]\w[\w/.-]*|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}_[A-Z_]+\b"
    r"|\b\w+\.(?:py|ts|tsx|js|json|toml|ya?ml|rs|go|sql|sh|md|lock|cfg|ini|env|java|rb|c|h|cpp)\b|\b\w+\(\)"
)
_GUESS = re.compile(
    r"\b(?:might|may|maybe|perhaps|probably|possibly|likely|seems?|seemed|appears?|apparently|suspect|guess|think|believe"
    r"|assum(?:e|ing|ption)|unclear|not sure|unsure|could be|could have|would|should|if we|if you|whether|wonder"
    r"|hopefully|suppose|imagine|let's say|for example|e\.g)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:I'll|I will|I'm going|I am going|I need|I have to|I must|I can|I could|let me|let's|we need|we have to"
    r"|we must|we'll|you need|you have to|you must|you'll|going to|next,? I|now I|first,? I|wants? (?:me|you|to)"
    r"|will)\b|\bTODO\b",
    re.IGNORECASE,
)
# It speaks of something that was said before, which nobody will know.
_LEANS = re.compile(
    r"^(?:this|that|it|they|these|those|he|she|here|there|which|and|but|so|also|then|however|otherwise|both|one|same|such"
    r"|above|below|no|yes|ok|okay|done)\b",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"^(?:(?:so|ok(?:ay)?|right|great|good news|interesting|found it|got it|aha|note|important|fyi|btw|turns out"
    r"|in short|in summary|summary|conclusion|key finding|finding|learned|learning|lesson)"
    r"\s*(?:that\b)?[:,!.\u2014-]*\s+"
    r"|it turn(?:s|ed) out(?: that)?,?\s+|as it turns out,?\s+"
    r"|i (?:found|learned|discovered|confirmed)(?: out)? that\s+)+",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"^what\b|\b(?:nothing|anything|everything|something)\b", re.IGNORECASE)
_NOW = re.compile(
    r"\b(?:this (?:session|time|run|turn)|just now|at the moment|currently|today|for now|so far)\b", re.IGNORECASE
)
_MARKS = re.compile(r"^[\s>*#\u2022\d.)(-]+|\*\*|__")
_BROKEN = re.compile(r"(?!(?:it|i|so|ok|turns|fyi|btw)\b)[a-z]+\s")  # the second half of a sentence that was cut in two
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'"[^"\s]+\s[^"\s]+\s[^"\s]+\s[^"]+"|\u201c[^\u201d]{20,}\u201d')
_HIDDEN = re.compile(r"\[private\]|\[redacted:")


def learnings(acts: Sequence[Act], *, last: int = LAST_ACTS, most: int = MOST) -> tuple[Learning, ...]:
    """Out of the last acts, where there are enough to speak of a session at all; what says the cause first."""
    own = [act for act in acts if not act.agent][-last:]
    if len(own) < LEAST_ACTS:
        return ()
    found: dict[str, Learning] = {}
    for act in reversed(own):  # the last word on a thing counts
        for one in _said(act):
            found.setdefault(one.text.casefold(), one)
    return tuple(sorted(found.values(), key=lambda one: list(Says).index(one.says))[:most])


def _said(act: Act) -> Iterator[Learning]:
    lane = {Speaker.PERSON: Lane.USER, Speaker.AGENT: Lane.AGENT}.get(act.speaker)
    if lane is None or act.plan:
        return
    text, seen = (act.text, masked(act.text)) if lane is Lane.USER else (own := _prose(act.text), own)
    for piece in pieces(text, seen):
        if BLOT in piece.seen or piece.veto or (lane is Lane.AGENT and _BROKEN.match(_MARKS.sub("", piece.text))):
            continue
        says = _judged(piece.text)
        if says is not None:
            yield Learning(_worded(piece.text), says, lane)


def _prose(text: str) -> str:
    """What the agent says itself: without code, quotes and tables."""
    lines = _FENCED.sub("\n\n", text).splitlines()
    return "\n".join("" if line.lstrip().startswith((">", "|", "$", "    ")) else line for line in lines)


def _judged(sentence: str) -> Says | None:
    if "?" in sentence or sentence.rstrip().endswith(":") or _HIDDEN.search(sentence) or _QUOTED.search(sentence):
        return None
    text = _worded(sentence)
    if len(text) not in _CHARS or len(text.split()) > _MOST_WORDS:
        return None
    if not _NAMED.search(text) or _LEANS.match(text) or any(one.search(text) for one in (_GUESS, _PLAN, _NOW, _VAGUE)):
        return None
    if _CAUSE.search(text):
        return Says.CAUSE
    return Says.NEED if _NEED.search(text) else None


def _worded(sentence: str) -> str:
    """Without what only leads up to it."""
    text = _OPENS.sub("", _MARKS.sub("", one_line(sentence)))
    return text[:1].upper() + text[1:] if not text.startswith("`") else text

"""What kind of sentence it is: a cause, an outcome, a choice, a question, or only what one says while working.

Cues are words of several languages; a sentence without any is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.base.text import clip, one_line
from recollect.capture import terms
from recollect.capture.commands import looks_only
from recollect.capture.languages.turn_cues import (
    ASKS,
    CHOICE,
    DONE,
    NOD,
    ONLY_CHECKS,
    OUTCOME,
    STRONG_CAUSE,
    TALK,
    WEAK_CAUSE,
)
from recollect.model.small_talk import is_small_talk

_LOOKED_AT = 1_500
_OFFERS = re.compile(
    r"^(?:would you like|do you want|want|shall|should|may|can) (?:me|i)(?: to)? (?:now |also |just )?"
    r"|^ready (?:for me )?to ",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*)$", re.MULTILINE)
_PLAN = re.compile(
    r"^\s*(?:please\s+)?(?:implement|execute|carry out|follow)\s+(?:the\s+)?(?:following|this|attached)\s+plan\b",
    re.IGNORECASE,
)
_PLAN_WORD = re.compile(r"^(?:implementation\s+)?plan\s*(?:[:\u2014\u2013-]|for\b)\s*", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^\s*(?:[-*\u2022+\u2713\u2714\u2705]|\d{1,2}[.)])\s+")
_MARKS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|^[\s>#*\u2022\u2705\u2713\u2714\u26a0\ufe0f\u274c-]+(?=\S)")
_BOLD_LINE = re.compile(r"^\s*\*\*[^*]{2,80}\*\*:?\s*$")
_EMPHASIS = re.compile(r"\*\*|^\s*#{1,6}\s+|^\s*>\s?|__(?=\w)|(?<=\w)__(?!\w)")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)")
_NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+")
_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of a message, without its marks."""

    text: str
    is_heading: bool = False
    is_item: bool = False


def lines(text: str) -> Iterator[Line]:
    """The prose of a message: no code, no tables."""
    plain = _FENCE.sub("\n", text)
    for number, raw in enumerate(plain.splitlines()):
        if number > _MOST_LINES:
            return
        if not raw.strip() or raw.lstrip().startswith(("|", "$ ", "---", "===")):
            continue
        heading = bool(_HEADING.match(raw) or _BOLD_LINE.match(raw))
        item = bool(_ITEM.match(raw))
        said = _LINK.sub(r"\1", _MARKS.sub("", _NUMBERED.sub("", raw))).strip()
        for one in terms.sentences(said):
            if re.search(r"\w", one):
                yield Line(one, heading, item)


def without_marks(line: str) -> str:
    """A line of Markdown as it reads: no stars, no hashes; a list stays one."""
    return _LINK.sub(r"\1", _EMPHASIS.sub("", line)).rstrip()


PLAN = "Plan: "
"""Before the heading of a plan, where it is what was asked for."""


def offer(text: str) -> str:
    """What an agent offers to do at the end of a message. Empty: it offers nothing."""
    asked = [line.text for line in lines(text[-_LOOKED_AT:]) if asks(line.text)]
    return _OFFERS.sub("", asked[-1]).rstrip("?\uff1f ") if asked else ""


def plan_heading(text: str) -> str:
    """Of a plan that an agent made and was then told to carry out. Empty: it is none."""
    return heading(text[len("implement") :].split(":", 1)[-1]) if _PLAN.match(text) else ""


def heading(plan: str) -> str:
    found = _HEADING.search(plan)
    first = found[1] if found else next(iter(plan.strip().splitlines()), "")
    return clip(_PLAN_WORD.sub("", one_line(_MARKS.sub("", first))), 120) or "A plan"


def says_nothing(text: str) -> bool:
    """A greeting, thanks, a nod: words that name nothing. Or a command that only looks."""
    said = text.split()
    is_command = len(said) == 1 or (len(said) == 2 and (said[1].startswith("-") or said[0] == "git"))
    return is_small_talk(text) or (is_command and looks_only(text))


def cause(text: str) -> float:
    """0: says nothing about why."""
    strong = len(STRONG_CAUSE.findall(text[:2_000]))
    return 2.0 * min(strong, 2) + min(len(WEAK_CAUSE.findall(text[:2_000])), 2)


def tells_done(text: str) -> bool:
    return bool(DONE.match(text))


def is_strong_cause(text: str) -> bool:
    return bool(STRONG_CAUSE.search(text))


def outcome(text: str) -> float:
    """0: says nothing of what came of it. That tests pass says less than what they pass for."""
    return min(3, len(OUTCOME.findall(text))) - (1.2 if ONLY_CHECKS.match(text) else 0)


def is_choice(text: str) -> bool:
    return bool(CHOICE.search(text))


def asks(text: str) -> bool:
    return bool(ASKS.search(text))


def is_talk(text: str) -> bool:
    return bool(TALK.match(text) or NOD.match(text))


def is_foreign(text: str) -> bool:
    """In a script whose words are not told apart by spaces."""
    return bool(re.search(r"[\u3040-\u30ff\u4e00-\u9fff]{4}", text))

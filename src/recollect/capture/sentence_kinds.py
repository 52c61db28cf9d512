"""What kind of sentence it is: a cause, an outcome, a choice, a question, or only what one says while working. And a
message of an agent as sentences, the heading of a plan, the offer at the end of a message.

The cues are words of several languages (data/sentence_kinds.toml); a sentence without any is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.base.text import clip, one_line
from recollect.capture import terms
from recollect.capture.prompt_text import FENCE
from recollect.capture.tables import Patterns
from recollect.capture.turn_commands import only_shows
from recollect.model.small_talk import is_small_talk

PLAN = "Plan: "  # stands before the heading of a plan, where that is what was asked for
_OFFER_CHARS = 1_500
_MAX_LINES = 200
_CAUSE_CHARS = 2_000
_MAX_HEADING_CHARS = 120
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*)$", re.MULTILINE)
_BOLD_LINE = re.compile(r"^\s*\*\*[^*]{2,80}\*\*:?\s*$")
_PLAN_WORD = re.compile(r"^(?:implementation\s+)?plan\s*(?:[:\u2014\u2013-]|for\b)\s*", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*\u2022+\u2713\u2714\u2705]|\d{1,2}[.)])\s+")
_NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+")
_MARKS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|^[\s>#*\u2022\u2705\u2713\u2714\u26a0\ufe0f\u274c-]+(?=\S)")
_EMPHASIS = re.compile(r"\*\*|^\s*#{1,6}\s+|^\s*>\s?|__(?=\w)|(?<=\w)__(?!\w)")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)")
_WIDE_SCRIPT = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]{4}")
_CUES = Patterns("sentence_kinds")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of a message, without its marks."""

    text: str
    is_heading: bool = False
    is_item: bool = False


def lines(text: str) -> Iterator[Line]:
    """The prose of a message: no code, no tables."""
    for number, raw in enumerate(FENCE.sub("\n", text).splitlines()):
        if number > _MAX_LINES:
            return
        if not raw.strip() or raw.lstrip().startswith(("|", "$ ", "---", "===")):
            continue
        is_heading = bool(_HEADING.match(raw) or _BOLD_LINE.match(raw))
        said = _LINK.sub(r"\1", _MARKS.sub("", _NUMBERED.sub("", raw))).strip()
        for one in terms.sentences(said):
            if re.search(r"\w", one):
                yield Line(one, is_heading, bool(_ITEM.match(raw)))


def without_marks(line: str) -> str:
    """A line of Markdown as it reads: no stars, no hashes; a list stays one."""
    return _LINK.sub(r"\1", _EMPHASIS.sub("", line)).rstrip()


def offer(text: str) -> str:
    """What an agent offers to do at the end of a message. Empty: it offers nothing."""
    asked = [line.text for line in lines(text[-_OFFER_CHARS:]) if asks(line.text)]
    return _CUES.offers.sub("", asked[-1]).rstrip("?\uff1f ") if asked else ""


def plan_heading(text: str) -> str:
    """The heading of a plan that an agent made and was then told to carry out. Empty: it is none."""
    return heading(text[len("implement") :].split(":", 1)[-1]) if _CUES.plan.match(text) else ""


def heading(plan: str) -> str:
    found = _HEADING.search(plan)
    first = found[1] if found else next(iter(plan.strip().splitlines()), "")
    return clip(_PLAN_WORD.sub("", one_line(_MARKS.sub("", first))), _MAX_HEADING_CHARS) or "A plan"


def says_nothing(text: str) -> bool:
    """A greeting, thanks, a nod: words that name nothing. Or a command that only shows something."""
    said = text.split()
    is_command = len(said) == 1 or (len(said) == 2 and (said[1].startswith("-") or said[0] == "git"))
    return is_small_talk(text) or (is_command and only_shows(text))


def cause(text: str) -> float:
    """How much it says about why. 0: nothing."""
    text = text[:_CAUSE_CHARS]
    return 2.0 * min(len(_CUES.strong_cause.findall(text)), 2) + min(len(_CUES.weak_cause.findall(text)), 2)


def is_strong_cause(text: str) -> bool:
    return bool(_CUES.strong_cause.search(text))


def outcome(text: str) -> float:
    """How much it says of what came of it. 0: nothing. That tests pass says less than what they pass for."""
    return min(3, len(_CUES.outcome.findall(text))) - (1.2 if _CUES.only_checks.match(text) else 0)


def tells_done(text: str) -> bool:
    """It begins by telling what was done, whatever it says of why."""
    return bool(_CUES.done.match(text))


def is_choice(text: str) -> bool:
    return bool(_CUES.choice.search(text))


def asks(text: str) -> bool:
    return bool(_CUES.asks.search(text))


def is_talk(text: str) -> bool:
    """Only what one says while working, or when there is nothing more to say."""
    return bool(_CUES.talk.match(text) or _CUES.nod.match(text))


def is_wide_script(text: str) -> bool:
    """In a script that does not separate words by spaces."""
    return bool(_WIDE_SCRIPT.search(text))

"""Learnings: durable facts about the work, out of the last words of a session. They are proposed, never put in force.

By patterns a sentence must say what something needs or what the cause was, and name something that can be looked up. By
a language model it must rest on a quote; what the person said is kept in their own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.text import clip, one_line
from recollect.capture.model_questions import normalize
from recollect.capture.prompt_text import BLOT, FENCE, masked, sentences, spoken_text
from recollect.capture.tables import Patterns
from recollect.model.ask import Ask, Use, read_objects
from recollect.model.memory import Lane
from recollect.model.session import Act, Speaker

MIN_ACTS, LAST_ACTS = 10, 50
MAX_LEARNINGS = 5
_CHARS, _MAX_WORDS = range(25, 260), 45
_MODEL_CHARS, _MIN_QUOTE_CHARS = range(15, 260), 12
_ACT_CHARS = 800
_SPEAKERS = {Speaker.PERSON: Lane.USER, Speaker.AGENT: Lane.AGENT}
_CUES = Patterns("learnings")


class LearningKind(StrEnum):
    """The surer first."""

    CAUSE = "what the cause was"
    NEED = "what something needs"


@dataclass(frozen=True, slots=True)
class Learning:
    text: str
    kind: LearningKind
    lane: Lane


def find_learnings(acts: Sequence[Act], *, last: int = LAST_ACTS, most: int = MAX_LEARNINGS) -> tuple[Learning, ...]:
    """Out of the last acts, where there are enough to speak of a session at all; causes come first."""
    own = [act for act in acts if not act.agent][-last:]
    if len(own) < MIN_ACTS:
        return ()
    found: dict[str, Learning] = {}
    for act in reversed(own):  # the last word on a thing counts
        for one in _learnings_in(act):
            found.setdefault(one.text.casefold(), one)
    return tuple(sorted(found.values(), key=lambda one: list(LearningKind).index(one.kind))[:most])


def question(acts: Sequence[Act]) -> Ask | None:
    """None where too little happened. What tools printed is left out: it is nobody's word."""
    own = _last(acts)
    if len(own) < MIN_ACTS:
        return None
    lines = [_line(act) for act in own]
    return Ask(Use.EXTRACT, (("session", "\n".join(line for line in lines if line)),))


def read_answer(text: str, acts: Sequence[Act]) -> tuple[Learning, ...]:
    found: dict[str, Learning] = {}
    for one in read_objects(text):
        learnt, quote = one.get("learning"), one.get("quote")
        if not isinstance(learnt, str) or not isinstance(quote, str) or len(normalize(quote)) < _MIN_QUOTE_CHARS:
            continue
        lane = _lane(normalize(quote), _last(acts))
        words = one_line(quote if lane is Lane.USER else learnt)
        if lane is not None and len(words) in _MODEL_CHARS and not _CUES.hidden.search(words):
            found.setdefault(words.casefold(), Learning(words, LearningKind.NEED, lane))
    return tuple(found.values())[:MAX_LEARNINGS]


def _learnings_in(act: Act) -> Iterator[Learning]:
    lane = _SPEAKERS.get(act.speaker)
    if lane is None or act.plan:
        return
    text, seen = (act.text, masked(act.text)) if lane is Lane.USER else (_prose(act.text),) * 2
    for piece in sentences(text, seen):
        is_cut = lane is Lane.AGENT and _CUES.second_half.match(_CUES.list_marks.sub("", piece.text))
        kind = None if BLOT in piece.seen or piece.veto or is_cut else _kind(piece.text)
        if kind is not None:
            yield Learning(_trim(piece.text), kind, lane)


def _prose(text: str) -> str:
    """What the agent says itself: without code, quotes and tables."""
    lines = FENCE.sub("\n\n", text).splitlines()
    return "\n".join("" if line.lstrip().startswith((">", "|", "$", "    ")) else line for line in lines)


def _kind(sentence: str) -> LearningKind | None:
    text = _trim(sentence)
    if len(text) not in _CHARS or len(text.split()) > _MAX_WORDS or not _CUES.named.search(text):
        return None
    if any(one.search(sentence) for one in (_CUES.unstated, _CUES.hidden, _CUES.long_quote)):
        return None
    if _CUES.leans.match(text) or any(one.search(text) for one in (_CUES.guess, _CUES.plan, _CUES.now, _CUES.vague)):
        return None
    return LearningKind.CAUSE if _CUES.cause.search(text) else LearningKind.NEED if _CUES.need.search(text) else None


def _trim(sentence: str) -> str:
    text = _CUES.opens.sub("", _CUES.list_marks.sub("", one_line(sentence)))
    return text[:1].upper() + text[1:] if not text.startswith("`") else text


def _lane(quote: str, acts: Sequence[Act]) -> Lane | None:
    """Whose words they are. What a person pasted or quoted in a prompt is not theirs."""
    for speaker, lane in _SPEAKERS.items():
        texts = (act.text for act in acts if act.speaker is speaker)
        own = (spoken_text(text, masked(text)) if lane is Lane.USER else text for text in texts)
        if any(quote in normalize(text) for text in own):
            return lane
    return None


def _last(acts: Sequence[Act]) -> list[Act]:
    return [act for act in acts if not act.agent and not act.plan][-LAST_ACTS:]


def _line(act: Act) -> str:
    if act.speaker in _SPEAKERS:
        return f"{act.speaker}: {clip(one_line(act.text), _ACT_CHARS)}"
    if act.use is None:
        return ""
    what = act.use.what or " ".join(act.use.files)
    return f"{'failed' if act.failed else 'done'}: {act.use.action} {clip(one_line(what), _ACT_CHARS // 4)}"

"""What a language model is asked about a turn or a session, and what its answers may change: a rule or a learning must
rest on a quote, a review may only propose; and the learnings that patterns alone find in a session's last words. Asks
nobody (ops/turn_questions.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from recollect.base.structs import replace
from recollect.base.text import clip, one_line
from recollect.capture.prompt_rules import WAITS, scope_of, word_rule
from recollect.capture.prompt_text import (
    BLOT,
    FENCE,
    Action,
    Draft,
    FoundRule,
    masked,
    sentences,
    spoken_text,
)
from recollect.capture.tables import Patterns
from recollect.model.ask import Ask, Use, read_objects
from recollect.model.memory import Lane, Memory, RuleType
from recollect.model.session import Act, Speaker, ToolAction

# A prompt is worth a question down to this far below the log odds for the inbox; further down the judge is sure.
NEARLY = 2.0
_MAX_CHARS, _MIN_QUOTE_WORDS, _MAX_QUOTE_CHARS = 2_000, 2, 400
_RULE_TYPES = (RuleType.PREFERENCE, RuleType.CORRECTION, RuleType.DEVOPS)
MAX_PROPOSALS = 5  # per answer; a model that proposes more has misread the question
_REWRITE_CHARS, _NEW_CHARS, _MESSAGE_CHARS, _MEMORY_CHARS = 4_000, 500, 1_500, 2_000
WRITES = frozenset({"ai_pin", "ai_merge", "ai_split", "ai_compact", "ai_undo"})
_COMMANDS = re.compile(
    r"(?:^|[\s;&|(/])(?:recollect|ai)\s+(?:pin|edit|forget|delete|merge|split|compact|undo|capture|archive|restore"
    r"|rule\s+(?:add|retire)|note\s+(?:save|evolve|archive|restore)|inbox\s+(?:accept|edit|reject))\b"
)
_OWN_FILES = re.compile(
    r"(?:^|/)(?:\.ai/memory|memory-cold|_inbox|_always-load)/|(?:^|/)memory/[^/]+\.md$"
)
MIN_ACTS, LAST_ACTS, MAX_LEARNINGS = 10, 50, 5
_CHARS, _MAX_WORDS = range(25, 260), 45
_MODEL_CHARS, _MIN_QUOTE_CHARS, _ACT_CHARS = range(15, 260), 12, 800
_SPEAKERS = {Speaker.PERSON: Lane.USER, Speaker.AGENT: Lane.AGENT}
_CUES = Patterns("learnings")


def is_unsure(draft: Draft) -> bool:
    if draft.found:
        return all(found.action is not Action.STORED for found in draft.found)
    open_to_doubt = (piece for piece in draft.pieces if not piece.veto and not draft.whole)
    return any(
        one.score > 0 if one.odds is None else one.odds > WAITS - NEARLY for one in open_to_doubt
    )


def ask_if_rule(draft: Draft) -> Ask:
    return Ask(Use.CLASSIFY, (("said", _spoken_words(draft)),))


def read_rule(text: str, draft: Draft) -> Draft:
    """The draft as it stands after the answer: with a rule in force, or without any."""
    quote, rule_type = "", RuleType.PREFERENCE
    for one in read_objects(text, "{"):
        if one.get("rule") is True and isinstance(words := one.get("quote"), str):
            quote = words.strip()[:_MAX_QUOTE_CHARS]
            rule_type = next(
                (known for known in _RULE_TYPES if known == one.get("type")), rule_type
            )
    if len(quote.split()) < _MIN_QUOTE_WORDS and quote.isascii():
        return draft.drop("a language model sees no rule in it")
    if _normalize(quote) not in _normalize(_spoken_words(draft)):
        return draft.drop("a language model quoted what was not said")
    waiting = [found for found in draft.found if _is_overlapping(found.rule, quote)]
    if waiting:  # worded as it is in the inbox, so that it is known there
        return replace(
            draft, found=tuple(replace(one, action=Action.STORED) for one in waiting), dropped=""
        )
    rule = word_rule([quote], draft.language)
    reason = "a language model took it for a rule"
    found = FoundRule(rule, rule_type, scope_of(draft, quote), Action.STORED, reason, 0.0)
    return replace(draft, found=(found,), dropped="") if rule else draft.drop()


def _normalize(text: str) -> str:
    """Evens out case, spacing and apostrophes."""
    return " ".join(text.casefold().replace("\u2019", "'").split())


def _spoken_words(draft: Draft) -> str:
    said = spoken_text(draft.text, draft.seen)
    return (
        said if len(said) <= _MAX_CHARS else f"{said[: _MAX_CHARS // 2]} {said[-_MAX_CHARS // 2 :]}"
    )


def _is_overlapping(rule: str, quote: str) -> bool:
    """Whether both speak of the same words: most of the shorter one's are in the other."""
    one, other = (set(_normalize(text).strip(".!?").split()) for text in (rule, quote))
    return 2 * len(one & other) > min(len(one), len(other))


class Proposal(NamedTuple):  # new words for a memory, or, without an id, something new
    body: str
    id: str = ""
    rule_type: RuleType = RuleType.DEVOPS


def find_turn(acts: Sequence[Act], number: int) -> Sequence[Act]:
    """From what the person said last, at this act or before it, to the end."""
    before = [
        i
        for i, act in enumerate(acts[: number + 1])
        if act.speaker is Speaker.PERSON and not act.agent
    ]
    return acts[before[-1] :] if before else acts


def has_news(acts: Sequence[Act]) -> bool:
    """Person and agent both said something; calls and what came of them are captured without a model."""
    return set(_SPEAKERS) <= {act.speaker for act in acts if act.text}


def has_written_memory(acts: Sequence[Act]) -> bool:
    """Whether the agent wrote to memory itself: by a tool or command of ours, or in a file of notes."""
    for use in (act.use for act in acts if act.use is not None and act.failed is not True):
        files = use.files if use.action is ToolAction.EDIT else ()
        is_command = use.action is ToolAction.RUN and _COMMANDS.search(use.what)
        is_note = any(_OWN_FILES.search(file.replace("\\", "/")) for file in files)
        if is_note or is_command or use.tool.rpartition("__")[2] in WRITES:
            return True
    return False


def last_messages(acts: Sequence[Act]) -> tuple[Act, ...]:
    return tuple(act for act in acts if act.speaker in _SPEAKERS and act.text and not act.agent)[
        -50:
    ]


def lane_of(acts: Sequence[Act]) -> Lane:
    """The source of what is made from them: the model, or the web where the agent read a page."""
    fetched = any(act.use is not None and act.use.action is ToolAction.FETCH for act in acts)
    return Lane.WEB if fetched else Lane.AGENT


def ask_for_proposals(said: Sequence[Act], known: Sequence[Memory]) -> Ask:
    heard = "\n\n".join(f"[{act.speaker}] {clip(act.text, _MESSAGE_CHARS)}" for act in said)
    listed = "\n\n".join(
        f"## {one.id} ({one.kind}): {one.title}\n{clip(one.body, _MEMORY_CHARS)}" for one in known
    )
    asked = f"<messages>\n{heard}\n</messages>\n\nKnown memories:\n\n{listed or '(none)'}"
    return Ask(Use.REVIEW, (("asked", asked),))


def read_proposals(answer: str, known: Sequence[Memory]) -> tuple[Proposal, ...]:
    by_id = {one.id: one for one in known}
    found: dict[str, Proposal] = {}
    for one in read_objects(answer):
        content, name = one.get("content"), one.get("name")
        body, old = content.strip() if isinstance(content, str) else "", by_id.get(str(name))
        if name is None and 0 < len(body) <= _NEW_CHARS:
            rule_type = next(
                (known for known in RuleType if known == one.get("type")), RuleType.DEVOPS
            )
            found.setdefault(
                one_line(body).casefold(), Proposal(one_line(body), rule_type=rule_type)
            )
        elif (
            old is not None
            and 0 < len(body) <= _REWRITE_CHARS
            and one_line(body) != one_line(old.body)
        ):
            found.setdefault(old.id, Proposal(body, old.id))
    return tuple(found.values())[:MAX_PROPOSALS]


class LearningKind(StrEnum):  # the surest first
    CAUSE = "what the cause was"
    NEED = "what something needs"


class Learning(NamedTuple):
    text: str
    kind: LearningKind
    lane: Lane


def find_learnings(acts: Sequence[Act], *, last: int = LAST_ACTS) -> tuple[Learning, ...]:
    """Out of the last acts, where there are enough to speak of a session at all; causes come first."""
    own = [act for act in acts if not act.agent][-last:]
    if len(own) < MIN_ACTS:
        return ()
    found: dict[str, Learning] = {}
    for act in reversed(own):  # the last word on a thing counts
        lane = _SPEAKERS.get(act.speaker)
        if lane is None or act.plan:
            continue
        text = act.text
        if lane is Lane.AGENT:  # what it says itself: without code, quotes and tables
            lines = FENCE.sub("\n\n", text).splitlines()
            text = "\n".join(
                "" if line.lstrip().startswith((">", "|", "$", "    ")) else line for line in lines
            )
        for piece in sentences(text, masked(text) if lane is Lane.USER else text):
            is_cut = lane is Lane.AGENT and _CUES.second_half.match(
                _CUES.list_marks.sub("", piece.text)
            )
            kind = None if BLOT in piece.seen or piece.veto or is_cut else _kind(piece.text)
            if kind is not None:
                learnt = Learning(_trim(piece.text), kind, lane)
                found.setdefault(learnt.text.casefold(), learnt)
    return tuple(
        sorted(found.values(), key=lambda one: list(LearningKind).index(one.kind))[:MAX_LEARNINGS]
    )


def ask_for_learnings(acts: Sequence[Act]) -> Ask | None:
    """None where too little happened. What tools printed is left out: it is nobody's word."""
    own, lines = _last(acts), []
    for act in own:
        if act.speaker in _SPEAKERS:
            lines.append(f"{act.speaker}: {clip(one_line(act.text), _ACT_CHARS)}")
        elif act.use is not None:
            what = clip(one_line(act.use.what or " ".join(act.use.files)), _ACT_CHARS // 4)
            lines.append(f"{'failed' if act.failed else 'done'}: {act.use.action} {what}")
    return Ask(Use.EXTRACT, (("session", "\n".join(lines)),)) if len(own) >= MIN_ACTS else None


def read_learnings(text: str, acts: Sequence[Act]) -> tuple[Learning, ...]:
    found: dict[str, Learning] = {}
    for one in read_objects(text):
        learnt, quote = one.get("learning"), one.get("quote")
        if (
            not isinstance(learnt, str)
            or not isinstance(quote, str)
            or len(_normalize(quote)) < _MIN_QUOTE_CHARS
        ):
            continue
        lane = _lane(_normalize(quote), _last(acts))
        words = one_line(quote if lane is Lane.USER else learnt)
        if lane is not None and len(words) in _MODEL_CHARS and not _CUES.hidden.search(words):
            found.setdefault(words.casefold(), Learning(words, LearningKind.NEED, lane))
    return tuple(found.values())[:MAX_LEARNINGS]


def _kind(sentence: str) -> LearningKind | None:
    text = _trim(sentence)
    if len(text) not in _CHARS or len(text.split()) > _MAX_WORDS or not _CUES.named.search(text):
        return None
    if any(one.search(sentence) for one in (_CUES.unstated, _CUES.hidden, _CUES.long_quote)):
        return None
    if _CUES.leans.match(text) or any(
        one.search(text) for one in (_CUES.guess, _CUES.plan, _CUES.now, _CUES.vague)
    ):
        return None
    return (
        LearningKind.CAUSE
        if _CUES.cause.search(text)
        else LearningKind.NEED
        if _CUES.need.search(text)
        else None
    )


def _trim(sentence: str) -> str:
    text = _CUES.opens.sub("", _CUES.list_marks.sub("", one_line(sentence)))
    return text[:1].upper() + text[1:] if not text.startswith("`") else text


def _lane(quote: str, acts: Sequence[Act]) -> Lane | None:
    """Whose words they are. What a person pasted or quoted in a prompt is not theirs."""
    for speaker, lane in _SPEAKERS.items():
        texts = (act.text for act in acts if act.speaker is speaker)
        own = (spoken_text(text, masked(text)) if lane is Lane.USER else text for text in texts)
        if any(quote in _normalize(text) for text in own):
            return lane
    return None


def _last(acts: Sequence[Act]) -> list[Act]:
    return [act for act in acts if not act.agent and not act.plan][-LAST_ACTS:]

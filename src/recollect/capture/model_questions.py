"""What a language model is asked about a turn, and what its answers may change. Asks nobody (ops/turn_questions.py).

A prompt that the judge is unsure of becomes a rule only if the answer quotes the person's own words. A review of the
last messages may propose new words for a memory that the model was shown, or something new, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from recollect.base.text import clip, one_line
from recollect.capture.prompt_rules import WAITS, scope_of, word_rule
from recollect.capture.prompt_text import NOTHING_LASTING, Action, Draft, FoundRule, Piece, spoken_text
from recollect.model.ask import Ask, Use, read_objects
from recollect.model.memory import Lane, Memory, RuleType
from recollect.model.session import Act, Speaker, ToolAction, ToolUse

# A prompt is worth a question down to this far below the log odds for the inbox; further down the judge is sure.
NEARLY = 2.0
_MAX_CHARS = 2_000
_MIN_QUOTE_WORDS, _MAX_QUOTE_CHARS = 2, 400
_RULE_TYPES = (RuleType.PREFERENCE, RuleType.CORRECTION, RuleType.DEVOPS)
MAX_MESSAGES = 50
MAX_PROPOSALS = 5  # per answer; a model that proposes more has misread the question
_REWRITE_CHARS = 4_000
_NEW_CHARS = 500
_MESSAGE_CHARS = 1_500
_MEMORY_CHARS = 2_000
_SPOKEN = {Speaker.PERSON: "person", Speaker.AGENT: "agent"}
WRITES = frozenset({"ai_pin", "ai_merge", "ai_split", "ai_compact", "ai_undo"})
_COMMANDS = re.compile(
    r"(?:^|[\s;&|(/])(?:recollect|ai)\s+(?:pin|edit|forget|delete|merge|split|compact|undo|capture|archive|restore"
    r"|rule\s+(?:add|retire)|note\s+(?:save|evolve|archive|restore)|inbox\s+(?:accept|edit|reject))\b"
)
_OWN_FILES = re.compile(r"(?:^|/)(?:\.ai/memory|memory-cold|_inbox|_always-load)/|(?:^|/)memory/[^/]+\.md$")


# Unsure prompts


def is_unsure(draft: Draft) -> bool:
    if draft.found:
        return all(found.action is not Action.STORED for found in draft.found)
    return not draft.whole and any(_is_nearly_a_rule(piece) for piece in draft.pieces if not piece.veto)


def ask_if_rule(draft: Draft) -> Ask:
    return Ask(Use.CLASSIFY, (("said", _spoken_words(draft)),))


def read_rule(text: str, draft: Draft) -> Draft:
    """The draft as it stands after the answer: with a rule in force, or without any."""
    quote, rule_type = _quoted_rule(text)
    if len(quote.split()) < _MIN_QUOTE_WORDS and quote.isascii():
        return draft.drop("a language model sees no rule in it")
    if normalize(quote) not in normalize(_spoken_words(draft)):
        return draft.drop("a language model quoted what was not said")
    waiting = [found for found in draft.found if _is_overlapping(found.rule, quote)]
    if waiting:  # worded as it is in the inbox, so that it is known there
        return replace(draft, found=tuple(replace(one, action=Action.STORED) for one in waiting), dropped="")
    rule = word_rule([quote], draft.language)
    reason = "a language model took it for a rule"
    found = FoundRule(rule, rule_type, scope_of(draft, quote), Action.STORED, reason, 0.0)
    return replace(draft, found=(found,), dropped="") if rule else draft.drop(NOTHING_LASTING)


def normalize(text: str) -> str:
    """Evens out case, spacing and apostrophes."""
    return " ".join(text.casefold().replace("\u2019", "'").split())


def _is_nearly_a_rule(piece: Piece) -> bool:
    return piece.score > 0 if piece.odds is None else piece.odds > WAITS - NEARLY


def _quoted_rule(text: str) -> tuple[str, RuleType]:
    """What the answer quotes, where it says that it is a rule."""
    match read_objects(text, "{"):
        case [{"rule": True, "quote": str(quote), **rest}]:
            named = next((one for one in _RULE_TYPES if one == rest.get("type")), RuleType.PREFERENCE)
            return quote.strip()[:_MAX_QUOTE_CHARS], named
        case _:
            return "", RuleType.PREFERENCE


def _spoken_words(draft: Draft) -> str:
    said = spoken_text(draft.text, draft.seen)
    return said if len(said) <= _MAX_CHARS else f"{said[: _MAX_CHARS // 2]} {said[-_MAX_CHARS // 2 :]}"


def _is_overlapping(rule: str, quote: str) -> bool:
    """Whether both speak of the same words: most of the shorter one's are in the other."""
    one, other = (set(normalize(text).strip(".!?").split()) for text in (rule, quote))
    return 2 * len(one & other) > min(len(one), len(other))


# Reviews


class Proposal(NamedTuple):
    """New words for a memory, or, without an id, something new."""

    body: str
    id: str = ""
    rule_type: RuleType = RuleType.DEVOPS


def find_turn(acts: Sequence[Act], number: int) -> Sequence[Act]:
    """From what the person said last, at this act or before it, to the end."""
    before = [i for i, act in enumerate(acts[: number + 1]) if act.speaker is Speaker.PERSON and not act.agent]
    return acts[before[-1] :] if before else acts


def has_news(acts: Sequence[Act]) -> bool:
    """Person and agent both said something; calls and what came of them are captured without a model."""
    return set(_SPOKEN) <= {act.speaker for act in acts if act.text}


def has_written_memory(acts: Sequence[Act]) -> bool:
    """Whether the agent wrote to memory itself: by a tool or command of ours, or in a file of notes."""
    return any(_is_write(act.use) for act in acts if act.use is not None and act.failed is not True)


def _is_write(use: ToolUse) -> bool:
    if use.action is ToolAction.EDIT and any(_OWN_FILES.search(file.replace("\\", "/")) for file in use.files):
        return True
    is_command = use.action is ToolAction.RUN and _COMMANDS.search(use.what) is not None
    return is_command or use.tool.rpartition("__")[2] in WRITES


def last_messages(acts: Sequence[Act]) -> tuple[Act, ...]:
    """The last messages of the person and the agent."""
    return tuple(act for act in acts if act.speaker in _SPOKEN and act.text and not act.agent)[-MAX_MESSAGES:]


def lane_of(acts: Sequence[Act]) -> Lane:
    """The source of what is made from them: the model, or the web where the agent read a page."""
    fetched = any(act.use is not None and act.use.action is ToolAction.FETCH for act in acts)
    return Lane.WEB if fetched else Lane.AGENT


def ask_for_proposals(said: Sequence[Act], known: Sequence[Memory]) -> Ask:
    heard = "\n\n".join(f"[{_SPOKEN[act.speaker]}] {clip(act.text, _MESSAGE_CHARS)}" for act in said)
    listed = "\n\n".join(f"## {one.id} ({one.kind}): {one.title}\n{clip(one.body, _MEMORY_CHARS)}" for one in known)
    asked = f"<messages>\n{heard}\n</messages>\n\nKnown memories:\n\n{listed or '(none)'}"
    return Ask(Use.REVIEW, (("asked", asked),))


def read_proposals(answer: str, known: Sequence[Memory]) -> tuple[Proposal, ...]:
    """The proposals of an answer, in its order, each memory once."""
    by_id = {one.id: one for one in known}
    found: dict[str, Proposal] = {}
    for one in read_objects(answer):
        proposal = _proposal(one, by_id)
        if proposal is not None:
            found.setdefault(proposal.id or proposal.body.casefold(), proposal)
    return tuple(found.values())[:MAX_PROPOSALS]


def _proposal(one: Mapping[str, object], known: Mapping[str, Memory]) -> Proposal | None:
    body, name = one.get("content"), one.get("name")
    if not isinstance(body, str) or not body.strip():
        return None
    body = body.strip()
    if name is None:
        rule_type = next((known for known in RuleType if known == one.get("type")), RuleType.DEVOPS)
        return Proposal(one_line(body), rule_type=rule_type) if len(body) <= _NEW_CHARS else None
    old = known.get(name) if isinstance(name, str) else None
    if old is None or len(body) > _REWRITE_CHARS or one_line(body) == one_line(old.body):
        return None
    return Proposal(body, old.id)

"""A language model looks back over the last messages: what it is asked, and what its answer may propose.

It sees what a person and an agent said, and memories that are near to it, whole. It may propose new words for one of
those, or something new; it can change nothing else of a memory. Proposals that name a memory it was not shown, change
nothing, or are empty or too long are dropped, and an answer that is not the JSON it was asked for proposes nothing.

Asks nobody, writes nothing (ops/turn_review.py); the wording is in llm/prompts/review.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recollect.base.text import clip, one_line
from recollect.model.act import Act, Deed, Doing, Speaker
from recollect.model.ask import Ask, Use, read_objects
from recollect.model.memory import Lane, RuleType

MESSAGES = 50
PROPOSALS = 5  # per answer; a model that proposes more has misread the question
MAX_CHARS = 4_000
RULE_CHARS = 500
_MESSAGE_CHARS = 1_500
_KNOWN_CHARS = 2_000
_SPOKEN = {Speaker.PERSON: "person", Speaker.AGENT: "agent"}
WRITES = frozenset({"ai_pin", "ai_merge", "ai_split", "ai_compact", "ai_undo"})
_COMMANDS = re.compile(
    r"(?:^|[\s;&|(/])(?:recollect|ai)\s+(?:pin|edit|forget|delete|merge|split|compact|undo|capture|archive|restore"
    r"|rule\s+(?:add|retire)|note\s+(?:save|evolve|archive|restore)|inbox\s+(?:accept|edit|reject))\b"
)
_OWN_FILES = re.compile(r"(?:^|/)(?:\.ai/memory|memory-cold|_inbox|_always-load)/|(?:^|/)memory/[^/]+\.md$")


class Known(NamedTuple):
    """A memory as the model is shown it; its words are harmless."""

    id: str
    kind: str
    title: str
    body: str


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
    return any(_is_write(act.doing) for act in acts if act.doing is not None and act.failed is not True)


def _is_write(doing: Doing) -> bool:
    if doing.deed is Deed.EDIT and any(_OWN_FILES.search(file.replace("\\", "/")) for file in doing.files):
        return True
    is_command = doing.deed is Deed.RUN and _COMMANDS.search(doing.what) is not None
    return is_command or doing.tool.rpartition("__")[2] in WRITES


def messages(acts: Sequence[Act]) -> tuple[Act, ...]:
    """The last messages of the person and the agent."""
    return tuple(act for act in acts if act.speaker in _SPOKEN and act.text and not act.agent)[-MESSAGES:]


def lane(acts: Sequence[Act]) -> Lane:
    """The source of what is made from them: the model, or the web where the agent read a page."""
    fetched = any(act.doing is not None and act.doing.deed is Deed.FETCH for act in acts)
    return Lane.WEB if fetched else Lane.AGENT


def ask(said: Sequence[Act], known: Sequence[Known]) -> Ask:
    heard = "\n\n".join(f"[{_SPOKEN[act.speaker]}] {clip(act.text, _MESSAGE_CHARS)}" for act in said)
    listed = "\n\n".join(f"## {one.id} ({one.kind}): {one.title}\n{clip(one.body, _KNOWN_CHARS)}" for one in known)
    asked = f"<messages>\n{heard}\n</messages>\n\nKnown memories:\n\n{listed or '(none)'}"
    return Ask(Use.REVIEW, (("asked", asked),))


def read_answer(answer: str, known: Sequence[Known]) -> tuple[Proposal, ...]:
    """The proposals of an answer, in its order, each memory once."""
    by_id = {one.id: one for one in known}
    found: dict[str, Proposal] = {}
    for one in read_objects(answer):
        proposal = _proposal(one, by_id)
        if proposal is not None:
            found.setdefault(proposal.id or proposal.body.casefold(), proposal)
    return tuple(found.values())[:PROPOSALS]


def _proposal(one: Mapping[str, object], known: dict[str, Known]) -> Proposal | None:
    body, name = one.get("content"), one.get("name")
    if not isinstance(body, str) or not body.strip():
        return None
    body = body.strip()
    if name is None:
        rule_type = next((known for known in RuleType if known == one.get("type")), RuleType.DEVOPS)
        return Proposal(one_line(body), rule_type=rule_type) if len(body) <= RULE_CHARS else None
    old = known.get(name) if isinstance(name, str) else None
    if old is None or len(body) > MAX_CHARS or one_line(body) == one_line(old.body):
        return None
    return Proposal(body, old.id)

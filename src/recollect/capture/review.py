"""A language model looks back over the last messages: what it is asked, and what its answer may propose.

It sees what a person and an agent said, and memories that are near to it, whole. It may propose new words for one of
those, or something new; it can change nothing else of a memory. Proposals that name a memory it was not shown, change
nothing, or are empty or too long are dropped, and an answer that is not the JSON it was asked for proposes nothing.

Asks nobody, writes nothing (ops/turn_review.py); the wording is in llm/prompts/review.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.base.text import clip, one_line
from recollect.model.act import Act, Deed, Speaker
from recollect.model.ask import Ask, Use
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
_FENCE = re.compile(r"^```[a-z]*\n(.*?)\n?```$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Known:
    """A memory as the model is shown it; its words are harmless."""

    id: str
    kind: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    id: str
    body: str


@dataclass(frozen=True, slots=True)
class Fresh:
    body: str
    rule_type: RuleType = RuleType.DEVOPS


Proposal = Rewrite | Fresh


def turn(acts: Sequence[Act]) -> Sequence[Act]:
    """The acts since the person last said something."""
    for number in range(len(acts) - 1, -1, -1):
        if acts[number].speaker is Speaker.PERSON and not acts[number].agent:
            return acts[number:]
    return acts


def has_news(new: Sequence[Act]) -> bool:
    """Somebody said something; calls and what came of them are captured without a model."""
    return any(act.speaker is Speaker.PERSON and act.text for act in new) and any(
        act.speaker is Speaker.AGENT and act.text for act in new
    )


def wrote_memory(acts: Sequence[Act]) -> bool:
    """The agent wrote to memory itself: by a tool or command of ours, or in a file of notes."""
    return any(act.doing is not None and act.failed is not True and _writes(act) for act in acts)


def _writes(act: Act) -> bool:
    doing = act.doing
    if doing is None:
        return False
    if doing.tool.rpartition("__")[2] in WRITES or (doing.deed is Deed.RUN and _COMMANDS.search(doing.what)):
        return True
    return doing.deed is Deed.EDIT and any(_OWN_FILES.search(file.replace("\\", "/")) for file in doing.files)


def messages(acts: Sequence[Act]) -> tuple[Act, ...]:
    """The last messages of the person and the agent."""
    return tuple(act for act in acts if act.speaker in _SPOKEN and act.text and not act.agent)[-MESSAGES:]


def lane(acts: Sequence[Act]) -> Lane:
    """The source of what is made from them: the model, or the web where the agent read a page."""
    fetched = any(act.doing is not None and act.doing.deed is Deed.FETCH for act in acts)
    return Lane.WEB if fetched else Lane.AGENT


def ask(said: Sequence[Act], known: Sequence[Known]) -> Ask:
    heard = "\n\n".join(f"[{_SPOKEN[act.speaker]}] {clip(act.text, _MESSAGE_CHARS)}" for act in said)
    listed = "\n\n".join(
        f"## {one.id} ({one.kind}): {one.title}\n{clip(one.body, _KNOWN_CHARS)}" for one in known
    )  # fmt: skip
    asked = f"<messages>\n{heard}\n</messages>\n\nKnown memories:\n\n{listed or '(none)'}"
    return Ask(Use.REVIEW, (("asked", asked),))


def read_answer(answer: str, known: Sequence[Known]) -> tuple[Proposal, ...]:
    """The proposals of an answer, in its order, each memory once."""
    by_id = {one.id: one for one in known}
    found: dict[str, Proposal] = {}
    for one in _listed_objects(answer):
        proposal = _proposal(one, by_id)
        if proposal is not None:
            found.setdefault(proposal.id if isinstance(proposal, Rewrite) else proposal.body.casefold(), proposal)
    return tuple(found.values())[:PROPOSALS]


def _listed_objects(answer: str) -> list[dict[str, object]]:
    text = answer.strip()
    fenced = _FENCE.match(text)
    try:
        read = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return []
    return [one for one in read if isinstance(one, dict)] if isinstance(read, list) else []


def _proposal(one: dict[str, object], known: dict[str, Known]) -> Proposal | None:
    body, name = one.get("content"), one.get("name")
    if not isinstance(body, str) or not body.strip():
        return None
    body = body.strip()
    if name is None:
        kind = one.get("type")
        sort = RuleType(kind) if isinstance(kind, str) and kind in list(RuleType) else RuleType.DEVOPS
        return Fresh(one_line(body), sort) if len(body) <= RULE_CHARS else None
    old = known.get(name) if isinstance(name, str) else None
    if old is None or len(body) > MAX_CHARS or one_line(body) == one_line(old.body):
        return None
    return Rewrite(old.id, body)

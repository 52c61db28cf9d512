"""What a person keeps refusing: worth a rule, which is proposed and waits for his word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from recollect.capture import likeness
from recollect.model.act import Deed
from recollect.model.command import command_of
from recollect.model.outcome import Ending, Outcome

OFTEN = 3
SESSIONS = 2
"""A bad day is no rule."""
_PLAIN = re.compile(r"[\w.+-]{1,30}(?: [\w:.+-]{1,30})?")


@dataclass(frozen=True, slots=True)
class Proposal:
    rule: str
    sessions: tuple[str, ...]
    times: int


def proposals(outcomes: Iterable[Outcome]) -> list[Proposal]:
    """Of the refusals among them."""
    refused: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        wording = _rule(outcome) if outcome.kind is Ending.REFUSAL else ""
        if wording:
            refused.setdefault(wording, []).append(outcome)
    found = []
    for wording, those in refused.items():
        sessions = tuple(dict.fromkeys(one.session for one in those))
        if len(those) >= OFTEN and len(sessions) >= SESSIONS:
            found.append(Proposal(wording, sessions, len(those)))
    return found


def _rule(outcome: Outcome) -> str:
    """Of what kind it is, in a sentence of ours: a program with its verb, or one file."""
    if str(Deed.EDIT) in outcome.tags:
        return f"Ask before changing `{outcome.action}`." if likeness.tellable_path(outcome.action) else ""
    command = command_of(outcome.action) if str(Deed.RUN) in outcome.tags else None
    if command is None:
        return ""
    words = f"{command.program} {command.verb}".strip()
    return f"Ask before `{words}`." if _PLAIN.fullmatch(words) and likeness.tellable(words) else ""

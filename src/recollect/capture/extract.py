"""Learnings by a language model, out of the last words of a session: what is asked, and what of the answer counts.

What each learning rests on must be quoted, and must have been said: by the person, then the quotation itself is the
learning, in his lane; or by the agent, then the learning is in the agent's. Anything else is dropped. All of it is
proposed, never put in force.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.base.text import clip, one_line
from recollect.capture.doubt import first_json
from recollect.capture.learn import LAST_ACTS, LEAST_ACTS, MOST, Learning, Says
from recollect.capture.mask import masked
from recollect.capture.pipeline import said_himself
from recollect.model.act import Act, Speaker
from recollect.model.ask import Ask, Job
from recollect.model.memory import Lane

PROMPT = "capture-extract"
SECONDS = 120.0
_ACT_CHARS = 800
_CHARS = range(15, 260)
_LEAST_QUOTE = 12
_MOST_ANSWER = 20_000
_NAMES = {Speaker.PERSON: "person", Speaker.AGENT: "agent"}


def question(acts: Sequence[Act]) -> Ask | None:
    """None where too little happened. What tools printed is left out: it is nobody's word."""
    own = _last(acts)
    if len(own) < LEAST_ACTS:
        return None
    lines = [_line(act) for act in own]
    return Ask(Job.EXTRACT, PROMPT, (("session", "\n".join(line for line in lines if line)),), seconds=SECONDS)


def read_answer(text: str, acts: Sequence[Act]) -> tuple[Learning, ...]:
    said = first_json(text[:_MOST_ANSWER])
    found: dict[str, Learning] = {}
    for one in said if isinstance(said, list) else ():
        learning = _learning(one, _last(acts))
        if learning is not None:
            found.setdefault(learning.text.casefold(), learning)
    return tuple(found.values())[:MOST]


def _learning(one: object, acts: Sequence[Act]) -> Learning | None:
    match one:
        case {"learning": str(learnt), "quote": str(quote)} if len(_flat(quote)) >= _LEAST_QUOTE:
            pass
        case _:
            return None
    lane = _lane(_flat(quote), acts)
    text = one_line(quote if lane is Lane.USER else learnt)
    if lane is None or len(text) not in _CHARS or "[redacted:" in text or "[private]" in text:
        return None
    return Learning(text, Says.NEED, lane)


def _lane(quote: str, acts: Sequence[Act]) -> Lane | None:
    """Whose words they are. Of a person's prompt, what he pasted or quoted is not."""
    for speaker, lane in ((Speaker.PERSON, Lane.USER), (Speaker.AGENT, Lane.AGENT)):
        texts = (_own(act.text) if lane is Lane.USER else act.text for act in acts if act.speaker is speaker)
        if any(quote in _flat(text) for text in texts):
            return lane
    return None


def _own(text: str) -> str:
    return said_himself(text, masked(text))


def _last(acts: Sequence[Act]) -> list[Act]:
    return [act for act in acts if not act.agent and not act.plan][-LAST_ACTS:]


def _line(act: Act) -> str:
    name = _NAMES.get(act.speaker)
    if name:
        return f"{name}: {clip(one_line(act.text), _ACT_CHARS)}"
    if act.doing is None:
        return ""
    what = act.doing.what or " ".join(act.doing.files)
    ended = "failed" if act.failed else "done"
    return f"{ended}: {act.doing.deed} {clip(one_line(what), _ACT_CHARS // 4)}"


def _flat(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").split())

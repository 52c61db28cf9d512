"""Validation: what a model found when it compared memories with a project's files, and better titles for them.

A check says that a memory holds, that it no longer does, or how it should read. A rule that should read otherwise waits
in the inbox: the words of files never become a rule until a person says so. The title of what a person said may use
only that person's words, because it is shown as theirs.

Asks nobody, reads no file, and measures nothing (ops/validate.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line, storable, title_from
from recollect.lifecycle.reading import listed, one_of
from recollect.model.memory import Lane, Memory, Rule, Status

MAX_DESCRIPTION_CHARS = 160
MAX_RULE_CHARS = 2_000
IN_PLACE_OF = "in place of "  # the start of a tag of a rule that waits: which rule it would supersede
ORIGIN = "validation"
_WHY_CHARS = 200
_SHOWN_CHARS = 3_000
_WORD = re.compile(r"\w+")
_SHORT = 3  # words up to this length only join others


class State(StrEnum):
    HOLDS = "holds"
    STALE = "stale"
    FIX = "fix"


@dataclass(frozen=True, slots=True)
class Check:
    state: State
    why: str = ""
    body: str = ""  # how it should read


def shown(memories: Iterable[Memory]) -> str:
    """As a model reads them."""
    return "\n\n".join(
        f"id: {memory.id}\nkind: {memory.kind}\ntitle: {memory.title}\n{clip(memory.body, _SHOWN_CHARS)}"
        for memory in memories
    )


def read_checks(text: str, memories: Sequence[Memory]) -> dict[str, Check]:
    """By id. Whatever is not a clear answer about one of these memories is left out."""
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, Check] = {}
    for entry in listed(text):
        id = one_of(entry, "id", by_id)
        check = _check(entry, by_id[id]) if id and id not in found else None
        if check is not None:
            found[id] = check
    return found


def _check(entry: Mapping[str, object], memory: Memory) -> Check | None:
    said = entry.get("state")
    if not isinstance(said, str) or said not in list(State):
        return None
    state, why = State(said), clip(one_line(_text(entry, "why")), _WHY_CHARS)
    if state is not State.FIX:
        return Check(state, why)
    body = one_line(_text(entry, "body"))
    if not body or len(body) > MAX_RULE_CHARS or body == one_line(memory.body):
        return Check(State.STALE, why)
    return Check(state, why, body)


def in_other_words(rule: Rule, body: str, *, id: str, now: Moment) -> Rule:
    """The rule as it should read, for the inbox: made of its own words, an agent's and a repository's."""
    return Rule(
        id=id, title=title_from(body), body=body, topics=rule.topics, tags=(IN_PLACE_OF + rule.id,),
        rule_type=rule.rule_type, status=Status.CANDIDATE, origin=ORIGIN,
        lane=Lane.lowest(rule.lane, Lane.AGENT, Lane.REPOSITORY), group=rule.group, created_at=now, reinforced_at=now,
        last_active_at=now,
    )  # fmt: skip


def replaced_by(rule: Memory) -> tuple[str, ...]:
    """The rules that a waiting one would supersede."""
    return tuple(tag.removeprefix(IN_PLACE_OF) for tag in rule.tags if tag.startswith(IN_PLACE_OF))


def read_descriptions(text: str, memories: Sequence[Memory]) -> dict[str, str]:
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, str] = {}
    for entry in listed(text):
        id = one_of(entry, "id", by_id)
        line = one_line(_text(entry, "description"))
        if id and id not in found and _may_describe(line, by_id[id]):
            found[id] = line
    return found


def _may_describe(line: str, memory: Memory) -> bool:
    if not line or len(line) > MAX_DESCRIPTION_CHARS or re.search(r"[<>]", line) or line == memory.title:
        return False
    own = _words(" ".join((memory.title, memory.body, *memory.topics)))
    return bool(_words(line)) and (memory.lane is Lane.lowest(memory.lane, Lane.AGENT) or _words(line) <= own)


def questions(memory: Memory) -> tuple[str, ...]:
    """What it should be found by: its title (for a note with a condition, the condition), and its topics."""
    wanted = (one_line(memory.title), one_line(" ".join(memory.topics)))
    return tuple(dict.fromkeys(text for text in wanted if any(char.isalnum() for char in text)))


def fell(before: Sequence[int | None], after: Sequence[int | None]) -> bool:
    """Whether any rank is worse than before; None: not found at all."""
    pairs = zip(before, after, strict=True)
    return any(old is not None and (new is None or new > old) for old, new in pairs)


def _text(entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    return storable(value) if isinstance(value, str) else ""


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) > _SHORT}

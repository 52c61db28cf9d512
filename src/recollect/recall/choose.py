"""Lets a language model choose among memories: what it is asked, and what its answer is worth.

The broad question shows a pointer to each memory, one a line; the strict one shows the candidates whole and can only
take away. An answer names memories, one a line, or says NONE. Names that were not offered are dropped; an answer that
names nothing that was offered, and does not say NONE either, is no answer.

Asks nobody (ops/asks.py) and loads nothing (ops/chosen.py); the wording is in templates (llm/prompts/).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.base.text import clip
from recollect.model.ask import Ask, Job
from recollect.recall.pointer import Pointer, by_name

BROAD_CHARS = 60_000
"""Of all pointers; those that come later are not offered."""
CONTENT_CHARS = 6_000
"""Of one candidate."""
STRICT_CHARS = 80_000
NONE = frozenset({"", "none", "nothing", "no memories", "no relevant memories", "[]", "n/a"})
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_QUOTES = " \t`'\"*[](){}<>,;"
_TOKEN = re.compile(r"[^\s,;`'\"()\[\]]+")


@dataclass(frozen=True, slots=True)
class Pass:
    """One question to a model: in which words, of which model."""

    template: str
    model: str = ""


def offered(pointers: Sequence[Pointer]) -> tuple[Pointer, ...]:
    """As many of the first as fit."""
    room = BROAD_CHARS
    kept = []
    for pointer in pointers:
        room -= len(pointer.line) + 1
        if room < 0:
            break
        kept.append(pointer)
    return tuple(kept)


def broad(prompt: str, pointers: Sequence[Pointer], one: Pass, *, seconds: float) -> Ask:
    listed = "\n".join(pointer.line for pointer in pointers)
    return _ask(prompt, f"Available memories:\n{listed}", one, seconds)


def strict(prompt: str, candidates: Sequence[Pointer], one: Pass, *, seconds: float) -> Ask:
    room = max(STRICT_CHARS // max(len(candidates), 1), 500)
    whole = "\n\n".join(
        f"## {pointer.line}\n{clip(pointer.content, min(room, CONTENT_CHARS))}" for pointer in candidates
    )
    return _ask(prompt, f"Candidate memories:\n\n{whole}", one, seconds)


def _ask(prompt: str, memories: str, one: Pass, seconds: float) -> Ask:
    asked = f"<user_prompt>\n{prompt}\n</user_prompt>\n\n{memories}"
    return Ask(job=Job.RECALL, prompt=one.template, fields=(("asked", asked),), model=one.model, seconds=seconds)


def read_answer(answer: str, among: Sequence[Pointer]) -> tuple[str, ...] | None:
    """The ids it names, each once, in its order; None: that is no answer."""
    names = by_name(among)
    found: dict[str, None] = {}
    for line in answer.splitlines():
        found |= dict.fromkeys(_named(line, names))
    if found:
        return tuple(found)
    return () if answer.strip(' \t\r\n.`*"').casefold() in NONE else None


def _named(line: str, names: dict[str, str]) -> list[str]:
    """A name that stands alone, or before its description, may be written short; among other words only whole."""
    bare = _BULLET.sub("", line).strip(_QUOTES)
    for way in (bare, bare.partition(": ")[0].strip(_QUOTES), bare.partition(" - ")[0].strip(_QUOTES)):
        if way.casefold() in names:
            return [names[way.casefold()]]
    tokens = (token.strip(".:*").casefold() for token in _TOKEN.findall(bare))
    return [names[token] for token in tokens if token in names and _is_whole(token)]


def _is_whole(token: str) -> bool:
    return token.endswith(".md") or re.fullmatch(r"[a-z]+_\d{8}_\d{6}_[0-9a-f]+", token) is not None

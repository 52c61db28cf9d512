"""Validation: what a model found when it compared memories with a project's files, better titles for them, and what a
memory claims to exist. Asks nobody, reads no file, runs nothing (ops/validate.py).

The title of what a person said may use only that person's words, because it is shown as theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from recollect.base.text import clip, one_line, storable
from recollect.lifecycle.edits import RULE_CHARS
from recollect.model.ask import read_by_id
from recollect.model.command import command_of
from recollect.model.memory import Lane, Memory

MAX_DESCRIPTION_CHARS = 160
_WHY_CHARS = 200
_SHOWN_CHARS = 3_000
_CONTENT_WORD = re.compile(r"\w{4,}")  # shorter ones only join others


class State(StrEnum):
    HOLDS = "holds"
    STALE = "stale"
    FIX = "fix"


class Check(NamedTuple):
    state: State
    why: str = ""
    body: str = ""  # how it should read


def format_entries(memories: Iterable[Memory]) -> str:
    """The memories as the model reads them."""
    return "\n\n".join(
        f"id: {memory.id}\nkind: {memory.kind}\ntitle: {memory.title}\n{clip(memory.body, _SHOWN_CHARS)}"
        for memory in memories
    )


def read_checks(text: str, memories: Sequence[Memory]) -> dict[str, Check]:
    """By id. Whatever is not a clear answer about one of these memories is left out."""
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, Check] = {}
    for id, entry in read_by_id(text, by_id):
        state, body = entry.get("state"), _line(entry, "body")
        if isinstance(state, str) and state in list(State):
            is_new = state == State.FIX and 0 < len(body) <= RULE_CHARS and body != one_line(by_id[id].body)
            said = State.STALE if state == State.FIX and not is_new else State(state)
            found.setdefault(id, Check(said, clip(_line(entry, "why"), _WHY_CHARS), body if is_new else ""))
    return found


def read_descriptions(text: str, memories: Sequence[Memory]) -> dict[str, str]:
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, str] = {}
    for id, entry in read_by_id(text, by_id):
        line = _line(entry, "description")
        if _is_good_title(line, by_id[id]):
            found.setdefault(id, line)
    return found


def _is_good_title(line: str, memory: Memory) -> bool:
    if len(line) > MAX_DESCRIPTION_CHARS or re.search(r"[<>]", line) or line == memory.title:
        return False
    own = _content_words(" ".join((memory.title, memory.body, *memory.topics)))
    is_agents = memory.lane is Lane.lowest(memory.lane, Lane.AGENT)
    return bool(_content_words(line)) and (is_agents or _content_words(line) <= own)


def questions(memory: Memory) -> tuple[str, ...]:
    """What it should be found by: its title (for a note with a condition, the condition), and its topics."""
    texts = (one_line(memory.title), one_line(" ".join(memory.topics)))
    return tuple(dict.fromkeys(text for text in texts if any(char.isalnum() for char in text)))


def _line(entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    return one_line(storable(value)) if isinstance(value, str) else ""


def _content_words(text: str) -> set[str]:
    return set(_CONTENT_WORD.findall(text.casefold()))


# What a memory names

MAX_CLAIMS = 40
_MAX_CLAIM_CHARS = 20_000
_FENCED = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]{2,300})`(?!`)")
_PATH = re.compile(r"(?:\./|/|~/)?(?:[\w@.+-]+/)+[\w@.+-]*")
# In prose only with a folder and an ending, and not within an address.
_BARE = re.compile(r"(?<![\w./:~@-])(?:\./)?(?:[\w@+-][\w@.+-]*/)+[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,7}(?![\w/])")
_PROMPT = re.compile(r"^[ \t]*[$>#][ \t]+(?=[\w./~-])")
_NAME = re.compile(r"[A-Za-z][\w.:@/-]*")
_PROGRAM = re.compile(r"[a-z][a-z0-9_.+-]*")
_PLACEHOLDERS = frozenset("<>{}*…")
_SCRIPTED = frozenset({"npm", "pnpm", "yarn", "bun"})


class ClaimKind(StrEnum):
    PATH = "path"
    PROGRAM = "program"
    SCRIPT = "script"  # of package.json
    TARGET = "target"  # of a Makefile


class Claim(NamedTuple):
    kind: ClaimKind
    name: str


def find_claims(text: str) -> tuple[Claim, ...]:
    """Each once: first those of fenced code, then those of other code, then those of prose."""
    text = text[:_MAX_CLAIM_CHARS]
    prose = _FENCED.sub("\n", text)
    typed = [line for block in _FENCED.finditer(text) for line in block[1].splitlines() if _PROMPT.match(line)]
    found = [claim for code in (*typed, *_SPAN.findall(prose)) for claim in _claims_of_code(code.strip())]
    found += [Claim(ClaimKind.PATH, path) for path in _BARE.findall(_SPAN.sub(" ", prose))]
    return tuple(dict.fromkeys(found))[:MAX_CLAIMS]


def _claims_of_code(code: str) -> Iterator[Claim]:
    prompt = _PROMPT.match(code)  # without one it may be words that are only written as code
    command = code[prompt.end() :] if prompt else code
    words = command.split()
    if _PATH.fullmatch(code):
        yield Claim(ClaimKind.PATH, code)
    elif not words or not _PLACEHOLDERS.isdisjoint(command) or command_of(command) is None:
        return
    elif "/" in words[0] and _PATH.fullmatch(words[0]):
        yield Claim(ClaimKind.PATH, words[0])
    elif words[0] in ("make", "gmake"):
        yield from (Claim(ClaimKind.TARGET, name) for name in words[1:2] if _NAME.fullmatch(name))
    elif words[0] in _SCRIPTED and words[1:2] == ["run"]:
        yield from (Claim(ClaimKind.SCRIPT, name) for name in words[2:3] if _NAME.fullmatch(name))
    elif _PROGRAM.fullmatch(words[0]) and (prompt or any(word.startswith("-") for word in words[1:])):
        yield Claim(ClaimKind.PROGRAM, words[0])

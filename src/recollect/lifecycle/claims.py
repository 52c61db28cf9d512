"""What a memory claims to exist: paths and commands that its words name.

Only what is written as code, or is plainly the path of a file: prose is full of slashes. Checks nothing itself and runs
nothing (app/claim_check.py checks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from recollect.model.command import command_of

MAX_CLAIMS = 40
_MAX_CHARS = 20_000
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


class Sort(StrEnum):
    PATH = "path"
    PROGRAM = "program"
    SCRIPT = "script"  # of package.json
    TARGET = "target"  # of a Makefile


class Claim(NamedTuple):
    sort: Sort
    name: str


def find_claims(text: str) -> tuple[Claim, ...]:
    """Each once: first those of fenced code, then those of other code, then those of prose."""
    text = text[:_MAX_CHARS]
    prose = _FENCED.sub("\n", text)
    typed = [line for block in _FENCED.finditer(text) for line in block[1].splitlines() if _PROMPT.match(line)]
    found = [claim for code in (*typed, *_SPAN.findall(prose)) for claim in _claims_of_code(code.strip())]
    found += [Claim(Sort.PATH, path) for path in _BARE.findall(_SPAN.sub(" ", prose))]
    return tuple(dict.fromkeys(found))[:MAX_CLAIMS]


def _claims_of_code(code: str) -> Iterator[Claim]:
    prompt = _PROMPT.match(code)  # without one it may be words that are only written as code
    command = code[prompt.end() :] if prompt else code
    words = command.split()
    if _PATH.fullmatch(code):
        yield Claim(Sort.PATH, code)
    elif not words or not _PLACEHOLDERS.isdisjoint(command) or command_of(command) is None:
        return
    elif "/" in words[0] and _PATH.fullmatch(words[0]):
        yield Claim(Sort.PATH, words[0])
    elif words[0] in ("make", "gmake"):
        yield from (Claim(Sort.TARGET, name) for name in words[1:2] if _NAME.fullmatch(name))
    elif words[0] in _SCRIPTED and words[1:2] == ["run"]:
        yield from (Claim(Sort.SCRIPT, name) for name in words[2:3] if _NAME.fullmatch(name))
    elif _PROGRAM.fullmatch(words[0]) and (prompt or any(word.startswith("-") for word in words[1:])):
        yield Claim(Sort.PROGRAM, words[0])

"""What a memory claims to exist: paths and commands that its words name.

Only what is written as code, or is plainly the path of a file: prose is full of slashes. Checks nothing itself and runs
nothing (app/claim_check.py checks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

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
_SCRIPTED = frozenset({"npm", "pnpm", "yarn", "bun"})


class Sort(StrEnum):
    PATH = "path"
    PROGRAM = "program"
    SCRIPT = "script"  # of package.json
    TARGET = "target"  # of a Makefile


@dataclass(frozen=True, slots=True)
class Claim:
    sort: Sort
    name: str


def claims(text: str) -> tuple[Claim, ...]:
    """Each once, in order."""
    text = text[:_MAX_CHARS]
    return tuple(dict.fromkeys(_all(text)))[:MAX_CLAIMS]


def _all(text: str) -> Iterator[Claim]:
    for block in _FENCED.finditer(text):
        for line in block[1].splitlines():
            if prompted := _PROMPT.match(line):
                yield from _of_command(line[prompted.end() :], sure=True)
    prose = _FENCED.sub("\n", text)
    for span in _SPAN.finditer(prose):
        said = span[1].strip()
        if _PATH.fullmatch(said):
            yield Claim(Sort.PATH, said)
        elif " " in said:
            prompted = _PROMPT.match(said)
            yield from _of_command(said[prompted.end() :] if prompted else said, sure=bool(prompted))
    for bare in _BARE.finditer(_SPAN.sub(" ", prose)):
        yield Claim(Sort.PATH, bare.group())


def _of_command(said: str, *, sure: bool) -> Iterator[Claim]:
    """`sure`: it is certainly a command, not just words written as code."""
    if any(sign in said for sign in "<>{}*…"):
        return  # a pattern to be filled in
    command = command_of(said)
    words = said.split()
    if command is None or not words:
        return
    first = words[0]
    if "/" in first and _PATH.fullmatch(first):
        yield Claim(Sort.PATH, first)
    elif first in ("make", "gmake"):
        targets = [word for word in words[1:2] if _NAME.fullmatch(word)]
        yield from (Claim(Sort.TARGET, target) for target in targets)
    elif first in _SCRIPTED and words[1:2] == ["run"]:
        yield from (Claim(Sort.SCRIPT, script) for script in words[2:3] if _NAME.fullmatch(script))
    elif _PROGRAM.fullmatch(first) and (sure or any(word.startswith("-") for word in words[1:])):
        yield Claim(Sort.PROGRAM, first)

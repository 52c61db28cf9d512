"""The table of secrets (secrets.json), and how its patterns are compiled.

A row says how one kind of secret is found: by its own shape or what stands around it (`pattern`), as the value of a
name (`assignment`), in a sentence (`mention`), or in a table's column (`column`).

Patterns run on bytes, in RE2's Latin-1 mode: text is UTF-8 with lone surrogates let through, so no string can fail to
encode, and offsets never have to be translated. The byte 0xFF occurs in no such text; it stands for what is already
redacted, and no pattern may take it into a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from recollect.base.shipped import load_table

HOLE = b"\xff"
# The most that RE2 may use for one pattern. Its automata must not run out of it: the keyword set would then report
# nothing found.
_MAX_MEMORY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Row:
    found_as: str
    kind: str
    keywords: tuple[str, ...]
    """In lower case. Unless one of them is in the text, in whatever case, the pattern is not run."""
    regex: str
    group: int = 0
    """Which group is the secret; what lies around it stays readable."""
    min_entropy: float = 0.0
    """In bits per character: drops what has the shape of a secret but repeats itself."""
    apart: bool = False
    """It must not continue a word. Checked after the match: a pattern that begins with plain letters is many times
    faster than one that looks for a boundary first."""
    free: bool = False
    """The secret has no shape of its own, so a plain stand-in for one is left (plausibility.py)."""
    opaque: bool = False
    """It must look random as well: what stands there in code is often code."""
    min_bytes: int = 8
    """Of an assigned value: a shorter one is not even judged."""
    password: bool = False
    """The name is that of a password, which need not look random."""
    head: str = ""
    """What the head of a column must match; its groups: the word, and how the name goes on."""


@cache
def compiled(regex: str) -> Any:
    """Compiled when first needed: most patterns never are, and all of them together would slow every start."""
    return re2.compile(regex.encode(), latin1())


@cache
def spans_only(regex: str) -> Any:
    """The same without its groups: more than twice as fast where most matches come to nothing."""
    options = latin1()
    options.never_capture = True
    return re2.compile(regex.encode(), options)


def latin1() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    return options


_TABLE = load_table("recollect.redact", "secrets.json")
WORDS: dict[str, list[str]] = {
    name: words.split() if isinstance(words, str) else words for name, words in _TABLE["words"].items()
}


def _fragments() -> dict[str, str]:
    columns = (*WORDS["password_keywords"], *WORDS["token_keywords"])
    made = {
        "KEY_WORDS": "|".join(WORDS["key_words"]),
        "SERVICE": "|".join(name.replace("_", "[_ -]?") for name in WORDS["services"]),
        "COLUMN_WORDS": "|".join(columns),
    }
    for name, text in _TABLE["fragments"].items():
        made[name] = _filled(text, made)
    return made


def _filled(text: str, fragments: dict[str, str]) -> str:
    """A fragment may use those before it."""
    return re.sub(r"\{\{([A-Z0-9_]+)\}\}", lambda place: fragments[place[1]], text) if "{{" in text else text


def _keyword_lists() -> dict[str, tuple[str, ...]]:
    passwords, tokens = WORDS["password_keywords"], WORDS["token_keywords"]
    joins = {name: ("", "_", "-", " ") if "_" in name else ("",) for name in WORDS["services"]}
    return {
        "password": tuple(passwords),
        "password flags": tuple(f"-{word}" for word in passwords),
        "token": tuple(tokens),
        "token flags": tuple(f"-{word}" for word in (*tokens, *WORDS["key_words"])),
        "services": tuple(name.replace("_", join) for name in WORDS["services"] for join in joins[name]),
        "mentions": (*WORDS["mention_keywords"], *passwords),
        "columns": (*passwords, *tokens),
    }


FRAGMENTS = _fragments()


def _rows() -> tuple[Row, ...]:
    lists = _keyword_lists()
    sections = (("pattern", "patterns"), ("assignment", "assignments"), ("mention", "mentions"), ("column", "columns"))
    rows = []
    for found_as, section in sections:
        for written in _TABLE[section]:
            row = {**written, "keywords": _keywords(written["keywords"], lists)}
            row |= {name: _filled(row[name], FRAGMENTS) for name in ("regex", "head") if name in row}
            rows.append(Row(found_as, **row))
    return tuple(rows)


def _keywords(written: str | list[str], lists: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return lists[written] if isinstance(written, str) else tuple(written)


ROWS = _rows()
Verdicts = dict[str, dict[Any, Any]]
"""What was judged in one text so far, by pattern and by whatever the verdict depends on: a text is read more than once,
and nothing in it is judged twice."""
Reader = Callable[[Row, bytes, Verdicts], Any]

"""The table of secrets (secrets.json), and how its patterns are compiled.

Patterns run on bytes, in RE2's Latin-1 mode: text is UTF-8 with lone surrogates let through, so no string can fail to
encode. The byte 0xFF occurs in no such text; it stands for what is redacted, and no pattern may take it into a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from recollect.base.shipped import load_table

HOLE = b"\xff"
# The most that RE2 may use for one pattern. Its automata must not run out of it: the keyword set would then report
# nothing found.
_MAX_MEMORY_BYTES = 64 << 20
Verdicts = dict[Any, Any]
"""What was judged in one text so far, by whatever the verdict depends on: a text is read more than once, and nothing in
it is judged twice."""


@dataclass(frozen=True, slots=True)
class Row:
    found_as: str
    kind: str
    keywords: tuple[str, ...]  # unless one of these is in the text, in whatever case, the pattern is not run
    regex: str
    group: int = 0  # which group is the secret; what lies around it stays readable
    min_entropy: float = 0.0  # in bits per character: drops what has the shape of a secret but repeats itself
    apart: bool = False
    """It must not continue a word. Checked after the match: a pattern that begins with plain letters is many times
    faster than one that looks for a boundary first."""
    free: bool = False  # the secret has no shape of its own, so a plain stand-in for one is left (plausibility.py)
    opaque: bool = False  # it must look random as well: what stands there in code is often code
    min_bytes: int = 8  # of an assigned value: a shorter one is not even judged
    password: bool = False  # the name is that of a password, which need not look random
    head: str = ""  # what the head of a column must match; its groups: the word, and how the name goes on


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
_PASSWORDS, _TOKENS, _SERVICES = WORDS["password_keywords"], WORDS["token_keywords"], WORDS["services"]
_KEYWORD_LISTS = {
    "password": _PASSWORDS,
    "password flags": [f"-{word}" for word in _PASSWORDS],
    "token": _TOKENS,
    "token flags": [f"-{word}" for word in (*_TOKENS, *WORDS["key_words"])],
    "services": list(dict.fromkeys(name.replace("_", join) for name in _SERVICES for join in ("", "_", "-", " "))),
    "mentions": [*WORDS["mention_keywords"], *_PASSWORDS],
    "columns": [*_PASSWORDS, *_TOKENS],
}
FRAGMENTS = {
    "KEY_WORDS": "|".join(WORDS["key_words"]),
    "SERVICE": "|".join(name.replace("_", "[_ -]?") for name in _SERVICES),
    "COLUMN_WORDS": "|".join(_KEYWORD_LISTS["columns"]),
}


def _fill(text: str) -> str:
    """Put fragments in their places; one may use those before it."""
    return re.sub(r"\{\{([A-Z0-9_]+)\}\}", lambda place: FRAGMENTS[place[1]], text) if "{{" in text else text


for _name, _text in _TABLE["fragments"].items():
    FRAGMENTS[_name] = _fill(_text)


def _row(found_as: str, written: dict[str, Any]) -> Row:
    keywords = written["keywords"]
    listed = _KEYWORD_LISTS[keywords] if isinstance(keywords, str) else keywords
    patterns = {name: _fill(written[name]) for name in ("regex", "head") if name in written}
    return Row(found_as, **written | patterns | {"keywords": tuple(listed)})


ROWS = tuple(
    _row(found_as, written)
    for found_as in ("pattern", "assignment", "mention", "column")
    for written in _TABLE[f"{found_as}s"]
)

"""One row of the table of secrets, and how its pattern is compiled.

Patterns run on bytes, in RE2's Latin-1 mode: text is UTF-8 with lone surrogates let through, so no
string can fail to encode, and offsets never have to be translated. The byte 0xFF occurs in no such
text; it stands for what is already redacted, and no pattern may take it into a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

HOLE = b"\xff"
# RE2 asks this much at most, a pattern. Its automata must not run out of it: the keyword set would then
# report nothing found.
_MAX_MEMORY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Pattern:
    kind: str
    # Lower case. Unless one of them is in the text (whatever its case), the pattern is not run.
    keywords: tuple[str, ...]
    regex: str
    # Which group is the secret; what lies around it stays readable.
    group: int = 0
    # In bits a character: drops what has the shape of a secret but repeats itself.
    min_entropy: float = 0.0
    # It must not go on from a word before it: a pattern that begins with plain letters is many times
    # faster than one that looks for a boundary first, so the boundary is checked afterwards.
    apart: bool = False
    # The secret has no shape of its own, so what is plainly a stand-in for one is let be (judge.py).
    free: bool = False
    # And it must look drawn at random: what stands there in code is often code.
    opaque: bool = False


@cache
def compiled(regex: str) -> Any:
    """Compiled when first needed: most patterns never are, and all of them together cost a start."""
    return re2.compile(regex.encode("latin-1"), latin1())


@cache
def spans_only(regex: str) -> Any:
    """The same without its groups: more than twice as fast where most matches come to nothing."""
    options = latin1()
    options.never_capture = True
    return re2.compile(regex.encode("latin-1"), options)


def latin1() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    return options

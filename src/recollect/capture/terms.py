"""What a text is about: the words that name a subject, names and paths, and its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.capture.tables import Words

_WORD = re.compile(r"[^\W\d_][\w'’-]*", re.UNICODE)
# Names used in code: a path or file, a dotted or joined name, a name with a capital inside, text in backticks.
NAME = re.compile(
    r"`[^`\n]{2,60}`"
    r"|(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w@.-]+/)+[\w@.-]*\w"
    r"|(?<![\w/-])\w[\w-]*\.(?:[a-z]\w{0,4})\b(?!\.\w)"
    r"|\b[^\W\d_]\w*_\w+\b|\b__\w+__\b"
    r"|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+[A-Z]\w*\b"
)
_MAX_NAMED_CHARS = 4_000  # later text only repeats the names; and a text made to be slow stays quick
_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_WORDS = Words("terms")


def words(text: str) -> list[str]:
    """All of them, in lower case and in order."""
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


def content(text: str) -> list[str]:
    """The words that may name a subject."""
    return [word for word in words(text) if is_content(word)]


def is_content(word: str) -> bool:
    return len(word) > 1 and word not in _WORDS.small and word not in _WORDS.trade


def names(text: str) -> list[str]:
    """As they are written, each once."""
    found = (match.group().strip("`").rstrip(".,:;") for match in NAME.finditer(text[:_MAX_NAMED_CHARS]))
    return list(dict.fromkeys(name for name in found if name and len(name) <= 80))


def stem_of(path: str) -> str:
    """`services/cart/tax.py` is called `tax`; a file name that many folders have keeps its folder."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        return ""
    stem = parts[-1].lstrip(".").split(".")[0] or parts[-1]
    return f"{parts[-2]}/{stem}" if stem in _WORDS.common_stems and len(parts) > 1 else stem


def sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        plain = " ".join(part.split())
        if plain:
            yield plain


def word_runs(text: str) -> frozenset[tuple[str, ...]]:
    """Its runs of three words, with # for numbers: two texts with nearly the same runs say the same."""
    run = re.findall(r"[^\W\d_]+|\d+", text.casefold())
    plain = ["#" if word.isdigit() else word for word in run]
    if len(plain) < 3:
        return frozenset({tuple(plain)}) if plain else frozenset()
    return frozenset(zip(plain, plain[1:], plain[2:], strict=False))

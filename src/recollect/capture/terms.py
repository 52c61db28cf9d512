"""What a text speaks of: its words without the small change, its names and paths, and its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d_][\w'’-]*", re.UNICODE)
# Names as programs have them: a path or file, a dotted or joined name, a name with a capital inside, one in backticks.
NAME = re.compile(
    r"`[^`\n]{2,60}`"
    r"|(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w@.-]+/)+[\w@.-]*\w"
    r"|(?<![\w/-])\w[\w-]*\.(?:[a-z]\w{0,4})\b(?!\.\w)"
    r"|\b[^\W\d_]\w*_\w+\b|\b__\w+__\b"
    r"|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+[A-Z]\w*\b"
)
_NAMES_CHARS = 4_000
"""Further on, a text only repeats its names; and what is made to be slow stays quick."""
_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_SMALL_LIST = (
    "a about above after again all also although always am an and another any anyone anything anyway are aren't "
    "around as ask at away back be because been before behind being below between both but by can can't cannot "
    "come could couldn't did didn't do does doesn't doing don't done down during each either else enough etc even "
    "ever every few first for from further get gets getting give go goes going gone good got had has have haven't "
    "having he her here hers him his how i i'd i'll i'm i've if in instead into is isn't it it's its itself just "
    "keep kind know last least less let let's like little look looks lot made make makes making many may maybe me "
    "mean might more most much must my need needs never new next no not nothing now of off often ok okay on once "
    "one only or other others our ours out over own perhaps please put quite rather really right said same say "
    "see seem seems seen shall she should shouldn't since so some somebody someone something sometimes soon still "
    "such sure take than that that's the their them then there there's these they they're thing things think this "
    "those though through thus to together too took toward try turn two under until up upon us use used uses "
    "using very want wants was wasn't way we we're well went were weren't what what's when where whether which "
    "while who whole whom whose why will with within without won't would wouldn't yes yet you you're your yours"
)
SMALL = frozenset(_SMALL_LIST.split())
"""Words that name no subject."""
_TRADE_LIST = (
    "add added bad broken bug bugs build builds change changed changes check code commit correct create debug "
    "delete do error errors fail failed failing fails file files find fine fix fixed fixes function great hello "
    "help hey hi implement implemented improve investigate issue issues line lines move open pass passed passes "
    "problem problems remove rename replace review rewrite run running runs show start stop support task test "
    "tests thank thanks update updated version wait work working works write wrong"
)
TRADE = frozenset(_TRADE_LIST.split())
"""Words of every piece of work: they say what is done, not to what."""


def words(text: str) -> list[str]:
    """In lower case, in order, small words and all."""
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


def content(text: str) -> list[str]:
    """Those that may name a subject."""
    return [word for word in words(text) if is_content(word)]


def is_content(word: str) -> bool:
    return len(word) > 1 and word not in SMALL and word not in TRADE


def names(text: str) -> list[str]:
    """As they are written, each once."""
    found = (match.group().strip("`").rstrip(".,:;") for match in NAME.finditer(text[:_NAMES_CHARS]))
    return list(dict.fromkeys(name for name in found if name and len(name) <= 80))


def stem_of(path: str) -> str:
    """`services/cart/tax.py` is spoken of as `tax`; a name that many folders have says its folder, too."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        return ""
    stem = parts[-1].lstrip(".").split(".")[0] or parts[-1]
    return f"{parts[-2]}/{stem}" if stem in _COMMON and len(parts) > 1 else stem


_COMMON = frozenset("__init__ index main mod lib init api models utils store types settings test app config".split())


def sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        plain = " ".join(part.split())
        if plain:
            yield plain


def shape(text: str) -> frozenset[tuple[str, ...]]:
    """Its runs of three words, figures being alike: two texts with nearly the same runs say the same."""
    run = re.findall(r"[^\W\d_]+|\d+", text.casefold())
    plain = ["#" if word.isdigit() else word for word in run]
    if len(plain) < 3:
        return frozenset({tuple(plain)}) if plain else frozenset()
    return frozenset(zip(plain, plain[1:], plain[2:], strict=False))


def alike(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0

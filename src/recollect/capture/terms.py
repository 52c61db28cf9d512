"""What a text is about: the words that name a subject, names and paths, and its sentences. And what kind of sentence
each is: a cause, an outcome, a choice, a question, or only what one says while working (`CUES`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from recollect.base.text import clip, one_line
from recollect.capture.prompt_text import FENCE
from recollect.capture.tables import Patterns, Words

# Names used in code: a path or file, a dotted or joined name, a name with a capital inside, text in backticks.
NAME = re.compile(
    r"`[^`\n]{2,60}`"
    r"|(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w@.-]+/)+[\w@.-]*\w"
    r"|(?<![\w/-])\w[\w-]*\.(?:[a-z]\w{0,4})\b(?!\.\w)"
    r"|\b[^\W\d_]\w*_\w+\b|\b__\w+__\b"
    r"|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+[A-Z]\w*\b"
)
_MAX_NAMED_CHARS = (
    4_000  # later text only repeats the names; and a text made to be slow stays quick
)
PLAN = "Plan: "  # stands before the heading of a plan, where that is what was asked for
_MAX_LINES, _OFFER_CHARS, _CAUSE_CHARS, _MAX_HEADING_CHARS = 200, 1_500, 2_000, 120
CUES = Patterns("terms")
_WORDS = Words("terms")


def words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in CUES.word.findall(text)]


def content(text: str) -> list[str]:
    return [word for word in words(text) if is_content(word)]


def is_content(word: str) -> bool:
    is_small = word in _WORDS.small or word in _WORDS.small_elsewhere
    return len(word) > 1 and not is_small and word not in _WORDS.trade


def names(text: str) -> list[str]:
    found = (
        match.group().strip("`").rstrip(".,:;") for match in NAME.finditer(text[:_MAX_NAMED_CHARS])
    )
    return list(dict.fromkeys(name for name in found if name and len(name) <= 80))


def names_subject(text: str) -> bool:
    return bool(names(text)) or len(set(content(text))) >= 2 or is_wide_script(text)


def content_and_names(text: str) -> set[str]:
    return {*content(text), *map(str.casefold, names(text))}


def stem_of(path: str) -> str:
    """`services/cart/tax.py` is called `tax`; a file name that many folders have keeps its folder."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        return ""
    stem = parts[-1].lstrip(".").split(".")[0] or parts[-1]
    return f"{parts[-2]}/{stem}" if stem in _WORDS.common_stems and len(parts) > 1 else stem


def sentences(text: str) -> Iterator[str]:
    return filter(None, (" ".join(part.split()) for part in CUES.end.split(text)))


def word_runs(text: str) -> frozenset[tuple[str, ...]]:
    """Its runs of three words, with # for numbers: two texts with nearly the same runs say the same."""
    plain = [
        "#" if word.isdigit() else word for word in re.findall(r"[^\W\d_]+|\d+", text.casefold())
    ]
    if len(plain) < 3:
        return frozenset({tuple(plain)}) if plain else frozenset()
    return frozenset(zip(plain, plain[1:], plain[2:], strict=False))


class Line(NamedTuple):
    text: str
    is_heading: bool = False
    is_item: bool = False


def lines(text: str) -> Iterator[Line]:
    """The prose of a message: no code, no tables."""
    for raw in FENCE.sub("\n", text).splitlines()[: _MAX_LINES + 1]:
        if not raw.strip() or raw.lstrip().startswith(("|", "$ ", "---", "===")):
            continue
        is_heading = bool(CUES.heading.match(raw) or CUES.bold_line.match(raw))
        said = CUES.link.sub(r"\1", CUES.marks.sub("", CUES.numbered.sub("", raw))).strip()
        for one in sentences(said):
            if re.search(r"\w", one):
                yield Line(one, is_heading, bool(CUES.item.match(raw)))


def offer(text: str) -> str:
    """What an agent offers to do at the end of a message. Empty: it offers nothing."""
    asked = [line.text for line in lines(text[-_OFFER_CHARS:]) if CUES.asks.search(line.text)]
    return CUES.offers.sub("", asked[-1]).rstrip("?\uff1f ") if asked else ""


def plan_heading(text: str) -> str:
    """The heading of a plan that an agent made and was then told to carry out. Empty: it is none."""
    return heading(text[len("implement") :].split(":", 1)[-1]) if CUES.plan.match(text) else ""


def heading(plan: str) -> str:
    found = CUES.heading.search(plan)
    first = found[1] if found else next(iter(plan.strip().splitlines()), "")
    return (
        clip(CUES.plan_word.sub("", one_line(CUES.marks.sub("", first))), _MAX_HEADING_CHARS)
        or "A plan"
    )


def rate_cause(text: str) -> float:
    text = text[:_CAUSE_CHARS]
    return 2.0 * min(len(CUES.strong_cause.findall(text)), 2) + min(
        len(CUES.weak_cause.findall(text)), 2
    )


def rate_outcome(text: str) -> float:
    """How much it says of what came of it. 0: nothing. That tests pass says less than what they pass for."""
    return min(3, len(CUES.outcome.findall(text))) - (1.2 if CUES.only_checks.match(text) else 0)


def is_talk(text: str) -> bool:
    """Only what one says while working, or when there is nothing more to say."""
    return bool(CUES.talk.match(text) or CUES.nod.match(text))


def count_shared(one: str, other: str) -> int:
    """How many words that name a subject two texts share. Where words are not separated, a shared word in katakana
    counts as one, and so do two shared pairs of Chinese characters; one such word alone is in many matters."""
    words = set(map(singular, content(one))) & set(map(singular, content(other)))
    if not (is_wide_script(one) and is_wide_script(other)):
        return len(words)
    loanwords = set(CUES.katakana.findall(one)) & set(CUES.katakana.findall(other))
    pieces = len(loanwords) + len(_han_pairs(one) & _han_pairs(other)) // 2
    return pieces if pieces > 1 else len(words)


def _han_pairs(text: str) -> set[str]:
    runs = CUES.han.findall(text)
    return {first + second for run in runs for first, second in pairwise(run)}


def singular(word: str) -> str:
    """Other alphabets decline more: there the ending goes."""
    if not word.isascii() and len(word) > 3 and not is_wide_script(word):
        return word[:-2] if len(word) > 4 else word[:-1]
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def is_wide_script(text: str) -> bool:
    """Whether it has letters of a script that does not separate words by spaces."""
    return bool(CUES.wide_script.search(text))

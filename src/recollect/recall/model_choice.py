"""Lets a language model choose among memories: what it is asked, and what its answer means. Asks nobody. The broad
question shows a line for each memory; the strict one shows the candidates whole and can only remove some."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from difflib import get_close_matches
from itertools import accumulate
from typing import NamedTuple

from recollect.base.text import clip
from recollect.model.ask import Ask, Use

BROAD_CHARS = 60_000  # of all candidates; those that come later are not offered
CONTENT_CHARS = 6_000  # of one candidate
STRICT_CHARS = 80_000
NONE = frozenset({"", "none", "nothing", "no memories", "no relevant memories", "[]", "n/a"})
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_QUOTES = " \t`'\"*[](){}<>,;"
_TOKEN = re.compile(r"[^\s,;`'\"()\[\]]+")
_FULL_NAME = re.compile(r".*\.md|[a-z]+_\d{8}_\d{6}_[0-9a-f]+")
_WORD = re.compile(r"[\w'’-]+")
_WORD_IN_NAME = re.compile(r"[^\W_]+")
_MIN_PART_CHARS = 3  # a shorter keyword stands inside half of all words


class CandidateLine(
    NamedTuple
):  # a memory as a model reads it before it asks for more, its texts made harmless
    id: str
    name: str  # a note's path, else the memory's id
    description: str
    words: tuple[str, ...] = ()  # by which a note asks to be found
    content: str = ""

    @property
    def line(self) -> str:
        return f"{self.name}: {self.description}" if self.description else self.name

    @property
    def stem(self) -> str:
        return self.name.rpartition("/")[2].removesuffix(".md")


def limit_to_room(candidates: Sequence[CandidateLine]) -> tuple[CandidateLine, ...]:
    """The first candidates, as many as fit into the broad question."""
    used = accumulate(len(candidate.line) + 1 for candidate in candidates[:400])
    return tuple(
        candidate
        for candidate, chars in zip(candidates, used, strict=False)
        if chars <= BROAD_CHARS
    )


def question(
    use: Use,
    prompt: str,
    candidates: Sequence[CandidateLine],
    *,
    template: str = "",
    model: str = "",
    seconds: float,
) -> Ask:
    if use is Use.RECALL_BROAD:
        memories = "Available memories:\n" + "\n".join(candidate.line for candidate in candidates)
    else:
        room = min(max(STRICT_CHARS // max(len(candidates), 1), 500), CONTENT_CHARS)
        whole = (
            f"## {candidate.line}\n{clip(candidate.content, room)}" for candidate in candidates
        )
        memories = "Candidate memories:\n\n" + "\n\n".join(whole)
    asked = f"<user_prompt>\n{prompt}\n</user_prompt>\n\n{memories}"
    return Ask(use, (("asked", asked),), prompt=template, model=model, seconds=seconds)


def read_answer(answer: str, among: Sequence[CandidateLine]) -> tuple[str, ...] | None:
    """The ids that it names, each once, in its order; None: that is no answer. A name may be written whole, without its
    folder, without `.md`, or as the id itself; one that could mean two memories means none."""
    ids: dict[str, set[str]] = {}
    for one in among:
        for name in {
            one.name,
            one.name.removesuffix(".md"),
            one.name.rpartition("/")[2],
            one.stem,
            one.id,
        }:
            ids.setdefault(name.casefold(), set()).add(one.id)
    names = {name: min(known) for name, known in ids.items() if len(known) == 1}
    names |= {one.name.casefold(): one.id for one in among}
    found: list[str] = []
    for line in answer.splitlines():
        # Where it stands alone, or before its description, it may be written short; among other words only whole.
        bare = _BULLET.sub("", line).strip(_QUOTES).casefold()
        starts = (bare, *(bare.partition(mark)[0].strip(_QUOTES) for mark in (": ", " - ")))
        short = [start for start in starts if start in names]
        tokens = (token.strip(".:*") for token in _TOKEN.findall(bare))
        whole = [token for token in tokens if token in names and _FULL_NAME.fullmatch(token)]
        found += [names[name] for name in short[:1] or whole]
    if found:
        return tuple(dict.fromkeys(found))
    return () if answer.strip(' \t\r\n.`*"').casefold() in NONE else None


def filter_by_keywords(
    prompt: str,
    candidates: Sequence[CandidateLine],
    *,
    stop_words: Set[str],
    in_content: bool = False,
) -> tuple[CandidateLine, ...]:
    """Those that have any keyword of the prompt: as a word, as part of one, or with a letter in twenty that differs.
    Notes that list words to be found by are searched by those and their name, others by name and description."""
    said = (word.strip("'’-_").casefold() for word in _WORD.findall(prompt))
    keywords = tuple(dict.fromkeys(word for word in said if word and word not in stop_words))[:200]
    # A script without spaces has short words.
    parts = [word for word in keywords if len(word) >= _MIN_PART_CHARS or not word.isascii()]

    def has_keyword(one: CandidateLine) -> bool:
        about = one.words or (one.description,)
        text = "\n".join((one.stem, *about, one.content if in_content else "")).casefold()
        words = {*_WORD.findall(text), *_WORD_IN_NAME.findall(text)}
        if not words.isdisjoint(keywords) or any(word in text for word in parts):
            return True
        return any(get_close_matches(word, words, 1, 0.95) for word in keywords)

    return tuple(filter(has_keyword, candidates))

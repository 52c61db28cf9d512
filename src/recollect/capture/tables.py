"""The tables of this room: TOML files in `data/`, compiled when first used; one per language (`en.toml` explains the
keys), the others one per subject. `[parts]` are what patterns share, written `{NAME}`; a line break in a pattern is not
part of it; a list is joined by "|"; `words:` matches whole words only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from recollect.base.shipped import load_table

Pattern = re.Pattern[str]
Source = str | Sequence[str]
CODES = ("en", "de", "fr", "es", "pt", "ru", "vi", "ja", "zh")
_LINE_BREAK = re.compile(r"(?:^|\n)\s*")
_PART = re.compile(r"\{([A-Z_]+)\}")
_BY_SCRIPT = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]{2}")),
    ("vi", re.compile(r"[\u0103\u0111\u01a1\u01b0\u1ea0-\u1ef9]")),
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def table(name: str) -> Any:
    return load_table("recollect.capture", f"data/{name}")


def compiled(pattern: Source, parts: Mapping[str, Source], flags: int = 0) -> Pattern:
    def joined(source: Source) -> str:
        return "|".join(
            _LINE_BREAK.sub("", line) for line in ([source] if isinstance(source, str) else source)
        )

    text = joined(pattern)
    while _PART.search(text):
        text = _PART.sub(lambda found: joined(parts[found[1]]), text)
    if text.startswith("words:"):
        words = text.removeprefix("words:").lstrip()
        text = rf"(?<![\w-])(?:{words})(?![\w-])".replace(" ?", r"\s*").replace(" ", r"\s+")
    return re.compile(text, flags)


class Patterns:
    def __init__(self, name: str) -> None:
        self._name = f"{name}.toml"

    def __getattr__(self, name: str) -> Pattern:
        read = table(self._name)
        self.__dict__[name] = found = compiled(read["patterns"][name], read.get("parts", {}))
        return found


class Words:
    def __init__(self, name: str) -> None:
        self._name = f"{name}.toml"

    def __getattr__(self, name: str) -> frozenset[str]:
        self.__dict__[name] = found = frozenset(table(self._name)["words"][name].split())
        return found


class Signal(
    NamedTuple
):  # a pattern that speaks for a standing rule (weight above 0) or against it
    name: str
    weight: float
    pattern: Pattern
    firm: bool = False  # so plain that a signal which `yields` does not count beside it
    yields: bool = False


class Language(NamedTuple):
    code: str
    signals: tuple[Signal, ...]
    vetoes: Mapping[
        str, Pattern
    ]  # by reason: a sentence that matches states no rule, whatever else it says
    whole_prompt: Mapping[str, Pattern]  # by reason: a prompt that matches holds no rule at all
    rewrites: tuple[
        tuple[Pattern, str], ...
    ]  # how a statement becomes an instruction: "we don't" -> "Do not"
    patterns: Mapping[str, Pattern]

    def has(self, name: str, text: str) -> bool:
        return name in self.patterns and self.patterns[name].search(text) is not None


def language_code(text: str) -> str:
    """English where nothing speaks for another language."""
    return _language_of(text[:2_000].lower().replace("\u2019", "'"))


@lru_cache(maxsize=1024)  # each rule is asked about for each new one
def _language_of(sample: str) -> str:
    for code, script in _BY_SCRIPT:
        if script.search(sample):
            return code
    said = Counter(_WORD.findall(sample))
    counts = {
        code: sum(said[word] for word in words.split())
        for code, words in table("common_words.toml").items()
    }
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] else "en"


@cache
def language(code: str) -> Language:
    """Compiled when it is first heard: the patterns of English take a tenth of a second."""
    read = table(f"{code}.toml")

    def compile(pattern: str) -> Pattern:
        return compiled(pattern, read.get("parts", {}), re.IGNORECASE)

    def compile_all(kind: str) -> dict[str, Pattern]:
        return {name: compile(pattern) for name, pattern in read.get(kind, {}).items()}

    return Language(
        code, tuple(Signal(**(row | {"pattern": compile(row["pattern"])})) for row in read["signals"]),
        compile_all("vetoes"), compile_all("whole_prompt"),
        tuple((compile(row["pattern"]), row["becomes"]) for row in read.get("rewrites", ())), compile_all("patterns"),
    )  # fmt: skip

"""The languages that prompts are judged in: a file of patterns each (`data/<code>.toml`; English explains the keys). A
text is taken for English where nothing speaks for another language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from recollect.capture.tables import Pattern, compiled, table

CODES = ("en", "de", "fr", "es", "pt", "ru", "vi", "ja", "zh")
EXPLICIT = frozenset(("says it is to last", "asks to remember it", "a name"))
"""Signals, of whatever language, that say in so many words that something is to last."""
_NOTHING = re.compile(r"(?!)")
_BY_SCRIPT = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]{2}")),
    ("vi", re.compile(r"[\u0103\u0111\u01a1\u01b0\u1ea0-\u1ef9]")),
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SAMPLE_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that speaks for a standing rule (weight above 0) or against it."""

    name: str
    weight: float
    pattern: Pattern
    firm: bool = False  # so plain that a signal which `yields` does not count beside it
    yields: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    signals: tuple[Signal, ...]
    vetoes: Mapping[str, Pattern]  # by reason: a sentence that matches states no rule, whatever else it says
    whole_prompt: Mapping[str, Pattern]  # by reason: a prompt that matches holds no rule at all
    rewrites: tuple[tuple[Pattern, str], ...]  # how a statement becomes an instruction: "we don't" -> "Do not"
    patterns: Mapping[str, Pattern]

    def has(self, name: str, text: str) -> bool:
        return self.patterns.get(name, _NOTHING).search(text) is not None

    def without(self, name: str, text: str) -> str:
        return self.patterns[name].sub("", text) if name in self.patterns else text


def language_code(text: str) -> str:
    sample = text[:_SAMPLE_CHARS].lower().replace("\u2019", "'")
    for code, script in _BY_SCRIPT:
        if script.search(sample):
            return code
    said = Counter(_WORD.findall(sample))
    counts = {code: sum(said[word] for word in words.split()) for code, words in table("common_words.toml").items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] else "en"


@cache
def language(code: str) -> Language:
    """Compiled when it is first heard: the patterns of English take a tenth of a second."""
    read = table(f"{code}.toml")

    def compile(pattern: str) -> Pattern:
        return compiled(pattern, read.get("parts", {}), re.IGNORECASE)

    def compile_all(patterns: Mapping[str, str]) -> dict[str, Pattern]:
        return {name: compile(pattern) for name, pattern in patterns.items()}

    return Language(
        code=code,
        signals=tuple(Signal(**(row | {"pattern": compile(row["pattern"])})) for row in read["signals"]),
        vetoes=compile_all(read["vetoes"]),
        whole_prompt=compile_all(read.get("whole_prompt", {})),
        rewrites=tuple((compile(row["pattern"]), row["becomes"]) for row in read.get("rewrites", ())),
        patterns=compile_all(read["patterns"]),
    )

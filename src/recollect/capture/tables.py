"""The tables of this room, one TOML file per module in `data/`, read and compiled when first used.

`[words]` holds lists of words, `[patterns]` regular expressions, `[parts]` what patterns share, written `{NAME}` there.
A line break in a pattern is not part of it; a list is joined by "|"; `words:` matches whole words only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.base.shipped import load_table

Pattern = re.Pattern[str]
Source = str | Sequence[str]
_LINE_BREAK = re.compile(r"(?:^|\n)\s*")
_PART = re.compile(r"\{([A-Z_]+)\}")
_WHOLE_WORDS = "words:"


def table(name: str) -> Any:
    return load_table("recollect.capture", f"data/{name}")


def compiled(pattern: Source, parts: Mapping[str, Source], flags: int = 0) -> Pattern:
    text = _joined(pattern)
    while _PART.search(text):
        text = _PART.sub(lambda found: _joined(parts[found[1]]), text)
    if text.startswith(_WHOLE_WORDS):
        words = text.removeprefix(_WHOLE_WORDS).lstrip()
        text = rf"(?<![\w-])(?:{words})(?![\w-])".replace(" ?", r"\s*").replace(" ", r"\s+")
    return re.compile(text, flags)


def _joined(source: Source) -> str:
    lines = [source] if isinstance(source, str) else source
    return "|".join(_LINE_BREAK.sub("", line) for line in lines)


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

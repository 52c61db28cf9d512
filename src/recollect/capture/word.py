"""Words a rule: the sentence as it was typed, without greetings and asides, capitalised, with a full stop.

"We use X" becomes "Use X"; what is not as certain as that is left alone. Every content word is the person's.
"""

from __future__ import annotations

import re

from recollect.base.text import clip, one_line
from recollect.capture.language import Language

_MOST_CHARS = 400
_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f")
_DASH = re.compile(r"^[-\u2013\u2014]+\s+")
_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def worded(sentences: list[str], language: Language) -> str:
    said = [_sentence(one, language) for one in sentences]
    return clip(" ".join(one for one in said if one), _MOST_CHARS)


def _sentence(text: str, language: Language) -> str:
    text = one_line(text)
    bare = language.asides.sub("", language.tail.sub("", language.lead.sub("", text))).strip() or text
    for pattern, instead in language.rewrites:
        bare = pattern.sub(instead, bare, count=1)
    bare = _balanced(_DASH.sub("", bare.strip(" ,;:")).rstrip("-"))
    if not bare:
        return ""
    # A name keeps its case: `makeUser`, `npm-check`, iOS.
    first = bare.split(maxsplit=1)[0]
    if first.islower() and first.replace("'", "").rstrip(",").isalpha():
        bare = bare[0].upper() + bare[1:]
    if bare.endswith(_ENDS):
        return bare
    return bare + ("。" if _WIDE.search(bare) else ".")


def _balanced(text: str) -> str:
    """A bracket whose other half was cut away goes too."""
    if text.count("(") > text.count(")"):
        text = text[1:] if text.startswith("(") else text + ")"
    elif text.count(")") > text.count("("):
        text = text[::-1].replace(")", "", 1)[::-1]
    return text

"""Makes stored words, which may come from anywhere, harmless before an agent reads them: without what cannot be seen,
unable to close our fence or to open one of a host's own tags."""

from __future__ import annotations

import re
import unicodedata

from recollect.base.text import clip, one_line

_OWN = re.compile(r"\[(?=\s*/?\s*recollect\b)", re.IGNORECASE)
# Names of tags that hosts and models give a meaning: all that are made of several words, and some that are not.
_TAG = re.compile(
    r"<(?=\s*/?\s*(?:[a-z]\w*[-_:]\w|(?:system|human|user|assistant|invoke|parameter|thinking|result|tool|function)\b))",
    re.IGNORECASE,
)
# What cannot be seen tells a reader nothing, and a model perhaps something: controls, bidi, zero-width, selectors.
_VISIBLE = re.compile(r"[ -~\n\t]*")
_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def neutral(text: str) -> str:
    """The same words, unable to pass for ours or a host's, or to hide anything. Never longer."""
    if not _VISIBLE.fullmatch(text):  # nearly every text is visible ASCII alone
        kept = _SELECTOR.sub("", text)
        text = "".join(char for char in kept if char in "\n\t" or unicodedata.category(char) not in _INVISIBLE)
    return _TAG.sub("\u2039", _OWN.sub("(", text))


def plain(text: str, max_chars: int) -> str:
    """One harmless line. Only the beginning of a long text is looked at, because this runs at every prompt."""
    return clip(one_line(neutral(text.strip()[: 10 * max_chars + 200])), max_chars)

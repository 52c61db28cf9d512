"""Makes stored words harmless before an agent reads them: flattened, stripped of what cannot be seen, unable to close
our fence or to open one of a host's own tags. A person may have pasted them from anywhere."""

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
# Tells a reader nothing and a model perhaps something: controls, bidi, zero-width, tags, selectors.
_SEEN = re.compile(r"[ -~\n\t]*")
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def neutral(text: str) -> str:
    """The same words, which can neither be mistaken for ours nor for a host's, nor hide anything. Never longer."""
    seen = text
    if not _SEEN.fullmatch(text):  # nearly every text is of these alone, and is looked at in one go
        seen = "".join(char for char in text if char in "\n\t" or not _is_unseen(char))
    return _TAG.sub("\u2039", _OWN.sub("(", seen))


def plain(text: str, max_chars: int) -> str:
    """One harmless line. Of a long text only the beginning is looked at: it is read at every prompt."""
    return clip(one_line(neutral(text.strip()[: 10 * max_chars + 200])), max_chars)


def _is_unseen(char: str) -> bool:
    is_selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    if " " <= char <= "~":
        return False
    return is_selector or unicodedata.category(char) in _UNSEEN

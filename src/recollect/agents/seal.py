"""A mark at the end of a file that we write where others may edit it: it tells whether anyone did.

The mark is a check sum of what stands before it, in a comment. So a file says of itself that it is still just what we
wrote, whatever became of our own notes. It proves nothing against somebody who means to deceive.
"""

from __future__ import annotations

import hashlib
import re

_SUM_CHARS = 16
_MARK = re.compile(r"\n<!-- recollect ([0-9a-f]{16}) -->\n\Z")


def sealed(text: str) -> str:
    return f"{text}\n<!-- recollect {checksum(text)} -->\n"


def is_intact(text: str) -> bool:
    """Ours, and as we wrote it."""
    found = _MARK.search(text)
    return found is not None and found[1] == checksum(text[: found.start()])


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SUM_CHARS]

"""Files that are not there: a read of `.ai/recall/<question>` is a question to memory. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from recollect.base.text import storable
from recollect.model.session import ToolCall

# What agents call the tool that reads a file. Others that name one (to write it, to search in it) are left alone.
READERS = frozenset({"Read", "read", "read_file", "ReadFile"})
_FOLDER = ".ai/recall/"
_MAX_CHARS = 1_000


def question(call: ToolCall, roots: Iterable[str]) -> str:
    """What is asked; empty for any other call. Absolute names count below `roots` alone: other projects' are not
    ours to answer for."""
    named = next((value for key in ("file_path", "path") if isinstance(value := call.input.get(key), str)), "")
    if call.name not in READERS or not named:
        return ""
    plain = named.replace("\\", "/").removeprefix("./")
    for root in ("", *(root.replace("\\", "/").rstrip("/") + "/" for root in roots if root)):
        if plain.startswith(root + _FOLDER):
            # As it was written: a secret of several lines is not known by one.
            return storable(unquote(plain[len(root + _FOLDER) :], errors="replace")).strip()[:_MAX_CHARS]
    return ""

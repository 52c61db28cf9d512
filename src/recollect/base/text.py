"""Text that is safe to store, safe to print, and short enough to show. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

try:  # as in hashlib, which loads OpenSSL, too: a first prompt would wait for that
    from _blake2 import blake2b as blake2b
except ImportError:
    from hashlib import blake2b as blake2b

# What a terminal might obey, or what reorders what a reader sees: C0 (except tab and newline), DEL, C1, the bidi
# controls, zero-width marks, line separators, tag characters.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s+")
_LINE_MARKS = re.compile(r"(?:[#>*-]++(?=\s|$)|\s)++")  # of Markdown: headings, quotes, lists
NUL_SYMBOL = "\u2400"
REPLACEMENT = "\ufffd"
_TITLE_READ_CHARS = 1_000  # of a line that may become a title
_COMPOSED_CHARS = 256  # as many as a file's name may have


def storable(text: str) -> str:
    """What SQLite and UTF-8 can hold: NUL becomes a visible symbol, a lone surrogate a replacement mark."""
    if "\x00" in text:
        text = text.replace("\x00", NUL_SYMBOL)
    try:
        text.encode()  # ten times as fast as looking for what it refuses
    except UnicodeEncodeError:
        return _SURROGATES.sub(REPLACEMENT, text)
    return text


def cut_middle(text: str, most: int) -> str:
    """Without its middle, where it is long: commands say at the end what went wrong. Cut at lines' ends, so that a
    secret is left whole or out."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[-(most // 2) :]
    head = head[: head.rfind("\n")] if "\n" in head else head.rpartition(" ")[0]
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail.partition(" ")[2]
    return f"{head}\n[\u2026]\n{tail}"


def visible(text: str) -> str:
    """For a terminal: every control character becomes a visible, harmless escape."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def json_visible(document: str) -> str:
    """The same for printed JSON, where the escapes are JSON's own and parse back to what was stored."""
    return _UNSAFE.sub(_json_escape, document)


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def composed(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Unicode's normal form. Long text in pieces: marks are put in order one by one, so that a run of thousands would
    cost the square of its length."""
    if text.isascii():
        return text
    starts = range(0, len(text), _COMPOSED_CHARS)
    return "".join(
        unicodedata.normalize(form, text[start : start + _COMPOSED_CHARS]) for start in starts
    )


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def without_full_stop(sentence: str) -> str:
    """For a list of sentences in one line, or one that is quoted."""
    return sentence.rstrip(".\u3002 ")


def clip(text: str, max_chars: int) -> str:
    """At most `max_chars`, the last an ellipsis where something was cut."""
    return text if len(text) <= max_chars else text[: max(0, max_chars - 1)].rstrip() + "\u2026"


CJK = (  # as ranges of characters; in UTF-8 three bytes each, the rare ones at the end four
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)


def indexed_length(text: str) -> int:
    """What a text of that many Latin characters would be: a Chinese, Japanese or Korean one is about a word, a term of
    the index with its neighbour, and counts four."""
    return len(text) + 3 * len(re.findall(f"[{CJK}]", text))


def first_line_title(body: str, max_chars: int = 60) -> str:
    """A title for text that came without one: its first line that says something."""
    for line in body.splitlines():
        start = line.lstrip()[:_TITLE_READ_CHARS]
        marks = _LINE_MARKS.match(start)
        plain = one_line(start[marks.end() :] if marks else start)
        if plain and not plain.startswith("```"):
            return clip(plain, max_chars)
    return "Untitled"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 memory`, `2,000 memories`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def join_words(words: Sequence[str]) -> str:
    """`tabs`, `tabs and spaces`, `tabs, spaces and line ends`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def estimate_tokens(chars: int) -> int:
    """What a text of so many characters costs an agent, about: four characters per token."""
    return -(-chars // 4)

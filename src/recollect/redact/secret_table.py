"""The table of secrets (secrets.json), how its patterns are compiled, and whether something is a secret, a stand-in for
one or just code. Patterns run on bytes, in RE2's Latin-1 mode: text is UTF-8 with lone surrogates let through, so no
string can fail to encode. The byte 0xFF occurs in no such text; it stands for what is redacted, and no pattern may take
it."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import re2

from recollect.base.shipped import load_table
from recollect.base.structs import Struct

HOLE = b"\xff"
_MAX_MEMORY_BYTES = (
    64 << 20
)  # for one pattern: were it to run out, the keyword set would report nothing found
Verdicts = dict[
    Any, Any
]  # what was judged in one text so far, by what it depends on: nothing is judged twice
Known = dict[int, int]  # of what was found in one text so far: where it begins, and where it ends


class Row(Struct):
    found_as: str
    kind: str
    keywords: tuple[
        str, ...
    ]  # unless one of these is in the text, in whatever case, the pattern is not run
    regex: str
    group: int = 0  # which group is the secret; what lies around it stays readable
    min_entropy: float = (
        0.0  # in bits per character: drops what has the shape of a secret but repeats itself
    )
    apart: bool = (
        False  # it must not continue a word; checked after the match, which is many times faster
    )
    free: bool = False  # the secret has no shape of its own, so a plain stand-in for one is left
    opaque: bool = False  # it must look random as well: what stands there in code is often code
    min_bytes: int = 8  # of an assigned value: a shorter one is not even judged
    password: bool = False  # the name is that of a password, which need not look random
    head: str = (
        ""  # what the head of a column must match; its groups: the word, and how the name goes on
    )


@cache
def compiled(regex: str) -> Any:
    """Compiled when first needed: most patterns never are, and all of them together would slow every start."""
    return re2.compile(regex.encode(), latin1())


@cache
def spans_only(regex: str) -> Any:
    """The same without its groups: more than twice as fast where most matches come to nothing."""
    options = latin1()
    options.never_capture = True
    return re2.compile(regex.encode(), options)


def latin1() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    return options


_TABLE = load_table("recollect.redact", "secrets.json")
WORDS: dict[str, list[str]] = {
    name: words.split() if isinstance(words, str) else words
    for name, words in _TABLE["words"].items()
}
_PASSWORDS, _TOKENS, _SERVICES = (
    WORDS["password_keywords"],
    WORDS["token_keywords"],
    WORDS["services"],
)
_KEYWORD_LISTS = {
    "password": _PASSWORDS,
    "password flags": [f"-{word}" for word in _PASSWORDS],
    "token": _TOKENS,
    "token flags": [f"-{word}" for word in (*_TOKENS, *WORDS["key_words"])],
    "services": list(
        dict.fromkeys(name.replace("_", join) for name in _SERVICES for join in ("", "_", "-", " "))
    ),
    "mentions": [*WORDS["mention_keywords"], *_PASSWORDS],
    "columns": [*_PASSWORDS, *_TOKENS],
}
FRAGMENTS = {
    "KEY_WORDS": "|".join(WORDS["key_words"]),
    "SERVICE": "|".join(name.replace("_", "[_ -]?") for name in _SERVICES),
    "COLUMN_WORDS": "|".join(_KEYWORD_LISTS["columns"]),
}


def _fill(text: str) -> str:
    """Put fragments in their places; one may use those before it."""
    return (
        re.sub(r"\{\{([A-Z0-9_]+)\}\}", lambda place: FRAGMENTS[place[1]], text)
        if "{{" in text
        else text
    )


for _name, _text in _TABLE["fragments"].items():
    FRAGMENTS[_name] = _fill(_text)


def _row(found_as: str, written: dict[str, Any]) -> Row:
    keywords = written["keywords"]
    listed = _KEYWORD_LISTS[keywords] if isinstance(keywords, str) else keywords
    patterns = {name: _fill(written[name]) for name in ("regex", "head") if name in written}
    return Row(found_as, **written | patterns | {"keywords": tuple(listed)})


_WAYS = ("pattern", "assignment", "mention", "column")
ROWS = tuple(_row(found_as, written) for found_as in _WAYS for written in _TABLE[f"{found_as}s"])
LOOK = 128

_STAND_INS = frozenset(word.encode() for word in WORDS["stand_ins"])
_TELLING = frozenset(word.encode() for word in WORDS["telling"])
_REFERENCE = re.compile(
    rb"""
    \$ [({] | \$ [A-Za-z_]\w* (?:[^\w!]|$)               # $TOKEN, ${TOKEN}, $(pass show x)
    | [^A-Za-z0-9]* \{                                   # {{ token }}, {token}
    | < [^<>]* >? $                                      # <your token>
    | % [({] | % [A-Za-z_]\w* %? $                       # %(token)s, %TOKEN%
    | \^ | \\[dwsDWS] | \(\? | \[[-^!\\A-Za-z0-9]         # a regular expression
    | !(?:Ref|vault|secret|Sub|env)\b | ENC\[ | (?:vault|file|env|op|arn|ssm|secretsmanager|sha\d+)[:.]
    | (?:https?|file)://
    """,
    re.VERBOSE,
)
_TEMPLATE_PART = re.compile(rb"\$[{(]|\{\{|<%")
_CALL = re.compile(rb"[A-Za-z_$]?[\w$.:>?!-]*[(\[{]")
# No pattern here repeats a repetition: they run on `re`, which would try every way to share it out.
_IDENTIFIER = re.compile(rb"[^A-Za-z0-9]{0,2}[A-Za-z_./:>?*+ -]+[])}>;,.:?*]{0,2}")
_MEMBER = re.compile(rb"[A-Za-z_][\w.:>?-]*(?:\.|->|::)[A-Za-z_]\w*!?")
_SLUG_PIECE = re.compile(rb"[A-Za-z]*\d{0,2}|\d{1,4}")
# Beside other words a name may have more digits than a version: set_cast128_key, x509-verify.
_NAME_PIECE = re.compile(rb"[A-Za-z]{1,10}\d{1,3}")
_SLUG_SPLIT = re.compile(rb"[-_./:,+ =@#~]+")
_HUMP = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
_UNSPOKEN = re.compile(
    rb"[B-DF-HJ-NP-TV-XZ]{7}|[b-df-hj-np-tv-xz]{7}"
)  # no word has seven consonants in a row
_NUMBER = re.compile(rb"[\d._+-]*[A-Za-z]{0,2}")
_LETTER = re.compile(rb"[A-Za-z]")
_DIGIT = re.compile(rb"\d")
_SYMBOL = re.compile(rb"[^A-Za-z0-9._/:\s,-]")
_HEX_RUN = re.compile(rb"(?i)[0-9a-f]{7,}|\b[0-9a-f]{4}\b")
_PATH = re.compile(rb"[./~]|[A-Za-z]:[\\/]|\d{4}-\d\d-\d\d")
_SPACE = re.compile(rb"\s")

_MIN_PASSWORD, MIN_TOKEN, _MIN_CHOSEN = 4, 8, 6
_MEMBER_MAX, _MEMBER_DIGITS, _NAME_DIGITS = 20, 3, 2  # no name is so long with so many digits
_TOKEN_ENTROPY = (
    2.9  # eight different characters, or a longer run of hex: below that lie words and versions
)
_TOKEN_BYTES = math.ceil(2**_TOKEN_ENTROPY)  # fewer different ones cannot reach it
_SIGNS_MIN = 12
# Letters alone count where their case goes up and down too often for words: `camelCaseNames` have more than three
# letters to a hump, chance has about two. Long names are of long words.
_LETTERS_MIN, _HUMP_MAX, _LONG_LETTERS, _LONG_HUMP_MAX = 8, 3, 20, 4
_COUNT_BITS = (0.0, *(count * math.log2(count) for count in range(1, LOOK + 1)))


def entropy(value: bytes) -> float:
    """Shannon's, in bits per character, of the first `LOOK` bytes."""
    value = value[:LOOK]
    # The logarithms of all possible counts are computed beforehand: this runs for every candidate.
    return math.log2(len(value)) - sum(
        map(_COUNT_BITS.__getitem__, map(value.count, set(value)))
    ) / len(value)


def is_stand_in(value: bytes) -> bool:
    """A reference to a secret, or a word that says one goes here."""
    value = value[:LOOK]
    if len(set(value)) <= 2 or _REFERENCE.match(value) or _TEMPLATE_PART.search(value):
        return True
    words = {
        word.strip(b"0123456789!")
        for word in _SLUG_SPLIT.split(value.strip(b"<>[](){}*$%\"'").lower())
    }
    words.discard(b"")
    return words <= _STAND_INS or not words.isdisjoint(_TELLING)


def is_password(value: bytes, *, quoted: bool, sure: bool) -> bool:
    """After a name like `password`. `sure`: the form leaves no doubt (`DB_PASSWORD=`), so words count too."""
    value = value[:LOOK]
    if len(value) < _MIN_PASSWORD or is_stand_in(value):
        return False
    if not quoted and (_CALL.match(value) or _MEMBER.fullmatch(value)):
        return False
    if sure:
        return not (value.startswith(b"/") and _is_slug(value))
    is_name = _IDENTIFIER.fullmatch(value) and not _is_scrambled(value)
    return (
        not is_name
        and not _SPACE.search(value)
        and (quoted or bool(_LETTER.search(value)) or len(value) >= 6)
    )


def is_token(value: bytes, *, quoted: bool) -> bool:
    """After a name like `api_key` or `token`: must look drawn at random."""
    value = value[:LOOK]
    if len(value) < MIN_TOKEN or _SPACE.search(value) or _NUMBER.fullmatch(value):
        return False
    if not quoted:
        longest = max(value.split(b"."), key=len)  # `module.name`, but not a token that has a dot
        is_short = len(longest) < _MEMBER_MAX or len(_DIGIT.findall(longest)) < _MEMBER_DIGITS
        if _CALL.match(value) or (is_short and _MEMBER.fullmatch(value)):
            return False
    has_signs = (
        quoted
        and len(value) >= _SIGNS_MIN
        and _SYMBOL.search(value)
        and not _IDENTIFIER.fullmatch(value)
    )
    if len(set(value)) >= _TOKEN_BYTES and (has_signs or _DIGIT.search(value)):
        is_mixed = entropy(value) >= _TOKEN_ENTROPY
    else:
        is_mixed = _is_scrambled(value)
    return is_mixed and not _is_worded(value) and not is_stand_in(value)


def is_chosen(value: bytes, *, clear: bool) -> bool:
    """Beside a word like `password`, in a sentence. `clear`: something says that a value follows (`is`, `:`)."""
    value = value[:LOOK]
    if (
        len(value) < _MIN_CHOSEN
        or _PATH.match(value)
        or not is_password(value, quoted=False, sure=False)
    ):
        return False
    worded = _is_worded(value) or (value.islower() and _is_name(value))
    return bool(_LETTER.search(value)) and (clear or not worded)


def is_beyond_hex(value: bytes) -> bool:
    """Random even without its runs of hex and its digits: no checksum, no id, no camel case."""
    value = _HEX_RUN.sub(b"", value[:LOOK])
    return bool(_DIGIT.search(value)) and not _is_name(value) and is_token(value, quoted=True)


def _is_worded(value: bytes) -> bool:
    return _is_slug(value) and not _is_scrambled(max(_SLUG_SPLIT.split(value), key=len))


def _is_name(value: bytes) -> bool:
    """Words run together, with a digit or two in between: `argon2id`, `Utf8ToUtf16`."""
    letters = _DIGIT.sub(b"", value)
    return (
        letters.isalpha()
        and len(value) - len(letters) <= _NAME_DIGITS
        and not _is_scrambled(letters)
    )


def _is_scrambled(value: bytes) -> bool:
    value = value.rstrip(b"0123456789")
    if not value.isalpha() or len(value) < _LETTERS_MIN:
        return False
    hump = _HUMP_MAX if len(value) < _LONG_LETTERS else _LONG_HUMP_MAX
    return len(value) <= hump * len(_HUMP.findall(value)) or bool(_UNSPOKEN.search(value))


def is_words(value: bytes) -> bool:
    return not _DIGIT.search(value) or _is_slug(value)


def _is_slug(value: bytes) -> bool:
    """Words and small numbers joined up: `next-page-2`, `v1.2.3`, `config/prod/db1`."""
    pieces = _SLUG_SPLIT.split(value)
    odd = [piece for piece in pieces if not _SLUG_PIECE.fullmatch(piece)]
    return not odd or (len(pieces) > 1 and all(map(_NAME_PIECE.fullmatch, odd)))

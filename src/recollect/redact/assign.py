r"""Names that are given a secret: `password=`, `"api_key": "..."`, `--token ...`, `<secret>...</secret>`.

RE2 finds the name and its sign; the value is then read by itself, first a short window of it, so that
a text made of nothing but names costs no more than its length. judge.py says whether the value is a
secret: its entropy counts here only, in the context of an assignment.

Does not know what any provider's tokens look like (patterns.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from recollect.redact.docket import Docket
from recollect.redact.judge import LOOK, MIN_PASSWORD, MIN_TOKEN, is_password, is_token, is_words
from recollect.redact.names import (
    FLAG_KEYWORDS,
    PASSWORD_KEYWORDS,
    PASSWORD_WORD,
    SERVICE,
    SERVICE_KEYWORDS,
    TOKEN_KEYWORDS,
    TOKEN_WORD,
    VERB,
    speaks_about,
)
from recollect.redact.pattern import compiled, spans_only

# A word's beginning: also behind an escape, whose last byte is a letter.
_BEGIN = r"(?:^|[^A-Za-z]|\\[nrt])"
_PASSWORD = PASSWORD_WORD + rf"|{_BEGIN}pass|(?-i:[a-z0-9]Pass)"
_TOKEN = TOKEN_WORD + rf"|{_BEGIN}auth"
_MIN_SERVICE_KEY = 15
# How a name goes on after the word that gave it away.
_REST = r"([A-Za-z0-9_.-]{0,30})"
_TYPE = r"(?:&?(?:'static )?str|string|String\??|bytes|Text|SecretStr|[Aa]ny|Optional\[str\]|Final(?:\[str\])?)"
_OR_NONE = r"(?:[ \t]*\|[ \t]*(?:None|null|undefined))?"
# The sign between name and value.
_SIGN = (
    r"(\\{0,7}[\"'\x60]?\]?(?:\[[0-9]*\])?[ \t]{0,8}"
    rf"(?::[ \t]*{_TYPE}{_OR_NONE}[ \t]*=|string[ \t]*=|[.+?:|&/]{{0,3}}={{1,3}}>?|:|-?>|[ \t](?:{VERB}):?[ \t])"
    r"[ \t]{0,8})"
)
# These mean something only before a quote: `#define KEY "…"`, `header("X-Api-Key", "…")`, `env.KEY || "…"`, and a
# line that ends in `= (`.
_WEAK_SIGN = (
    r"((?:\\{0,7}[\"'\x60][ \t]?,|\(|[ \t]|[ \t]?(?:\|\||\?\?)|[ \t]?[:=][ \t]{0,4}[(\\]?[ \t]{0,4}\r?\n)[ \t]{0,24})"
    r"[\"'\x60\\]"
)
_FLAG = r"[ \t\"']--?(?:[A-Za-z0-9]+-){0,3}"
# Where a value begins. What is redacted already begins none, so a second reading finds no name that is done with.
_FIRST = r"[^\s\xff]"

# Possessive, so that a long value costs no stack. What is redacted already (0xFF) ends every value.
_OPEN = re.compile(rb"(?:[bBrRuUfF@$NE]{1,2})?(\\{0,7})(\"\"\"|'''|[\"'`])")
_OPENING = b"bBrRuUfF@$NE\\\"'`"
_BODY = {
    b'"': re.compile(rb"(?:[^\"\\\n\xff]|\\[^\n\xff])*+"),
    b"'": re.compile(rb"(?:[^'\\\n\xff]|\\[^\n\xff])*+"),
    b"`": re.compile(rb"(?:[^`\\\n\xff]|\\[^\n\xff])*+"),
}
# Inside a quoted text the quotes are escaped, and so is what ends the value.
_ESCAPED_BODY = re.compile(rb"(?:[^\"'`\\\n\xff]|\\{1,8}u[0-9A-Fa-f]{4})*+")
_BARE = re.compile(rb"[^\s\"'`;&|<>\xff]*+")
# A bare value in an escaped text ends where the line does.
_ESCAPED_BREAK = re.compile(rb"\\[nrt\"']")
# What may be cut off the end of a window besides its last byte: an opening, a loose end.
_MARGIN = 16
_LOOSE_END = b",.:)]}\\"


class Value(NamedTuple):
    start: int
    end: int
    quoted: bool
    text: bytes


class Name(NamedTuple):
    word: bytes  # what gave it away
    rest: bytes  # how it goes on
    sign: bytes  # empty where the sign is weak


@dataclass(frozen=True, slots=True)
class Assignment:
    """One family of names. The groups of `regex`: the word, the rest, the sign. It ends in the value's first byte."""

    kind: str
    keywords: tuple[str, ...]
    regex: str
    judge: Callable[[Name, Value], bool]
    # A shorter value is none, and is not even judged.
    min_bytes: int = MIN_TOKEN


def _holds_password(name: Name, value: Value) -> bool:
    if not name.sign and not name.rest and name.word.lower().endswith(b"pass"):
        return False  # the verb: pass "x"
    # No spaces and capitals: the form of environment files, where whatever follows is the value.
    sure = name.sign == b"=" and (name.word + name.rest).isupper()
    return is_password(value.text, quoted=value.quoted, sure=sure)


def _holds_token(name: Name, value: Value) -> bool:
    return is_token(value.text, quoted=value.quoted)


ASSIGNMENTS: tuple[Assignment, ...] = (
    Assignment(
        "password",
        PASSWORD_KEYWORDS,
        rf"(?i)({_PASSWORD}){_REST}(?:{_SIGN}{_FIRST}|{_WEAK_SIGN})",
        _holds_password,
        MIN_PASSWORD,
    ),
    Assignment(
        "password",
        tuple(f"-{keyword}" for keyword in PASSWORD_KEYWORDS),
        rf"(?i){_FLAG}({PASSWORD_WORD}|pass){_REST}([ \t]+){_FIRST}",
        _holds_password,
        MIN_PASSWORD,
    ),
    Assignment(
        "password", ("identified",), rf"(?i)(identified)()([ \t]by[ \t]){_FIRST}", _holds_password, MIN_PASSWORD
    ),
    Assignment("secret", TOKEN_KEYWORDS, rf"(?i)({_TOKEN}){_REST}(?:{_SIGN}{_FIRST}|{_WEAK_SIGN})", _holds_token),
    Assignment("secret", FLAG_KEYWORDS, rf"(?i){_FLAG}({TOKEN_WORD}|auth){_REST}([ \t]+){_FIRST}", _holds_token),
    # GH_PAT, azure-pat: three letters that are too often the beginning of another name to stand in the row above.
    Assignment(
        "secret",
        tuple(f"{join}pat{end}" for join in "_-" for end in " =:\"'|]>"),
        rf"(?i)([_-]pat)(){_SIGN}{_FIRST}",
        _holds_token,
    ),
    Assignment(
        "secret",
        SERVICE_KEYWORDS,
        rf"(?i)({SERVICE}){_REST}(?:{_SIGN}{_FIRST}|{_WEAK_SIGN}|[ \t]{{0,8}}[,|][ \t]{{0,8}}{_FIRST})",
        _holds_token,
        _MIN_SERVICE_KEY,
    ),
)


class _Verdict(Enum):
    SECRET = auto()
    OTHER = auto()
    WORDS = auto()  # names within it are words too; to read each again would be slow


def assigned(assignment: Assignment, text: bytes, docket: Docket) -> Iterator[tuple[int, int]]:
    """Where the secrets are that names of this family are given: in order, never overlapping."""
    done = 0
    verdicts = docket.of(assignment.regex)
    # Names come back over and over, and to take one apart costs more than to judge its value.
    names: dict[bytes, Name | None] = {}
    for match in spans_only(assignment.regex).finditer(text):
        start, end = match.span()
        if start < done:
            continue
        at = end - 1
        value = _value_at(text, at, LOOK)
        if len(value.text) < assignment.min_bytes:
            continue
        head = text[start:at]
        case = (head, value.text, value.quoted)  # what a verdict depends on
        verdict = verdicts.get(case)
        if verdict is None:
            if head not in names:
                names[head] = _name_in(assignment, text[start:end])
            verdict = verdicts[case] = _judged(assignment, names[head], value)
        if verdict is not _Verdict.SECRET:
            done = value.end if verdict is _Verdict.WORDS else done
            continue
        if value.end >= at + LOOK - _MARGIN:
            value = _value_at(text, at, len(text))
        done = value.end
        yield value.start, value.end


def _judged(assignment: Assignment, name: Name | None, value: Value) -> _Verdict:
    if name is not None and assignment.judge(name, value):
        return _Verdict.SECRET
    return _Verdict.OTHER if value.quoted or not is_words(value.text) else _Verdict.WORDS


def _name_in(assignment: Assignment, match: bytes) -> Name | None:
    word, rest, sign = compiled(assignment.regex).fullmatch(match).group(1, 2, 3)
    return None if speaks_about(word, rest) else Name(word, rest, sign or b"")


def _value_at(text: bytes, start: int, max_bytes: int) -> Value:
    """The value that begins here, or as much of it as `max_bytes` hold."""
    stop = start + max_bytes
    opening = _OPEN.match(text, start, stop) if text[start] in _OPENING else None
    if opening:
        escaped, quote = opening.groups()
        body = (_ESCAPED_BODY if escaped else _BODY[quote[:1]]).match(text, opening.end(), stop)
        return Value(opening.end(), body.end(), True, body[0]) if body else Value(start, start, True, b"")
    bare = _BARE.match(text, start, stop)
    value = bare[0].rstrip(_LOOSE_END) if bare else b""
    if b"\\" in value:
        value = _ESCAPED_BREAK.split(value, maxsplit=1)[0].rstrip(_LOOSE_END)
    return Value(start, start + len(value), False, value)

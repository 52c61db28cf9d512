r"""Secrets that a sentence names, or a line above: `the datadog key is …`, `use … as the token`, `datadog:⏎  key: …`.

Unlike in assign.py the name may be a plain word (`key`) and the sign a weak one (a space, a comma, a bracket), so only
what looks drawn at random counts. After a plain word a checksum does not, unless a service is named nearby whose keys
look like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from recollect.redact.docket import Docket
from recollect.redact.judge import LOOK, MIN_TOKEN, is_beyond_hex, is_chosen, is_token
from recollect.redact.names import PASSWORD_KEYWORDS, PASSWORD_WORD, SERVICE, TOKEN_WORD, VERB, speaks_about, utf8
from recollect.redact.pattern import compiled, spans_only

_TOKEN = rf"{TOKEN_WORD}|creds|[_-]pat|" + utf8("jeton|トークン|令牌")
_KEY = r"key|api|auth|access|clave|llave|chave|chiave|" + utf8("schlüssel|clé|キー|密钥|密鑰|金鑰")
_KEYWORDS = (
    tuple(
        """
    key token secret api cred auth access bearer -pat _pat
    jeton clave llave chave chiave schlüssel clé トークン 令牌 キー 密钥 密鑰 金鑰
    """.split()
    )
    + PASSWORD_KEYWORDS
)
_REST = r"(?P<rest>s?(?:[_.-][A-Za-z0-9]{1,15}){0,2})"
_QUOTE = r"[\"'\x60\\]{0,4}"
_TYPED = r"(?::[ \t]?[A-Za-z. |\[\]]{1,30})?"
_MARK = utf8("→|\N{FULLWIDTH COLON}|は|是|为")
# What says that a value follows. It may be on the next line.
_CLEAR = (
    rf"[ \t]{{0,8}}(?:{_TYPED}[.+?:|&/]{{0,3}}={{1,3}}>?|:{{1,3}}|-?>|{_MARK})[ \t]{{0,8}}"
    r"(?:(?:[|>][-+]?|\(|\\)?[ \t]{0,4}\r?\n[ \t]{1,20})?"
    rf"|,?[ \t]{{1,4}}(?:{VERB}|it's|to|auf)[ \t:]{{1,3}}"
)
_WEAK = r"[ \t]{0,8}(?:,|\|{1,2}|\()[ \t]{0,8}|[ \t]{1,4}"
# Between the name and a clear sign there may be a few words: the key for the staging account is …
_WORDS = r"(?:[ \t]{1,2}[^\s=:,()\[\]<>\xff]{1,30}){0,5}?"
_SIGN = rf"{_QUOTE}\]?(?:{_WORDS}(?P<clear>{_CLEAR})|{_WEAK}){_QUOTE}"
_BYTES = r"!#$%&*+./:=?@A-Z^_a-z|~-"
_VALUE = rf"(?P<value>[{_BYTES}]{{0,40}}[0-9][0-9{_BYTES}]*)"
_BEFORE = r"(?:^|[\s\"'\x60(])"
_AS = (
    rf"{_QUOTE}[ \t]+(?:as|als|comme|como|come|is|ist|est|es)[ \t]+"
    r"(?:[^\s\xff]{1,20}[ \t]+){0,4}?[^\s\xff]{0,20}?"
)

_MIN_RANDOM = 15
_RANDOM = re.compile(rb"[A-Za-z0-9][A-Za-z0-9+/_=.~-]+")
_LOOSE_END = b",.:)]}\\"
_QUOTES = (b'"', b"'", b"`")
_CALLS = (b"(", b"[", b"{")
_NEAR_BYTES = 120
_AFTER_BYTES = 40
_BEFORE_BYTES = 14
# Keys that everyone may know.
_OPEN_KEY = re.compile(
    rb"(?i)(?:public|pub|primary|foreign|cache|sort|partition|object|row|natural|unique|hash|index|lookup|map|idempotency)"
    rb"[ _.-]?$"
)
# What stands between a name and what says something about the secret, but is none.
_ABOUT_IT = re.compile(rb"(?i)fingerprint|sha\d|md5|hash|checksum|digest|public")


@dataclass(frozen=True, slots=True)
class Mention:
    """The groups of `regex`: `value`; `word`, where the name was one of a password, and `key`, where it was a plain
    word; `rest`, how the name goes on; `clear`, the sign where it says that a value follows."""

    kind: str
    keywords: tuple[str, ...]
    regex: str


_NAME = rf"(?:(?P<word>{PASSWORD_WORD})|{_TOKEN}|(?P<key>{_KEY}))"
MENTIONS: tuple[Mention, ...] = (
    Mention("secret", _KEYWORDS, rf"(?i){_NAME}{_REST}{_SIGN}{_VALUE}"),
    Mention("secret", _KEYWORDS, rf"(?i){_BEFORE}{_VALUE}{_AS}{_NAME}(?P<rest>)(?P<clear>)"),
)
_GROUPS = (b"value", b"word", b"key", b"rest", b"clear")


class _Verdict(Enum):
    SECRET = auto()
    BESIDE_SERVICE = auto()  # a secret if a service is named nearby
    NONE = auto()


def mentioned(mention: Mention, text: bytes, docket: Docket) -> Iterator[tuple[int, int]]:
    """Where the secrets are that this row's words speak of: in order, never overlapping."""
    verdicts = docket.of(mention.regex)
    pattern = compiled(mention.regex)
    value_at, *others_at = (pattern.groupindex[name] for name in _GROUPS)
    for match in pattern.finditer(text):
        start, end = match.span(value_at)
        value = text[start : min(end, start + LOOK)].rstrip(_LOOSE_END)
        word, key, rest, clear = match.group(*others_at)
        if len(value) < (MIN_TOKEN if word else _MIN_RANDOM):
            continue
        quoted = text[start - 1 : start] in _QUOTES
        case = (value, quoted, word is None, key is None, rest, not clear)  # what a verdict depends on
        verdict = verdicts.get(case)
        if verdict is None:
            verdict = verdicts[case] = _judged(value, quoted, word, key, rest, clear)
        if verdict is _Verdict.NONE or (not quoted and text[end : end + 1] in _CALLS):
            continue
        if _is_about(text, match.start(), start, plain=key is not None) or (
            verdict is _Verdict.BESIDE_SERVICE and not _names_service(text, *match.span())
        ):
            continue
        yield start, (start + len(value) if end - start <= LOOK else end)


def _judged(
    value: bytes, quoted: bool, word: bytes | None, key: bytes | None, rest: bytes, clear: bytes | None
) -> _Verdict:
    if speaks_about(b"key", rest) or (word and rest and not clear):
        return _Verdict.NONE
    if word:
        return _Verdict.SECRET if is_chosen(value, clear=bool(clear)) else _Verdict.NONE
    if not (_RANDOM.fullmatch(value) and is_token(value, quoted=quoted)):
        return _Verdict.NONE
    return _Verdict.BESIDE_SERVICE if key and not is_beyond_hex(value) else _Verdict.SECRET


def _is_about(text: bytes, name: int, value: int, *, plain: bool) -> bool:
    """It is a fingerprint, or a key that everyone may know."""
    open_key = plain and _OPEN_KEY.search(text, max(0, name - _BEFORE_BYTES), name)
    return bool(open_key or _ABOUT_IT.search(text, name, value))


def _names_service(text: bytes, start: int, end: int) -> bool:
    near = text[max(0, start - _NEAR_BYTES) : end + _AFTER_BYTES]
    return spans_only(rf"(?i){SERVICE}").search(near) is not None

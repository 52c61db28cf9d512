r"""Secrets that a name gives away: `password=…`, `--token …`, `the datadog key is …`, a column headed `api_key`. RE2
finds the name and its sign; the value is then read by itself, a short window of it first, so that a text made of
nothing but names costs no more than its length. secret_table.py says whether the value is a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from recollect.redact import secret_table as table
from recollect.redact.secret_table import (
    FRAGMENTS,
    LOOK,
    WORDS,
    Known,
    Row,
    Verdicts,
    compiled,
    spans_only,
)

_LOOSE_END = b",.:)]}\\"
_QUOTES = (b'"', b"'", b"`")

_ABOUT = frozenset(word.encode() for word in WORDS["about"])
# What may follow the word without a sign between them: `passkey`, `_passphrase` (of which `_pass` was found first).
_PLURALS = frozenset(
    (b"s", b"key", b"keys", b"value", b"text", b"word", b"phrase", b"wd", b"wort", b"code", b"d")
)
_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|\d+")


def is_about(word: bytes, rest: bytes) -> bool:
    """The name is another one (`tokenizer`) or names a property of the secret (`token_count`)."""
    words = [word.lower() for word in _WORDS.findall(rest)]
    if not words:
        return False
    glued = rest[:1].isalpha() and rest[:1].isupper() == word[-1:].isupper()
    return (glued and words[0] not in _PLURALS) or words[-1] in _ABOUT


# Assignments. The groups of a row's pattern: the word that gave the name away, how the name goes on, the sign (none
# where it is weak). The pattern ends in the first byte of the value.

# Possessive, so that a long value costs no stack. What is redacted already (0xFF) ends every value.
_OPEN = re.compile(rb"(?:[bBrRuUfF@$NE]{1,2})?(\\{0,7})(\"\"\"|'''|[\"'`])")
_OPENING = b"bBrRuUfF@$NE\\\"'`"
_BODY = {quote: re.compile(rb"(?:[^%b\\\n\xff]|\\[^\n\xff])*+" % quote) for quote in _QUOTES}
# Inside a quoted text the quotes are escaped, and so is what ends the value.
_ESCAPED_BODY = re.compile(rb"(?:[^\"'`\\\n\xff]|\\{1,8}u[0-9A-Fa-f]{4})*+")
_BARE = re.compile(rb"[^\s\"'`;&|<>\xff]*+")
# A bare value in an escaped text ends where the line does.
_ESCAPED_BREAK = re.compile(rb"\\[nrt\"']")
# What may be cut off the end of a window besides its last byte: an opening, a loose end.
_MARGIN = 16


class _Value(NamedTuple):
    start: int
    end: int
    quoted: bool
    text: bytes
    in_call: bool = False  # Some("..."), String::from("..."): names and messages stand there, too


class _Verdict(Enum):
    SECRET = auto()
    OTHER = auto()
    WORDS = auto()  # names within it are words too; to read each again would be slow
    BESIDE_SERVICE = auto()  # a secret if a service is named nearby


def find_assigned(
    row: Row, text: bytes, verdicts: Verdicts, _known: Known
) -> Iterator[tuple[int, int]]:
    """Where the secrets are that names of this row are given: in order, never overlapping."""
    done = 0
    # Names come back over and over, and to take one apart costs more than to judge its value.
    names: dict[bytes, tuple[bytes, bytes, bytes | None]] = {}
    for match in spans_only(row.regex).finditer(text):
        start, end = match.span()
        at = end - 1
        value = _value_at(text, at, LOOK) if start >= done else None
        if value is None or len(value.text) < row.min_bytes:
            continue
        head = text[start:at]
        case = (
            row.regex,
            head,
            value.text,
            value.quoted,
            value.in_call,
        )  # what a verdict depends on
        verdict = verdicts.get(case)
        if verdict is None:
            if head not in names:
                names[head] = compiled(row.regex).fullmatch(text[start:end]).group(1, 2, 3)
            verdict = verdicts[case] = _judge_assigned(row, *names[head], value)
        if verdict is not _Verdict.SECRET:
            done = value.end if verdict is _Verdict.WORDS else done
            continue
        if value.end >= at + LOOK - _MARGIN:
            value = _value_at(text, at, len(text))
        done = value.end
        yield value.start, value.end


def _judge_assigned(
    row: Row, word: bytes, rest: bytes, sign: bytes | None, value: _Value
) -> _Verdict:
    is_verb = not sign and not rest and word.lower().endswith(b"pass")  # pass "x"
    # No spaces and capitals: the form of environment files, where whatever follows is the value.
    sure = sign == b"=" and (word + rest).isupper()
    if row.password and not value.in_call:
        is_secret = table.is_password(value.text, quoted=value.quoted, sure=sure) and not is_verb
    else:
        is_secret = table.is_token(value.text, quoted=value.quoted)
    if is_secret and not is_about(word, rest):
        return _Verdict.SECRET
    return _Verdict.OTHER if value.quoted or not table.is_words(value.text) else _Verdict.WORDS


def _value_at(text: bytes, start: int, max_bytes: int) -> _Value:
    """The value that begins here, or as much of it as `max_bytes` hold."""
    stop = start + max_bytes
    opening = _OPEN.match(text, start, stop) if text[start] in _OPENING else None
    if opening:
        escaped, quote = opening.groups()
        body = (_ESCAPED_BODY if escaped else _BODY[quote[:1]]).match(text, opening.end(), stop)
        return (
            _Value(opening.end(), body.end(), True, body[0])
            if body
            else _Value(start, start, True, b"")
        )
    bare = _BARE.match(text, start, stop)
    value = bare[0].rstrip(_LOOSE_END) if bare else b""
    argument_at = start + len(value)
    if value.endswith(b"(") and _OPEN.match(text, argument_at, stop):
        return _value_at(text, argument_at, stop - argument_at)._replace(in_call=True)
    if b"\\" in value:
        value = _ESCAPED_BREAK.split(value, maxsplit=1)[0].rstrip(_LOOSE_END)
    return _Value(start, start + len(value), False, value)


# Mentions in a sentence, or with the name in the line above. The name may be a plain word (`key`) and the sign a weak
# one (a space, a comma, a bracket), so only what looks random counts. After a plain word a checksum does not, unless a
# service is named nearby whose keys look like one. The groups of a row's pattern: `value`; `word`, if the name is that
# of a password, and `key`, if it is a plain word; `rest`, how the name goes on; `clear`, the sign if it says that a
# value follows.

_RANDOM = re.compile(rb"[A-Za-z0-9][A-Za-z0-9+/_=.~-]+")
_NEAR_BYTES, _AFTER_BYTES, _BEFORE_BYTES = 120, 40, 14
# Keys that everyone may know.
_OPEN_KEY = re.compile(
    rb"(?i)(?:public|pub|primary|foreign|cache|sort|partition|object|row|natural|unique|hash|index|lookup|map|idempotency)"
    rb"[ _.-]?$"
)
# Between a name and something that describes the secret, but is none.
_DESCRIBES = re.compile(rb"(?i)fingerprint|sha\d|md5|hash|checksum|digest|public")


def find_mentioned(
    row: Row, text: bytes, verdicts: Verdicts, known: Known
) -> Iterator[tuple[int, int]]:
    """Where the secrets are that this row's words speak of, but for those that are known: in order, never overlapping.
    Nearly every assignment (`password=…`) is also a mention, and to judge it again costs more than to find it."""
    pattern = compiled(row.regex)
    value_at, *others_at = map(
        pattern.groupindex.get, (b"value", b"word", b"key", b"rest", b"clear")
    )
    for match in pattern.finditer(text):
        start, end = match.span(value_at)
        if end <= known.get(start, 0):
            continue
        value = text[start : min(end, start + LOOK)].rstrip(_LOOSE_END)
        word, key, rest, clear = match.group(*others_at)
        if len(value) < (table.MIN_TOKEN if word else 15):
            continue
        quoted = text[start - 1 : start] in _QUOTES
        case = (
            row.regex,
            value,
            quoted,
            word is None,
            key is None,
            rest,
            not clear,
        )  # what a verdict depends on
        verdict = verdicts.get(case)
        if verdict is None:
            verdict = verdicts[case] = _judge_mentioned(value, quoted, word, key, rest, clear)
        if verdict is _Verdict.OTHER or (not quoted and text[end : end + 1] in (b"(", b"[", b"{")):
            continue
        name_at = match.start()
        is_open = key is not None and _OPEN_KEY.search(
            text, max(0, name_at - _BEFORE_BYTES), name_at
        )
        if is_open or _DESCRIBES.search(text, name_at, start):
            continue
        if verdict is _Verdict.BESIDE_SERVICE:
            near = text[max(0, name_at - _NEAR_BYTES) : match.end() + _AFTER_BYTES]
            if spans_only(f"(?i){FRAGMENTS['SERVICE']}").search(near) is None:
                continue
        yield start, (start + len(value) if end - start <= LOOK else end)


def _judge_mentioned(
    value: bytes,
    quoted: bool,
    word: bytes | None,
    key: bytes | None,
    rest: bytes,
    clear: bytes | None,
) -> _Verdict:
    if is_about(b"key", rest) or (word and rest and not clear):
        return _Verdict.OTHER
    if word:
        return _Verdict.SECRET if table.is_chosen(value, clear=bool(clear)) else _Verdict.OTHER
    if not (_RANDOM.fullmatch(value) and table.is_token(value, quoted=quoted)):
        return _Verdict.OTHER
    return _Verdict.BESIDE_SERVICE if key and not table.is_beyond_hex(value) else _Verdict.SECRET


# Columns: CSV, tabs, Markdown, what databases print. A head is a line of plain words between separators, one of them
# the name of a secret; its rows are the lines below it with as many cells. Tables that are aligned by spaces alone are
# not read. A row's pattern finds something like the name at the end of a cell; whether its line is a head is checked
# afterwards.

_CELL = re.compile(rb"[\w \"'`*@.-]{0,40}\r?")
# What was printed before the head stands in its first cell.
_FIRST_CELL = re.compile(rb"[^(]{0,80}")
# Each choice begins with a certain byte, so that `re` skips quickly to the next place where one may begin.
_BREAK = re.compile(rb"\n|\r\n|\\\\{0,3}(?:r\\{1,4})?n")
_SEPARATORS = (b",", b";", b"\t", b"|")
_SEPARATOR = re.compile(rb"[,;\t|]")
_MAX_HEAD_BYTES = 1_000
_RULER = b"-+|:= \t\r"
_AROUND = b" \t\r\"'`*\\"
_CODE = frozenset(b"(){}[]<>\\\"'`")


def find_in_columns(
    row: Row, text: bytes, verdicts: Verdicts, _known: Known
) -> Iterator[tuple[int, int]]:
    """Where the secrets are in columns headed by such a name: in order, never overlapping."""
    pattern = spans_only(row.regex)
    done = 0  # the line of a name is looked at once, however many it holds
    words: dict[bytes, bytes] = {}  # heads come back, and to read one costs more than all else here
    while match := pattern.search(text, done):
        at = match.end() - 1
        # In a quoted text the end of a line is escaped.
        start = max(done, text.rfind(b"\n", done, at) + 1)
        escaped = text.rfind(b"\\n", start, at)
        start = start if escaped < 0 else escaped + len(b"\\n")
        end, done = _line_end(text, at)
        if end - start > _MAX_HEAD_BYTES or not _SEPARATOR.search(text, start, end):
            continue  # nearly every line that names a secret is no head of a table
        head = text[start:end]
        below = text[done : _line_end(text, done)[0]]
        separator, cells = _cells_of(head, below)
        if not cells or not _may_be_row(below.split(separator), cells):
            continue
        columns = {}
        for number, cell in enumerate(cells):
            name = cell.strip(_AROUND)
            if name not in words:
                words[name] = _word_in(row, name)
            if words[name]:
                columns[number] = words[name]
        while columns and done < len(text):
            end, after = _line_end(text, done)
            line = text[done:end].split(separator)
            if not _may_be_row(line, cells):
                break
            for column, word in columns.items() if len(line) == len(cells) else ():
                cell = line[column].strip(_AROUND)
                if (row.regex, word, cell) not in verdicts:
                    verdicts[row.regex, word, cell] = _is_secret_cell(word, cell)
                if verdicts[row.regex, word, cell]:
                    cell_at = (
                        done
                        + sum(len(other) + 1 for other in line[:column])
                        + line[column].index(cell)
                    )
                    yield cell_at, cell_at + len(cell)
            done = after


def _cells_of(head: bytes, below: bytes) -> tuple[bytes, list[bytes]]:
    """What divides the head and the line below it alike, or most of the head; and its cells, none if it is no head."""
    counts = {
        one: (count == below.count(one), count) for one in _SEPARATORS if (count := head.count(one))
    }
    separator = max(counts, key=counts.__getitem__)
    cells = head.split(separator)
    is_head = (
        sum(map(bool, map(bytes.strip, cells))) >= 2
        and _FIRST_CELL.fullmatch(cells[0])
        and all(map(_CELL.fullmatch, cells[1:]))
    )
    return separator, cells if is_head else []


def _may_be_row(line: list[bytes], cells: list[bytes]) -> bool:
    """With as many cells as the head, or a ruler or an empty line, after which rows go on."""
    return len(line) == len(cells) or not line[0].strip(_RULER)


def _line_end(text: bytes, start: int) -> tuple[int, int]:
    found = _BREAK.search(text, start)
    return found.span() if found else (len(text), len(text))


def _word_in(row: Row, cell: bytes) -> bytes:
    name = compiled(row.head).fullmatch(cell)
    return b"" if name is None or is_about(name[1], name[2]) else name[1]


def _is_secret_cell(word: bytes, cell: bytes) -> bool:
    if not _CODE.isdisjoint(cell):
        return False
    if compiled(f"(?i){FRAGMENTS['PASSWORD_WORD']}|pass").fullmatch(word):
        return table.is_password(cell, quoted=True, sure=False)
    return table.is_token(cell, quoted=True) and (
        word.lower() != b"key" or table.is_beyond_hex(cell)
    )

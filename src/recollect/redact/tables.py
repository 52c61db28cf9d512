"""Secrets in a column whose head names them: CSV, tabs, Markdown, what databases print.

A head is a line of plain words between separators, one of them the name of a secret; its rows are the lines below it
with as many cells. Does not read tables that are aligned by spaces alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recollect.redact.docket import Docket
from recollect.redact.judge import is_beyond_hex, is_password, is_token
from recollect.redact.names import PASSWORD_KEYWORDS, PASSWORD_WORD, TOKEN_KEYWORDS, TOKEN_WORD, speaks_about, utf8
from recollect.redact.pattern import compiled, spans_only

_CELL = re.compile(rb"[\w \"'`*@.-]{0,40}\r?")
# What was printed before the head stands in its first cell.
_FIRST_CELL = re.compile(rb"[^(]{0,80}")
_MAX_HEAD = 1_000
_REST = r"([A-Za-z0-9_.-]{0,20})"
# In a quoted text the end of a line is escaped.
_BREAK = re.compile(rb"\r?\n|(?:\\{1,4}r)?\\{1,4}n")
_SEPARATORS = (b",", b";", b"\t", b"|")
_AROUND = b" \t\r\"'`*\\"
_RULE = b"-+|:= \t\r"
_CODE = frozenset(b"(){}[]<>\\\"'`")


@dataclass(frozen=True, slots=True)
class Table:
    """The groups of `name`, which a cell of the head must match: the word, and how the name goes on."""

    kind: str
    keywords: tuple[str, ...]
    name: str

    @property
    def regex(self) -> str:
        """Something like the name at the end of a cell: whether its line is a head is looked at afterwards."""
        return rf"(?i)(?:{utf8('|'.join(self.keywords))})[\w.-]{{0,20}}[ \"'\x60*]{{0,20}}[,;\t|\r\n\\]"


TABLES: tuple[Table, ...] = (
    Table("secret", (*PASSWORD_KEYWORDS, *TOKEN_KEYWORDS), rf"({PASSWORD_WORD}|pass|{TOKEN_WORD}|key){_REST}"),
)


def _is_secret(word: bytes, cell: bytes) -> bool:
    if not _CODE.isdisjoint(cell):
        return False
    if compiled(rf"(?i){PASSWORD_WORD}|pass").fullmatch(word):
        return is_password(cell, quoted=True, sure=False)
    return is_token(cell, quoted=True) and (word.lower() != b"key" or is_beyond_hex(cell))


def tabled(table: Table, text: bytes, docket: Docket) -> Iterator[tuple[int, int]]:
    """Where the secrets are in the columns that this family of names heads: in order, never overlapping."""
    verdicts = docket.of(table.regex)
    done = 0
    for match in spans_only(table.regex).finditer(text):
        at = match.end() - 1
        if at < done:
            continue
        start = max(done, text.rfind(b"\n", done, at) + 1)
        escaped = text.rfind(b"\\n", start, at)
        start = start if escaped < 0 else escaped + len(b"\\n")
        end, done = _line_end(text, at)
        head = text[start:end] if end - start <= _MAX_HEAD else b""
        separator = _separator(head, text[done : _line_end(text, done)[0]])
        cells = head.split(separator)
        if not (_FIRST_CELL.fullmatch(cells[0]) and all(map(_CELL.fullmatch, cells[1:]))):
            continue
        if sum(map(bool, map(bytes.strip, cells))) < 2:
            continue
        columns = {number: word for number, cell in enumerate(cells) if (word := _word_in(table, cell.strip(_AROUND)))}
        while columns and done < len(text):
            end, after = _line_end(text, done)
            row = text[done:end].split(separator)
            if len(row) == len(cells):
                yield from _secrets_in(row, columns, done, verdicts)
            elif row[0].strip(_RULE):
                break
            done = after


def _separator(head: bytes, below: bytes) -> bytes:
    """What divides the head and the line below it alike, or most of the head."""
    counts = {separator: head.count(separator) for separator in _SEPARATORS}
    return max(counts, key=lambda one: (0 < counts[one] == below.count(one), counts[one]))


def _line_end(text: bytes, start: int) -> tuple[int, int]:
    """Where this line ends and where the next one begins."""
    found = _BREAK.search(text, start)
    return found.span() if found else (len(text), len(text))


def _word_in(table: Table, cell: bytes) -> bytes:
    """The word that says that this column holds secrets."""
    name = compiled(rf"(?is).{{0,80}}?{table.name}").fullmatch(cell)
    return b"" if name is None or speaks_about(name[1], name[2]) else name[1]


def _secrets_in(
    row: list[bytes], columns: dict[int, bytes], start: int, verdicts: dict[Any, Any]
) -> Iterator[tuple[int, int]]:
    for column, word in columns.items():
        cell = row[column].strip(_AROUND)
        if (word, cell) not in verdicts:
            verdicts[word, cell] = _is_secret(word, cell)
        if verdicts[word, cell]:
            at = start + sum(len(other) + 1 for other in row[:column]) + row[column].index(cell)
            yield at, at + len(cell)

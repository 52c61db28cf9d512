"""The four sorts of managed pieces: entries in a settings file, a section of a text, a whole file, a link.

Each knows how its file should look with it and without it. Nothing is written here (managed.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents import Form
from recollect.base import swap
from recollect.base.errors import BadInput, NotPlain
from recollect.base.swap import Found, digest
from recollect.integrations import settings_text, text_section
from recollect.integrations.json_text import Addition, Way, value_at
from recollect.integrations.receipts import Receipt, Receipts

_NO_PLAIN_FILE = "is a link, or no plain file"


class State(StrEnum):
    ABSENT = "absent"
    CURRENT = "current"
    OUTDATED = "outdated"
    EDITED = "edited"  # ours once; a person changed it
    FOREIGN = "foreign"  # somebody else's, in our place


class LeftAlone(Exception):
    """A file that is not ours to change, with the reason."""


class Edit(NamedTuple):
    content: bytes | None  # the file as it should be; None: no file
    was_there: bool = False  # something of ours stood there before
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    kind: str
    path: Path
    what: str  # what a person is told that it adds
    host: str = ""
    level: str = ""
    root: Path | None = None  # a tree that a stranger may have written: no link in it is followed out of it
    mode: int = 0o600  # of a new file

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.kind, self.host, self.level, str(self.path), str(self.root or ""))

    def look(self) -> Found:
        """The file as it is. LeftAlone where it is none that we write to."""
        below = () if self.root is None else self.path.parents
        for part in below:
            if part == self.root or self.root not in part.parents:
                break
            if part.is_symlink() or (part.exists() and not part.is_dir()):
                raise LeftAlone(f"{part} {_NO_PLAIN_FILE}")
        with suppress(OSError):
            found = os.lstat(self.path)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                raise LeftAlone(f"{self.path} {_NO_PLAIN_FILE}")
        return swap.look(self.path)

    def edit(self, found: Found, receipts: Receipts, *, wanted: bool) -> Edit:
        raise NotImplementedError

    def state(self, receipts: Receipts) -> State:
        """Raises BadInput or LeftAlone where that cannot be told."""
        found = self.look()
        try:
            edit = self.edit(found, receipts, wanted=True)
        except LeftAlone:
            return State.EDITED if self.receipt.key in receipts.pieces else State.FOREIGN
        if not edit.was_there:
            return State.ABSENT
        return State.CURRENT if edit.content == found.content else State.OUTDATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries(Piece):
    """Entries in a settings file. A link to a file of the user's own is followed, and stays a link."""

    form: Form
    additions: tuple[Addition, ...]
    find: Callable[[Mapping[str, Any]], list[Way]]  # those of ours, of any version

    def look(self) -> Found:
        return swap.look(self.path, within=self.root)

    def standing(self, found: Found) -> dict[Way, Any]:
        """Our entries as they are. NotPlain where the settings cannot be read."""
        settings = settings_text.load(self.form, found.text, self.additions)
        return {way: value_at(settings, way) for way in self.find(settings)}

    def edit(self, found: Found, receipts: Receipts, *, wanted: bool) -> Edit:
        receipt = receipts.pieces.get(self.receipt.key)
        try:
            standing = self.standing(found)
            if wanted and self._is_complete(standing):
                return Edit(found.content, True, receipt or self.receipt)
            if wanted:
                self._refuse_foreign(found, standing)
            text, existed, kept = self._bare(found, receipt, standing)
            if not wanted:
                return Edit(text.encode("utf-8") if existed else None, bool(standing))
            inserted = settings_text.insertions(self.form, text, self.additions)
            kept = tuple(dict.fromkeys((*kept, *self._containers(text))))
        except NotPlain as problem:
            raise LeftAlone(f"{self.path}, line {problem.line}: {problem.problem}") from None
        after = settings_text.insert(text, inserted).encode("utf-8")
        before = digest(text.encode("utf-8") if existed else None)
        made = self.receipt._replace(before=before, after=digest(after), inserted=inserted, kept=kept)
        return Edit(after, bool(standing), made)

    def _is_complete(self, standing: Mapping[Way, Any]) -> bool:
        there = [(way if isinstance(way[-1], str) else way[:-1], value) for way, value in standing.items()]
        wanted = [((*one.keys, one.name) if one.name else one.keys, one.value) for one in self.additions]
        return sorted(map(_comparable, there)) == sorted(map(_comparable, wanted))

    def _refuse_foreign(self, found: Found, standing: Mapping[Way, Any]) -> None:
        settings = settings_text.load(self.form, found.text)
        for addition in self.additions:
            way = (*addition.keys, addition.name)
            if addition.name and way not in standing and value_at(settings, way) is not None:
                raise LeftAlone(f"{self.path} has another {addition.name!r}")

    def _bare(
        self, found: Found, receipt: Receipt | None, standing: Mapping[Way, Any]
    ) -> tuple[str, bool, tuple[Way, ...]]:
        """The text without us, whether there was a file before us, and what is to be kept though it is empty."""
        kept = receipt.kept if receipt is not None else ()
        if receipt is not None and receipt.after == found.digest:
            text, existed = settings_text.take_back(found.text, receipt.inserted), receipt.before != ""
            if text is not None and digest(text.encode("utf-8") if existed else None) == receipt.before:
                return text, existed, kept
        text = settings_text.without(self.form, found.text, standing, kept)
        return text, found.content is not None, kept

    def _containers(self, text: str) -> Iterator[Way]:
        settings = settings_text.load(self.form, text)
        for addition in self.additions:
            for depth in range(1, len(addition.keys) + 1):
                if value_at(settings, addition.keys[:depth]) is not None:
                    yield addition.keys[:depth]


def _comparable(entry: tuple[Way, Any]) -> tuple[Way, str]:
    return entry[0], json.dumps(entry[1], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile(Piece):
    """A whole file of ours."""

    text: str = ""
    is_recorded: bool = True  # otherwise there is one receipt for the folder that holds it

    def edit(self, found: Found, receipts: Receipts, *, wanted: bool) -> Edit:
        if found.content is not None and not is_intact(self.path, found.content):
            raise LeftAlone(f"{self.path} was edited by hand")
        content = sealed(self.path, self.text).encode("utf-8") if wanted else None
        return Edit(content, found.content is not None, self.receipt if self.is_recorded else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Piece):
    """A section of a text. One that was made for it goes with it."""

    entries: Callable[[str], Sequence[str]]  # the lines of ours, given what others wrote
    is_entry: Callable[[str], bool]
    folder: Receipt  # of the folder that it belongs to

    def edit(self, found: Found, receipts: Receipts, *, wanted: bool) -> Edit:
        try:
            text = found.text
            parts = text_section.parted(text, self.is_entry)
        except BadInput:
            raise LeftAlone(f"{self.path} is not UTF-8 text") from None
        except text_section.Broken:
            raise LeftAlone(f"{self.path} has only half of our marks") from None
        after = text_section.joined(parts, self.entries(parts.own) if wanted else ())
        # Without a receipt, a text that held nothing but our section counts as made for it.
        is_made = str(self.path) in receipts.made or self.folder.key not in receipts.pieces
        if after == text or (not after and found.content is None):
            return Edit(found.content, bool(parts.entries))
        return Edit(None if not after and is_made else after.encode("utf-8"), bool(parts.entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Piece):
    """A short name for a program, beside it."""

    target: str

    def look(self) -> Found:
        try:
            return Found(self.path, self.path, os.fsencode(os.readlink(self.path)))
        except FileNotFoundError:
            return Found(self.path, self.path, None)
        except OSError:
            raise LeftAlone(f"{self.path} {_NO_PLAIN_FILE}") from None

    def edit(self, found: Found, receipts: Receipts, *, wanted: bool) -> Edit:
        is_ours = self.receipt.key in receipts.pieces and found.content == os.fsencode(self.target)
        if found.content is not None and not is_ours:
            raise LeftAlone(f"{self.path} means something else")
        return Edit(os.fsencode(self.target) if wanted else None, is_ours, self.receipt)


# Whether a file is still as we wrote it

_MARKS = {".md": "<!-- recollect {} -->", ".js": "// recollect {}", ".ts": "// recollect {}"}
_JSON_MARK = "seal"


def sealed(path: Path, text: str) -> str:
    """With a checksum of what stands before it, in a comment; in JSON, in a field."""
    if path.suffix == ".json":
        fields = json.loads(text)
        return json.dumps({**fields, _JSON_MARK: _checksum_of(fields)}, indent=2, ensure_ascii=False) + "\n"
    return f"{text}\n{_MARKS[path.suffix].format(_checksum(text))}\n"


def is_intact(path: Path, content: bytes) -> bool:
    """Ours, and as we wrote it. This proves nothing against somebody who means to deceive."""
    try:
        text = content.decode("utf-8")
        if path.suffix == ".json":
            fields = json.loads(text)
            mark = fields.pop(_JSON_MARK, "")
            return bool(mark == _checksum_of(fields))
    except (ValueError, TypeError, RecursionError, AttributeError):
        return False
    found = re.search(r"\n" + re.escape(_MARKS[path.suffix]).replace(r"\{\}", "([0-9a-f]{16})") + r"\n\Z", text)
    return found is not None and found[1] == _checksum(text[: found.start()])


def _checksum_of(fields: Mapping[str, Any]) -> str:
    return _checksum(json.dumps(fields, sort_keys=True))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

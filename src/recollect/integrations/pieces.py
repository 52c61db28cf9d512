"""The four kinds of managed pieces: entries in a settings file, a section of a text, a whole file, a link.

Each knows what its file should look like with it and without it. Nothing is written here (managed.py).
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
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents import Form
from recollect.base import swap
from recollect.base.errors import BadInput
from recollect.base.swap import Found, digest
from recollect.integrations import settings_text, text_section
from recollect.integrations.receipts import Receipt
from recollect.integrations.settings_text import NotPlain, Tree, Way, value_at

_NOT_PLAIN_FILE = "is a link, or not a plain file"


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
    what: str = ""  # what a person is told that it adds
    host: str = ""
    level: str = ""
    root: Path | None = None  # a tree that a stranger may have written: no link in it is followed out of it
    mode: int = 0o600  # of a new file

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.kind, self.host, self.level, str(self.path), str(self.root or ""))

    def look(self) -> Found:
        """Reads the file. LeftAlone where it is not one that we write to."""
        for part in () if self.root is None else self.path.parents:
            if part == self.root or self.root not in part.parents:
                break
            if part.is_symlink() or (part.exists() and not part.is_dir()):
                raise LeftAlone(f"{part} {_NOT_PLAIN_FILE}")
        with suppress(OSError):
            found = os.lstat(self.path)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                raise LeftAlone(f"{self.path} {_NOT_PLAIN_FILE}")
        return swap.look(self.path)

    def edit(self, found: Found, receipt: Receipt | None, *, wanted: bool) -> Edit:
        """`receipt`: of the last time that it was added."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries(Piece):
    """Entries in a settings file. A link to a file of the user's own is followed, and stays a link."""

    form: Form
    tree: Tree
    find: Callable[[Mapping[str, Any]], list[Way]]  # entries of ours, of any version
    name: Way = ()  # of a single entry, which must not be somebody else's

    def look(self) -> Found:
        return swap.look(self.path, within=self.root)

    def load(self, found: Found) -> dict[str, Any]:
        """LeftAlone where the settings cannot be read."""
        try:
            return settings_text.load(self.form, found.text, self.tree)
        except NotPlain as problem:
            raise LeftAlone(f"{self.path}, {problem}") from None

    def standing(self, settings: Mapping[str, Any]) -> dict[Way, Any]:
        """Our entries as they are."""
        return {way: value_at(settings, way) for way in self.find(settings)}

    def edit(self, found: Found, receipt: Receipt | None, *, wanted: bool) -> Edit:
        settings = self.load(found)
        standing = self.standing(settings)
        if wanted and _as_tree(standing) == self.tree:
            return Edit(found.content, True, receipt or self.receipt)
        if wanted and not standing and self.name and value_at(settings, self.name) is not None:
            raise LeftAlone(f"{self.path} has another {self.name[-1]!r}")
        try:
            text, existed = self._text_without_us(found, receipt, standing)
            if not wanted:
                return Edit(text.encode("utf-8") if existed else None, bool(standing))
            inserted = settings_text.insertions(self.form, text, self.tree)
            shared = _shared(self.tree, settings_text.load(self.form, text))
        except NotPlain as problem:
            raise LeftAlone(f"{self.path}, {problem}") from None
        after = settings_text.insert(text, inserted).encode("utf-8")
        before = digest(text.encode("utf-8") if existed else None)
        kept = tuple(dict.fromkeys((*(receipt.kept if receipt else ()), *shared)))
        made = self.receipt._replace(before=before, after=digest(after), inserted=inserted, kept=kept)
        return Edit(after, bool(standing), made)

    def _text_without_us(self, found: Found, receipt: Receipt | None, ways: Mapping[Way, Any]) -> tuple[str, bool]:
        """And whether there was a file before us."""
        if receipt is not None and receipt.after == found.digest:
            text, existed = settings_text.take_back(found.text, receipt.inserted), receipt.before != ""
            if text is not None and digest(text.encode("utf-8") if existed else None) == receipt.before:
                return text, existed
        kept = receipt.kept if receipt else ()
        return settings_text.without(self.form, found.text, ways, kept), found.content is not None


def _as_tree(entries: Mapping[Way, Any]) -> dict[str, Any]:
    tree: dict[Any, Any] = {}
    for (*above, parent, last), value in entries.items():
        node = tree
        for key in above:
            node = node.setdefault(key, {})
        if isinstance(last, int):
            node.setdefault(parent, []).append(value)
        else:
            node.setdefault(parent, {})[last] = value
    return tree


def _shared(tree: Tree, settings: object, above: Way = ()) -> Iterator[Way]:
    """The objects and lists of the tree that are in the settings already: they stay, even if we leave them empty."""
    for key, inner in tree.items():
        if isinstance(settings, dict) and key in settings:
            yield (*above, key)
            yield from _shared(inner, settings[key], (*above, key)) if isinstance(inner, dict) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile(Piece):
    """A whole file of ours."""

    text: str = ""
    is_recorded: bool = True  # otherwise there is one receipt for the folder that holds it

    def edit(self, found: Found, receipt: Receipt | None, *, wanted: bool) -> Edit:
        if found.content is not None and not is_intact(self.path, found.content):
            raise LeftAlone(f"{self.path} was edited by hand")
        content = sealed(self.path, self.text).encode("utf-8") if wanted else None
        return Edit(content, found.content is not None, self.receipt if self.is_recorded else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Piece):
    """A section of a text. A text that holds nothing else goes with it."""

    entries: Callable[[str], Sequence[str]] = lambda _: ()  # our lines, given what others wrote
    is_entry: Callable[[str], bool]

    def edit(self, found: Found, receipt: Receipt | None, *, wanted: bool) -> Edit:
        try:
            parts = text_section.parted(found.text, self.is_entry)
        except BadInput:
            raise LeftAlone(f"{self.path} is not UTF-8 text") from None
        except text_section.Broken:
            raise LeftAlone(f"{self.path} has only half of our marks") from None
        after = text_section.joined(parts, self.entries(parts.own) if wanted else ())
        if after == found.text:
            return Edit(found.content, bool(parts.entries))
        return Edit(after.encode("utf-8") if after else None, bool(parts.entries))


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
            raise LeftAlone(f"{self.path} {_NOT_PLAIN_FILE}") from None

    def edit(self, found: Found, receipt: Receipt | None, *, wanted: bool) -> Edit:
        is_ours = receipt is not None and found.content == os.fsencode(self.target)
        if found.content is not None and not is_ours:
            raise LeftAlone(f"{self.path} means something else")
        return Edit(os.fsencode(self.target) if wanted else None, is_ours, self.receipt)


# Whether a file is still as we wrote it

_MARKS = {".md": "<!-- recollect {} -->", ".js": "// recollect {}", ".ts": "// recollect {}"}
_JSON_MARK = "seal"


def sealed(path: Path, text: str) -> str:
    """The text with its checksum: in a comment at the end, or in a field of a JSON object."""
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

"""The managed piece: something of ours in a file or folder of others, which we add, renew, check and take back. Three
kinds: entries in a settings file, a section of a text, a whole file.

A settings file is only ever inserted into, and what was inserted where is kept in the receipts (never the file's own
text, which may hold secrets), so that taking it back leaves the file byte for byte; where it was edited since, only our
entries go. A file of ours ends in a checksum of itself: one that a person edited is left alone and reported. Nothing is
written through a link in a project's tree, nor half, nor over an edit made meanwhile (base/files.py).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents import Form
from recollect.app.core import App
from recollect.base import files
from recollect.base.errors import BadInput, Conflict
from recollect.base.files import FileSnapshot, digest, read_limited, write_private
from recollect.base.structs import Struct, field
from recollect.integrations import settings_text
from recollect.integrations.settings_text import Insertion, KeyPath, NotPlain, Tree, value_at
from recollect.wire import lockfile

_TRIES = 5  # others write these files too, but not all the time
_LOCK_WAIT_S = 10.0
UNSETTLED = "changes all the time"
_MAX_RECEIPT_BYTES = 2_000_000
_NOT_PLAIN_FILE = "is a link, or not a plain file"
_HEAD = "## Rules that Recollect keeps"
_BEGIN, _JOINED, _END = (f"<!-- recollect {one} -->" for one in ("begin", "begin, joined", "end"))


class Receipt(NamedTuple):
    """What is known of one piece only because we put it there."""

    kind: str
    host: str = ""
    level: str = ""
    path: str = ""
    root: str = ""  # of the project that it was written for
    before: str = ""  # digest of the file as it was; empty where there was none
    after: str = ""
    inserted: tuple[Insertion, ...] = ()
    kept: tuple[
        KeyPath, ...
    ] = ()  # objects and lists that were there before us, and stay even if we leave them empty
    at: str = ""  # when something was last written
    off: bool = False  # a person had it taken away

    @property
    def key(self) -> str:
        return f"{self.kind} {self.host} {self.level} {self.path}"


class Receipts:
    """`<home>/installed.json`. Empty where it cannot be read: then our entries are found by their content."""

    def __init__(self, app: App) -> None:
        self.path = app.home.root / "installed.json"
        self.pieces: dict[str, Receipt] = {}
        self.made: list[str] = []  # folders that were not there before
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            kept = json.loads(read_limited(self.path, _MAX_RECEIPT_BYTES))
            for one in kept["pieces"]:
                one["inserted"] = tuple(
                    Insertion(int(at), str(text)) for at, text in one["inserted"]
                )
                one["kept"] = tuple(map(tuple, one["kept"]))
            self.made, pieces = (
                [str(path) for path in kept["made"]],
                [Receipt(**one) for one in kept["pieces"]],
            )
            self.pieces = {one.key: one for one in pieces}
        self._saved = self._encoded()

    def of(self, *kinds: str, root: Path | None = None) -> list[Receipt]:
        return [
            one
            for one in self.pieces.values()
            if one.kind in kinds and (root is None or one.root == str(root))
        ]

    def save(self) -> None:
        if (text := self._encoded()) == self._saved:
            return
        if self.pieces or self.made:
            write_private(self.path, text)
        else:
            self.path.unlink(missing_ok=True)
        self._saved = text

    def _encoded(self) -> str:
        kept = {"pieces": [one._asdict() for one in self.pieces.values()], "made": self.made}
        return json.dumps(kept, indent=1) + "\n"


class LeftAlone(Exception):
    """A file that is not ours to change, with the reason."""


class Edit(NamedTuple):
    content: bytes | None  # the file as it should be; None: no file
    was_there: bool = False  # something of ours stood there before
    receipt: Receipt | None = None


class Piece(Struct, kw_only=True):
    kind: str
    path: Path
    what: str = ""  # what a person is told that it adds
    host: str = ""
    level: str = ""
    root: Path | None = (
        None  # a tree that a stranger may have written: no link in it is followed out of it
    )
    mode: int = 0o600  # of a new file

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.kind, self.host, self.level, str(self.path), str(self.root or ""))

    def look(self) -> FileSnapshot:
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
        return files.read_snapshot(self.path)

    def edit(self, found: FileSnapshot, receipt: Receipt | None, *, wanted: bool) -> Edit:
        """`receipt`: of the last time that it was added. LeftAlone or NotPlain where it is not ours to change."""
        raise NotImplementedError


class Entries(Piece, kw_only=True):
    """Entries in a settings file. A link to a file of the user's own is followed, and stays a link."""

    form: Form
    tree: Tree
    find: Callable[[Mapping[str, Any]], list[KeyPath]]  # entries of ours, of any version
    name: KeyPath = ()  # of a single entry, which must not be somebody else's

    def look(self) -> FileSnapshot:
        return files.read_snapshot(self.path, within=self.root)

    def edit(self, found: FileSnapshot, receipt: Receipt | None, *, wanted: bool) -> Edit:
        settings = settings_text.load(self.form, found.text, self.tree)
        entries = self.find(settings)
        if wanted and self._unplaced(settings) == self._unplaced(self.tree):
            return Edit(found.content, True, receipt or self.receipt)
        if wanted and not entries and self.name and value_at(settings, self.name) is not None:
            raise LeftAlone(f"{self.path} has another {self.name[-1]!r}")
        kept, existed, text = receipt.kept if receipt else (), found.content is not None, None
        if receipt is not None and receipt.after == found.digest:
            text, existed = (
                settings_text.take_back(found.text, receipt.inserted),
                receipt.before != "",
            )
        if (
            receipt is None
            or text is None
            or digest(text.encode("utf-8") if existed else None) != receipt.before
        ):
            text, existed = (
                settings_text.without(self.form, found.text, entries, kept),
                found.content is not None,
            )
        if not wanted:
            return Edit(text.encode("utf-8") if existed else None, bool(entries))
        inserted = settings_text.insertions(self.form, text, self.tree)
        shared = _shared(self.tree, settings_text.load(self.form, text))
        after = settings_text.insert(text, inserted).encode("utf-8")
        before = digest(text.encode("utf-8") if existed else None)
        kept = tuple(dict.fromkeys((*kept, *shared)))
        made = self.receipt._replace(
            before=before, after=digest(after), inserted=inserted, kept=kept
        )
        return Edit(after, bool(entries), made)

    def _unplaced(self, settings: Mapping[str, Any]) -> list[tuple[KeyPath, Any]]:
        """Entries of ours, wherever in a list each stands."""
        ways = sorted(self.find(settings), key=str)
        return [
            (way[:-1] if isinstance(way[-1], int) else way, value_at(settings, way)) for way in ways
        ]


def _shared(tree: Tree, settings: object, above: KeyPath = ()) -> Iterator[KeyPath]:
    """The objects and lists of the tree that are in the settings already: they stay, even if we leave them empty."""
    for key, inner in tree.items():
        if isinstance(settings, dict) and key in settings:
            yield (*above, key)
            yield from (
                _shared(inner, settings[key], (*above, key)) if isinstance(inner, dict) else ()
            )


class OwnFile(Piece, kw_only=True):
    """A whole file of ours."""

    text: str = ""
    is_recorded: bool = True  # otherwise there is one receipt for the folder that holds it

    def edit(self, found: FileSnapshot, receipt: Receipt | None, *, wanted: bool) -> Edit:
        if found.content is not None and not is_intact(self.path, found.content):
            raise LeftAlone(f"{self.path} was edited by hand")
        content = seal(self.path, self.text).encode("utf-8") if wanted else None
        return Edit(content, found.content is not None, self.receipt if self.is_recorded else None)


class Section(Piece, kw_only=True):
    """A section of a text, as long as it has entries, between two lines that are comments. Where the text before it did
    not end its last line, we do, and the first of the two says so. What others wrote between the two is moved behind
    the section. A text that holds nothing else goes with it."""

    entries: Callable[[str], Sequence[str]]  # our lines, given what others wrote
    is_entry: Callable[[str], bool]  # of any version

    def edit(self, found: FileSnapshot, receipt: Receipt | None, *, wanted: bool) -> Edit:
        try:
            lines = re.findall(r"[^\n]*\n|[^\n]+", found.text)
        except BadInput:
            raise LeftAlone(f"{self.path} is not UTF-8 text") from None
        marks = [
            at for at, line in enumerate(lines) if line.rstrip("\r\n") in (_BEGIN, _JOINED, _END)
        ]
        before, after = found.text, ""
        if marks:
            begin, end = marks[0], marks[-1]
            if len(marks) != 2 or lines[begin].startswith(_END) or not lines[end].startswith(_END):
                raise LeftAlone(f"{self.path} has only half of our marks")
            inside = [one for one in lines[begin + 1 : end] if one.rstrip("\r\n") != _HEAD]
            others = [one for one in inside if not self.is_entry(one)]
            before, after = "".join(lines[:begin]), "".join((*others, *lines[end + 1 :]))
            if lines[begin].startswith(_JOINED) and not after:
                before = before.removesuffix("\r\n" if lines[begin].endswith("\r\n") else "\n")
        own = before + after
        entries, text = self.entries(own), own
        if entries:
            eol = "\r\n" if "\r\n" in own else "\n"
            is_open = bool(before) and not before.endswith("\n")
            section = eol.join((_JOINED if is_open else _BEGIN, _HEAD, *entries, _END))
            text = f"{before}{eol if is_open else ''}{section}{eol}{after}"
        return Edit(found.content if text == found.text else text.encode("utf-8") or None)


_MARKS = {
    ".md": "<!-- recollect {} -->",
    ".js": "// recollect {}",
    ".ts": "// recollect {}",
    "": "# recollect {}",
}


def seal(path: Path, text: str) -> str:
    """The text with its checksum: in a comment at the end, or in a field of a JSON object."""
    if path.suffix == ".json":
        fields = json.loads(text)
        mark = _checksum(json.dumps(fields, sort_keys=True))
        return json.dumps({**fields, "seal": mark}, indent=2, ensure_ascii=False) + "\n"
    return f"{text}\n{_MARKS[path.suffix].format(_checksum(text))}\n"


def is_intact(path: Path, content: bytes) -> bool:
    """Ours, and as we wrote it. This proves nothing against somebody who means to deceive."""
    try:
        text = content.decode("utf-8")
        if path.suffix == ".json":
            fields = json.loads(text)
            return bool(fields.pop("seal", "") == _checksum(json.dumps(fields, sort_keys=True)))
    except (ValueError, TypeError, RecursionError, AttributeError):
        return False
    return text == seal(path, text[: text.rfind("\n", 0, -1)])


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Change(StrEnum):
    ADDED = "add"
    RENEWED = "renew"
    REMOVED = "remove"
    SAME = "keep"  # it is as it should be
    ABSENT = "absent"  # it was to be removed, and is not there
    LEFT = "leave"  # it is not ours to change


class Outcome(NamedTuple):
    piece: Piece
    change: Change
    reason: str = ""  # why it was left alone
    diff: str = ""  # in a dry run, of a file of others

    @property
    def is_change(self) -> bool:
        return self.change in (Change.ADDED, Change.RENEWED, Change.REMOVED)


class Work(Struct, frozen=False):
    """Changes to pieces, and what came of each. In a dry run nothing is written."""

    app: App
    receipts: Receipts
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return any(one.is_change for one in self.outcomes)

    def change(self, piece: Piece, *, wanted: bool) -> Outcome:
        """Adds or renews it, or takes it away."""
        outcome = Outcome(piece, Change.LEFT, f"{piece.path} {UNSETTLED}")
        for _ in range(_TRIES):
            try:
                outcome = self._attempt(piece, wanted=wanted)
            except Conflict:
                continue
            except LeftAlone as problem:
                outcome = Outcome(piece, Change.LEFT, str(problem))
                if not wanted and not self.app.dry_run and not isinstance(piece, Entries):
                    self.receipts.pieces.pop(piece.receipt.key, None)
            break
        self.outcomes.append(outcome)
        return outcome

    def _attempt(self, piece: Piece, *, wanted: bool) -> Outcome:
        change, found, edit = _plan(piece, self.receipts, wanted=wanted)
        outcome = Outcome(piece, change)
        if self.app.dry_run and outcome.is_change and isinstance(piece, Entries):
            before, after = (
                found.text.splitlines(),
                (edit.content or b"").decode("utf-8").splitlines(),
            )
            names = str(found.path), f"{found.path} (after)"
            outcome = outcome._replace(
                diff="\n".join(difflib.unified_diff(before, after, *names, lineterm="", n=2))
            )
        if self.app.dry_run:
            return outcome
        key, kept = piece.receipt.key, dict(self.receipts.pieces)
        try:
            if wanted and edit.receipt is not None:
                self.receipts.pieces[key] = edit.receipt
            if outcome.is_change:
                self._make_folders(found.target.parent, piece)
                self.receipts.save()
                if edit.content is None:
                    files.remove(found)
                else:
                    files.replace(found, edit.content, new_mode=piece.mode)
        except BaseException:
            self.receipts.pieces = kept
            raise
        if not wanted:
            self.receipts.pieces.pop(key, None)
        return outcome

    def _make_folders(self, folder: Path, piece: Piece) -> None:
        for one in (
            parent for parent in reversed((folder, *folder.parents)) if not parent.is_dir()
        ):
            try:
                os.mkdir(one, 0o700 if piece.mode == 0o600 else 0o755)
            except OSError as error:
                raise BadInput(f"{one} cannot be created: {error.strerror}.") from error
            self.receipts.made.append(str(one))


def preview(piece: Piece, receipts: Receipts) -> Outcome:
    """What adding it would do: SAME where it is there and current, RENEWED where it is outdated."""
    try:
        return Outcome(piece, _plan(piece, receipts, wanted=True)[0])
    except LeftAlone as problem:
        return Outcome(piece, Change.LEFT, str(problem))


def _plan(piece: Piece, receipts: Receipts, *, wanted: bool) -> tuple[Change, FileSnapshot, Edit]:
    found = piece.look()
    try:
        edit = piece.edit(found, receipts.pieces.get(piece.receipt.key), wanted=wanted)
    except NotPlain as problem:
        raise LeftAlone(f"{piece.path}, {problem}") from None
    if edit.content == found.content:
        return Change.SAME if wanted else Change.ABSENT, found, edit
    if not wanted:
        return Change.REMOVED, found, edit
    return Change.RENEWED if edit.was_there else Change.ADDED, found, edit


@contextmanager
def changes(app: App) -> Iterator[Work]:
    """Pieces are changed by one process at a time. A dry run needs no lock, and without a home there is none."""
    if app.dry_run or not app.home.root.is_dir():
        yield Work(app, Receipts(app))
        return
    path, until_s = app.home.root / "installed.lock", time.monotonic() + _LOCK_WAIT_S
    while (lock := lockfile.acquire(str(path))) is None:
        if time.monotonic() > until_s:
            raise Conflict(
                "Another Recollect is changing the same files.",
                hint="Nothing was written. Try again.",
            )
        time.sleep(0.02)
    try:
        receipts = Receipts(app)
        try:
            yield Work(app, receipts)
        finally:
            for made in sorted(
                receipts.made, key=len, reverse=True
            ):  # folders for us that are empty now
                with suppress(OSError):
                    os.rmdir(made)
                if not os.path.lexists(made):
                    receipts.made.remove(made)
            receipts.save()
            if not receipts.path.exists():
                path.unlink(missing_ok=True)
    finally:
        lockfile.release(lock)

"""Databases of other programs, which are never touched: an ordinary look at one may already write beside it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import apsw

from recollect.base.errors import BadInput, NotFound

_HEAD = b"SQLite format 3\x00"


class Foreign:
    def __init__(self, db: apsw.Connection, name: str) -> None:
        self._db = db
        self._name = name

    def columns(self, table: str) -> tuple[str, ...]:
        """Empty where there is no such table."""
        with self._in_our_words():
            return tuple(row[1] for row in self._db.execute(f'PRAGMA table_info("{table}")'))

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """All that it holds, in the order it was put there."""
        names = self.columns(table)
        with self._in_our_words():
            for row in self._db.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):  # noqa: S608
                yield dict(zip(names, row, strict=True))

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as problem:
            raise BadInput(f"{self._name} cannot be read: {problem}.", hint="Nothing was imported.") from None


@contextmanager
def opened(path: Path) -> Iterator[Foreign]:
    """NotFound, or BadInput for what is no database."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_HEAD))
        has_log = os.path.isfile(log := f"{path}-wal") and os.path.getsize(log) > 0
    except OSError as problem:
        raise NotFound(f"{path} cannot be read: {problem.strerror}.", hint="Name the file.") from None
    if head != _HEAD:
        raise BadInput(f"{path} is no SQLite database.", hint="Name the file that holds the memories.")
    with _copy(path) if has_log else nullcontext(path) as place, _connected(place, path) as db:
        yield Foreign(db, str(path))


@contextmanager
def _copy(path: Path) -> Iterator[Path]:
    """With its log, in a private folder that is gone afterwards: what stands in a log is seen only by who may write."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            shutil.copyfile(path, copy)
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        except OSError as problem:
            raise BadInput(f"{path} cannot be copied: {problem.strerror}.", hint="Nothing was imported.") from None
        yield copy


@contextmanager
def _connected(place: Path, path: Path) -> Iterator[apsw.Connection]:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # `immutable`: neither locked nor looked at for a log, so that nothing is made beside it.
    name = f"{place.absolute().as_uri()}?immutable=1"
    if place != path:
        name, flags = str(place), apsw.SQLITE_OPEN_READWRITE
    try:
        db = apsw.Connection(name, flags=flags)
    except apsw.Error as problem:
        raise BadInput(f"{path} cannot be read: {problem}.", hint="Nothing was imported.") from None
    try:
        yield db
    finally:
        db.close()

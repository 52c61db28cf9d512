"""Databases of other programs, which are never touched: even reading one may write beside it, so a copy is read."""

import shutil
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import apsw

from recollect.base.errors import BadInput, NotFound


def read_tables(path: Path, names: tuple[str, ...]) -> dict[str, list[dict[str, object]]]:
    """The rows of those tables that exist, in the order they were written. NotFound, or BadInput for what is no
    database."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            shutil.copyfile(path, copy)
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        except OSError as problem:
            raise NotFound(f"{path} cannot be read: {problem.strerror}.", hint="Name the file.") from None
        try:
            with closing(apsw.Connection(str(copy))) as db:
                columns = {name: [row[1] for row in db.execute(f'PRAGMA table_info("{name}")')] for name in names}
                return {
                    name: [
                        dict(zip(listed, row, strict=True))
                        for row in db.execute(f'SELECT * FROM "{name}" ORDER BY rowid')  # noqa: S608
                    ]
                    for name, listed in columns.items()
                    if listed
                }
        except apsw.Error as problem:
            raise BadInput(f"{path} cannot be read: {problem}.", hint="Is it the database of that program?") from None

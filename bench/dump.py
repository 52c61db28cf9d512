"""Everything that can be read out of a database file, as one comparable value.

Read without the store's reading code, which is what is being judged: tables by their rows, indexes by their
entries, the full-text index by its terms with their positions. What cannot be read is a value too: the error.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from recollect.store import connect, tokenizer

Dump = dict[str, tuple[str, ...]]

_WHOLE = {
    "schema": "SELECT type, name, tbl_name, sql FROM sqlite_schema",
    "application": "PRAGMA application_id",
    "version": "PRAGMA user_version",
    "sequences": "SELECT name, seq FROM sqlite_sequence",
}
# A scan of the terms does not show the rest of the full-text index: sizes, averages, the way to a term.
_FULL_TEXT = {
    "words: terms": "SELECT term, doc, col, offset FROM temp.instance",
    "words: sizes": "SELECT id, sz FROM words_docsize",
    "words: averages": "SELECT block FROM words_data WHERE id = 1",
    "words: ways": "SELECT segid, term, pgno FROM words_idx",
    "words: config": "SELECT k, v FROM words_config",
}


class Reader:
    """Knows from a fresh schema what there should be to read."""

    def __init__(self) -> None:
        db = apsw.Connection(":memory:")
        tokenizer.register(db)
        connect.build(db)
        self._queries = _WHOLE | _FULL_TEXT | _tables(db)
        db.close()

    def read(self, path: Path) -> Dump:
        # Immutable: the file alone, whatever its header says about a log.
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
        try:
            try:
                tokenizer.register(db)
            except apsw.Error as problem:
                return {"file": (str(problem),)}
            _answer(db, "CREATE VIRTUAL TABLE temp.instance USING fts5vocab(main, words, instance)")
            return {name: _answer(db, sql) for name, sql in self._queries.items()}
        finally:
            db.close()


def _tables(db: apsw.Connection) -> dict[str, str]:
    found: dict[str, str] = {}
    names = db.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    ).fetchall()
    for table in (str(name) for (name,) in names):
        if not table.startswith("sqlite_"):
            found[table] = f"SELECT * FROM {table} NOT INDEXED"  # noqa: S608
            found |= _indexes(db, table)
    return found


def _indexes(db: apsw.Connection, table: str) -> dict[str, str]:
    """By a scan of the index alone, which holds all the columns that are asked for."""
    is_rowid = not db.execute(
        "SELECT wr FROM pragma_table_list WHERE name = ?", (table,)
    ).fetchall()[0][0]
    sql = "SELECT l.name, l.origin, m.sql FROM pragma_index_list(?) l LEFT JOIN sqlite_schema m ON m.name = l.name"
    found: dict[str, str] = {}
    for index, origin, made in db.execute(sql, (table,)).fetchall():
        if origin == "pk" and not is_rowid:
            continue  # it is the table itself
        columns = db.execute(
            "SELECT name FROM pragma_index_xinfo(?) WHERE name IS NOT NULL", (index,)
        ).fetchall()
        listed = ", ".join([f'"{name}"' for (name,) in columns] + ["rowid"] * is_rowid)
        _, _, partial = str(made or "").partition(" WHERE ")
        found[str(index)] = (
            f"SELECT {listed} FROM {table} INDEXED BY {index} WHERE {partial or 'TRUE'}"  # noqa: S608
        )
    return found


def _answer(db: apsw.Connection, sql: str) -> tuple[str, ...]:
    """Spelt out, because 1, 1.0 and true are equal and not the same."""
    try:
        return tuple(sorted(repr(row) for row in db.execute(sql)))
    except (apsw.Error, UnicodeDecodeError) as problem:
        return (f"{type(problem).__name__}: {problem}",)

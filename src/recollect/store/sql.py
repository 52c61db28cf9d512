"""Asking a connection: all rows, the first, or one value. SQLite's cells have no static type; here they end."""

from __future__ import annotations

from typing import Any

import apsw


def every(db: apsw.Connection, sql: str, *values: object) -> list[Any]:
    return db.execute(sql, values).fetchall()


def first(db: apsw.Connection, sql: str, *values: object) -> Any:
    """None where there is no row."""
    return db.execute(sql, values).fetchone()


def value(db: apsw.Connection, sql: str, *values: object) -> Any:
    return first(db, sql, *values)[0]

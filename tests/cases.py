"""Families of cases, kept as tables in <room>/data/*.toml: one file per module, one list per test."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


def cases(module: str, name: str, room: str = "capture") -> list[Any]:
    """Rows of a table, each a text or a list of values."""
    return list(_read(module, room)[name])


@cache
def _read(module: str, room: str) -> dict[str, Any]:
    return tomllib.loads(
        (Path(__file__).parent / room / "data" / f"{module}.toml").read_text(encoding="utf-8")
    )

"""Families of cases, kept as tables in data/*.toml: one file per test module, one list per test."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


def cases(module: str, name: str) -> list[Any]:
    """Rows of a table, each a text or a list of values."""
    return list(_read(module)[name])


@cache
def _read(module: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / f"{module}.toml").read_text(encoding="utf-8"))

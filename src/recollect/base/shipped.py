"""Loads the tables that ship with the program: words of languages, patterns, learned weights.

Read once and never changed, so they are constants to the rooms that decide, which may import this file although
it opens files. A first prompt waits for some of them: `importlib.resources` would cost it twenty milliseconds."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load_table(package: str, name: str) -> Any:
    """The content of a `.json` or `.toml` file in `package`. Shared by all callers: do not change it."""
    root = Path(__file__).parent.parent
    text = root.joinpath(*package.split(".")[1:], name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        return json.loads(text)
    import tomllib

    return tomllib.loads(text)

"""Turns text into vectors with a model from a folder (the shipped one is such a folder) or from a server. `embedder.py`
is imported only when a vector is needed: numpy comes with it."""

from __future__ import annotations

from recollect.base.shipped import load_table


def shipped_id() -> str:
    """Which model made a vector, for the shipped one: known without loading it."""
    config = load_table("recollect.embed", "shipped_model/config.json")
    return f"{config['name']}:{config['sha256'][:12]}"

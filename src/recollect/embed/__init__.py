"""Turns text into vectors with a model from a folder (the shipped one is such a folder) or from a server.

Decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.base.shipped import load_table

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder, load

__all__ = ["Embedder", "load", "shipped_id"]


def shipped_id() -> str:
    """Which model made a vector, for the shipped one: known without loading it."""
    config = load_table("recollect.embed", "shipped_model/config.json")
    return f"{config['name']}:{config['sha256'][:12]}"


def __getattr__(name: str) -> object:
    """Loaded when first asked for: numpy comes with them, and `shipped_id` must not wait for it."""
    if name not in __all__:
        raise AttributeError(name)
    from recollect.embed import embedder

    return getattr(embedder, name)

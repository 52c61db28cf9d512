"""Turns text into vectors with the model that comes with the package, or one of the user's choice. Decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.embed.model import Embedder, load

__all__ = ["Embedder", "load"]


def __getattr__(name: str) -> object:
    """numpy comes with them: whoever asks for the model's name alone (shipment.py) need not wait for it."""
    if name not in __all__:
        raise AttributeError(name)
    from recollect.embed import model

    return getattr(model, name)

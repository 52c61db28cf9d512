"""Turns text into vectors with the model that comes with the package. Decides nothing."""

from recollect.embed.model import Embedder, load

__all__ = ["Embedder", "load"]

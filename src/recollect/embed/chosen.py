"""A model of the user's choice as an Embedder: prompts before texts, vectors of length one, spread as ours are.

Everything that judges a nearness was measured with the shipped model, whose unrelated texts are about 0.05 near to each
other. Some models crowd all texts into a corner, unrelated ones at 0.7 and more: every memory would answer, and threads
that have nothing in common would be merged. Such a model's vectors are measured from the middle of everyday texts
instead of from zero, which brings unrelated ones back to about 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from recollect.base.errors import ModelUnfit
from recollect.embed.folder import Prompts
from recollect.embed.layers import Floats

CROWDED_ABOVE = 0.3  # by how much unrelated texts are near to each other on average
# As unlike each other as everyday texts are. Changing one changes every vector that is measured from their middle.
EVERYDAY = (
    "The deployment failed because the disk of the build server was full.",
    "Remember to water the tomatoes on the balcony twice a week.",
    "def parse(line): return line.strip().split(',')",
    "My daughter starts school in September.",
    "Use tabs, not spaces, in Makefiles.",
    "The museum is closed on Mondays and public holidays.",
    "We prefer PostgreSQL over MySQL for new services.",
    "Mix the flour with two eggs and a pinch of salt.",
    "The train to Lyon leaves from platform nine.",
    "git rebase --onto main feature",
    "Inflation slowed in the third quarter.",
    "She plays the cello in a small orchestra.",
    "The cache key must contain the user's language.",
    "It will rain in the mountains tomorrow.",
    "Never log the contents of an access token.",
    "The striker missed a penalty in the last minute.",
)


class Source(Protocol):
    """What makes vectors, of any length and spread."""

    dim: int
    at_once: int

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        """With `most_tokens` the two ends of a long text will do; for one text alone, somebody waits."""


class Chosen:
    def __init__(self, id: str, source: Source, prompts: Prompts) -> None:
        self._source = source
        self._prompts = prompts
        self._middle: Floats | None = None
        sample = self.embed(EVERYDAY)
        if crowding(sample) > CROWDED_ABOVE:
            self._middle = sample.mean(0)
        self.id = id if self._middle is None else f"{id}:even"
        self.dim = source.dim
        self.at_once = source.at_once

    def embed(self, texts: Sequence[str], most_tokens: int | None = None) -> Floats:
        return self._spread(self._source.vectors([self._prompts.passage + text for text in texts], most_tokens))

    def embed_one(self, text: str) -> Floats:
        vector: Floats = self._spread(self._source.vectors([self._prompts.question + text], None))[0]
        return vector

    def embed_ends(self, text: str, most_tokens: int) -> Floats:
        vector: Floats = self._spread(self._source.vectors([self._prompts.question + text], most_tokens))[0]
        return vector

    def _spread(self, vectors: Floats) -> Floats:
        if not np.isfinite(vectors).all():
            raise ModelUnfit("The embedding model gave something that is no number.", hint="`shipped` is always there.")
        vectors = _of_length_one(vectors)
        return vectors if self._middle is None else _of_length_one(vectors - self._middle)


def crowding(vectors: Floats) -> float:
    """How near to each other these are on average, those of length one."""
    count = len(vectors)
    total = float(np.square(vectors.sum(0)).sum())
    return (total - count) / (count * (count - 1))


def _of_length_one(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    made: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return made

"""The embedder: texts to vectors of length one, by the model that MEMORY_EMBEDDING_MODEL names. Every threshold was
measured with the shipped model, by which unrelated texts are 0.03 similar. Some models put them at 0.7 and more; their
vectors are measured from the middle of everyday texts, which brings that back to about 0."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from recollect.base.errors import BadInput, ModelUnfit
from recollect.base.shipped import load_table
from recollect.embed.bert import Bert
from recollect.embed.folder import Floats, Folder

SHIPPED_FOLDER = Path(__file__).with_name("shipped_model")
_CHOICES = "Name `shipped`, the full path of a model's folder, or http://127.0.0.1:PORT/v1#MODEL."
CROWDED_ABOVE = 0.3  # mean similarity of unrelated texts
# Unrelated texts. Changing one changes every vector that is measured from their middle.
EVERYDAY: list[str] = load_table("recollect.embed", "everyday_texts.json")


class Source(Protocol):  # what makes the raw vectors, which may have any length and spread
    dim: int
    at_once: (
        int  # how many texts to give it at a time while somebody may be waiting for the processor
    )

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        """With `most_tokens` someone waits: the two ends of a long text are enough, and vectors nearly the same."""


class Embedder:
    """Vectors are of length one, to be compared by their dot product."""

    def __init__(
        self,
        id: str,
        source: Source,
        before: tuple[str, str] = ("", ""),
        *,
        is_spread: bool = False,
    ) -> None:
        """`before`: what a question and a passage begin with. `is_spread`: unrelated texts are far apart anyway."""
        self._source, (self._question, self._passage) = source, before
        self._middle: Floats | None = None
        self.id = id  # stored with every vector; vectors with different ids are never compared
        if not is_spread:
            sample = self.embed(EVERYDAY)
            if mean_similarity(sample) > CROWDED_ABOVE:
                self._middle = sample.mean(0)
                self.id = f"{id}:even"
        self.dim, self.at_once = source.dim, source.at_once

    def embed(self, texts: Sequence[str], most_tokens: int | None = None) -> Floats:
        """Passages; together they take less time than one by one."""
        return self._finish(
            self._source.vectors([self._passage + text for text in texts], most_tokens)
        )

    def embed_one(self, text: str, most_tokens: int | None = None) -> Floats:
        """A question. With `most_tokens` it takes half the time: fewer layers read it, and of a long text only the
        beginning and the end."""
        vector: Floats = self._finish(self._source.vectors([self._question + text], most_tokens))[0]
        return vector

    def likeness(self, question: str, texts: Sequence[str]) -> list[float]:
        """How much of the question each text says, by words of like meaning; nothing where a server has the model."""
        return (
            self._source.likeness(question, texts)
            if isinstance(self._source, Bert)
            else [0.0] * len(texts)
        )

    def _finish(self, vectors: Floats) -> Floats:
        if not np.isfinite(vectors).all():
            message = "The embedding model gave a vector that is not made of finite numbers."
            raise ModelUnfit(message, hint="`shipped` is always there.")
        vectors = _to_length_one(vectors)
        return vectors if self._middle is None else _to_length_one(vectors - self._middle)


def load(setting: str = "shipped", key_file: Path | None = None) -> Embedder:
    """Raises ModelError or BadInput. `key_file` holds the key that an endpoint wants, if it exists."""
    if setting.startswith(("http://", "https://")):
        from recollect.embed.vector_server import Endpoint

        endpoint = Endpoint(setting, key_file)
        return Embedder(endpoint.id, endpoint)
    shipped = Folder(SHIPPED_FOLDER, is_shipped=True)
    weights = shipped.weights()
    characters = weights.text("characters")  # what becomes of each: the same for every model
    if setting == "shipped":
        return Embedder(shipped.id, Bert(shipped, characters, weights), is_spread=True)
    del weights  # 24 MB that the other model need not be loaded beside
    path = os.path.expanduser(setting)
    if not os.path.isabs(path):
        raise BadInput(f"{setting!r} is not a valid MEMORY_EMBEDDING_MODEL.", hint=_CHOICES)
    folder = Folder(Path(path))
    model, prompts = (
        Bert(folder, characters),
        folder.prompts(),
    )  # before the id: a hash of everything that was read
    return Embedder(folder.id, model, prompts)


def mean_similarity(vectors: Floats) -> float:
    """The mean cosine of all pairs of these vectors, which have length one."""
    count = len(vectors)
    total = float(np.square(vectors.sum(0)).sum())
    return (total - count) / (count * (count - 1))


def _to_length_one(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    lengths[lengths == 0] = 1
    vectors /= lengths
    return vectors

"""all-MiniLM-L6-v2 in numpy: six layers of attention (layers.py), the mean of the tokens, length one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelBroken
from recollect.embed.layers import Floats, Layer, Linear, Norm, batches, both_ends, of_length_one
from recollect.embed.tokenizer import Tokenizer
from recollect.embed.weights import Tensors

DIM = 384
LAYERS = 6
HEADS = 12
HEAD_DIM = DIM // HEADS
WIDE = 4 * DIM
WORDS = 30_522
WORD_GROUP = 64  # so many numbers of a word share a scale
MAX_TOKENS = 256
MATRICES = {"attend": (DIM, 3 * DIM), "gather": (DIM, DIM), "widen": (DIM, WIDE), "narrow": (WIDE, DIM)}
"""What each layer multiplies by: numbers in, numbers out."""


class Front:
    """What stands before the layers: tokens, their word vectors, their places."""

    def __init__(self, tensors: Tensors) -> None:
        _check(tensors)
        vocabulary = tensors["vocabulary"].tobytes().decode().rstrip("\n").split("\n")
        self._tokenizer = Tokenizer(vocabulary, tensors["characters"].tobytes().decode())
        # Copies, here and below: a view would keep the whole file in memory.
        self._words: NDArray[np.int8] = tensors["words"].copy()
        self._scales: Floats = tensors["words.scale"].copy()
        self._positions: Floats = tensors["positions"].copy()
        self._norm = _norm(tensors, "norm")

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, MAX_TOKENS)

    def encode_ends(self, text: str, most_tokens: int) -> list[int]:
        return both_ends(self._tokenizer.encode, text, most_tokens)

    def encode_within(self, text: str, most_tokens: int | None) -> list[int]:
        return self.encode(text) if most_tokens is None else self.encode_ends(text, most_tokens)

    def rows(self, batch: Sequence[list[int]]) -> Floats:
        tokens = np.concatenate(batch)
        rows: Floats = (self._words[tokens] * self._scales[tokens]).reshape(-1, DIM)
        rows += np.concatenate([self._positions[: len(encoded)] for encoded in batch])
        return self._norm(rows)


class MiniLM:
    dim = DIM
    at_once = 1  # some 30 ms; two take a tenth less each, and hold up a hook for twice as long

    def __init__(self, id: str, tensors: Tensors) -> None:
        self.id = id
        self._front = Front(tensors)
        self._layers = layers_of(tensors)

    def embed(self, texts: Sequence[str], most_tokens: int | None = None) -> Floats:
        vectors = np.empty((len(texts), DIM), np.float32)
        done = 0
        for batch in batches(self._front.encode_within(text, most_tokens) for text in texts):
            vectors[done : done + len(batch)] = self._forward(batch)
            done += len(batch)
        return vectors

    def embed_one(self, text: str) -> Floats:
        vector: Floats = self._forward([self._front.encode(text)])[0]
        return vector

    def embed_ends(self, text: str, most_tokens: int) -> Floats:
        vector: Floats = self._forward([self._front.encode_ends(text, most_tokens)])[0]
        return vector

    def _forward(self, batch: list[list[int]]) -> Floats:
        lengths = [len(encoded) for encoded in batch]
        rows = self._front.rows(batch)
        for layer in self._layers:
            rows = layer(rows, lengths)
        starts = np.cumsum([0, *lengths[:-1]])
        return of_length_one(np.add.reduceat(rows, starts))


def _check(tensors: Tensors) -> None:
    """The bytes were checked; this is for a file that was built for another program."""
    norms = ["norm", *(f"{layer}.{part}.norm" for layer in range(LAYERS) for part in ("gather", "narrow"))]
    expected = {
        "words": (WORDS, DIM // WORD_GROUP, WORD_GROUP, np.int8),
        "words.scale": (WORDS, DIM // WORD_GROUP, 1, np.float32),
        "positions": (MAX_TOKENS, DIM, np.float32),
        **{f"{norm}.{part}": (DIM, np.float32) for norm in norms for part in ("gain", "bias")},
    }
    for layer in range(LAYERS):
        for part, (wide_in, wide_out) in MATRICES.items():
            expected[f"{layer}.{part}"] = (wide_in, wide_out, np.int8)
            expected[f"{layer}.{part}.scale"] = (1, wide_out, np.float32)
            expected[f"{layer}.{part}.bias"] = (wide_out, np.float32)
    for name, (*shape, kind) in expected.items():
        found = tensors.get(name)
        if found is None or found.shape != tuple(shape) or found.dtype != kind:
            raise ModelBroken("all-MiniLM-L6-v2", f"the tensor {name} is missing or of another shape")


def layers_of(tensors: Tensors) -> list[Layer]:
    # One piece of memory for all matrices: the system gives it in large pages, and loading takes half the time.
    spare = np.empty(LAYERS * sum(wide_in * wide_out for wide_in, wide_out in MATRICES.values()), np.float32)

    def linear(name: str) -> Linear:
        nonlocal spare
        matrix = tensors[name]
        weight, spare = spare[: matrix.size].reshape(matrix.shape), spare[matrix.size :]
        np.multiply(matrix, tensors[f"{name}.scale"], out=weight)
        return Linear(weight, tensors[f"{name}.bias"].copy())

    return [
        Layer(
            heads=HEADS,
            attend=linear(f"{number}.attend"),
            gather=linear(f"{number}.gather"),
            gather_norm=_norm(tensors, f"{number}.gather.norm"),
            widen=linear(f"{number}.widen"),
            narrow=linear(f"{number}.narrow"),
            narrow_norm=_norm(tensors, f"{number}.narrow.norm"),
        )
        for number in range(LAYERS)
    ]


def _norm(tensors: Tensors, name: str) -> Norm:
    return Norm(tensors[f"{name}.gain"].copy(), tensors[f"{name}.bias"].copy())

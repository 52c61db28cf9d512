"""all-MiniLM-L6-v2 in numpy: six layers of attention, the mean of the tokens, length one.

Texts of a batch stand end to end, without padding: the matrices see one long run of tokens, attention sees
one text at a time. So a text's vector does not depend on its company (but for the last bits of a float).

How many threads numpy's BLAS takes is the process's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelBroken
from recollect.embed.tokenizer import Tokenizer
from recollect.embed.weights import Tensors

Floats = NDArray[np.float32]

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
# Short texts come half as fast again together as one by one; beyond this nothing is gained.
BATCH_TOKENS = 1_024
_END_CHARS = 400  # of a text that is too long: more than the tokens that are taken of its end
TONE_LAYERS = 3
"""After the third a sentence's mood is read best; four and more read it worse (docs/EMBEDDING.md)."""
TONE_DIM = TONE_LAYERS * DIM
_EPSILON = np.float32(1e-12)
_MEAN = np.full(DIM, 1 / DIM, np.float32)  # a product with it takes half the time of `mean`


@dataclass(frozen=True, slots=True)
class _Norm:
    gain: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        rows -= (rows @ _MEAN)[:, None]
        spread = np.einsum("ij,ij->i", rows, rows)
        rows /= np.sqrt(spread / DIM + _EPSILON)[:, None]
        rows *= self.gain
        rows += self.bias
        return rows


@dataclass(frozen=True, slots=True)
class _Linear:
    weight: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        out: Floats = rows @ self.weight
        out += self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Layer:
    attend: _Linear
    gather: _Linear
    gather_norm: _Norm
    widen: _Linear
    narrow: _Linear
    narrow_norm: _Norm

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        seen = self.gather(_attention(self.attend(rows), lengths))
        seen += rows
        rows = self.gather_norm(seen)
        thought = self.narrow(_gelu(self.widen(rows)))
        thought += rows
        return self.narrow_norm(thought)


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
        """All of it where it fits; else two thirds from its beginning and one from its end."""
        found = self._tokenizer.encode(text, most_tokens)
        if len(found) < most_tokens:
            return found
        end = most_tokens // 3
        return found[: most_tokens - end] + self.encode(text[-_END_CHARS:])[-end:]

    def rows(self, batch: Sequence[list[int]]) -> Floats:
        tokens = np.concatenate(batch)
        rows: Floats = (self._words[tokens] * self._scales[tokens]).reshape(-1, DIM)
        rows += np.concatenate([self._positions[: len(encoded)] for encoded in batch])
        return self._norm(rows)


class MiniLM:
    dim = DIM

    def __init__(self, id: str, tensors: Tensors) -> None:
        self.id = id
        self._front = Front(tensors)
        self._layers = layers_of(tensors)

    def embed(self, texts: Sequence[str]) -> Floats:
        vectors = np.empty((len(texts), DIM), np.float32)
        done = 0
        for batch in self._batches(texts):
            vectors[done : done + len(batch)] = self._forward(batch)
            done += len(batch)
        return vectors

    def embed_one(self, text: str) -> Floats:
        vector: Floats = self._forward([self._front.encode(text)])[0]
        return vector

    def embed_ends(self, text: str, most_tokens: int) -> Floats:
        vector: Floats = self._forward([self._front.encode_ends(text, most_tokens)])[0]
        return vector

    def tone(self, text: str) -> Floats:
        return tone(self._front, self._layers[:TONE_LAYERS], text)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[list[int]]]:
        batch: list[list[int]] = []
        tokens = 0
        for text in texts:
            encoded = self._front.encode(text)
            if batch and tokens + len(encoded) > BATCH_TOKENS:
                yield batch
                batch, tokens = [], 0
            batch.append(encoded)
            tokens += len(encoded)
        if batch:
            yield batch

    def _forward(self, batch: list[list[int]]) -> Floats:
        lengths = [len(encoded) for encoded in batch]
        rows = self._front.rows(batch)
        for layer in self._layers:
            rows = layer(rows, lengths)
        starts = np.cumsum([0, *lengths[:-1]])
        return of_length_one(np.add.reduceat(rows, starts))


def tone(front: Front, layers: Sequence[_Layer], text: str) -> Floats:
    """How a text is said, rather than what it is about: the mean of its tokens after each of the first layers.

    The last layer's vector is made to tell subjects apart and has forgotten the mood of a sentence.
    """
    encoded = front.encode(text)
    rows = front.rows([encoded])
    means: list[Floats] = []
    for layer in layers:
        rows = layer(rows, [len(encoded)])
        means.append(rows.mean(0))
    return np.concatenate(means)


def of_length_one(sums: Floats) -> Floats:
    """A text's vector is the mean of its tokens; at length one the sum is as good."""
    sums /= np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    return sums


def _attention(attended: Floats, lengths: Sequence[int]) -> Floats:
    out = np.empty((len(attended), DIM), np.float32)
    start = 0
    for length in lengths:
        text = slice(start, start + length)
        # Query (already divided by the root of its size), key and value, each: head, token, dimension.
        query, key, value = attended[text].reshape(length, 3, HEADS, HEAD_DIM).transpose(1, 2, 0, 3)
        scores: Floats = query @ key.swapaxes(1, 2)
        scores -= scores.max(2, keepdims=True)
        np.exp(scores, out=scores)
        seen = np.matmul(scores, value, out=out[text].reshape(length, HEADS, HEAD_DIM).transpose(1, 0, 2))
        seen /= np.einsum("hij->hi", scores)[:, :, None]
        start += length
    return out


def _gelu(rows: Floats) -> Floats:
    """By the logistic function, at most 0.0005 from the exact one, which numpy lacks."""
    bent = rows * rows
    bent *= np.float32(-0.0713548162726)
    bent -= np.float32(1.5957691216057308)
    bent *= rows
    with np.errstate(over="ignore"):  # far below zero: a number over infinity is nothing, as it should be
        np.exp(bent, out=bent)
    bent += np.float32(1)
    np.divide(rows, bent, out=bent)
    return bent


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


def layers_of(tensors: Tensors, count: int = LAYERS) -> list[_Layer]:
    # One piece of memory for all matrices: the system gives it in large pages, and loading takes half the time.
    spare = np.empty(count * sum(wide_in * wide_out for wide_in, wide_out in MATRICES.values()), np.float32)

    def linear(name: str) -> _Linear:
        nonlocal spare
        matrix = tensors[name]
        weight, spare = spare[: matrix.size].reshape(matrix.shape), spare[matrix.size :]
        np.multiply(matrix, tensors[f"{name}.scale"], out=weight)
        return _Linear(weight, tensors[f"{name}.bias"].copy())

    return [
        _Layer(
            attend=linear(f"{number}.attend"),
            gather=linear(f"{number}.gather"),
            gather_norm=_norm(tensors, f"{number}.gather.norm"),
            widen=linear(f"{number}.widen"),
            narrow=linear(f"{number}.narrow"),
            narrow_norm=_norm(tensors, f"{number}.narrow.norm"),
        )
        for number in range(count)
    ]


def _norm(tensors: Tensors, name: str) -> _Norm:
    return _Norm(tensors[f"{name}.gain"].copy(), tensors[f"{name}.bias"].copy())

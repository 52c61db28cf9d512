"""The layers of a BERT in numpy: whatever its size, the shipped model's and those of a folder alike.

Texts of a batch stand end to end, without padding: the matrices see one long run of tokens, attention sees
one text at a time. So a text's vector does not depend on its company (but for the last bits of a float).

How many threads numpy's BLAS takes is said in `recollect/__init__.py`: one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Short texts come half as fast again together as one by one; beyond this nothing is gained.
BATCH_TOKENS = 1_024
_END_CHARS = 400  # of a text that is too long: more than the tokens that are taken of its end


class Norm:
    __slots__ = ("_bias", "_epsilon", "_gain", "_mean", "_size")

    def __init__(self, gain: Floats, bias: Floats, epsilon: float = 1e-12) -> None:
        self._gain = gain
        self._bias = bias
        self._epsilon = np.float32(epsilon)
        self._size = len(gain)
        self._mean = np.full(self._size, 1 / self._size, np.float32)  # a product with it takes half the time of `mean`

    def __call__(self, rows: Floats) -> Floats:
        rows -= (rows @ self._mean)[:, None]
        spread = np.einsum("ij,ij->i", rows, rows)
        rows /= np.sqrt(spread / self._size + self._epsilon)[:, None]
        rows *= self._gain
        rows += self._bias
        return rows


@dataclass(frozen=True, slots=True)
class Linear:
    weight: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        out: Floats = rows @ self.weight
        out += self.bias
        return out


def gelu(rows: Floats) -> Floats:
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


def relu(rows: Floats) -> Floats:
    return np.maximum(rows, 0, out=rows)


@dataclass(frozen=True, slots=True)
class Layer:
    heads: int
    attend: Linear
    """Query (already divided by the root of its size), key and value at once."""
    gather: Linear
    gather_norm: Norm
    widen: Linear
    narrow: Linear
    narrow_norm: Norm
    bend: Callable[[Floats], Floats] = gelu

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        seen = self.gather(_attention(self.attend(rows), lengths, self.heads))
        seen += rows
        rows = self.gather_norm(seen)
        thought = self.narrow(self.bend(self.widen(rows)))
        thought += rows
        return self.narrow_norm(thought)


def _attention(attended: Floats, lengths: Sequence[int], heads: int) -> Floats:
    dim = attended.shape[1] // 3
    out = np.empty((len(attended), dim), np.float32)
    start = 0
    for length in lengths:
        text = slice(start, start + length)
        # Each: head, token, dimension.
        query, key, value = attended[text].reshape(length, 3, heads, dim // heads).transpose(1, 2, 0, 3)
        scores: Floats = query @ key.swapaxes(1, 2)
        scores -= scores.max(2, keepdims=True)
        np.exp(scores, out=scores)
        seen = np.matmul(scores, value, out=out[text].reshape(length, heads, dim // heads).transpose(1, 0, 2))
        seen /= np.einsum("hij->hi", scores)[:, :, None]
        start += length
    return out


def of_length_one(sums: Floats) -> Floats:
    """A text's vector is the mean of its tokens; at length one the sum is as good."""
    sums /= np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    return sums


def batches(encoded: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    tokens = 0
    for text in encoded:
        if batch and tokens + len(text) > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += len(text)
    if batch:
        yield batch


def both_ends(encode: Callable[[str, int], list[int]], text: str, most_tokens: int) -> list[int]:
    """All of it where it fits; else two thirds from its beginning and one from its end."""
    found = encode(text, most_tokens)
    if len(found) < most_tokens:
        return found
    end = most_tokens // 3
    return found[: most_tokens - end] + encode(text[-_END_CHARS:], _END_CHARS)[-end:]

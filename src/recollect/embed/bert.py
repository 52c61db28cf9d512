"""A BERT of any size in numpy, from its folder: MiniLM, BGE, E5, GTE and their like.

Texts of a batch stand end to end, without padding: the matrices see one long run of tokens, attention sees one text at
a time. So a text's vector does not depend on its company (but for the last bits of a float).

The numbers may be floats, as others save them, or int8 with scales and with query, key and value as one matrix, as
tools/build_model.py writes the shipped model. How many threads numpy uses is set in `recollect/__init__.py`: one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.folder import WEIGHTS, Folder, Pooling
from recollect.embed.tensors import Floats, Tensors, Unreadable

# Short texts are half as fast again together as one by one; beyond this nothing is gained.
BATCH_TOKENS = 1_024
_END_CHARS = 400  # of a text that is too long: more than the tokens that are taken of its end
_PREFIXES = ("", "bert.", "model.", "0.auto_model.")
_WORDS = "embeddings.word_embeddings.weight"
_LIMITS = {
    "hidden_size": 8_192, "num_attention_heads": 256, "num_hidden_layers": 96, "intermediate_size": 65_536,
    "max_position_embeddings": 65_536, "vocab_size": 2_000_000,
}  # fmt: skip


# Layers


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
    with np.errstate(over="ignore"):  # far below zero: a number divided by infinity is zero, as it should be
        np.exp(bent, out=bent)
    bent += np.float32(1)
    np.divide(rows, bent, out=bent)
    return bent


def relu(rows: Floats) -> Floats:
    return np.maximum(rows, 0, out=rows)


_ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu, "gelu_fast": gelu, "gelu_pytorch_tanh": gelu, "relu": relu}


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
    activation: Callable[[Floats], Floats] = gelu

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        seen = self.gather(_attention(self.attend(rows), lengths, self.heads))
        seen += rows
        rows = self.gather_norm(seen)
        thought = self.narrow(self.activation(self.widen(rows)))
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


# The model


class Bert:
    at_once = 1  # some 30 ms; two take a tenth less each, and hold up a hook for twice as long

    def __init__(self, folder: Folder, characters: str, shipped: Tensors | None = None) -> None:
        """`shipped`: the numbers of the shipped folder, which are read already."""
        config = folder.config
        _check_kind(folder)
        sizes = {name: _size(folder, name, most) for name, most in _LIMITS.items()}
        self.dim = sizes["hidden_size"]
        if self.dim % sizes["num_attention_heads"]:
            raise folder.unfit(f"{self.dim} numbers cannot be shared by {sizes['num_attention_heads']} heads")
        self._pooling = folder.pooling()
        self._max_tokens = folder.max_tokens()
        try:
            weights = shipped or folder.weights()
            self._tokenizer, words = folder.tokenizer(weights, characters)
            if words > sizes["vocab_size"]:
                raise folder.unfit(f"its tokenizer knows {words:,} words and the model {sizes['vocab_size']:,}")
            parts = _Int8Parts(weights, sizes, config) if "words" in weights else _FloatParts(weights, sizes, config)
            self._words, self._scales = parts.words()
            self._places = parts.places(self._max_tokens)
            self._norm = parts.first_norm()
            self._layers = [parts.layer(number) for number in range(sizes["num_hidden_layers"])]
        except Unreadable as problem:
            raise folder.unfit(f"{WEIGHTS}: {problem}") from None
        except MemoryError:
            raise folder.unfit("there is not enough memory for it") from None

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        made = [self._forward(batch) for batch in _batches(self._encode(text, most_tokens) for text in texts)]
        return np.concatenate(made) if made else np.empty((0, self.dim), np.float32)

    def _encode(self, text: str, most_tokens: int | None) -> list[int]:
        """With `most_tokens`, of a longer text two thirds from its beginning and one from its end."""
        if most_tokens is None:
            return self._tokenizer.encode(text, self._max_tokens)
        most = min(most_tokens, self._max_tokens)
        found = self._tokenizer.encode(text, most)
        if len(found) < most:
            return found
        end = most // 3
        return found[: most - end] + self._tokenizer.encode(text[-_END_CHARS:], _END_CHARS)[-end:]

    def _forward(self, batch: list[list[int]]) -> Floats:
        lengths = [len(text) for text in batch]
        tokens = np.concatenate(batch)
        rows: Floats = self._words[tokens]
        if self._scales is not None:
            rows = (rows * self._scales[tokens]).reshape(-1, self.dim)
        rows += np.concatenate([self._places[:length] for length in lengths])
        rows = self._norm(rows)
        for layer in self._layers:
            rows = layer(rows, lengths)
        starts = np.cumsum([0, *lengths[:-1]])
        match self._pooling:
            case Pooling.CLS:
                firsts: Floats = rows[starts]
                return firsts
            case Pooling.MAX:
                most: Floats = np.maximum.reduceat(rows, starts)
                return most
            case Pooling.MEAN:
                sums: Floats = np.add.reduceat(rows, starts)  # at length one the sum is as good as the mean
                return sums


def _batches(encoded: Iterable[list[int]]) -> Iterator[list[list[int]]]:
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


def _check_kind(folder: Folder) -> None:
    config = folder.config
    if not config:
        raise folder.unfit("it has no config.json")
    places, activation = config.get("position_embedding_type", "absolute"), config.get("hidden_act", "gelu")
    if config.get("model_type") != "bert" or places != "absolute" or activation not in _ACTIVATIONS:
        kind = config.get("model_type", "unknown")
        raise folder.unfit(f"it is of the kind {kind!r} ({places}, {activation}), and only a BERT can be run here")


def _size(folder: Folder, name: str, most: int) -> int:
    found = folder.config.get(name)
    if type(found) is not int or not 1 <= found <= most:
        raise folder.unfit(f"{name} in config.json is {found!r}")
    return found


# The parts of the model, by how its numbers are saved


class _FloatParts:
    def __init__(self, tensors: Tensors, sizes: dict[str, int], config: dict[str, Any]) -> None:
        prefix = next((prefix for prefix in _PREFIXES if prefix + _WORDS in tensors), "")
        self._tensors, self._prefix = tensors, prefix
        self._sizes, self._config, self._dim = sizes, config, sizes["hidden_size"]

    def words(self) -> tuple[NDArray[Any], Floats | None]:
        return self._floats(_WORDS, self._sizes["vocab_size"], self._dim), None

    def places(self, count: int) -> Floats:
        kinds = int(self._config.get("type_vocab_size", 2))
        first_kind = self._floats("embeddings.token_type_embeddings.weight", kinds, self._dim)[0]
        all_places = self._sizes["max_position_embeddings"]
        places = self._floats("embeddings.position_embeddings.weight", all_places, self._dim)
        found: Floats = places[:count] + first_kind
        return found

    def first_norm(self) -> Norm:
        return self._norm("embeddings.LayerNorm")

    def layer(self, number: int) -> Layer:
        dim, wide, heads = self._dim, self._sizes["intermediate_size"], self._sizes["num_attention_heads"]
        name = f"encoder.layer.{number}."
        parts = [self._linear(f"{name}attention.self.{part}", dim, dim) for part in ("query", "key", "value")]
        root = np.float32(1 / math.sqrt(dim // heads))
        parts[0] = Linear(parts[0].weight * root, parts[0].bias * root)
        return Layer(
            heads=heads,
            attend=Linear(
                np.concatenate([part.weight for part in parts], axis=1), np.concatenate([part.bias for part in parts])
            ),
            gather=self._linear(f"{name}attention.output.dense", dim, dim),
            gather_norm=self._norm(f"{name}attention.output.LayerNorm"),
            widen=self._linear(f"{name}intermediate.dense", dim, wide),
            narrow=self._linear(f"{name}output.dense", wide, dim),
            narrow_norm=self._norm(f"{name}output.LayerNorm"),
            activation=_ACTIVATIONS[self._config.get("hidden_act", "gelu")],
        )

    def _floats(self, name: str, *shape: int) -> Floats:
        return self._tensors.floats(self._prefix + name, *shape)

    def _linear(self, name: str, takes: int, gives: int) -> Linear:
        weight = np.ascontiguousarray(self._floats(f"{name}.weight", gives, takes).T)
        return Linear(weight, self._floats(f"{name}.bias", gives))

    def _norm(self, name: str) -> Norm:
        epsilon = float(self._config.get("layer_norm_eps", 1e-12))
        return Norm(self._floats(f"{name}.weight", self._dim), self._floats(f"{name}.bias", self._dim), epsilon)


class _Int8Parts:
    """The words stay int8, because only a few rows of them are used; a layer is turned into floats once."""

    def __init__(self, tensors: Tensors, sizes: dict[str, int], config: dict[str, Any]) -> None:
        self._tensors, self._sizes = tensors, sizes
        self._dim = dim = sizes["hidden_size"]
        wide = sizes["intermediate_size"]
        self._scale_size = int(config.get("word_scale_size", dim))
        self._shapes = {"attend": (dim, 3 * dim), "gather": (dim, dim), "widen": (dim, wide), "narrow": (wide, dim)}
        # One piece of memory for all matrices: the system gives it in large pages, and loading takes half the time.
        numbers = sum(takes * gives for takes, gives in self._shapes.values())
        self._spare = np.empty(sizes["num_hidden_layers"] * numbers, np.float32)

    def words(self) -> tuple[NDArray[Any], Floats | None]:
        count, groups = self._sizes["vocab_size"], self._dim // self._scale_size
        # Copies, because a view would keep the whole file in memory.
        words = self._tensors.int8("words", count, groups, self._scale_size).copy()
        return words, self._tensors.floats("words.scale", count, groups, 1)

    def places(self, count: int) -> Floats:
        return self._tensors.floats("positions", self._sizes["max_position_embeddings"], self._dim)[:count]

    def first_norm(self) -> Norm:
        return self._norm("norm")

    def layer(self, number: int) -> Layer:
        linear = partial(self._linear, f"{number}.")
        return Layer(
            heads=self._sizes["num_attention_heads"],
            attend=linear("attend"),
            gather=linear("gather"),
            gather_norm=self._norm(f"{number}.gather.norm"),
            widen=linear("widen"),
            narrow=linear("narrow"),
            narrow_norm=self._norm(f"{number}.narrow.norm"),
        )

    def _linear(self, prefix: str, part: str) -> Linear:
        takes, gives = self._shapes[part]
        matrix = self._tensors.int8(prefix + part, takes, gives)
        weight, self._spare = self._spare[: matrix.size].reshape(matrix.shape), self._spare[matrix.size :]
        np.multiply(matrix, self._tensors.view(f"{prefix}{part}.scale", 1, gives), out=weight)
        return Linear(weight, self._tensors.floats(f"{prefix}{part}.bias", gives))

    def _norm(self, name: str) -> Norm:
        return Norm(self._tensors.floats(f"{name}.gain", self._dim), self._tensors.floats(f"{name}.bias", self._dim))

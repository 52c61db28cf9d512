"""A BERT of any size in numpy, from the folder it was saved in: BGE, E5, GTE, MiniLM and their like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from recollect.embed.folder import WEIGHTS, Folder, Pooling
from recollect.embed.layers import Floats, Layer, Linear, Norm, batches, both_ends, gelu, relu
from recollect.embed.safetensors import Tensors, Unreadable
from recollect.embed.vocabulary import Tokens

_BENDS = {"gelu": gelu, "gelu_new": gelu, "gelu_fast": gelu, "gelu_pytorch_tanh": gelu, "relu": relu}
_PREFIXES = ("", "bert.", "model.", "0.auto_model.")
_WORDS = "embeddings.word_embeddings.weight"
_LIMITS = {
    "hidden_size": 8_192, "num_attention_heads": 256, "num_hidden_layers": 96, "intermediate_size": 65_536,
    "max_position_embeddings": 65_536, "vocab_size": 2_000_000,
}  # fmt: skip


def is_one(config: dict[str, Any]) -> bool:
    places = config.get("position_embedding_type", "absolute")
    return config.get("model_type") == "bert" and places == "absolute" and config.get("hidden_act", "gelu") in _BENDS


class Bert:
    at_once = 1

    def __init__(self, folder: Folder, config: dict[str, Any], tokens: Tokens, vocabulary: int) -> None:
        sizes = {name: _size(folder, config, name, most) for name, most in _LIMITS.items()}
        self.dim = sizes["hidden_size"]
        if self.dim % sizes["num_attention_heads"]:
            raise folder.unfit(f"{self.dim} numbers cannot be shared by {sizes['num_attention_heads']} heads")
        if vocabulary > sizes["vocab_size"]:
            raise folder.unfit(f"its tokenizer knows {vocabulary:,} words and the model {sizes['vocab_size']:,}")
        self._pooling = folder.pooling()
        self._most_tokens = folder.most_tokens(config)
        self._tokens = tokens
        try:
            self._take(Tensors(folder.content(WEIGHTS)), sizes, config)
        except Unreadable as problem:
            raise folder.unfit(f"{WEIGHTS}: {problem}") from None
        except MemoryError:
            raise folder.unfit("there is not enough memory for it") from None

    def _take(self, tensors: Tensors, sizes: dict[str, int], config: dict[str, Any]) -> None:
        prefix = next((prefix for prefix in _PREFIXES if prefix + _WORDS in tensors), "")
        take = _Taking(tensors, prefix, float(config.get("layer_norm_eps", 1e-12)))
        dim, wide, places = self.dim, sizes["intermediate_size"], sizes["max_position_embeddings"]
        self._words = take.floats(_WORDS, sizes["vocab_size"], dim)
        kinds = take.floats("embeddings.token_type_embeddings.weight", int(config.get("type_vocab_size", 2)), dim)
        self._places = take.floats("embeddings.position_embeddings.weight", places, dim)[: self._most_tokens] + kinds[0]
        self._norm = take.norm("embeddings.LayerNorm", dim)
        bend = _BENDS[config.get("hidden_act", "gelu")]
        self._layers = [
            take.layer(f"encoder.layer.{number}.", dim, wide, sizes["num_attention_heads"], bend)
            for number in range(sizes["num_hidden_layers"])
        ]

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        encode = partial(encoded, self._tokens, self._most_tokens, most_tokens)
        made = [self._forward(batch) for batch in batches(map(encode, texts))]
        return np.concatenate(made) if made else np.empty((0, self.dim), np.float32)

    def _forward(self, batch: list[list[int]]) -> Floats:
        lengths = [len(text) for text in batch]
        rows: Floats = self._words[np.concatenate(batch)]
        rows += np.concatenate([self._places[:length] for length in lengths])
        rows = self._norm(rows)
        for layer in self._layers:
            rows = layer(rows, lengths)
        return pooled(rows, lengths, self._pooling)


def encoded(tokens: Tokens, most: int, both: int | None, text: str) -> list[int]:
    """At most so many tokens of its beginning; with `both` at most so many of its two ends."""
    return both_ends(tokens.encode, text, min(both, most)) if both else tokens.encode(text, most)


def pooled(rows: Floats, lengths: Sequence[int], pooling: Pooling) -> Floats:
    starts = np.cumsum([0, *lengths[:-1]])
    match pooling:
        case Pooling.CLS:
            firsts: Floats = rows[starts]
            return firsts
        case Pooling.MAX:
            most: Floats = np.maximum.reduceat(rows, starts)
            return most
        case Pooling.MEAN:
            sums: Floats = np.add.reduceat(rows, starts)  # at length one the sum is as good as the mean
            return sums


class _Taking:
    def __init__(self, tensors: Tensors, prefix: str, epsilon: float) -> None:
        self._tensors = tensors
        self._prefix = prefix
        self._epsilon = epsilon

    def floats(self, name: str, *shape: int) -> Floats:
        return self._tensors.floats(self._prefix + name, *shape)

    def norm(self, name: str, dim: int) -> Norm:
        return Norm(self.floats(f"{name}.weight", dim), self.floats(f"{name}.bias", dim), self._epsilon)

    def linear(self, name: str, takes: int, gives: int) -> Linear:
        return Linear(self._turned(f"{name}.weight", takes, gives), self.floats(f"{name}.bias", gives))

    def _turned(self, name: str, takes: int, gives: int) -> Floats:
        return np.ascontiguousarray(self.floats(name, gives, takes).T)

    def layer(self, name: str, dim: int, wide: int, heads: int, bend: Any) -> Layer:
        parts = [self.linear(f"{name}attention.self.{part}", dim, dim) for part in ("query", "key", "value")]
        damped = np.float32(1 / math.sqrt(dim // heads))
        parts[0] = Linear(parts[0].weight * damped, parts[0].bias * damped)
        together = Linear(
            np.concatenate([part.weight for part in parts], axis=1), np.concatenate([part.bias for part in parts])
        )
        return Layer(
            heads=heads,
            attend=together,
            gather=self.linear(f"{name}attention.output.dense", dim, dim),
            gather_norm=self.norm(f"{name}attention.output.LayerNorm", dim),
            widen=self.linear(f"{name}intermediate.dense", dim, wide),
            narrow=self.linear(f"{name}output.dense", wide, dim),
            narrow_norm=self.norm(f"{name}output.LayerNorm", dim),
            bend=bend,
        )


def _size(folder: Folder, config: dict[str, Any], name: str, most: int) -> int:
    found = config.get(name)
    if type(found) is not int or not 1 <= found <= most:
        raise folder.unfit(f"{name} in config.json is {found!r}")
    return found

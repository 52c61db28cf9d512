"""A BERT of any size in numpy, from its folder: MiniLM, BGE, E5, GTE and the like. The texts of a batch stand end to
end, without padding; attention sees one text at a time. The numbers may be floats, or int8 with scales, as
tools/build_model.py writes the shipped model. numpy uses one thread (set in `recollect/__init__.py`).

The shipped model has a second set of layers, half as many, which were taught to give the same vectors
(tools/distil_model.py). They read a question when someone waits for the answer. They were taught in English: a text
with other letters is read by all layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.embed.folder import QUESTIONS, WEIGHTS, Floats, Folder, Tensors, Unreadable

_BATCH_TEXTS = (
    8  # short texts are half as fast again together as one by one; with more nothing is gained
)
_END_CHARS = 400  # of a text that is too long: more than the tokens that are taken of its end
_LIKENESS_TOKENS = 600  # of a text
_SAME, _UNLIKE = (
    0.999,
    0.1,
)  # nearness of a word to itself, and of words that have nothing in common
_SIZES = "hidden_size num_attention_heads num_hidden_layers intermediate_size max_position_embeddings vocab_size"
_WORDS = "embeddings.word_embeddings.weight"
# How others call the parts of a layer.
_NAMES = {
    "gather": "attention.output.dense", "gather.norm": "attention.output.LayerNorm", "widen": "intermediate.dense",
    "narrow": "output.dense", "narrow.norm": "output.LayerNorm",
}  # fmt: skip


class Norm:
    def __init__(self, gain: Floats, bias: Floats, epsilon: float = 1e-12) -> None:
        self._gain, self._bias, self._epsilon = gain, bias, np.float32(epsilon)
        self._mean = np.full(
            len(gain), 1 / len(gain), np.float32
        )  # a product with it takes half the time of `mean`

    def __call__(self, rows: Floats) -> Floats:
        rows -= (rows @ self._mean)[:, None]
        spread = np.einsum("ij,ij->i", rows, rows)
        rows /= np.sqrt(spread / len(self._gain) + self._epsilon)[:, None]
        rows *= self._gain
        rows += self._bias
        return rows


class Linear(NamedTuple):
    weight: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        out: Floats = rows @ self.weight
        out += self.bias
        return out


def gelu(rows: Floats) -> Floats:
    """By the logistic function, at most 0.0005 from the exact one, which numpy lacks."""
    out = rows * rows
    out *= np.float32(-0.0713548162726)
    out -= np.float32(1.5957691216057308)
    out *= rows
    with np.errstate(
        over="ignore"
    ):  # far below zero: a number divided by infinity is zero, as it should be
        np.exp(out, out=out)
    out += np.float32(1)
    np.divide(rows, out, out=out)
    return out


class Layer:
    def __init__(self, parts: _FloatParts | _Int8Parts, heads: int, number: int) -> None:
        """`attend`: query (already divided by the root of its size), key and value at once."""
        self._heads = heads
        names = ("attend", "gather", "widen", "narrow")
        self._attend, self._gather, self._widen, self._narrow = (
            parts.linear(number, name) for name in names
        )
        self._gather_norm, self._narrow_norm = (
            parts.norm(number, name) for name in ("gather.norm", "narrow.norm")
        )

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        attended = self._gather(self._attention(self._attend(rows), lengths))
        attended += rows
        rows = self._gather_norm(attended)
        fed = self._narrow(gelu(self._widen(rows)))
        fed += rows
        return self._narrow_norm(fed)

    def _attention(self, attended: Floats, lengths: Sequence[int]) -> Floats:
        dim, heads = attended.shape[1] // 3, self._heads
        out = np.empty((len(attended), dim), np.float32)
        start = 0
        for length in lengths:
            text = slice(start, start + length)
            # Each: head, token, dimension.
            query, key, value = (
                attended[text].reshape(length, 3, heads, dim // heads).transpose(1, 2, 0, 3)
            )
            scores: Floats = query @ key.swapaxes(1, 2)
            scores -= scores.max(2, keepdims=True)
            np.exp(scores, out=scores)
            seen = np.matmul(
                scores, value, out=out[text].reshape(length, heads, dim // heads).transpose(1, 0, 2)
            )
            seen /= np.einsum("hij->hi", scores)[:, :, None]
            start += length
        return out


class Bert:
    at_once = 1  # some 30 ms; two take a tenth less each, and hold up a hook for twice as long

    def __init__(self, folder: Folder, characters: str, shipped: Tensors | None = None) -> None:
        """`shipped`: the numbers of the shipped folder, which are read already."""
        config = folder.config
        model, places = config.get("model_type"), config.get("position_embedding_type", "absolute")
        act = str(config.get("hidden_act", "gelu"))
        if model != "bert" or places != "absolute" or not act.startswith("gelu"):
            raise folder.unfit(
                f"it is a {model!r} ({places}, {act}), and only a BERT can be run here"
            )
        for name in _SIZES.split():
            if type(config.get(name)) is not int or config[name] < 1:
                raise folder.unfit(f"{name} in config.json is {config.get(name)!r}")
        self.dim, heads = config["hidden_size"], config["num_attention_heads"]
        if self.dim % heads:
            raise folder.unfit(f"{self.dim} numbers cannot be shared by {heads} heads")
        self._pools_first_token = folder.pools_first_token()
        self._max_tokens = folder.max_tokens()
        try:
            weights = shipped or folder.weights()
            self._tokenizer = folder.tokenizer(weights, characters, config["vocab_size"])
            parts = (
                _Int8Parts(weights, config) if "words" in weights else _FloatParts(weights, config)
            )
            self._words, self._scales = parts.words()
            self._positions = parts.positions()[: self._max_tokens]
            self._norm = parts.norm(None, "norm")
            self._layers = [
                Layer(parts, heads, number) for number in range(config["num_hidden_layers"])
            ]
            self._question_layers = self._layers
            if shipped is not None:
                fewer = config | {"num_hidden_layers": config["num_question_layers"]}
                parts = _Int8Parts(folder.weights(QUESTIONS), fewer)
                self._question_layers = [
                    Layer(parts, heads, number) for number in range(fewer["num_hidden_layers"])
                ]
        except Unreadable as problem:
            raise folder.unfit(f"{WEIGHTS}: {problem}") from None
        except MemoryError:
            raise folder.unfit("there is not enough memory for it") from None

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        encoded = [self._encode(text, most_tokens) for text in texts]
        is_quick = most_tokens is not None and all(map(_has_plain_letters, texts))
        layers = self._question_layers if is_quick else self._layers
        batches = [encoded[at : at + _BATCH_TEXTS] for at in range(0, len(encoded), _BATCH_TEXTS)]
        made = [self._forward(batch, layers) for batch in batches]
        return np.concatenate(made) if made else np.empty((0, self.dim), np.float32)

    def likeness(self, question: str, texts: Sequence[str]) -> list[float]:
        """For each text how near its nearest word comes to each word of the question, in the table of words alone. A
        word that all of these texts have counts for little."""
        asked, *said = (
            list(set(self._tokenizer.encode(text, _LIKENESS_TOKENS)[1:-1]))
            for text in (question, *texts)
        )
        if not asked or not said:
            return [0.0] * len(texts)
        said = [tokens or [0] for tokens in said]
        known, places = np.unique(np.concatenate(said), return_inverse=True)
        like: Floats = self._directions(np.array(asked)) @ self._directions(known).T
        near = np.maximum.reduceat(like[:, places], np.cumsum([0, *map(len, said[:-1])]), axis=1)
        having = (near > _SAME).sum(1)
        worth = np.log1p((len(said) - having + 0.5) / (having + 0.5))
        return [*(worth @ np.maximum(near - _UNLIKE, 0.0) / worth.sum()).tolist()]

    def _directions(self, tokens: NDArray[np.int64]) -> Floats:
        rows = self._word_rows(tokens)
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        return rows

    def _word_rows(self, tokens: NDArray[np.int64]) -> Floats:
        rows: Floats = self._words[tokens]
        return (
            rows
            if self._scales is None
            else np.multiply(rows, self._scales[tokens]).reshape(-1, self.dim)
        )

    def _encode(self, text: str, most_tokens: int | None) -> list[int]:
        """With `most_tokens`, a longer text gives two thirds from its beginning and one from its end."""
        most = min(most_tokens or self._max_tokens, self._max_tokens)
        found, end = self._tokenizer.encode(text, most), most // 3
        if most_tokens is None or len(found) < most:
            return found
        return found[: most - end] + self._tokenizer.encode(text[-_END_CHARS:], _END_CHARS)[-end:]

    def _forward(self, batch: list[list[int]], layers: list[Layer]) -> Floats:
        lengths = [len(text) for text in batch]
        tokens = np.concatenate(batch)
        rows = self._word_rows(tokens)
        rows += np.concatenate([self._positions[:length] for length in lengths])
        rows = self._norm(rows)
        for layer in layers:
            rows = layer(rows, lengths)
        starts = np.cumsum([0, *lengths[:-1]])
        # At length one, which all vectors are brought to, a sum is as good as the mean.
        pooled: Floats = rows[starts] if self._pools_first_token else np.add.reduceat(rows, starts)
        return pooled


def _has_plain_letters(text: str) -> bool:
    return text.isascii() or not any(char.isalpha() and not char.isascii() for char in text)


# The parts of the model, by how its numbers are saved.


class _FloatParts:
    def __init__(self, tensors: Tensors, config: dict[str, Any]) -> None:
        self._tensors, self._config, self._dim = tensors, config, config["hidden_size"]
        usual = ("", "bert.", "model.", "0.auto_model.")
        self._prefix = next((prefix for prefix in usual if prefix + _WORDS in tensors), "")

    def words(self) -> tuple[NDArray[Any], Floats | None]:
        return self._floats(_WORDS, self._config["vocab_size"], self._dim), None

    def positions(self) -> Floats:
        types, count = (
            int(self._config.get("type_vocab_size", 2)),
            self._config["max_position_embeddings"],
        )
        positions = self._floats("embeddings.position_embeddings.weight", count, self._dim)
        positions += self._floats("embeddings.token_type_embeddings.weight", types, self._dim)[0]
        return positions

    def linear(self, layer: int, part: str) -> Linear:
        name = f"encoder.layer.{layer}."
        if part != "attend":
            return self._linear(name + _NAMES[part], *_shapes(self._config)[part])
        of = ("query", "key", "value")
        parts = [self._linear(f"{name}attention.self.{one}", self._dim, self._dim) for one in of]
        root = np.float32(1 / math.sqrt(self._dim // self._config["num_attention_heads"]))
        parts[0] = Linear(parts[0].weight * root, parts[0].bias * root)
        return Linear(
            np.concatenate([one.weight for one in parts], 1),
            np.concatenate([one.bias for one in parts]),
        )

    def norm(self, layer: int | None, part: str) -> Norm:
        name = "embeddings.LayerNorm" if layer is None else f"encoder.layer.{layer}.{_NAMES[part]}"
        gain, bias = (self._floats(f"{name}.{half}", self._dim) for half in ("weight", "bias"))
        return Norm(gain, bias, float(self._config.get("layer_norm_eps", 1e-12)))

    def _linear(self, name: str, takes: int, gives: int) -> Linear:
        weight = np.ascontiguousarray(self._floats(f"{name}.weight", gives, takes).T)
        return Linear(weight, self._floats(f"{name}.bias", gives))

    def _floats(self, name: str, *shape: int) -> Floats:
        return self._tensors.floats(self._prefix + name, *shape)


class _Int8Parts:
    """The words stay int8, because only a few rows of them are used; a layer is turned into floats once."""

    def __init__(self, tensors: Tensors, config: dict[str, Any]) -> None:
        self._tensors, self._config, self._dim = tensors, config, config["hidden_size"]
        # One piece of memory for all matrices: the system gives it in large pages, and loading takes half the time.
        numbers = sum(takes * gives for takes, gives in _shapes(config).values())
        self._spare = np.empty(config["num_hidden_layers"] * numbers, np.float32)

    def words(self) -> tuple[NDArray[Any], Floats | None]:
        count, size = (
            self._config["vocab_size"],
            int(self._config.get("word_scale_size", self._dim)),
        )
        # A copy, because a view would keep the whole file in memory.
        words = self._tensors.view("words", ("I8",), count, self._dim // size, size).copy()
        return words, self._tensors.floats("words.scale", count, self._dim // size, 1)

    def positions(self) -> Floats:
        return self._tensors.floats("positions", self._config["max_position_embeddings"], self._dim)

    def linear(self, layer: int, part: str) -> Linear:
        name, (takes, gives) = f"{layer}.{part}", _shapes(self._config)[part]
        matrix = self._tensors.view(name, ("I8",), takes, gives)
        weight, self._spare = (
            self._spare[: matrix.size].reshape(matrix.shape),
            self._spare[matrix.size :],
        )
        np.multiply(matrix, self._tensors.view(f"{name}.scale", ("F32",), 1, gives), out=weight)
        return Linear(weight, self._tensors.floats(f"{name}.bias", gives))

    def norm(self, layer: int | None, part: str) -> Norm:
        name = part if layer is None else f"{layer}.{part}"
        return Norm(
            self._tensors.floats(f"{name}.gain", self._dim),
            self._tensors.floats(f"{name}.bias", self._dim),
        )


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Of the matrices of a layer: how many numbers each takes and gives."""
    dim, wide = config["hidden_size"], config["intermediate_size"]
    return {
        "attend": (dim, 3 * dim),
        "gather": (dim, dim),
        "widen": (dim, wide),
        "narrow": (wide, dim),
    }

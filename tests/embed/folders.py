"""Model folders made by code: a small BERT of random numbers as sentence-transformers would save it, and what it
should give, computed slowly and plainly in float64."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.embed import embedder

SHIPPED_WEIGHTS = embedder.SHIPPED_FOLDER / "model.safetensors"
Array = NDArray[Any]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789.,'-_:=()/",
         *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"),
         "the", "deploy", "staging", "goes", "through", "query", "passage", "first", "water"]  # fmt: skip
DIM, HEADS, LAYERS, WIDE, PLACES = 24, 3, 2, 48, 40
CONFIG = {
    "model_type": "bert", "hidden_size": DIM, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
    "intermediate_size": WIDE, "max_position_embeddings": PLACES, "vocab_size": len(WORDS), "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "hidden_act": "gelu",
}  # fmt: skip
MODULES = [
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def tensors(seed: int = 5, dim: int = DIM) -> dict[str, Array]:
    chance = np.random.default_rng(seed)

    def some(*shape: int) -> Array:
        return (chance.normal(size=shape) * 0.3).astype(np.float32)

    def norm(name: str) -> dict[str, Array]:
        return {f"{name}.weight": 1 + some(dim), f"{name}.bias": some(dim)}

    def linear(name: str, takes: int, gives: int) -> dict[str, Array]:
        return {f"{name}.weight": some(gives, takes), f"{name}.bias": some(gives)}

    made = {
        "embeddings.word_embeddings.weight": some(len(WORDS), dim),
        "embeddings.position_embeddings.weight": some(PLACES, dim),
        "embeddings.token_type_embeddings.weight": some(2, dim),
        **norm("embeddings.LayerNorm"),
    }
    for number in range(LAYERS):
        name = f"encoder.layer.{number}."
        for part in ("query", "key", "value"):
            made |= linear(f"{name}attention.self.{part}", dim, dim)
        made |= linear(f"{name}attention.output.dense", dim, dim) | norm(
            f"{name}attention.output.LayerNorm"
        )
        made |= linear(f"{name}intermediate.dense", dim, WIDE) | linear(
            f"{name}output.dense", WIDE, dim
        )
        made |= norm(f"{name}output.LayerNorm")
    return made


def packed(values: dict[str, Array], kind: str = "F32") -> bytes:
    """In the safetensors format."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, value in values.items():
        raw = _as(value, kind)
        header[name] = {
            "dtype": kind,
            "shape": list(value.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + body


def _as(value: Array, kind: str) -> bytes:
    if kind == "BF16":
        return (
            (np.ascontiguousarray(value, np.float32).view(np.uint32) >> 16)
            .astype(np.uint16)
            .tobytes()
        )
    return value.astype({"F32": "<f4", "F16": "<f2", "I64": "<i8"}[kind]).tobytes()


def save(
    folder: Path, *, pooling: str = "mean_tokens", prompts: dict[str, str] | None = None, seed: int = 5, dim: int = DIM,
    kind: str = "F32", prefix: str = "", **config: Any,
) -> Path:  # fmt: skip
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    put(folder / "config.json", CONFIG | {"hidden_size": dim} | config)
    put(folder / "modules.json", MODULES)
    put(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": dim, f"pooling_mode_{pooling}": True},
    )
    put(folder / "config_sentence_transformers.json", {"prompts": prompts or {}})
    put(folder / "tokenizer.json", tokenizer())
    named = {prefix + name: value for name, value in tensors(seed, dim).items()}
    (folder / "model.safetensors").write_bytes(packed(named, kind))
    return folder


def tokenizer(words: list[str] = WORDS, **model: Any) -> dict[str, Any]:
    vocabulary = {word: number for number, word in enumerate(words)}
    return {
        "model": {"vocab": vocabulary, **model},
        "normalizer": {"type": "BertNormalizer", "strip_accents": None},
    }


def put(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def expected(values: dict[str, Array], tokens: list[int], pooling: str = "mean_tokens") -> Array:
    """By the book, in float64, with the exact GELU."""
    wide = {name: value.astype(np.float64) for name, value in values.items()}

    def norm(name: str, rows: Array) -> Array:
        spread = np.sqrt(rows.var(1, keepdims=True) + 1e-12)
        found: Array = (rows - rows.mean(1, keepdims=True)) / spread * wide[
            f"{name}.weight"
        ] + wide[f"{name}.bias"]
        return found

    def linear(name: str, rows: Array) -> Array:
        found: Array = rows @ wide[f"{name}.weight"].T + wide[f"{name}.bias"]
        return found

    rows = (
        wide["embeddings.word_embeddings.weight"][tokens]
        + wide["embeddings.token_type_embeddings.weight"][0]
    )
    rows = norm(
        "embeddings.LayerNorm", rows + wide["embeddings.position_embeddings.weight"][: len(tokens)]
    )
    for number in range(LAYERS):
        name = f"encoder.layer.{number}."
        parts = [linear(f"{name}attention.self.{part}", rows) for part in ("query", "key", "value")]
        size = rows.shape[1] // HEADS
        seen = np.empty_like(rows)
        for head in range(HEADS):
            query, key, value = (part[:, head * size : (head + 1) * size] for part in parts)
            scores = np.exp(query @ key.T / math.sqrt(size))
            seen[:, head * size : (head + 1) * size] = scores / scores.sum(1, keepdims=True) @ value
        rows = norm(
            f"{name}attention.output.LayerNorm",
            linear(f"{name}attention.output.dense", seen) + rows,
        )
        thought = linear(f"{name}intermediate.dense", rows)
        thought = thought * (1 + np.vectorize(math.erf)(thought / math.sqrt(2))) / 2
        rows = norm(f"{name}output.LayerNorm", linear(f"{name}output.dense", thought) + rows)
    pooled = rows[0] if pooling == "cls_token" else rows.mean(0)
    found: Array = pooled / np.linalg.norm(pooled)
    return found


def tokens_of(*words: str) -> list[int]:
    return [WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]


def shipped_without_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a copy of the shipped folder in its place; returns where its weights should be."""
    folder.mkdir()
    shutil.copy(embedder.SHIPPED_FOLDER / "config.json", folder)
    monkeypatch.setattr(embedder, "SHIPPED_FOLDER", folder)
    return folder / "model.safetensors"

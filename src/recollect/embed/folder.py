"""The folder of a model: what its files say, as sentence-transformers writes them.

    config.json                         the kind of model and its sizes
    model.safetensors                   the numbers
    tokenizer.json, or vocab.txt        words to numbers (tokenizer_config.json: upper case, marks)
    modules.json, 1_Pooling/config.json how tokens become one vector
    sentence_bert_config.json           how many tokens it takes
    config_sentence_transformers.json   what is put before a question and before a passage

The shipped model is such a folder, too; its vocabulary is in model.safetensors, and config.json holds its name and the
hash of its numbers.

Files are regular ones, read whole and within limits; links are followed, because caches of models are made of them.
They are not mapped: a mapped file that something cuts short ends the process. Every byte that is read goes into the
model's hash. Nothing in a folder is ever run. ModelUnfit if it cannot be used; for the shipped one ModelMissing or
ModelBroken.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelBroken, ModelError, ModelMissing, ModelUnfit
from recollect.base.text import clip
from recollect.embed.tensors import Tensors, Unreadable
from recollect.embed.wordpiece import Marks, Tokenizer

MAX_BYTES = 2_000_000_000  # of the numbers: in memory they take as much again while they are read
WEIGHTS = "model.safetensors"
_MAX_TEXT_BYTES = 64_000_000
_MAX_TOKENS = 512
_MAX_WORDS = 2_000_000
_HINT = "docs/EMBEDDING.md says what a folder has to hold; `shipped` is always there."
_OTHER_KIND = "A server that runs it can be named instead (http://127.0.0.1:PORT/v1#MODEL); `shipped` is always there."


class Pooling(StrEnum):
    MEAN = "mean"
    CLS = "cls"
    MAX = "max"


_POOLINGS = {
    "mean_tokens": Pooling.MEAN, "mean_sqrt_len_tokens": Pooling.MEAN, "mean": Pooling.MEAN,
    "cls_token": Pooling.CLS, "cls": Pooling.CLS, "max_tokens": Pooling.MAX, "max": Pooling.MAX,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the model wants before a text."""

    question: str = ""
    passage: str = ""


class Folder:
    def __init__(self, path: Path, *, is_shipped: bool = False) -> None:
        self.path = path
        self._is_shipped = is_shipped
        self._hash = hashlib.sha256()
        if is_shipped or path.is_dir():
            return
        what = "is a file, not a folder" if path.exists() else "is not there"
        raise ModelUnfit(
            f"The embedding model {path} (MEMORY_EMBEDDING_MODEL) {what}.", hint=f"Name the model's folder. {_HINT}"
        )

    @property
    def id(self) -> str:
        """Of everything that was read so far."""
        if self._is_shipped:
            return f"{self.config.get('name')}:{str(self.config.get('sha256'))[:12]}"
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.path.resolve().name).strip("-") or "model"
        return f"{clip(name, 60)}:{self._hash.hexdigest()[:12]}"

    @cached_property
    def config(self) -> dict[str, Any]:
        if self._is_shipped and not self.has("config.json"):
            raise ModelMissing("config.json")
        return self.json("config.json")

    def unfit(self, problem: str, hint: str = _HINT) -> ModelError:
        if self._is_shipped:
            return ModelBroken(self.path.name, problem)
        return ModelUnfit(f"The embedding model {self.path} cannot be used: {problem}.", hint=hint)

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def content(self, name: str, max_bytes: int = MAX_BYTES) -> NDArray[np.uint8]:
        """A file's bytes, which go into the hash."""
        path = self.path / name
        try:
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                raise self.unfit(f"{name} is no regular file")
            if found.st_size > max_bytes:
                raise self.unfit(f"{name} has {found.st_size:,} bytes, and at most {max_bytes:,} are read")
            read = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            raise ModelMissing(name) if self._is_shipped else self.unfit(f"{name} is not there") from None
        except (OSError, MemoryError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "not enough memory"
            raise self.unfit(f"{name} cannot be read ({why})") from None
        digest = hashlib.sha256(read.data)
        expected = str(self.config.get("sha256")) if self._is_shipped and name == WEIGHTS else digest.hexdigest()
        if digest.hexdigest() != expected:
            found_hash = digest.hexdigest()[:12]
            raise self.unfit(f"{read.size} bytes with the sha256 {found_hash}…, expected {expected[:12]}…")
        self._hash.update(f"{name}\0{read.size}\0".encode() + digest.digest())
        return read

    def weights(self) -> Tensors:
        """Read anew at each call, so that whoever takes what it needs lets the file go."""
        if not self.has(WEIGHTS) and not self._is_shipped:
            raise self.unfit(self._missing_weights())
        try:
            return Tensors(self.content(WEIGHTS))
        except Unreadable as problem:
            raise self.unfit(f"{WEIGHTS}: {problem}") from None

    def _missing_weights(self) -> str:
        if self.has(f"{WEIGHTS}.index.json"):
            return f"its numbers are in several files; one {WEIGHTS} is expected"
        if self.has("pytorch_model.bin"):
            return f"its numbers are in pytorch_model.bin, which is never opened; save it as {WEIGHTS}"
        return f"it has no {WEIGHTS}"

    def json(self, name: str) -> dict[str, Any]:
        """Empty if the file is not there."""
        found = self._json(name)
        if not isinstance(found, dict):
            raise self.unfit(f"{name} does not hold an object")
        return found

    def _json(self, name: str) -> Any:
        if not self.has(name):
            return {}
        try:
            return json.loads(self.content(name, _MAX_TEXT_BYTES).tobytes().decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise self.unfit(f"{name} is no JSON, or was cut short") from None

    def lines(self, name: str) -> list[str]:
        try:
            text = self.content(name, _MAX_TEXT_BYTES).tobytes().decode("utf-8")
        except ValueError:
            raise self.unfit(f"{name} is not UTF-8 text") from None
        return text.removesuffix("\n").split("\n")

    def pooling(self) -> Pooling:
        """The mean if nothing is said, as in sentence-transformers."""
        steps = self._json("modules.json") or []
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            raise self.unfit("modules.json is not a list of steps")
        found = Pooling.MEAN
        for step in steps:
            kind = str(step.get("type", "")).rpartition(".")[2]
            if kind == "Pooling":
                found = self._pooling(f"{step.get('path') or '1_Pooling'}/config.json")
            elif kind not in ("Transformer", "Normalize"):
                raise self.unfit(f"modules.json has a step of the kind {kind!r}")
        return found

    def _pooling(self, name: str) -> Pooling:
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise self.unfit(f"modules.json names {name!r}, outside of the folder")
        said = self.json(name)
        prefix = "pooling_mode_"
        on = {key.removeprefix(prefix) for key, value in said.items() if key.startswith(prefix) and value is True}
        on |= {said["pooling_mode"]} if isinstance(said.get("pooling_mode"), str) else set()
        if not on:
            return Pooling.MEAN
        if len(on) > 1 or not on <= _POOLINGS.keys():
            raise self.unfit(f"{name} asks for {' and '.join(sorted(map(str, on)))}; mean, cls and max are known")
        return _POOLINGS[on.pop()]

    def prompts(self) -> Prompts:
        said = self.json("config_sentence_transformers.json").get("prompts")
        if not isinstance(said, dict):
            return Prompts()
        named = {str(name).lower(): text for name, text in said.items() if isinstance(text, str)}
        question = next((named[name] for name in ("query", "search_query", "question") if name in named), "")
        passage = next((named[name] for name in ("passage", "document", "search_document") if name in named), "")
        return Prompts(question, passage)

    def max_tokens(self) -> int:
        """As many as the model has positions for, or fewer if its makers say so."""
        limits = [_MAX_TOKENS, self.config.get("max_position_embeddings")]
        limits.append(self.json("sentence_bert_config.json").get("max_seq_length"))
        return min(limit for limit in limits if isinstance(limit, int) and limit > 8)

    # The tokenizer: WordPiece alone, which every BERT has. A model with another kind can serve through an endpoint.

    def tokenizer(self, weights: Tensors, characters: str) -> tuple[Tokenizer, int]:
        """And how many numbers it can give. `characters`: what becomes of each (wordpiece.py)."""
        if self._is_shipped:
            words = weights.bytes("vocabulary").decode().rstrip("\n").split("\n")
            return Tokenizer(words, characters), len(words)
        said = self.json("tokenizer_config.json")
        if self.has("tokenizer.json"):
            whole = self.json("tokenizer.json")
            words, lowercase = self._words(whole), self._is_lowercase(said, whole.get("normalizer"))
        elif self.has("vocab.txt"):
            words, lowercase = self.lines("vocab.txt"), self._is_lowercase(said, None)
        else:
            raise self.unfit("it has neither tokenizer.json nor vocab.txt")

        def mark(name: str, usual: str) -> str:
            found = said.get(f"{name}_token", usual)
            found = found.get("content") if isinstance(found, dict) else found
            return found if isinstance(found, str) and found else usual

        others = (mark("pad", "[PAD]"), mark("mask", "[MASK]"))
        marks = Marks(mark("cls", "[CLS]"), mark("sep", "[SEP]"), mark("unk", "[UNK]"), others)
        missing = {marks.first, marks.last, marks.unknown} - set(words)
        if missing:
            raise self.unfit(f"its vocabulary lacks {', '.join(sorted(missing))}")
        return Tokenizer(words, characters, marks, lowercase=lowercase), len(words)

    def _words(self, tokenizer: dict[str, Any]) -> list[str]:
        model = tokenizer.get("model")
        if not isinstance(model, dict):
            raise self.unfit("tokenizer.json names no model")
        if model.get("type", "WordPiece") != "WordPiece" or model.get("continuing_subword_prefix", "##") != "##":
            raise self.unfit(f"its tokenizer is of the kind {model.get('type')}, not WordPiece", _OTHER_KIND)
        vocabulary = model.get("vocab")
        if not isinstance(vocabulary, dict) or not all(type(number) is int for number in vocabulary.values()):
            raise self.unfit("tokenizer.json has no vocabulary")
        most = max(vocabulary.values(), default=-1)
        if not 0 <= most < _MAX_WORDS or min(vocabulary.values()) < 0:
            raise self.unfit("the vocabulary in tokenizer.json is not numbered as one is")
        found = [f"\0{number}" for number in range(most + 1)]  # a number that no word has is never met
        for word, number in vocabulary.items():
            found[number] = word
        return found

    def _is_lowercase(self, said: dict[str, Any], normalizer: Any) -> bool:
        """Whether it was trained on lower case without accents. Anything in between is not supported."""
        if isinstance(normalizer, dict):
            if normalizer.get("type") != "BertNormalizer":
                raise self.unfit(f"its tokenizer prepares text in a way that is not known ({normalizer.get('type')})")
            names = ("lowercase", "strip_accents", "handle_chinese_chars")
        else:
            normalizer, names = said, ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
        lowers, strips, parts = normalizer.get(names[0], True), normalizer.get(names[1]), normalizer.get(names[2], True)
        if (strips is not None and bool(strips) != bool(lowers)) or not parts:
            raise self.unfit("its tokenizer treats accents or Chinese in a way that is not known here")
        return bool(lowers)

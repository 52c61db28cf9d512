"""A model that somebody has on disk: what the files of its folder say, as sentence-transformers writes them.

    config.json                         the kind of model, its sizes
    model.safetensors, onnx/model.onnx  the numbers (the first is read here, the second by onnxruntime)
    tokenizer.json, or vocab.txt        words to numbers (tokenizer_config.json: upper case, marks)
    modules.json, 1_Pooling/config.json how tokens become one vector
    sentence_bert_config.json           how many tokens it takes
    config_sentence_transformers.json   what is put before a question and before a passage

Files are regular ones, read whole and within limits; links are followed, as caches of models are made of them. Every
byte that is read goes into the model's hash. Nothing in a folder is ever run. ModelUnfit where it cannot be used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelUnfit
from recollect.base.text import clip

MOST_BYTES = 2_000_000_000  # of the numbers: in memory they take as much again while they are read
MOST_TEXT_BYTES = 64_000_000
WEIGHTS = "model.safetensors"
GRAPHS = ("onnx/model.onnx", "model.onnx")
MOST_TOKENS = 512
_LEARNT = "docs/EMBEDDING.md says what a folder has to hold; `shipped` is always there."
_NAME = r"[^A-Za-z0-9._-]+"


class Pooling(StrEnum):
    MEAN = "mean"
    CLS = "cls"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Prompts:
    """What this model wants before a text."""

    question: str = ""
    passage: str = ""


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        if not path.is_dir():
            what = "is a file, not a folder" if path.exists() else "is not there"
            raise ModelUnfit(
                f"The embedding model {path} (MEMORY_EMBEDDING_MODEL) {what}.",
                hint=f"Name the model's folder. {_LEARNT}",
            )

    @property
    def id(self) -> str:
        """Of everything that was read so far."""
        name = re.sub(_NAME, "-", self.path.resolve().name).strip("-") or "model"
        return f"{clip(name, 60)}:{self._hash.hexdigest()[:12]}"

    def unfit(self, problem: str, hint: str = _LEARNT) -> ModelUnfit:
        return ModelUnfit(f"The embedding model {self.path} cannot be used: {problem}.", hint=hint)

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def content(self, name: str, most_bytes: int = MOST_BYTES) -> NDArray[np.uint8]:
        """A file's bytes, and into the hash with them."""
        path = self.path / name
        try:
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                raise self.unfit(f"{name} is no regular file")
            if found.st_size > most_bytes:
                raise self.unfit(f"{name} has {found.st_size:,} bytes, and at most {most_bytes:,} are read")
            read = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            raise self.unfit(f"{name} is not there") from None
        except (OSError, MemoryError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "not enough memory"
            raise self.unfit(f"{name} cannot be read ({why})") from None
        self._hash.update(f"{name}\0{read.size}\0".encode())
        self._hash.update(read.data)
        return read

    def json(self, name: str) -> dict[str, Any]:
        """Nothing where the file is not there."""
        found = self._json(name)
        if not isinstance(found, dict):
            raise self.unfit(f"{name} does not hold an object")
        return found

    def _json(self, name: str) -> Any:
        if not self.has(name):
            return {}
        try:
            return json.loads(self.content(name, MOST_TEXT_BYTES).tobytes().decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise self.unfit(f"{name} is no JSON, or was cut short") from None

    def lines(self, name: str) -> list[str]:
        try:
            text = self.content(name, MOST_TEXT_BYTES).tobytes().decode("utf-8")
        except ValueError:
            raise self.unfit(f"{name} is not UTF-8 text") from None
        return text.removesuffix("\n").split("\n")

    def pooling(self) -> Pooling:
        """The mean where nothing is said, as sentence-transformers has it."""
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
        known = {
            "mean_tokens": Pooling.MEAN, "mean_sqrt_len_tokens": Pooling.MEAN, "mean": Pooling.MEAN,
            "cls_token": Pooling.CLS, "cls": Pooling.CLS, "max_tokens": Pooling.MAX, "max": Pooling.MAX,
        }  # fmt: skip
        if not on:
            return Pooling.MEAN
        if len(on) > 1 or not on <= known.keys():
            raise self.unfit(f"{name} asks for {' and '.join(sorted(map(str, on)))}; mean, cls and max are known")
        return known[on.pop()]

    def prompts(self) -> Prompts:
        said = self.json("config_sentence_transformers.json").get("prompts")
        if not isinstance(said, dict):
            return Prompts()
        named = {str(name).lower(): text for name, text in said.items() if isinstance(text, str)}
        question = next((named[name] for name in ("query", "search_query", "question") if name in named), "")
        passage = next((named[name] for name in ("passage", "document", "search_document") if name in named), "")
        return Prompts(question, passage)

    def most_tokens(self, config: dict[str, Any]) -> int:
        """As many as the model has places for, or fewer where its makers say so."""
        limits = [MOST_TOKENS, config.get("max_position_embeddings")]
        limits.append(self.json("sentence_bert_config.json").get("max_seq_length"))
        return min(limit for limit in limits if isinstance(limit, int) and limit > 8)

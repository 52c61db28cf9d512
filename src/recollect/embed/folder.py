"""A model's folder, as sentence-transformers writes it (docs/EMBEDDING.md), and its WordPiece tokenizer; the shipped
model is such a folder, too. Files are read whole and never mapped: a mapped file that is cut short ends the process.
Every byte that is read goes into the model's hash, and nothing in a folder is ever run. Raises ModelUnfit; for the
shipped one ModelMissing or ModelBroken.

Text becomes tokens by WordPiece. What the reference does to a character does not depend on its neighbours, so it is a
table that comes with the weights (tools/build_model.py); Python's own Unicode tables differ from one Python to the
next."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelBroken, ModelError, ModelMissing, ModelUnfit
from recollect.base.text import clip

Floats = NDArray[np.float32]

_LENGTH_BYTES = 8
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8", "I8": "i1", "U8": "u1"}
MAX_BYTES = 2_000_000_000  # of the numbers: in memory they take as much again while they are read
WEIGHTS = "model.safetensors"
QUESTIONS = "question.safetensors"  # the layers of the shipped model that read a question while someone waits
_POOLING = "1_Pooling/config.json"
_REINSTALL = (
    "Recall goes on with words alone. To fix it: `pip install --force-reinstall recollect`."
)
_HINT = (
    "docs/EMBEDDING.md says what a folder must hold. A server that runs the model can be named instead "
    "(http://127.0.0.1:PORT/v1#MODEL); `shipped` is always there."
)

_FIRST, _LAST, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
# The reference finds the model's own tokens in the raw text, before anything else.
_MARKS = re.compile(r"\[(?:CLS|SEP|UNK|PAD|MASK)\]")
_FIRST_CUT_CHARS = 2_048  # more than 256 tokens of most texts; each further cut is twice as long
_LONGEST_WORD = 100  # a longer word is unknown, as in the reference


class Folder:
    def __init__(self, path: Path, *, is_shipped: bool = False) -> None:
        self.path = path
        self._is_shipped = is_shipped
        self._hash = hashlib.sha256()
        if not is_shipped and not path.is_dir():
            raise ModelUnfit(
                f"The embedding model {path} (MEMORY_EMBEDDING_MODEL) is not there.", hint=_HINT
            )

    @property
    def id(self) -> str:
        """A hash of everything that was read so far."""
        if self._is_shipped:
            return f"{self.config.get('name')}:{str(self.config.get('sha256'))[:12]}"
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.path.resolve().name).strip("-") or "model"
        return f"{clip(name, 60)}:{self._hash.hexdigest()[:12]}"

    @cached_property
    def config(self) -> dict[str, Any]:
        return dict(self._json("config.json", required=True))

    def unfit(self, problem: str) -> ModelError:
        if self._is_shipped:
            message = f"The embedding model {self.path.name} is not what was shipped: {problem}."
            return ModelBroken(message, hint=_REINSTALL)
        return ModelUnfit(f"The embedding model {self.path} cannot be used: {problem}.", hint=_HINT)

    def weights(self, name: str = WEIGHTS) -> Tensors:
        """Read again at each call, so that whoever takes what it needs lets the file go."""
        if (self.path / "pytorch_model.bin").exists() and not (self.path / name).exists():
            raise self.unfit(
                f"its numbers are in pytorch_model.bin, which is never opened; save it as {name}"
            )
        try:
            return Tensors(self._read(name, MAX_BYTES))
        except Unreadable as problem:
            raise self.unfit(f"{name}: {problem}") from None

    def _read(self, name: str, max_bytes: int = 64_000_000) -> NDArray[np.uint8]:
        """A file's bytes, which go into the hash."""
        path = self.path / name
        try:
            if path.exists() and not path.is_file():
                raise self.unfit(f"{name} is not a regular file")
            if (size := path.stat().st_size) > max_bytes:
                raise self.unfit(f"{name} has {size:,} bytes, and at most {max_bytes:,} are read")
            read = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            missing = ModelMissing(f"The embedding model is not there ({name}).", hint=_REINSTALL)
            raise missing if self._is_shipped else self.unfit(f"it has no {name}") from None
        except (OSError, MemoryError) as problem:
            raise self.unfit(f"{name} cannot be read ({problem})") from None
        digest = hashlib.sha256(read.data)
        wanted = (
            {WEIGHTS: "sha256", QUESTIONS: "question_sha256"}.get(name)
            if self._is_shipped
            else None
        )
        if wanted and digest.hexdigest() != self.config.get(wanted):
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
        named = [
            name
            for name, is_on in config.items()
            if name.startswith("pooling_mode_") and is_on is True
        ]
        modes = {name.rpartition("_mode_")[2] for name in named}
        modes |= {str(config["pooling_mode"])} if "pooling_mode" in config else set()
        if not modes <= {"mean_tokens", "mean"} and not modes <= {"cls_token", "cls"}:
            raise self.unfit(
                f"{_POOLING} asks for {' and '.join(sorted(modes))}; `mean` and `cls` are supported"
            )
        return bool(modes & {"cls_token", "cls"})

    def prompts(self) -> tuple[str, str]:
        """What the model wants before a question and before a passage."""
        said = self._json("config_sentence_transformers.json").get("prompts")
        named = (
            {name: text for name, text in said.items() if isinstance(text, str)}
            if isinstance(said, dict)
            else {}
        )
        question = next(
            (named[name] for name in ("query", "search_query", "question") if name in named), ""
        )
        return question, next(
            (named[name] for name in ("passage", "document", "search_document") if name in named),
            "",
        )

    def max_tokens(self) -> int:
        """As many as the model has positions for, or fewer if its makers say so."""
        limits = [512, self.config.get("max_position_embeddings")]
        limits.append(self._json("sentence_bert_config.json").get("max_seq_length"))
        return min(limit for limit in limits if isinstance(limit, int) and limit > 8)

    def tokenizer(self, weights: Tensors, characters: str, max_words: int) -> Tokenizer:
        """WordPiece in lower case, which every uncased BERT has. `characters`: what each becomes."""
        words = (
            weights.text("vocabulary").rstrip("\n").split("\n")
            if self._is_shipped
            else self._words(max_words)
        )
        if len(words) > max_words or not {_FIRST, _LAST, _UNKNOWN} <= set(words):
            raise self.unfit(f"its vocabulary of {len(words):,} words does not fit the model")
        return Tokenizer(words, characters)

    def _words(self, max_words: int) -> list[str]:
        tokenizer = self._json("tokenizer.json", required=True)
        model, normalizer = tokenizer.get("model"), tokenizer.get("normalizer")
        if not isinstance(model, dict) or model.get("type", "WordPiece") != "WordPiece":
            raise self.unfit("its tokenizer is not WordPiece")
        usual = {
            "type": "BertNormalizer",
            "lowercase": True,
            "strip_accents": True,
            "handle_chinese_chars": True,
        }
        steps = usual | {
            name: value for name, value in (normalizer or {}).items() if value is not None
        }
        if any(steps[name] != value for name, value in usual.items()):
            raise self.unfit("its tokenizer does not prepare text as that of an uncased BERT does")
        vocabulary = model.get("vocab", {})
        if not all(
            type(number) is int and 0 <= number < max_words for number in vocabulary.values()
        ):
            raise self.unfit("the vocabulary in tokenizer.json does not fit the model")
        words = {number: word for word, number in vocabulary.items()}
        return [
            words.get(number, f"\0{number}") for number in range(max(words, default=-1) + 1)
        ]  # no text has a \0


class Unreadable(ValueError):
    """Says what is wrong with the file."""


class Tensors:
    """The numbers, in the safetensors format: a length, a JSON header, the bytes. Anybody may have written the file, so
    every place that the header names is checked before it is read."""

    def __init__(self, content: NDArray[np.uint8]) -> None:
        length = (
            int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little")
            if content.size >= _LENGTH_BYTES
            else 0
        )
        if not 2 <= length <= min(50_000_000, content.size - _LENGTH_BYTES):
            raise Unreadable("it is not in the safetensors format, or was cut short")
        try:
            header = dict(json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length].tobytes()))
        except (ValueError, TypeError, RecursionError):
            raise Unreadable("its header is not a JSON table of tensors") from None
        header.pop("__metadata__", None)
        self._header, self._body = header, content[_LENGTH_BYTES + length :]
        end = max((self._range(name)[1] for name in header), default=0)
        if end > self._body.size:
            raise Unreadable(f"it was cut short: {end - self._body.size:,} bytes are missing")

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def view(self, name: str, types: tuple[str, ...], *shape: int) -> NDArray[Any]:
        """In its own type, one of `types`. It keeps the whole file in memory: copy it, or compute from it at once."""
        first, end = self._range(name)
        about = self._header[name]
        if about.get("dtype") not in types:
            raise Unreadable(f"tensor {name} has the unsupported type {about.get('dtype')}")
        kind = np.dtype(_TYPES[about["dtype"]])
        if about.get("shape") != list(shape) or end - first != math.prod(shape) * kind.itemsize:
            raise Unreadable(
                f"tensor {name} has the shape {about.get('shape')}, expected {list(shape)}"
            )
        raw = self._body[first:end]
        found: NDArray[Any] = (
            (raw.copy() if raw.ctypes.data % kind.itemsize else raw).view(kind).reshape(shape)
        )
        return found

    def floats(self, name: str, *shape: int) -> Floats:
        """A copy, in 32 bits."""
        raw = self.view(name, ("F32", "F16", "BF16", "F64"), *shape)
        if self._header[name]["dtype"] == "BF16":  # the upper half of a float
            return (raw.astype(np.uint32) << 16).view(np.float32)
        return raw.astype(np.float32)

    def text(self, name: str) -> str:
        first, end = self._range(name)
        return self._body[first:end].tobytes().decode()

    def _range(self, name: str) -> tuple[int, int]:
        match self._header.get(name):
            case {"data_offsets": [int(first), int(end)]} if 0 <= first <= end:
                return first, end
            case None:
                raise Unreadable(f"tensor {name} is missing")
            case _:
                raise Unreadable(f"tensor {name} has invalid offsets")


class Tokenizer:
    def __init__(self, vocabulary: Iterable[str], characters: str) -> None:
        """`vocabulary` in the order of its numbers; `characters` as tools/build_model.py wrote it."""
        self._starts: dict[str, int] = {}
        self._inners: dict[str, int] = {}
        for number, piece in enumerate(vocabulary):
            if piece.startswith("##") and len(piece) > 2:
                self._inners[piece[2:]] = number
            else:
                self._starts[piece] = number
        self._longest_piece = max(map(len, (*self._starts, *self._inners)))
        self._first, self._last, self._unknown = (
            self._starts[mark] for mark in (_FIRST, _LAST, _UNKNOWN)
        )
        self._characters = _Characters(characters)

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """At most `max_tokens` numbers, the marks at both ends included. Reads no more of the text than it needs."""
        tokens = [self._first]
        for word in self._words(text):
            known = self._starts.get(word)
            tokens += self._pieces(word) if known is None else (known,)
            if len(tokens) >= max_tokens - 1:
                break
        return [*tokens[: max_tokens - 1], self._last]

    def _words(self, text: str) -> Iterator[str]:
        start = 0
        for mark in _MARKS.finditer(text):
            yield from self._plain_words(text, start, mark.start())
            yield mark.group()
            start = mark.end()
        yield from self._plain_words(text, start, len(text))

    def _plain_words(self, text: str, start: int, end: int) -> Iterator[str]:
        cut = _FIRST_CUT_CHARS
        unfinished = ""
        while start < end:
            cleaned = unfinished + text[start : min(start + cut, end)].translate(self._characters)
            start += cut
            cut *= 2
            words = cleaned.split()
            unfinished = words.pop() if words and start < end and cleaned[-1] != " " else ""
            # A word this long is unknown whatever follows: carrying all of it would make the time quadratic.
            unfinished = unfinished[: _LONGEST_WORD + 1]
            yield from words
        if unfinished:
            yield unfinished

    def _pieces(self, word: str) -> list[int]:
        """The longest piece that fits, then the longest of what is left; unknown if one is missing."""
        pieces: list[int] = []
        known, start, length = self._starts, 0, len(word)
        while start < length <= _LONGEST_WORD:
            end = min(length, start + self._longest_piece)
            while end > start and word[start:end] not in known:
                end -= 1
            if end == start:
                return [self._unknown]
            pieces.append(known[word[start:end]])
            known, start = self._inners, end
        return pieces or [self._unknown]


class _Characters(dict[int, str]):
    """What a character becomes, for `str.translate`; one that is not listed stays as it is."""

    def __init__(self, written: str) -> None:
        read = json.loads(written)
        super().__init__(
            (ord(character), becomes) for character, becomes in read["becomes"].items()
        )
        self._ranges = sorted(
            (first, last, kind) for kind in ("drop", "alone") for first, last in read[kind]
        )
        self._firsts = [first for first, _, _ in self._ranges]
        # `translate` finds these without calling us: ten times the speed for most of what is written.
        for code in range(256):
            self.setdefault(code, self.__missing__(code))

    def __missing__(self, code: int) -> str:
        _, last, kind = self._ranges[bisect_right(self._firsts, code) - 1]
        if self._firsts[0] <= code <= last:
            return "" if kind == "drop" else f" {chr(code)} "
        if 0xAC00 <= code <= 0xD7A3:  # Hangul syllables: arithmetic, the same in every Unicode
            return unicodedata.normalize("NFD", chr(code))
        return chr(code)

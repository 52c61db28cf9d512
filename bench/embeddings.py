"""Vectors of texts, kept between runs: the same text by the same model is embedded once.

The key is a hash of the model and the text, so the file knows no text. Sixteen bits a number; a vector that was
just made goes through the same rounding, or a second run would differ from the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder

FILE = "bench-vectors.db"
_BATCH = 16
_BUSY_MS = 15_000


class Embeddings:
    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        # Two ways to run one model give the same id and not quite the same numbers.
        self._maker = f"{embedder.id} {type(embedder).__name__}".encode()
        self._db = apsw.Connection(str(folder / FILE))
        self._db.set_busy_timeout(_BUSY_MS)
        # What is lost can be made again.
        self._db.pragma("synchronous", "OFF")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS vector (hash BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID"
        )

    @property
    def model(self) -> str:
        return self._embedder.id

    def close(self) -> None:
        self._db.close()

    def of(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """One row a text; `progress` is told how many are done."""
        found = np.empty((len(texts), self._embedder.dim), np.float16)
        for start in range(0, len(texts), _BATCH):
            found[start : start + _BATCH] = self._batch(texts[start : start + _BATCH])
            if progress is not None:
                progress(min(start + _BATCH, len(texts)))
        return found.astype(np.float32)

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float16]:
        keys = [hashlib.sha256(self._maker + b"\0" + text.encode()).digest() for text in texts]
        kept = {
            key: data
            for key in keys
            for (data,) in self._db.execute("SELECT data FROM vector WHERE hash = ?", (key,))
        }
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
        if missing:
            made = self._embedder.embed(list(missing.values())).astype("<f2")
            kept |= {key: row.tobytes() for key, row in zip(missing, made, strict=True)}
            with self._db:
                rows = [(key, kept[key]) for key in missing]
                self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
        return np.frombuffer(b"".join(kept[key] for key in keys), "<f2").reshape(len(keys), -1)

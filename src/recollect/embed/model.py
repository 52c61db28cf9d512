"""Which model makes the vectors, and where it comes from.

The setting is MEMORY_EMBEDDING_MODEL; `shipped` is the model inside the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import BadInput
from recollect.embed import weights
from recollect.embed.minilm import MiniLM


class Embedder(Protocol):
    """Turns texts into vectors of length one, to be compared by their dot product."""

    @property
    def id(self) -> str:
        """Stands with every vector; vectors with different ids are never compared."""

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def embed_one(self, text: str) -> NDArray[np.float32]: ...

    def embed_ends(self, text: str, most_tokens: int) -> NDArray[np.float32]:
        """As `embed_one`, in less time: of a long text the beginning and the end alone."""

    def tone(self, text: str) -> NDArray[np.float32]:
        """How it is said, for `capture`; TONE_DIM numbers, of no fixed length."""


@dataclass(frozen=True, slots=True)
class Shipment:
    name: str
    sha256: str

    @property
    def id(self) -> str:
        return f"{self.name}:{self.sha256[:12]}"


SHIPPED = Shipment("all-minilm-l6-v2-int8", "672b605665e9c68d27eab03544de7af2a2416f8840c2fbf1b736976054bd3e39")
SHIPPED_FILE = Path(__file__).with_name("data") / "minilm-int8.safetensors"


def load(setting: str = "shipped") -> Embedder:
    """`shipped` by numpy, `shipped-fast` by onnxruntime; ModelMissing or ModelBroken where it fails.

    onnxruntime is never imported unasked, although it may be there: importing it writes files of its own into the
    user's cache folder.
    """
    if setting not in ("shipped", "shipped-fast"):
        raise BadInput(
            f"MEMORY_EMBEDDING_MODEL cannot be {setting!r}.", hint="`shipped` and `shipped-fast` are known so far."
        )
    tensors = weights.read(SHIPPED_FILE, SHIPPED.sha256)
    if setting == "shipped":
        return MiniLM(SHIPPED.id, tensors)
    try:
        from recollect.embed.onnx import OnnxMiniLM
    except ImportError:
        raise BadInput("onnxruntime is not installed.", hint="`pip install recollect[fast]` adds it.") from None
    return OnnxMiniLM(SHIPPED.id, tensors)

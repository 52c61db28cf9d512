"""Which model makes the vectors, and where it comes from.

The setting is MEMORY_EMBEDDING_MODEL: `shipped` is the model inside the package, a path a folder on disk, a URL
a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import BadInput
from recollect.embed import bert, weights
from recollect.embed.chosen import Chosen, Source
from recollect.embed.folder import GRAPHS, WEIGHTS, Folder, Prompts
from recollect.embed.minilm import MiniLM
from recollect.embed.shipment import SHIPPED as SHIPPED

if TYPE_CHECKING:
    from recollect.embed.vocabulary import Tokens

_INSTALL = "`pip install recollect[fast]` adds it."


class Embedder(Protocol):
    """Turns texts into vectors of length one, to be compared by their dot product."""

    @property
    def id(self) -> str:
        """Stands with every vector; vectors with different ids are never compared."""

    @property
    def dim(self) -> int: ...

    @property
    def at_once(self) -> int:
        """So many texts are given to it at a time where somebody may be waiting for the processor."""

    def embed(self, texts: Sequence[str], most_tokens: int | None = None) -> NDArray[np.float32]:
        """Together in less time than one by one. With `most_tokens`, of a long text the beginning and the end alone."""

    def embed_one(self, text: str) -> NDArray[np.float32]: ...

    def embed_ends(self, text: str, most_tokens: int) -> NDArray[np.float32]:
        """As `embed_one`, in less time: of a long text the beginning and the end alone."""


SHIPPED_FILE = Path(__file__).with_name("data") / "minilm-int8.safetensors"


KNOWN = "`shipped`, `shipped-fast`, the full path of a model's folder, or http://127.0.0.1:PORT/v1#MODEL."


def load(setting: str = "shipped", key_file: Path | None = None) -> Embedder:
    """`shipped` by numpy, `shipped-fast` by onnxruntime, a folder, an endpoint; ModelError or BadInput where it fails.

    onnxruntime is never imported unasked, although it may be there: importing it writes files of its own into the
    user's cache folder. `key_file` holds what an endpoint wants to be shown, if it is there.
    """
    if setting in ("shipped", "shipped-fast"):
        return _load_shipped(fast=setting == "shipped-fast")
    if setting.startswith(("http://", "https://")):
        from recollect.embed.endpoint import Endpoint

        endpoint = Endpoint(setting, key_file)
        return Chosen(endpoint.id, endpoint, Prompts())
    path = Path(setting)
    with suppress(RuntimeError):  # nobody's home is known: the path stays as it is written
        path = path.expanduser()
    if not path.is_absolute():
        raise BadInput(f"MEMORY_EMBEDDING_MODEL cannot be {setting!r}.", hint=f"It is one of {KNOWN}")
    return _load_folder(Folder(path))


def _shipped() -> weights.Tensors:
    return weights.read(SHIPPED_FILE, SHIPPED.sha256)


def _load_shipped(*, fast: bool) -> Embedder:
    tensors = _shipped()
    if not fast:
        return MiniLM(SHIPPED.id, tensors)
    try:
        from recollect.embed.onnx import OnnxMiniLM
    except ImportError:
        raise BadInput("onnxruntime is not installed.", hint=_INSTALL) from None
    return OnnxMiniLM(SHIPPED.id, tensors)


def _load_folder(folder: Folder) -> Embedder:
    """By numpy where that can do it, else by onnxruntime."""
    from recollect.embed import vocabulary

    config = folder.json("config.json")
    graph = next((name for name in GRAPHS if folder.has(name)), None)
    by_numpy = bert.is_one(config) and folder.has(WEIGHTS)
    if not by_numpy and graph is None:
        raise folder.unfit(_lack(folder, config))
    prompts = folder.prompts()
    tokens, count = vocabulary.tokens_of(folder, _shipped()["characters"].tobytes().decode())
    if by_numpy:
        source: Source = bert.Bert(folder, config, tokens, count)
    else:
        source = _graphed(folder, str(graph), config, tokens)
    return Chosen(folder.id, source, prompts)


def _graphed(folder: Folder, name: str, config: dict[str, Any], tokens: Tokens) -> Source:
    try:
        from recollect.embed.graphed import Graphed
    except ImportError:
        raise folder.unfit(f"it needs onnxruntime to run {name}, which is not installed", _INSTALL) from None
    return Graphed(folder, name, config, tokens)


def _lack(folder: Folder, config: dict[str, Any]) -> str:
    if not config:
        return "it has no config.json"
    kind = config.get("model_type", "unknown")
    if not bert.is_one(config):
        return f"models of the kind {kind!r} are used as ONNX alone, and there is no {GRAPHS[0]}"
    if folder.has(f"{WEIGHTS}.index.json"):
        return f"its numbers are in several files; one {WEIGHTS} is expected"
    if folder.has("pytorch_model.bin"):
        return f"its numbers are in pytorch_model.bin, which is never opened; save it as {WEIGHTS}"
    return f"it has neither {WEIGHTS} nor {GRAPHS[0]}"

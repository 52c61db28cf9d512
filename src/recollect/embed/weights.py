"""Reads a model's file: named tensors in the safetensors format (a length, a JSON header, the bytes).

The whole file is read and checked before any of it is believed, so what was checked is what is used. It is
not mapped: a mapped file that something cuts short ends the process with a bus error.

Does not know what the tensors mean (minilm.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.base.errors import ModelBroken, ModelMissing

Tensors = Mapping[str, NDArray[Any]]

_LENGTH_BYTES = 8
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I8": np.dtype("i1"), "U8": np.dtype("u1")}


def read(path: Path, sha256: str) -> Tensors:
    """The tensors of a file, views of one buffer; ModelMissing or ModelBroken where they cannot be had."""
    try:
        content = np.fromfile(path, np.uint8)
    except FileNotFoundError as missing:
        raise ModelMissing(path.name) from missing
    except OSError as unreadable:
        raise ModelBroken(path.name, f"it cannot be read ({unreadable.strerror})") from unreadable
    found = hashlib.sha256(content.data).hexdigest()
    if found != sha256:
        raise ModelBroken(path.name, f"{content.size} bytes with the sha256 {found[:12]}…, expected {sha256[:12]}…")
    return parse(content)


def parse(content: NDArray[np.uint8]) -> Tensors:
    """For bytes that were checked: a file of another form raises whatever its parts raise."""
    header_bytes = int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little")
    body = content[_LENGTH_BYTES + header_bytes :]
    header = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + header_bytes].tobytes())
    header.pop("__metadata__", None)
    return {name: _tensor(body, **about) for name, about in header.items() if about["dtype"] in _TYPES}


def _tensor(body: NDArray[np.uint8], dtype: str, shape: list[int], data_offsets: list[int]) -> NDArray[Any]:
    first, end = data_offsets
    tensor: NDArray[Any] = body[first:end].view(_TYPES[dtype]).reshape(shape)
    return tensor

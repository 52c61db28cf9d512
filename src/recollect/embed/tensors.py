"""The numbers of a model, in the safetensors format: a length, a JSON header, the bytes.

Anybody may have written the file, so every place that the header names is checked before it is read. Does not know
what the tensors mean (bert.py).
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 50_000_000
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8", "I8": "i1", "U8": "u1"}


class Unreadable(ValueError):
    """Says what is wrong with the file."""


class Tensors:
    def __init__(self, content: NDArray[np.uint8]) -> None:
        length = int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little") if content.size >= _LENGTH_BYTES else 0
        if not 2 <= length <= min(_MAX_HEADER_BYTES, content.size - _LENGTH_BYTES):
            raise Unreadable("it is not in the safetensors format, or was cut short")
        try:
            header = dict(json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length].tobytes()))
        except (ValueError, TypeError, RecursionError):
            raise Unreadable("its header is not a JSON table of tensors") from None
        header.pop("__metadata__", None)
        self._header = header
        self._body = content[_LENGTH_BYTES + length :]
        ends = [self._range(name)[1] for name in header]
        if max(ends, default=0) > self._body.size:
            raise Unreadable(f"it was cut short: {max(ends) - self._body.size:,} bytes are missing")

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
            raise Unreadable(f"tensor {name} has the shape {about.get('shape')}, expected {list(shape)}")
        raw = self._body[first:end]
        if raw.ctypes.data % kind.itemsize:
            raw = raw.copy()
        found: NDArray[Any] = raw.view(kind).reshape(shape)
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

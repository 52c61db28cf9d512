"""The numbers of a model, in the safetensors format: a length, a JSON header, the bytes.

Anybody may have written the file, so every place that the header names is checked before it is looked at: a file that
was cut short, or lies, is refused in words. Does not know what the tensors mean (bert.py).
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
_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2"), "F64": np.dtype("<f8"),
    "I8": np.dtype("i1"), "U8": np.dtype("u1"),
}  # fmt: skip


class Unreadable(ValueError):
    pass


class Tensors:
    def __init__(self, content: NDArray[np.uint8]) -> None:
        length = int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little") if content.size >= _LENGTH_BYTES else 0
        if not 2 <= length <= min(_MAX_HEADER_BYTES, content.size - _LENGTH_BYTES):
            raise Unreadable("it is not in the safetensors format, or was cut short")
        try:
            header = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length].tobytes())
        except (ValueError, RecursionError):
            raise Unreadable("its header is not JSON") from None
        if not isinstance(header, dict):
            raise Unreadable("its header is not a table of tensors")
        header.pop("__metadata__", None)
        self._header = header
        self._body = content[_LENGTH_BYTES + length :]
        ends = [self._range(name)[1] for name in header]
        if max(ends, default=0) > self._body.size:
            raise Unreadable(f"it was cut short: {max(ends) - self._body.size:,} bytes are missing")

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def view(self, name: str, *shape: int) -> NDArray[Any]:
        """In its own type. It keeps the whole file in memory: for what is copied or computed from at once."""
        if name not in self._header:
            raise Unreadable(f"tensor {name} is missing")
        about = self._header[name]
        kind = _TYPES.get(str(about.get("dtype")))
        if kind is None:
            raise Unreadable(f"tensor {name} has the unsupported type {about.get('dtype')}")
        if about.get("shape") != list(shape):
            raise Unreadable(f"the tensor {name} has the shape {about.get('shape')}, expected {list(shape)}")
        first, end = self._range(name)
        if end - first != math.prod(shape) * kind.itemsize:
            raise Unreadable(f"the tensor {name} has {end - first} bytes")
        raw = self._body[first:end]
        if (raw.ctypes.data % kind.itemsize) != 0:
            raw = raw.copy()
        found: NDArray[Any] = raw.view(kind).reshape(shape)
        return found

    def int8(self, name: str, *shape: int) -> NDArray[np.int8]:
        found = self.view(name, *shape)
        if found.dtype != np.int8:
            raise Unreadable(f"tensor {name} has the unsupported type {self._header[name]['dtype']}")
        return found

    def floats(self, name: str, *shape: int) -> Floats:
        """A copy, in 32 bits."""
        raw = self.view(name, *shape)
        match self._header[name]["dtype"]:
            case "BF16":  # the upper half of a float
                return (raw.astype(np.uint32) << 16).view(np.float32)
            case "I8" | "U8" as kind:
                raise Unreadable(f"tensor {name} has the unsupported type {kind}")
            case _:
                return raw.astype(np.float32)

    def bytes(self, name: str) -> bytes:
        if name not in self._header:
            raise Unreadable(f"tensor {name} is missing")
        first, end = self._range(name)
        return self._body[first:end].tobytes()

    def _range(self, name: str) -> tuple[int, int]:
        about = self._header[name]
        match about.get("data_offsets") if isinstance(about, dict) else None:
            case [int(first), int(end)] if 0 <= first <= end:
                return first, end
        raise Unreadable(f"tensor {name} has invalid offsets")

"""The numbers of a file that anybody may have written: a length, a JSON header, the bytes. Every place the header
names is checked before it is looked at, so a file that was cut short, or lies, is refused in words.

The shipped file is known by its hash and read by weights.py. Does not know what the tensors mean (bert.py).
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.layers import Floats

_LENGTH_BYTES = 8
_MOST_HEADER_BYTES = 50_000_000
_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2"), "F64": np.dtype("<f8"),
}  # fmt: skip


class Unreadable(ValueError):
    pass


class Tensors:
    def __init__(self, content: NDArray[np.uint8]) -> None:
        length = int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little") if content.size >= _LENGTH_BYTES else 0
        if not 2 <= length <= min(_MOST_HEADER_BYTES, content.size - _LENGTH_BYTES):
            raise Unreadable("it is not in the safetensors format, or was cut short")
        try:
            header = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length].tobytes())
        except (ValueError, RecursionError):
            raise Unreadable("its header is no JSON") from None
        if not isinstance(header, dict):
            raise Unreadable("its header is no table of tensors")
        header.pop("__metadata__", None)
        self._header = header
        self._body = content[_LENGTH_BYTES + length :]
        ends = [self._range(name)[1] for name in header]
        if max(ends, default=0) > self._body.size:
            raise Unreadable(f"it was cut short: {max(ends) - self._body.size:,} bytes are missing")

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def floats(self, name: str, *shape: int) -> Floats:
        """A copy, in 32 bits: a view would keep the whole file in memory."""
        if name not in self._header:
            raise Unreadable(f"the tensor {name} is not there")
        about = self._header[name]
        kind = _TYPES.get(str(about.get("dtype")))
        if kind is None:
            raise Unreadable(f"the tensor {name} is of the type {about.get('dtype')}")
        if about.get("shape") != list(shape):
            raise Unreadable(f"the tensor {name} has the shape {about.get('shape')}, expected {list(shape)}")
        first, end = self._range(name)
        if end - first != math.prod(shape) * kind.itemsize:
            raise Unreadable(f"the tensor {name} has {end - first} bytes")
        raw = np.frombuffer(self._body[first:end].tobytes(), kind).reshape(shape)
        if about["dtype"] == "BF16":  # the upper half of a float
            widened: Floats = (raw.astype(np.uint32) << 16).view(np.float32)
            return widened
        return raw.astype(np.float32)

    def _range(self, name: str) -> tuple[int, int]:
        about = self._header[name]
        match about.get("data_offsets") if isinstance(about, dict) else None:
            case [int(first), int(end)] if 0 <= first <= end:
                return first, end
        raise Unreadable(f"the place of the tensor {name} cannot be read")

"""Writes an ONNX model as bytes, without the `onnx` package: the few messages of onnx.proto that we need.

Only names and shapes of messages are known here; what is computed stands in onnx.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, UINT8 = 1, 2
_TYPES = {"float32": FLOAT, "uint8": UINT8, "int64": 7}
_INT_ATTRIBUTE, _INTS_ATTRIBUTE, _FLOAT_ATTRIBUTE = 2, 7, 1
_IR_VERSION, _OPSET = 8, 17  # of 2022: the first with LayerNormalization


class Graph:
    """Names are given out as nodes are added: a node's result is the name to use for it."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants = 0
        self._written: list[bytes] = []

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant{self._constants}"
        about = b"".join(_number(1, size) for size in value.shape) + _number(2, _TYPES[value.dtype.name])
        about += _field(8, name.encode()) + _key(9, 2) + _varint(value.nbytes)
        self._constants += 1
        self._written += (_key(5, 2) + _varint(len(about) + value.nbytes) + about, value.tobytes())
        return name

    def __call__(self, op: str, *inputs: str, **attributes: int | float | list[int]) -> str:
        output = f"node{len(self._nodes)}"
        node = b"".join(_field(1, name.encode()) for name in inputs)
        node += _field(2, output.encode()) + _field(4, op.encode())
        node += b"".join(_field(5, _attribute(name, value)) for name, value in attributes.items())
        self._nodes.append(node)
        return output

    def model(self, *, takes: str, gives: str, width: int) -> bytes:
        """`takes` rows of `width` numbers, one row a token; `gives` one such row."""
        # Joined once: each further copy of the constants is tens of megabytes.
        parts = [_field(1, node) for node in self._nodes]
        parts.append(_field(2, b"recollect"))
        parts.extend(self._written)
        parts.append(_field(11, _rows(takes, _field(2, b"tokens"), _number(1, width))))
        parts.append(_field(12, _rows(gives, _number(1, width))))
        length = sum(map(len, parts))
        head = _number(1, _IR_VERSION) + _field(8, _number(2, _OPSET)) + _key(7, 2) + _varint(length)
        return b"".join((head, *parts))


def _attribute(name: str, value: int | float | list[int]) -> bytes:
    head = _field(1, name.encode())
    match value:
        case int():
            return head + _number(3, value) + _number(20, _INT_ATTRIBUTE)
        case float():
            return head + _key(2, 5) + np.float32(value).tobytes() + _number(20, _FLOAT_ATTRIBUTE)
        case list():
            return head + b"".join(_number(8, each) for each in value) + _number(20, _INTS_ATTRIBUTE)


def _rows(name: str, *dims: bytes) -> bytes:
    shape = b"".join(_field(1, dim) for dim in dims)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, FLOAT) + _field(2, shape)))


# Protocol buffers: a field is a key (its number and how it is written) and a value.


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value % (1 << 64))


def _field(field: int, content: bytes) -> bytes:
    return _key(field, 2) + _varint(len(content)) + content


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

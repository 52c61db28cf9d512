"""The same model by onnxruntime, where that is installed (`recollect[fast]`): two thirds of the time.

Half of the products are made in int8: the weights are the shipped ones, a token's values are rounded with a
scale of their own. The other half (`attend`, `narrow`) cannot bear that and stays in float32. So its vectors
are close to minilm.py's (cosine over 0.99 on every text tried), not equal to the last bit, and carry the
same id. Figures, and what else was tried: docs/EMBEDDING.md.

One thread: a question must not wait for a batch that has taken every core. One text at a time: with one
thread a batch gains nothing, and there is no padding to mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnxruntime

from recollect.embed.graph import FLOAT, UINT8, Graph
from recollect.embed.layers import Floats, of_length_one
from recollect.embed.minilm import DIM, HEAD_DIM, HEADS, LAYERS, Front
from recollect.embed.weights import Tensors

# Both factors are unsigned: signed weights overflow on processors without VNNI.
_ZERO = 128


class OnnxMiniLM:
    dim = DIM
    at_once = 1

    def __init__(self, id: str, tensors: Tensors) -> None:
        self.id = id
        self._front = Front(tensors)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors; its warnings are about the machine, not about us
        self._session = onnxruntime.InferenceSession(_model(tensors), options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str], most_tokens: int | None = None) -> Floats:
        vectors = np.empty((len(texts), DIM), np.float32)
        for place, text in enumerate(texts):
            vectors[place] = self._forward(self._front.encode_within(text, most_tokens))
        return vectors

    def embed_one(self, text: str) -> Floats:
        return self._forward(self._front.encode(text))

    def embed_ends(self, text: str, most_tokens: int) -> Floats:
        return self._forward(self._front.encode_ends(text, most_tokens))

    def _forward(self, tokens: list[int]) -> Floats:
        (total,) = self._session.run(None, {"rows": self._front.rows([tokens])})
        vector: Floats = of_length_one(total[None, :])[0]
        return vector


def _model(tensors: Tensors) -> bytes:
    graph = Graph()
    rows = "rows"
    for layer in range(LAYERS):
        rows = _layer(graph, tensors, f"{layer}.", rows)
    total = graph("ReduceSum", rows, graph.constant(np.array([0])), keepdims=0)
    return graph.model(takes="rows", gives=total, width=DIM)


def _layer(graph: Graph, tensors: Tensors, name: str, rows: str) -> str:
    attended = _attention(graph, _in_float32(graph, tensors, f"{name}attend", rows))
    gathered = graph("Add", _in_int8(graph, tensors, f"{name}gather", attended), rows)
    rows = _norm(graph, tensors, f"{name}gather.norm", gathered)
    wide = _gelu(graph, _in_int8(graph, tensors, f"{name}widen", rows))
    thought = _in_float32(graph, tensors, f"{name}narrow", wide)
    return _norm(graph, tensors, f"{name}narrow.norm", graph("Add", thought, rows))


def _attention(graph: Graph, attended: str) -> str:
    parted = graph("Reshape", attended, graph.constant(np.array([-1, 3, HEADS, HEAD_DIM])))
    heads = graph("Transpose", parted, perm=[1, 2, 0, 3])
    query, key, value = (graph("Gather", heads, graph.constant(np.array(part)), axis=0) for part in range(3))
    scores = graph("Softmax", graph("MatMul", query, graph("Transpose", key, perm=[0, 2, 1])), axis=-1)
    seen = graph("Transpose", graph("MatMul", scores, value), perm=[1, 0, 2])
    return graph("Reshape", seen, graph.constant(np.array([-1, DIM])))


def _in_float32(graph: Graph, tensors: Tensors, name: str, rows: str) -> str:
    weight: Floats = tensors[name] * tensors[f"{name}.scale"]
    return graph("Add", graph("MatMul", rows, graph.constant(weight)), graph.constant(tensors[f"{name}.bias"]))


def _in_int8(graph: Graph, tensors: Tensors, name: str, rows: str) -> str:
    zero = graph.constant(np.array(_ZERO, np.uint8))
    weight = graph.constant((tensors[name].astype(np.int16) + _ZERO).astype(np.uint8))
    largest = graph("ReduceMax", graph("Abs", rows), axes=[-1], keepdims=1)
    scale = graph("Mul", graph("Max", largest, _number(graph, 1e-9)), _number(graph, 1 / 127))  # never zero
    whole = graph("Add", graph("Round", graph("Div", rows, scale)), _number(graph, _ZERO))
    product = graph("MatMulInteger", graph("Cast", whole, to=UINT8), weight, zero, zero)
    scaled = graph("Mul", graph("Cast", product, to=FLOAT), scale)
    scaled = graph("Mul", scaled, graph.constant(tensors[f"{name}.scale"]))
    return graph("Add", scaled, graph.constant(tensors[f"{name}.bias"]))


def _norm(graph: Graph, tensors: Tensors, name: str, rows: str) -> str:
    gain, bias = graph.constant(tensors[f"{name}.gain"]), graph.constant(tensors[f"{name}.bias"])
    return graph("LayerNormalization", rows, gain, bias, axis=-1, epsilon=1e-12)


def _gelu(graph: Graph, rows: str) -> str:
    """The exact one, in the form that onnxruntime makes one step of."""
    bent = graph("Erf", graph("Div", rows, _number(graph, math.sqrt(2))))
    return graph("Mul", graph("Mul", rows, graph("Add", bent, _number(graph, 1))), _number(graph, 0.5))


def _number(graph: Graph, value: float) -> str:
    return graph.constant(np.array(value, np.float32))

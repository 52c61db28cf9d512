"""A model that is in its folder as an ONNX graph, of any architecture, by onnxruntime (`recollect[fast]`).

One thread and one text at a time, as in onnx.py. The graph is handed over as the bytes that were hashed; only where
its numbers lie in files beside it does onnxruntime read the folder itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime

from recollect.base.errors import ModelUnfit
from recollect.embed.bert import encoded, pooled
from recollect.embed.folder import Folder
from recollect.embed.layers import Floats
from recollect.embed.vocabulary import Tokens

_BESIDE = ("_data", ".data")
_FED = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


class Graphed:
    at_once = 1

    def __init__(self, folder: Folder, name: str, config: dict[str, Any], tokens: Tokens) -> None:
        self._folder = folder
        self._tokens = tokens
        self._pooling = folder.pooling()
        self._most_tokens = folder.most_tokens(config)
        content = folder.content(name)
        beside = [name + ending for ending in _BESIDE if folder.has(name + ending)]
        for other in beside:
            folder.content(other)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what is wrong is raised, and said by us
        source = str(folder.path / name) if beside else content.tobytes()
        try:
            self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
            self._takes = [entry.name for entry in self._session.get_inputs()]
        except Exception:  # noqa: BLE001 onnxruntime raises kinds of its own that have no common name
            raise folder.unfit(f"onnxruntime cannot read {name}; it may have been cut short") from None
        unknown = sorted(set(self._takes) - set(_FED))
        if unknown:
            raise folder.unfit(f"{name} asks for {', '.join(unknown)}, which is not known here")
        self.dim = self._run("word").shape[-1]

    def vectors(self, texts: Sequence[str], most_tokens: int | None) -> Floats:
        made = [self._run(text, most_tokens) for text in texts]
        return np.stack(made) if made else np.empty((0, self.dim), np.float32)

    def _run(self, text: str, most_tokens: int | None = None) -> Floats:
        tokens = encoded(self._tokens, self._most_tokens, most_tokens, text)
        ids = np.array([tokens], np.int64)
        fed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.arange(len(tokens), dtype=np.int64)[None, :],
        }
        try:
            outputs = self._session.run(None, {name: fed[name] for name in self._takes})
        except Exception:  # noqa: BLE001 as above
            raise self._unfit("onnxruntime could not run it") from None
        names = [entry.name for entry in self._session.get_outputs()]
        return self._one(dict(zip(names, outputs, strict=True)), len(tokens))

    def _one(self, outputs: dict[str, Any], length: int) -> Floats:
        whole = outputs.get("sentence_embedding")
        if whole is not None and whole.ndim == 2:
            made: Floats = whole[0].astype(np.float32)
            return made
        for output in outputs.values():
            if output.ndim == 3 and output.shape[:2] == (1, length):
                of_tokens: Floats = pooled(output[0].astype(np.float32), [length], self._pooling)[0]
                return of_tokens
        raise self._unfit("it gives neither a vector for each token nor one for the text")

    def _unfit(self, problem: str) -> ModelUnfit:
        return self._folder.unfit(problem)

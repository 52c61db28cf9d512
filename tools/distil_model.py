"""Teaches three layers to give the vectors of the shipped model's six, and writes question.safetensors.

    python tools/distil_model.py CORPUS [--seconds 470] [--out FILE]     (needs torch and a GPU)

CORPUS has one text a line, xz-compressed: sentences, prompts and questions of 3 to 80 words. The shipped file was
made from 768,904 of them (NOTICE names their sources) in 470 seconds on one GPU, 16,000 steps. Another run gives other
bytes: copy the sha256 that it prints into shipped_model/config.json, then run tests/embed and `bench recall`.

The student starts as the first, third and sixth layer and shares the words, positions and first norm, which are not
changed. The teacher reads the same tokens in each step: whole texts, random stretches of them, and two texts joined.
The loss is one minus the cosine, and how far the similarities within a batch differ from the teacher's.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import lzma
import math
import os
import sys
import time
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import build_model
import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from recollect.embed import bert
from recollect.embed.embedder import SHIPPED_FOLDER, load

CHOSEN = (0, 2, 5)
MATRICES, NORMS = ("attend", "gather", "widen", "narrow"), ("gather_norm", "narrow_norm")
RATE, WARM_UP, CLIP, AVERAGE = 4e-4, 300, 1.0, 0.003
SIZES = {30: 3_072, 62: 1_536}  # tokens of a text, and how many texts are read at once
STRETCHED, JOINED = 0.4, 0.2  # shares of the texts
SHARPNESS, SIMILARITIES = 20, 0.3
DEVICE = "cuda"


class Layer(nn.Module):
    def __init__(self, layer: bert.Layer) -> None:
        super().__init__()
        for name in MATRICES:
            linear = getattr(layer, f"_{name}")
            self.register_parameter(f"{name}_weight", nn.Parameter(_tensor(linear.weight)))
            self.register_parameter(f"{name}_bias", nn.Parameter(_tensor(linear.bias)))
        for name in NORMS:
            norm = getattr(layer, f"_{name}")
            self.register_parameter(f"{name}_gain", nn.Parameter(_tensor(norm._gain)))
            self.register_parameter(f"{name}_bias", nn.Parameter(_tensor(norm._bias)))

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        count, length, dim = rows.shape
        heads = (rows @ self.attend_weight + self.attend_bias).view(count, length, 3, 12, dim // 12)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)
        seen = (
            seen.transpose(1, 2).reshape(count, length, dim) @ self.gather_weight + self.gather_bias
        )
        rows = functional.layer_norm(
            seen + rows, (dim,), self.gather_norm_gain, self.gather_norm_bias, 1e-12
        )
        fed = (
            functional.gelu(rows @ self.widen_weight + self.widen_bias) @ self.narrow_weight
            + self.narrow_bias
        )
        return functional.layer_norm(
            fed + rows, (dim,), self.narrow_norm_gain, self.narrow_norm_bias, 1e-12
        )


class Model(nn.Module):
    def __init__(self, source: bert.Bert, chosen: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(source._layers[number]) for number in chosen])
        self.words = _tensor((source._words * source._scales).reshape(-1, source.dim))
        self.positions = _tensor(source._positions)
        self.gain, self.bias = _tensor(source._norm._gain), _tensor(source._norm._bias)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        rows = self.words[tokens] + self.positions[: tokens.shape[1]]
        rows = functional.layer_norm(rows, (rows.shape[2],), self.gain, self.bias, 1e-12)
        for layer in self.layers:
            rows = layer(rows, mask[:, None, None, :])
        return functional.normalize((rows * mask[..., None]).sum(1).float(), dim=-1)


class Texts:
    """Tokens of all texts on the device, end to end, without the first and last token of each."""

    def __init__(self, encoded: Sequence[Sequence[int]]) -> None:
        self._first, self._last = encoded[0][0], encoded[0][-1]
        bodies = [np.array(one[1:-1], np.int64) for one in encoded if len(one) > 5]
        self._tokens = torch.from_numpy(np.concatenate(bodies)).to(DEVICE)
        self._lengths = torch.tensor([len(body) for body in bodies], device=DEVICE)
        self._starts = torch.cumsum(self._lengths, 0) - self._lengths

    def draw(self, count: int, most: int) -> tuple[Tensor, Tensor]:
        def chance() -> Tensor:
            return torch.rand(count, device=DEVICE)

        one, other = (torch.randint(len(self._lengths), (count,), device=DEVICE) for _ in range(2))
        length, start = self._lengths[one], self._starts[one]
        stretch = (length * (0.3 + 0.7 * chance())).long().clamp(min=3)
        kept = torch.where(chance() < STRETCHED, stretch, length)
        start = start + ((length - kept).clamp(min=0) * chance()).long()
        kept = kept.clamp(max=most)
        more = torch.where(chance() < JOINED, torch.minimum(self._lengths[other], most - kept), 0)
        at = torch.arange(most, device=DEVICE)[None]
        is_first, is_any = at < kept[:, None], at < (kept + more)[:, None]
        places = torch.where(
            is_first, start[:, None] + at, self._starts[other][:, None] + at - kept[:, None]
        )
        body = torch.where(is_any, self._tokens[places.clamp(0, len(self._tokens) - 1)], 0)
        tokens = functional.pad(body, (1, 1))
        tokens[:, 0] = self._first
        tokens.scatter_(1, (kept + more + 1)[:, None], self._last)
        return tokens, torch.arange(most + 2, device=DEVICE)[None] < (kept + more + 2)[:, None]


def teach(source: bert.Bert, texts: Texts, seconds: float) -> Model:
    teacher = Model(source, range(len(source._layers))).to(DEVICE).eval().requires_grad_(False)
    student = Model(source, CHOSEN).to(DEVICE)
    steady = copy.deepcopy(student).requires_grad_(
        False
    )  # a running mean of the student: this is what is kept
    read, learn = torch.compile(teacher), torch.compile(student)
    steps = torch.optim.AdamW(
        student.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.98), fused=True
    )
    began, step, done = time.monotonic(), 0, 0.0
    while done < 1:
        rate = RATE * min(1, step / WARM_UP) * 0.5 * (1 + math.cos(math.pi * done)) + 1e-6
        for group in steps.param_groups:
            group["lr"] = rate
        most = (62, 30)[step % 2]
        tokens, mask = texts.draw(SIZES[most], most)
        with torch.autocast(DEVICE, torch.bfloat16):
            with torch.no_grad():
                wanted = read(tokens, mask)
            found = learn(tokens, mask)
        apart = 1 - (found * wanted).sum(1).mean()
        near = functional.log_softmax(SHARPNESS * found @ wanted.T, 1)
        wanted_near = functional.softmax(SHARPNESS * wanted @ wanted.T, 1)
        loss = apart + SIMILARITIES * functional.kl_div(near, wanted_near, reduction="batchmean")
        steps.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), CLIP)
        steps.step()
        step += 1
        if step <= 500:
            steady.load_state_dict(student.state_dict())
        elif step % 2 == 0:
            for mean, value in zip(steady.parameters(), student.parameters(), strict=True):
                mean.data.lerp_(value.data, AVERAGE)
        if step % 1_000 == 0:
            sys.stderr.write(f"{step:,} steps: 1 - cosine {float(apart.detach()):.4f}\n")
        done = (time.monotonic() - began) / seconds
    return steady


def pack(student: Model) -> bytes:
    tensors: dict[str, Any] = {}
    for number, layer in enumerate(student.layers):
        values = {name: value.detach().cpu().numpy() for name, value in layer.named_parameters()}
        for name in MATRICES:
            tensors |= build_model._quantised(f"{number}.{name}", values[f"{name}_weight"], axis=0)
            tensors[f"{number}.{name}.bias"] = values[f"{name}_bias"]
        for name in NORMS:
            for half in ("gain", "bias"):
                tensors[f"{number}.{name.replace('_', '.')}.{half}"] = values[f"{name}_{half}"]
    build_model.ORIGIN |= {
        "model": "three layers taught by all-MiniLM-L6-v2",
        "changes": "see NOTICE",
    }
    return build_model.pack(tensors)


def _tensor(values: Any) -> Tensor:
    return torch.tensor(np.asarray(values, np.float32), device=DEVICE)


_source: bert.Bert


def _load_source() -> None:
    global _source
    _source = load()._source  # type: ignore[assignment]


def _encode(text: str) -> list[int]:
    return _source._tokenizer.encode(text, 122)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Teach the layers that read a question when someone waits."
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--seconds", type=float, default=470)
    parser.add_argument("--out", type=Path, default=SHIPPED_FOLDER / "question.safetensors")
    options = parser.parse_args()
    with (
        Pool(os.cpu_count(), _load_source) as pool,
        lzma.open(options.corpus, "rt", encoding="utf-8") as lines,
    ):
        encoded = pool.map(_encode, [line.rstrip("\n") for line in lines], chunksize=500)
    torch.manual_seed(1)
    _load_source()
    packed = pack(teach(_source, Texts(encoded), options.seconds))
    options.out.write_bytes(packed)
    sys.stdout.write(
        f"{options.out}: {len(packed):,} bytes, sha256 {hashlib.sha256(packed).hexdigest()}\n"
    )


if __name__ == "__main__":
    main()

"""The shipped model is the one that was built, and a file that is not is never used."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.base.errors import BadInput, ModelBroken, ModelError, ModelMissing
from recollect.embed import load, model, weights
from recollect.embed.minilm import MiniLM
from recollect.embed.model import SHIPPED, SHIPPED_FILE

REPAIR = "pip install --force-reinstall recollect"


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts other bytes in the place of the shipped file."""

    def put(content: bytes) -> None:
        path = tmp_path / "model.safetensors"
        path.write_bytes(content)
        monkeypatch.setattr(model, "SHIPPED_FILE", path)

    return put


def test_the_shipped_model_loads_and_says_what_it_is():
    embedder = load("shipped")

    assert embedder.id == f"all-minilm-l6-v2-int8:{SHIPPED.sha256[:12]}"
    assert embedder.dim == 384


def test_numpy_serves_whether_onnxruntime_is_there_or_not():
    assert isinstance(load("shipped"), MiniLM)


def test_onnxruntime_is_asked_for_by_name_and_missed_in_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "recollect.embed.onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # how Python marks what cannot be imported

    with pytest.raises(BadInput, match="onnxruntime is not installed"):
        load("shipped-fast")


def test_a_missing_file_names_its_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model, "SHIPPED_FILE", tmp_path / "not there.safetensors")

    with pytest.raises(ModelMissing, match="not there") as raised:
        load("shipped")

    assert REPAIR in raised.value.hint


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda whole: b"", id="empty"),
        pytest.param(lambda whole: whole[:100], id="header cut short"),
        pytest.param(lambda whole: whole[: len(whole) // 2], id="half"),
        pytest.param(lambda whole: whole[:-1], id="one byte short"),
        pytest.param(lambda whole: whole + b"\0", id="one byte more"),
        pytest.param(lambda whole: whole[:9_000_000] + b"\x55" + whole[9_000_001:], id="one byte other"),
        pytest.param(lambda whole: b"\xff" * 8 + whole[8:], id="absurd header length"),
        pytest.param(lambda whole: b"version https://git-lfs.github.com/spec/v1\n", id="a pointer"),
    ],
)
def test_a_file_that_was_changed_is_not_used(put: Callable[[bytes], None], spoil: Callable[[bytes], bytes]):
    put(spoil(SHIPPED_FILE.read_bytes()))

    with pytest.raises(ModelBroken, match="not what was shipped") as raised:
        load("shipped")

    assert REPAIR in raised.value.hint


def test_a_folder_in_the_place_of_the_file_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model, "SHIPPED_FILE", tmp_path)

    with pytest.raises(ModelError):
        load("shipped")


def without_words(tensors: dict[str, Any]) -> None:
    del tensors["words"]


def narrower(tensors: dict[str, Any]) -> None:
    tensors["words"] = tensors["words"][:, :4]


def in_floats(tensors: dict[str, Any]) -> None:
    tensors["3.widen"] = tensors["3.widen"].astype(np.float32)


@pytest.mark.parametrize("change", [without_words, narrower, in_floats])
def test_tensors_that_are_not_this_model_are_refused(change: Callable[[dict[str, Any]], None]):
    tensors = dict(weights.read(SHIPPED_FILE, SHIPPED.sha256))
    change(tensors)

    with pytest.raises(ModelBroken, match="tensor"):
        MiniLM("another", tensors)


def test_a_setting_that_names_no_model_is_refused():
    with pytest.raises(BadInput, match="huge-model"):
        load("huge-model")


def test_the_notice_tells_where_the_weights_come_from():
    notice = SHIPPED_FILE.parent.with_name("NOTICE").read_text(encoding="utf-8")

    assert SHIPPED.sha256 in notice
    assert hashlib.sha256(SHIPPED_FILE.read_bytes()).hexdigest() == SHIPPED.sha256
    assert "Apache License, Version 2.0" in notice


def test_loading_keeps_no_view_of_the_whole_file():
    tensors = weights.read(SHIPPED_FILE, SHIPPED.sha256)

    front = MiniLM("id", tensors)._front

    assert not np.shares_memory(front._words, tensors["words"])

"""Vectors of the shipped model are those of the unquantised one, and the shipped files are what was built."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recollect.base.errors import BadInput, ModelBroken, ModelError, ModelMissing
from recollect.embed import shipped_id
from recollect.embed.bert import Bert
from recollect.embed.embedder import SHIPPED_FOLDER, Embedder, load
from recollect.embed.folder import Floats, Folder
from tests.embed.folders import SHIPPED_WEIGHTS, shipped_without_weights
from tests.embed.texts import SENTENCES
from tests.naughty import NAUGHTY

GOLDEN = np.load(Path(__file__).parent / "golden_vectors.npz")["vectors"]
REPAIR = "pip install --force-reinstall recollect"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load("shipped")


@pytest.fixture(scope="module")
def vectors(embedder: Embedder) -> Floats:
    return embedder.embed(SENTENCES)


def test_vectors_point_where_the_unquantised_model_points(embedder: Embedder, vectors: Floats):
    cosines = np.sum(vectors * GOLDEN, axis=1)

    assert vectors.shape == (len(SENTENCES), embedder.dim) == GOLDEN.shape
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert cosines.min() >= 0.996
    assert cosines.mean() >= 0.999


def test_a_text_has_the_same_vector_each_time_alone_and_in_company(embedder: Embedder, vectors: Floats):
    assert np.array_equal(embedder.embed_one(SENTENCES[0]), embedder.embed_one(SENTENCES[0]))
    # Only the last bits of a float32 move.
    assert np.allclose(vectors[::9], [embedder.embed_one(text) for text in SENTENCES[::9]], atol=1e-5)
    assert embedder.embed([]).shape == (0, embedder.dim)


def test_both_ends_of_a_long_text_alone_can_be_asked_for(embedder: Embedder):
    head, tail = "How do deploys go? " * 10, " How do deploys go?" * 40
    long = [head + "wine " * 300 + tail, head + "x = 1\n" * 300 + tail, "Wine " * 60 + tail, head + "wine " * 200]

    one, other, another_head, another_tail = (embedder.embed_one(text, 48) for text in long)

    assert np.array_equal(one, other)
    for short in ("", "deploys", "How do deploys go through staging?"):
        assert np.array_equal(embedder.embed_one(short, 16), embedder.embed_one(short)), "embedded whole"
    assert max(one @ another_head, one @ another_tail) < 0.99
    assert np.allclose(embedder.embed(long, 48), [one, other, another_head, another_tail], atol=1e-5)


def test_no_text_is_too_strange(embedder: Embedder):
    assert np.isfinite(embedder.embed(NAUGHTY, 64)).all()


# The shipped files


def test_the_shipped_model_has_an_id_that_is_known_without_loading_it(embedder: Embedder):
    assert embedder.id == shipped_id() == "all-minilm-l6-v2-int8:672b605665e9"


# What becomes of the weights (None: they are gone), and the refusal.
SPOILT: dict[str, tuple[Callable[[bytes], bytes] | None, type[ModelError], str]] = {
    "missing": (None, ModelMissing, "not there"),
    "empty": (lambda whole: b"", ModelBroken, "not what was shipped"),
    "one byte short": (lambda whole: whole[:-1], ModelBroken, "not what was shipped"),
    "one byte more": (lambda whole: whole + b"\0", ModelBroken, "not what was shipped"),
    "one byte changed": (lambda whole: whole[:9_000] + b"\x55" + whole[9_001:], ModelBroken, "not what was shipped"),
}


@pytest.mark.parametrize("fault", [*SPOILT, "no config"])
def test_a_file_that_is_gone_or_changed_is_not_used_and_names_its_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
):
    weights = shipped_without_weights(tmp_path / "shipped", monkeypatch)
    spoil, error, said = SPOILT.get(fault, SPOILT["missing"])
    if spoil:
        weights.write_bytes(spoil(SHIPPED_WEIGHTS.read_bytes()))
    if fault == "no config":
        weights.with_name("config.json").unlink()

    with pytest.raises(error, match=said) as raised:
        load("shipped")
    assert REPAIR in raised.value.hint


@pytest.mark.parametrize(
    "change", [{"vocab_size": 30_523}, {"word_scale_size": 32}, {"intermediate_size": 768}, {"hidden_size": 0}]
)
def test_sizes_that_are_not_those_of_the_weights_are_refused(change: dict[str, int]):
    folder = Folder(SHIPPED_FOLDER, is_shipped=True)
    folder.config.update(change)

    with pytest.raises(ModelBroken, match=r"tensor|config"):
        Bert(folder, folder.weights().text("characters"), folder.weights())


@pytest.mark.parametrize("setting", ["huge-model", "models/tiny"])
def test_a_setting_that_names_no_model_is_refused(setting: str):
    with pytest.raises(BadInput, match=setting):
        load(setting)


def test_the_notice_tells_where_the_weights_come_from():
    notice = SHIPPED_FOLDER.with_name("NOTICE").read_text(encoding="utf-8")

    assert hashlib.sha256(SHIPPED_WEIGHTS.read_bytes()).hexdigest() in notice
    assert "Apache License, Version 2.0" in notice

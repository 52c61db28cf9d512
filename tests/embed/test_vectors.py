"""Vectors of the shipped model are those of the unquantised one, and the shipped files are what was built."""

from __future__ import annotations

import hashlib
import time
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
    assert max(one @ another_head, one @ another_tail) < 0.99
    assert np.allclose(embedder.embed(long, 48), [one, other, another_head, another_tail], atol=1e-5)


@pytest.mark.parametrize("text", ["", "deploys", "How do deploys go through staging?"])
def test_a_text_that_is_short_enough_is_embedded_whole(embedder: Embedder, text: str):
    assert np.array_equal(embedder.embed_one(text, 16), embedder.embed_one(text))


def test_no_text_is_too_strange(embedder: Embedder):
    assert np.isfinite(embedder.embed(NAUGHTY, 64)).all()


@pytest.mark.parametrize("text", ["", "x" * 1_000_000, "word " * 200_000, "\ud800" * 1_000_000, "漢" * 1_000_000])
def test_the_empty_and_the_endless_have_vectors_too(embedder: Embedder, text: str):
    before = time.process_time()
    vector = embedder.embed_one(text)

    assert np.isfinite(vector).all()
    assert time.process_time() - before < 30


def test_related_texts_are_near(embedder: Embedder):
    question, answer, other = embedder.embed(
        ["why is the database locked?", "SQLITE_BUSY: another process holds the write lock", "the page has a new logo"]
    )

    assert question @ answer > question @ other + 0.1


# The shipped files


def test_the_shipped_model_has_an_id_that_is_known_without_loading_it(embedder: Embedder):
    assert embedder.id == shipped_id() == "all-minilm-l6-v2-int8:672b605665e9"


@pytest.mark.parametrize("missing", ["model.safetensors", "config.json"])
def test_a_missing_file_names_its_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str):
    weights = shipped_without_weights(tmp_path / "shipped", monkeypatch)
    weights.with_name(missing).unlink(missing_ok=True)

    with pytest.raises(ModelMissing, match="not there") as raised:
        load("shipped")
    assert REPAIR in raised.value.hint


def test_a_folder_in_the_place_of_the_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shipped_without_weights(tmp_path / "shipped", monkeypatch).mkdir()

    with pytest.raises(ModelError):
        load("shipped")


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda whole: b"", id="empty"),
        pytest.param(lambda whole: whole[:-1], id="one byte short"),
        pytest.param(lambda whole: whole + b"\0", id="one byte more"),
        pytest.param(lambda whole: whole[:9_000_000] + b"\x55" + whole[9_000_001:], id="one byte changed"),
    ],
)
def test_a_file_that_was_changed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[bytes], bytes]
):
    spoilt = spoil(SHIPPED_WEIGHTS.read_bytes())
    shipped_without_weights(tmp_path / "shipped", monkeypatch).write_bytes(spoilt)

    with pytest.raises(ModelBroken, match="not what was shipped") as raised:
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


def test_loading_keeps_no_view_of_the_whole_file():
    folder = Folder(SHIPPED_FOLDER, is_shipped=True)
    weights = folder.weights()

    model = Bert(folder, weights.text("characters"), weights)

    assert not np.shares_memory(model._words, weights._body)

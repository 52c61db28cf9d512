"""Vectors are those of the unquantised model, by numpy and by onnxruntime alike."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from recollect.embed import weights
from recollect.embed.minilm import MiniLM
from recollect.embed.model import SHIPPED, SHIPPED_FILE, Embedder
from tests.embed.texts import SENTENCES
from tests.naughty import NAUGHTY

GOLDEN = np.load(Path(__file__).parent / "golden_vectors.npz")["vectors"]


@cache
def by_numpy() -> Embedder:
    return MiniLM(SHIPPED.id, weights.read(SHIPPED_FILE, SHIPPED.sha256))


@cache
def by_onnxruntime() -> Embedder:
    pytest.importorskip("onnxruntime", reason="the extra `fast` is not installed")
    from recollect.embed.onnx import OnnxMiniLM

    return OnnxMiniLM(SHIPPED.id, weights.read(SHIPPED_FILE, SHIPPED.sha256))


@pytest.fixture(params=["numpy", "onnxruntime"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return by_numpy() if request.param == "numpy" else by_onnxruntime()


def test_vectors_point_where_the_unquantised_model_points(embedder: Embedder):
    cosines = np.sum(embedder.embed(SENTENCES) * GOLDEN, axis=1)

    assert len(GOLDEN) == len(SENTENCES)
    assert cosines.min() >= 0.99
    assert cosines.mean() >= 0.997


def test_numpy_is_nearer_still():
    cosines = np.sum(by_numpy().embed(SENTENCES) * GOLDEN, axis=1)

    assert cosines.min() >= 0.996
    assert cosines.mean() >= 0.999


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder):
    together = embedder.embed(SENTENCES)

    alone = np.array([embedder.embed_one(text) for text in SENTENCES])

    # In int8 a value on the edge of two steps may fall to either side; in float32 only the last bits move.
    assert np.allclose(together, alone, atol=1e-5)


def test_the_same_text_has_the_same_vector_bit_for_bit(embedder: Embedder):
    assert np.array_equal(embedder.embed(SENTENCES), embedder.embed(SENTENCES))
    assert np.array_equal(embedder.embed_one(SENTENCES[0]), embedder.embed_one(SENTENCES[0]))


def test_of_a_long_text_both_ends_alone_can_be_asked_for(embedder: Embedder):
    head, tail = "How do deploys go? " * 10, " How do deploys go?" * 40
    one, other = (embedder.embed_ends(head + middle * 300 + tail, 48) for middle in ("wine ", "x = 1\n"))
    another_head, another_tail = (embedder.embed_ends(text, 48) for text in ("Wine " * 60 + tail, head + "wine " * 200))

    assert np.array_equal(one, other)
    assert one @ another_head < 0.99
    assert one @ another_tail < 0.99
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-5)


def test_many_long_texts_are_embedded_by_their_ends_at_once(embedder: Embedder):
    long = ["How do deploys go? " * 60, "deploys", "Wine " * 200]

    together = embedder.embed(long, 48)

    assert np.allclose(together, [embedder.embed_ends(text, 48) for text in long], atol=1e-5)


def test_a_text_that_is_short_enough_is_embedded_whole(embedder: Embedder):
    for text in ("", "deploys", "How do deploys go through staging?"):
        assert np.array_equal(embedder.embed_ends(text, 16), embedder.embed_one(text))


def test_vectors_are_float32_of_length_one(embedder: Embedder):
    vectors = embedder.embed(SENTENCES)

    assert vectors.shape == (len(SENTENCES), embedder.dim)
    assert vectors.dtype == np.float32
    assert embedder.embed_one("text").shape == (embedder.dim,)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_are_no_vectors(embedder: Embedder):
    assert embedder.embed([]).shape == (0, embedder.dim)


def test_no_text_is_too_strange(embedder: Embedder):
    assert np.isfinite(embedder.embed(NAUGHTY)).all()


@pytest.mark.parametrize("text", ["", "x" * 1_000_000, "word " * 200_000, "\ud800" * 1_000_000, "漢" * 1_000_000])
def test_the_empty_and_the_endless_have_vectors_too(embedder: Embedder, text: str):
    before = time.process_time()
    vector = embedder.embed_one(text)

    assert np.isfinite(vector).all()
    assert time.process_time() - before < 30


def test_what_belongs_together_is_near(embedder: Embedder):
    question, answer, other = embedder.embed(
        ["why is the database locked?", "SQLITE_BUSY: another process holds the write lock", "the page has a new logo"]
    )

    assert question @ answer > question @ other + 0.1

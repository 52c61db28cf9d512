"""Vectors of the shipped model are those of the unquantised one, and the shipped files are what was built."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recollect.base.errors import BadInput, ModelBroken, ModelError, ModelMissing
from recollect.embed import Embedder, load, shipped_id
from recollect.embed.bert import Bert
from recollect.embed.embedder import SHIPPED_FOLDER
from recollect.embed.folder import Folder
from tests.embed.folders import SHIPPED_WEIGHTS, shipped_without_weights
from tests.embed.texts import SENTENCES
from tests.naughty import NAUGHTY

GOLDEN = np.load(Path(__file__).parent / "golden_vectors.npz")["vectors"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load("shipped")


def test_vectors_point_where_the_unquantised_model_points(embedder: Embedder):
    cosines = np.sum(embedder.embed(SENTENCES) * GOLDEN, axis=1)

    assert len(GOLDEN) == len(SENTENCES)
    assert cosines.min() >= 0.996
    assert cosines.mean() >= 0.999


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder):
    together = embedder.embed(SENTENCES)

    alone = np.array([embedder.embed_one(text) for text in SENTENCES])

    # Only the last bits of a float32 move.
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


# The shipped files

REPAIR = "pip install --force-reinstall recollect"


def test_the_shipped_model_says_what_it_is(embedder: Embedder):
    assert embedder.id == shipped_id() == "all-minilm-l6-v2-int8:672b605665e9"
    assert embedder.dim == 384


def test_a_missing_file_names_its_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    weights = shipped_without_weights(tmp_path / "shipped", monkeypatch)

    with pytest.raises(ModelMissing, match="not there") as raised:
        load("shipped")
    assert REPAIR in raised.value.hint

    weights.mkdir()
    with pytest.raises(ModelError):
        load("shipped")

    weights.rmdir()
    (weights.parent / "config.json").unlink()
    with pytest.raises(ModelMissing):
        load("shipped")


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
        Bert(folder, folder.weights().bytes("characters").decode(), folder.weights())


def test_a_setting_that_names_no_model_is_refused():
    with pytest.raises(BadInput, match="huge-model"):
        load("huge-model")


def test_the_notice_tells_where_the_weights_come_from():
    notice = SHIPPED_FOLDER.with_name("NOTICE").read_text(encoding="utf-8")

    assert hashlib.sha256(SHIPPED_WEIGHTS.read_bytes()).hexdigest() in notice
    assert "Apache License, Version 2.0" in notice


def test_loading_keeps_no_view_of_the_whole_file():
    folder = Folder(SHIPPED_FOLDER, is_shipped=True)
    weights = folder.weights()

    model = Bert(folder, weights.bytes("characters").decode(), weights)

    assert not np.shares_memory(model._words, weights._body)

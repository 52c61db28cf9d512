"""A model's folder on disk gives the vectors its makers meant, and one that cannot be used is refused in words."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.base.errors import BadInput, ModelError, ModelUnfit
from recollect.embed import Embedder, load
from recollect.embed.embedder import CROWDED_ABOVE, EVERYDAY, mean_similarity
from recollect.embed.folder import MAX_BYTES, Prompts
from tests.embed import folders

SAID = "The deploy goes through staging"
TOKENS = folders.tokens_of("the", "deploy", "goes", "through", "staging")


@pytest.fixture(autouse=True)
def as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance numbers crowd as no taught model does; here the vectors are held against the reference as they are."""
    monkeypatch.setattr("recollect.embed.embedder.CROWDED_ABOVE", 1.1)


def check_like(found: Any, wanted: Any, least: float = 0.99999) -> None:
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
    assert float(found @ wanted) >= least


# What it gives


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token", "max_tokens"])
def test_vectors_are_those_of_the_book(tmp_path: Path, pooling: str):
    embedder = load(str(folders.save(tmp_path / "tiny", pooling=pooling)))

    wanted = folders.expected(folders.tensors(), TOKENS, pooling)

    check_like(embedder.embed_one(SAID), wanted)
    check_like(embedder.embed(["water", SAID])[1], wanted)
    check_like(embedder.embed_ends(SAID, 64), wanted)


@pytest.mark.parametrize("dim", [12, 24, 96, 768])
def test_a_model_may_have_any_size(tmp_path: Path, dim: int):
    embedder = load(str(folders.save(tmp_path / "sized", dim=dim)))

    assert embedder.dim == dim
    check_like(embedder.embed_one(SAID), folders.expected(folders.tensors(dim=dim), TOKENS))


@pytest.mark.parametrize(("kind", "least"), [("F32", 0.99999), ("F16", 0.9999), ("BF16", 0.999)])
def test_numbers_may_be_narrower(tmp_path: Path, kind: str, least: float):
    embedder = load(str(folders.save(tmp_path / "narrow", kind=kind)))

    check_like(embedder.embed_one(SAID), folders.expected(folders.tensors(), TOKENS), least)


@pytest.mark.parametrize("prefix", ["bert.", "0.auto_model."])
def test_names_of_tensors_may_stand_under_another(tmp_path: Path, prefix: str):
    embedder = load(str(folders.save(tmp_path / "named", prefix=prefix)))

    check_like(embedder.embed_one(SAID), folders.expected(folders.tensors(), TOKENS))


def test_the_vocabulary_may_be_in_tokenizer_json(tmp_path: Path):
    slow, fast = load(str(folders.save(tmp_path / "a"))), load(str(folders.save(tmp_path / "b", fast_tokenizer=True)))

    assert np.array_equal(slow.embed_one(SAID), fast.embed_one(SAID))


def test_what_the_model_wants_before_a_text_is_put_there(tmp_path: Path):
    embedder = load(str(folders.save(tmp_path / "asked", prompts={"query": "query: ", "document": "passage: "})))
    said = TOKENS[1:-1]

    def wanted(word: str) -> Any:
        first, colon = folders.WORDS.index(word), folders.WORDS.index(":")
        return folders.expected(folders.tensors(), [TOKENS[0], first, colon, *said, TOKENS[-1]])

    check_like(embedder.embed_one(SAID), wanted("query"))
    check_like(embedder.embed_ends(SAID, 64), wanted("query"))
    check_like(embedder.embed([SAID])[0], wanted("passage"))


def test_a_long_text_is_cut_where_the_model_s_places_end(tmp_path: Path):
    embedder = load(str(folders.save(tmp_path / "short")))
    a = folders.WORDS.index("a")

    found = embedder.embed_one("a " * 5_000)

    check_like(found, folders.expected(folders.tensors(), [TOKENS[0], *[a] * (folders.PLACES - 2), TOKENS[-1]]))


def test_of_a_long_question_the_end_counts_too(tmp_path: Path):
    embedder = load(str(folders.save(tmp_path / "ends")))

    one, other = embedder.embed_ends("a " * 500 + "water", 16), embedder.embed_ends("a " * 500 + "staging", 16)

    assert float(one @ other) < 0.9999


def test_a_text_of_nothing_and_broken_text_have_vectors(tmp_path: Path):
    embedder = load(str(folders.save(tmp_path / "tiny")))

    vectors = embedder.embed(["", "\ud800", "\0", "家 é 🙂"])

    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("first", ["The", "thé", "the\u0301"])
def test_a_cased_model_reads_what_is_written(tmp_path: Path, first: str):
    cased, lower = folders.save(tmp_path / "cased"), folders.save(tmp_path / "lower")
    folders.put(cased / "tokenizer_config.json", {"do_lower_case": False})
    said = f"{first} deploy goes, through staging"
    tokens = folders.tokens_of("the", "deploy", "goes", ",", "through", "staging")
    unknown = folders.WORDS.index("[UNK]")

    check_like(load(str(lower)).embed_one(said), folders.expected(folders.tensors(), tokens))
    wanted = folders.expected(folders.tensors(), [tokens[0], unknown, *tokens[2:]])
    check_like(load(str(cased)).embed_one(said), wanted)


# What it is called


def test_the_id_is_the_folder_s_name_and_a_hash_of_all_that_is_read(tmp_path: Path):
    first = load(str(folders.save(tmp_path / "my model")))
    same = load(str(folders.save(tmp_path / "elsewhere" / "my model")))
    others = [
        load(str(folders.save(tmp_path / "1" / "my model", seed=6))),
        load(str(folders.save(tmp_path / "2" / "my model", pooling="cls_token"))),
        load(str(folders.save(tmp_path / "3" / "my model", prompts={"query": "query: "}))),
        load(str(folders.save(tmp_path / "4" / "my model", hidden_act="relu"))),
    ]

    assert first.id.startswith("my-model:")
    assert first.id == same.id
    assert len({first.id, *(other.id for other in others)}) == 5


def test_a_path_may_begin_with_the_user_s_home(tmp_path: Path):
    folders.save(Path.home() / "models" / "tiny")

    assert load("~/models/tiny").id.startswith("tiny:")


# Spread


class Crowding:
    """Unrelated texts are 0.8 near to each other."""

    dim, at_once = 64, 1

    def vectors(self, texts: Any, most_tokens: int | None) -> Any:
        common = np.eye(64)[0] * 2
        made = [common + np.random.default_rng(sum(text.encode())).normal(size=64) / 8 for text in texts]
        return np.array(made, np.float32)


def test_a_model_that_crowds_all_texts_together_is_spread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("recollect.embed.embedder.CROWDED_ABOVE", CROWDED_ABOVE)

    spread = Embedder("crowding:1", Crowding(), Prompts())

    assert spread.id == "crowding:1:even"
    assert abs(mean_similarity(spread.embed(["one", "another", "a third", "the fourth", "number five"]))) < 0.2
    assert float(spread.embed_one("one") @ spread.embed(["one"])[0]) == pytest.approx(1, abs=1e-4)


def test_one_that_spreads_them_as_the_shipped_one_does_is_left_as_it_is():
    assert mean_similarity(load("shipped").embed(EVERYDAY)) < CROWDED_ABOVE / 3


# What is refused


WEIGHTS = "model.safetensors"
CONFIG = folders.CONFIG
LYING = {"embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [9], "data_offsets": [-5, 10**15]}}


def header_alone(header: dict[str, Any]) -> bytes:
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written


def with_nan() -> bytes:
    values = folders.tensors()
    values["encoder.layer.0.output.dense.bias"][3] = np.nan
    return folders.packed(values)


# Which file, what becomes of it (None: it is removed), another file that is put there, and what is said.
REFUSED: list[tuple[str, Any, dict[str, Any], str]] = [
    (WEIGHTS, lambda whole: whole[: len(whole) // 2], {}, "cut short"),
    (WEIGHTS, lambda whole: b"\xff" * 8 + whole[8:], {}, "safetensors"),
    (WEIGHTS, b"version https://git-lfs.github.com/spec/v1\n", {}, "safetensors"),
    (WEIGHTS, header_alone(LYING), {}, "invalid offsets"),
    (WEIGHTS, None, {}, "no model.safetensors"),
    (WEIGHTS, None, {"pytorch_model.bin": b"\x80\x04."}, "never opened"),
    (WEIGHTS, None, {f"{WEIGHTS}.index.json": {}}, "several files"),
    (WEIGHTS, lambda _: folders.packed(folders.tensors(), "I64"), {}, "type I64"),
    (WEIGHTS, lambda _: folders.packed(folders.tensors(dim=12)), {}, "shape"),
    (WEIGHTS, lambda _: with_nan(), {}, "no number"),
    ("config.json", {**CONFIG, "model_type": "t5"}, {}, "'t5'"),
    ("config.json", None, {}, "config.json"),
    ("config.json", b'{"model_type": "be', {}, "no JSON"),
    ("config.json", {**CONFIG, "num_attention_heads": 7}, {}, "7 heads"),
    ("config.json", {**CONFIG, "num_hidden_layers": 10**9}, {}, "num_hidden_layers"),
    ("vocab.txt", None, {}, "nor vocab.txt"),
    ("vocab.txt", "\n".join([*folders.WORDS, "more", "words"]).encode(), {}, "words and the model"),
    ("vocab.txt", b"a\nb\n", {}, "lacks"),
    ("vocab.txt", None, {"tokenizer.json": {"model": {"type": "Unigram", "vocab": []}}}, "Unigram"),
    ("modules.json", [*folders.MODULES, {"type": "models.Dense", "path": "2"}], {}, "Dense"),
    ("modules.json", [{"type": "x.Pooling", "path": "../../etc"}], {}, "outside"),
    ("1_Pooling/config.json", {"pooling_mode_lasttoken": True}, {}, "lasttoken"),
]


def put(path: Path, content: Any) -> None:
    if callable(content):
        content = content(path.read_bytes())
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


@pytest.mark.parametrize(("name", "content", "more", "said"), REFUSED, ids=[row[3] for row in REFUSED])
def test_a_folder_that_cannot_be_used_is_refused_in_words(
    tmp_path: Path, name: str, content: Any, more: dict[str, Any], said: str
):
    path = folders.save(tmp_path / "tiny")
    put(path / name, content)
    for other, its in more.items():
        put(path / other, its)

    with pytest.raises(ModelUnfit, match=said) as raised:
        load(str(path))

    assert "shipped" in raised.value.hint


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_in_the_place_of_a_file_hangs_nobody(tmp_path: Path):
    path = folders.save(tmp_path / "tiny")
    (path / "vocab.txt").unlink()
    os.mkfifo(path / "vocab.txt")

    with pytest.raises(ModelUnfit, match="no regular file"):
        load(str(path))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path):
    path = folders.save(tmp_path / "tiny")
    with (path / "model.safetensors").open("r+b") as file:
        file.truncate(MAX_BYTES + 1)  # takes no room on the disk

    with pytest.raises(ModelUnfit, match="2,000,000,001 bytes"):
        load(str(path))


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("x")], ids=["nothing", "a file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, make: Callable[[Path], None]):
    make(tmp_path / "gone")

    with pytest.raises(ModelUnfit, match="MEMORY_EMBEDDING_MODEL"):
        load(str(tmp_path / "gone"))


def test_a_name_that_is_no_full_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    folders.save(tmp_path / "tiny")

    with pytest.raises(BadInput, match="cannot be 'tiny'"):
        load("tiny")


def test_a_folder_that_vanishes_after_it_was_loaded_still_serves(tmp_path: Path):
    path = folders.save(tmp_path / "tiny")
    embedder = load(str(path))
    before = embedder.embed_one(SAID)
    path.rename(tmp_path / "gone")

    assert np.array_equal(embedder.embed_one(SAID), before)
    with pytest.raises(ModelError, match="not there"):
        load(str(path))


def test_the_shipped_file_says_what_becomes_of_letters_for_every_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folders.shipped_without_weights(tmp_path / "shipped", monkeypatch)

    with pytest.raises(ModelError, match="not there"):
        load(str(folders.save(tmp_path / "tiny")))

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
from recollect.embed import folder as folder_module
from recollect.embed import load
from recollect.embed.chosen import CROWDED_ABOVE, EVERYDAY, Chosen, crowding
from recollect.embed.folder import Prompts
from recollect.embed.model import SHIPPED_FILE
from tests.embed import folders

SAID = "The deploy goes through staging"
TOKENS = folders.tokens_of("the", "deploy", "goes", "through", "staging")


@pytest.fixture(autouse=True)
def as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance numbers crowd as no taught model does; here the vectors are held against the reference as they are."""
    monkeypatch.setattr("recollect.embed.chosen.CROWDED_ABOVE", 1.1)


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
    monkeypatch.setattr("recollect.embed.chosen.CROWDED_ABOVE", CROWDED_ABOVE)

    spread = Chosen("crowding:1", Crowding(), Prompts())

    assert spread.id == "crowding:1:even"
    assert abs(crowding(spread.embed(["one", "another", "a third", "the fourth", "number five"]))) < 0.2
    assert float(spread.embed_one("one") @ spread.embed(["one"])[0]) == pytest.approx(1, abs=1e-4)


def test_one_that_spreads_them_as_the_shipped_one_does_is_left_as_it_is():
    assert crowding(load("shipped").embed(EVERYDAY)) < CROWDED_ABOVE / 3


# What is refused


def cut(path: Path) -> None:
    whole = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def absurd(path: Path) -> None:
    whole = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(b"\xff" * 8 + whole[8:])


def pointer(path: Path) -> None:
    (path / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")


def lying(path: Path) -> None:
    header = {"embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [9], "data_offsets": [-5, 10**15]}}
    written = json.dumps(header).encode()
    (path / "model.safetensors").write_bytes(len(written).to_bytes(8, "little") + written)


def no_weights(path: Path) -> None:
    (path / "model.safetensors").unlink()


def pickled(path: Path) -> None:
    no_weights(path)
    (path / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def parted(path: Path) -> None:
    no_weights(path)
    folders.put(path / "model.safetensors.index.json", {})


def in_integers(path: Path) -> None:
    (path / "model.safetensors").write_bytes(folders.packed(folders.tensors(), "I64"))


def other_shape(path: Path) -> None:
    (path / "model.safetensors").write_bytes(folders.packed(folders.tensors(dim=12)))


def not_numbers(path: Path) -> None:
    values = folders.tensors()
    values["encoder.layer.0.output.dense.bias"][3] = np.nan
    (path / "model.safetensors").write_bytes(folders.packed(values))


def other_kind(path: Path) -> None:
    folders.put(path / "config.json", {**folders.CONFIG, "model_type": "t5"})


def no_config(path: Path) -> None:
    (path / "config.json").unlink()


def half_config(path: Path) -> None:
    (path / "config.json").write_text('{"model_type": "be')


def odd_heads(path: Path) -> None:
    folders.put(path / "config.json", {**folders.CONFIG, "num_attention_heads": 7})


def huge_sizes(path: Path) -> None:
    folders.put(path / "config.json", {**folders.CONFIG, "num_hidden_layers": 10**9})


def no_vocabulary(path: Path) -> None:
    (path / "vocab.txt").unlink()


def too_many_words(path: Path) -> None:
    (path / "vocab.txt").write_text("\n".join([*folders.WORDS, "more", "words"]))


def no_marks(path: Path) -> None:
    (path / "vocab.txt").write_text("a\nb\n")


def sentence_piece(path: Path) -> None:
    folders.put(path / "tokenizer.json", {"model": {"type": "Unigram", "vocab": []}})


def dense(path: Path) -> None:
    folders.put(path / "modules.json", [*folders.MODULES, {"type": "sentence_transformers.models.Dense", "path": "2"}])


def outside(path: Path) -> None:
    folders.put(path / "modules.json", [{"type": "x.Pooling", "path": "../../etc"}])


def last_token(path: Path) -> None:
    folders.put(path / "1_Pooling" / "config.json", {"pooling_mode_lasttoken": True})


def a_pipe(path: Path) -> None:
    (path / "vocab.txt").unlink()
    os.mkfifo(path / "vocab.txt")


REFUSED: list[tuple[Callable[[Path], None], str]] = [
    (cut, "cut short"), (absurd, "safetensors"), (pointer, "safetensors"), (lying, "place of the tensor"),
    (no_weights, "neither model.safetensors nor"), (pickled, "never opened"), (parted, "several files"),
    (in_integers, "type I64"), (other_shape, "shape"), (not_numbers, "no number"), (other_kind, "'t5'"),
    (no_config, "config.json"), (half_config, "no JSON"), (odd_heads, "7 heads"), (huge_sizes, "num_hidden_layers"),
    (no_vocabulary, "nor vocab.txt"), (too_many_words, "words and the model"), (no_marks, "lacks"),
    (sentence_piece, "Unigram"), (dense, "Dense"), (outside, "outside"), (last_token, "lasttoken"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "said"), REFUSED, ids=[spoil.__name__ for spoil, _ in REFUSED])
def test_a_folder_that_cannot_be_used_is_refused_in_words(tmp_path: Path, spoil: Callable[[Path], None], said: str):
    path = folders.save(tmp_path / "tiny")
    spoil(path)

    with pytest.raises(ModelUnfit, match=said) as raised:
        load(str(path))

    assert "shipped" in raised.value.hint


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_in_the_place_of_a_file_hangs_nobody(tmp_path: Path):
    path = folders.save(tmp_path / "tiny")
    a_pipe(path)

    with pytest.raises(ModelUnfit, match="no regular file"):
        load(str(path))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path):
    path = folders.save(tmp_path / "tiny")
    with (path / "model.safetensors").open("r+b") as file:
        file.truncate(folder_module.MOST_BYTES + 1)  # takes no room on the disk

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


# By onnxruntime


def graph_only(path: Path, content: bytes = b"nonsense") -> Path:
    (path / "model.safetensors").unlink()
    (path / "onnx").mkdir()
    (path / "onnx" / "model.onnx").write_bytes(content)
    return path


def test_where_only_a_graph_is_there_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "recollect.embed.graphed", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # how Python marks what cannot be imported

    with pytest.raises(ModelUnfit, match="needs onnxruntime") as raised:
        load(str(graph_only(folders.save(tmp_path / "tiny"))))

    assert "pip install recollect[fast]" in raised.value.hint


def test_a_graph_that_was_cut_short_is_refused(tmp_path: Path):
    pytest.importorskip("onnxruntime", reason="the extra `fast` is not installed")

    with pytest.raises(ModelUnfit, match=r"cannot read onnx/model\.onnx"):
        load(str(graph_only(folders.save(tmp_path / "tiny"))))


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_a_graph_serves_whatever_it_is_a_graph_of(tmp_path: Path, kind: str):
    pytest.importorskip("onnxruntime", reason="the extra `fast` is not installed")
    path = graph_only(folders.save(tmp_path / "tiny", model_type=kind), folders.word_graph())

    found = load(str(path))

    words = folders.tensors()["embeddings.word_embeddings.weight"][TOKENS]
    check_like(found.embed_one(SAID), words.mean(0) / np.linalg.norm(words.mean(0)))
    assert found.dim == folders.DIM


def test_the_shipped_file_is_what_hears_and_reads_letters_for_every_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("recollect.embed.model.SHIPPED_FILE", SHIPPED_FILE.with_name("gone"))

    with pytest.raises(ModelError, match="not there"):
        load(str(folders.save(tmp_path / "tiny")))

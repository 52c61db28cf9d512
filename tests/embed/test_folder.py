"""A model's folder on disk gives the vectors its makers meant, and one that cannot be used is refused with a reason."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.base.errors import ModelError, ModelUnfit
from recollect.embed.embedder import CROWDED_ABOVE, EVERYDAY, Embedder, load, mean_similarity
from recollect.embed.folder import MAX_BYTES
from tests.embed import folders

SAID = "The deploy goes through staging"
TOKENS = folders.tokens_of("the", "deploy", "goes", "through", "staging")


@pytest.fixture(autouse=True)
def as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers crowd as no trained model does; here the vectors are compared with the reference as they are."""
    monkeypatch.setattr("recollect.embed.embedder.CROWDED_ABOVE", 1.1)


def check_like(found: Any, wanted: Any, least: float = 0.99999) -> None:
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
    assert float(found @ wanted) >= least


# What it gives


@pytest.mark.parametrize(
    ("saved", "least"),
    [
        ({}, 0.99999), ({"pooling": "cls_token"}, 0.99999), ({"dim": 12}, 0.99999), ({"dim": 768}, 0.99999),
        ({"kind": "F16"}, 0.9999), ({"kind": "BF16"}, 0.999), ({"prefix": "bert."}, 0.99999),
        ({"prefix": "0.auto_model."}, 0.99999),
    ],
)  # fmt: skip
def test_vectors_are_those_of_the_book(tmp_path: Path, saved: dict[str, Any], least: float):
    embedder = load(str(folders.save(tmp_path / "tiny", **saved)))
    dim = saved.get("dim", folders.DIM)
    wanted = folders.expected(folders.tensors(dim=dim), TOKENS, saved.get("pooling", "mean_tokens"))
    assert embedder.dim == dim
    check_like(embedder.embed_one(SAID), wanted, least)
    check_like(embedder.embed_one(SAID, 64), wanted, least)
    check_like(embedder.embed(["water", SAID])[1], wanted, least)


def test_what_the_model_wants_before_a_text_is_put_there(tmp_path: Path):
    embedder = load(
        str(folders.save(tmp_path / "asked", prompts={"query": "query: ", "document": "passage: "}))
    )

    def wanted(word: str) -> Any:
        first, colon = folders.WORDS.index(word), folders.WORDS.index(":")
        return folders.expected(folders.tensors(), [TOKENS[0], first, colon, *TOKENS[1:]])

    check_like(embedder.embed_one(SAID), wanted("query"))
    check_like(embedder.embed([SAID])[0], wanted("passage"))


def test_a_long_text_is_cut_where_the_model_s_positions_end(tmp_path: Path):
    embedder = load(str(folders.save(tmp_path / "short")))
    a = folders.WORDS.index("a")
    found = embedder.embed_one("a " * 5_000)
    check_like(
        found,
        folders.expected(folders.tensors(), [TOKENS[0], *[a] * (folders.PLACES - 2), TOKENS[-1]]),
    )
    ends = [embedder.embed_one("a " * 500 + end, 16) for end in ("water", "staging")]
    assert float(ends[0] @ ends[1]) < 0.9999


def test_the_id_is_the_folder_s_name_and_a_hash_of_all_that_is_read():
    changes: list[dict[str, Any]] = [
        {}, {}, {"seed": 6}, {"pooling": "cls_token"}, {"prompts": {"query": "query: "}}, {"hidden_act": "gelu_new"},
    ]  # fmt: skip
    for number, change in enumerate(changes):
        folders.save(Path.home() / str(number) / "my model", **change)
    first, same, *others = [load(f"~/{number}/my model").id for number in range(len(changes))]
    assert first.startswith("my-model:")
    assert first == same
    assert len({first, *others}) == 5


# Spread


class Crowding:
    """Unrelated texts have a similarity of 0.8."""

    dim, at_once = 64, 1

    def vectors(self, texts: Any, most_tokens: int | None) -> Any:
        common = np.eye(64)[0] * 2
        made = [
            common + np.random.default_rng(sum(text.encode())).normal(size=64) / 8 for text in texts
        ]
        return np.array(made, np.float32)


def test_a_model_that_crowds_all_texts_together_is_spread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("recollect.embed.embedder.CROWDED_ABOVE", CROWDED_ABOVE)
    spread = Embedder("crowding:1", Crowding())
    assert spread.id == "crowding:1:even"
    assert (
        abs(
            mean_similarity(
                spread.embed(["one", "another", "a third", "the fourth", "number five"])
            )
        )
        < 0.2
    )
    assert float(spread.embed_one("one") @ spread.embed(["one"])[0]) == pytest.approx(1, abs=1e-4)
    assert mean_similarity(load("shipped").embed(EVERYDAY)) < CROWDED_ABOVE / 3


# What is refused


WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
CONFIG = folders.CONFIG


def header_alone(header: dict[str, Any]) -> bytes:
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written


LYING = header_alone(
    {"embeddings.word_embeddings.weight": {"dtype": "F32", "data_offsets": [-5, 10**15]}}
)


def with_nan() -> bytes:
    values = folders.tensors()
    values["encoder.layer.0.output.dense.bias"][3] = np.nan
    return folders.packed(values)


# Which file, what becomes of it (None: it is removed), and what the refusal says.
REFUSED: list[tuple[str, Any, str]] = [
    (WEIGHTS, lambda whole: whole[: len(whole) // 2], "cut short"),
    (WEIGHTS, lambda whole: b"\xff" * 8 + whole[8:], "safetensors"),
    (WEIGHTS, b"version https://git-lfs.github.com/spec/v1\n", "safetensors"),
    (WEIGHTS, header_alone({}), "word_embeddings.weight is missing"),
    (WEIGHTS, LYING, "invalid offsets"),
    (WEIGHTS, None, "no model.safetensors"),
    (WEIGHTS, lambda _: folders.packed(folders.tensors(), "I64"), "type I64"),
    (WEIGHTS, lambda _: folders.packed(folders.tensors(dim=12)), "shape"),
    (WEIGHTS, lambda _: with_nan(), "finite"),
    ("config.json", {**CONFIG, "model_type": "t5"}, "'t5'"),
    ("config.json", None, "no config.json"),
    ("config.json", b'{"model_type": "be', "not JSON"),
    ("config.json", {**CONFIG, "num_attention_heads": 7}, "7 heads"),
    ("config.json", {**CONFIG, "num_hidden_layers": 10**9}, "is missing"),
    ("config.json", {**CONFIG, "hidden_act": "relu"}, "relu"),
    (TOKENIZER, None, "no tokenizer.json"),
    (TOKENIZER, folders.tokenizer([*folders.WORDS, "more", "words"]), "does not fit the model"),
    (TOKENIZER, folders.tokenizer(["a", "b"]), "does not fit the model"),
    (TOKENIZER, folders.tokenizer(type="Unigram"), "not WordPiece"),
    (
        TOKENIZER,
        folders.tokenizer() | {"normalizer": {"type": "BertNormalizer", "lowercase": False}},
        "uncased",
    ),
    (TOKENIZER, folders.tokenizer() | {"normalizer": {"type": "Sequence"}}, "uncased"),
    ("modules.json", [*folders.MODULES, {"type": "models.Dense", "path": "2"}], "Dense"),
    ("1_Pooling/config.json", {"pooling_mode_lasttoken": True}, "lasttoken"),
]


@pytest.mark.parametrize(
    ("name", "content", "said"), REFUSED, ids=[f"{row[0]} {row[2]}" for row in REFUSED]
)
def test_a_folder_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, name: str, content: Any, said: str
):
    path = folders.save(tmp_path / "tiny")
    if callable(content):
        content = content((path / name).read_bytes())
    (path / name).unlink()
    if content is not None:
        (path / name).write_bytes(
            content if isinstance(content, bytes) else json.dumps(content).encode()
        )
    with pytest.raises(ModelUnfit, match=said) as raised:
        load(str(path))
    assert "shipped" in raised.value.hint


def put_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SPOILS: dict[str, Callable[[Path], object]] = {
    "never opened": lambda path: (path / WEIGHTS).rename(path / "pytorch_model.bin"),
    "2,000,000,001 bytes": lambda path: os.truncate(
        path / WEIGHTS, MAX_BYTES + 1
    ),  # takes no room on the disk
    "not a regular file": lambda path: put_pipe(path / TOKENIZER),
    "is not there": lambda path: path.rename(path.with_name("elsewhere")),
}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
@pytest.mark.parametrize("said", SPOILS)
def test_what_is_not_a_folder_of_plain_files_is_refused(tmp_path: Path, said: str):
    path = folders.save(tmp_path / "tiny")
    embedder = load(str(path))
    before = embedder.embed_one(SAID)
    SPOILS[said](path)
    with pytest.raises(ModelUnfit, match=said):
        load(str(path))
    assert np.array_equal(embedder.embed_one(SAID), before), "what was loaded still serves"


def test_the_shipped_file_says_what_becomes_of_letters_for_every_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folders.shipped_without_weights(tmp_path / "shipped", monkeypatch)
    with pytest.raises(ModelError, match="not there"):
        load(str(folders.save(tmp_path / "tiny")))

"""Vectors of the shipped model are those of the unquantised one, and the shipped files are what was built."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.errors import BadInput, ModelBroken, ModelError, ModelMissing
from recollect.embed import shipped_id
from recollect.embed.bert import Bert
from recollect.embed.embedder import SHIPPED_FOLDER, Embedder, load
from recollect.embed.folder import Floats, Folder, Tokenizer
from tests.embed.folders import SHIPPED_WEIGHTS, shipped_without_weights
from tests.embed.texts import SENTENCES, TEXTS
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


def test_a_text_has_the_same_vector_each_time_alone_and_in_company(
    embedder: Embedder, vectors: Floats
):
    assert np.array_equal(embedder.embed_one(SENTENCES[0]), embedder.embed_one(SENTENCES[0]))
    # Only the last bits of a float32 move.
    assert np.allclose(
        vectors[::9], [embedder.embed_one(text) for text in SENTENCES[::9]], atol=1e-5
    )
    assert embedder.embed([]).shape == (0, embedder.dim)


def test_words_of_like_meaning_are_alike_and_those_of_every_text_say_little(embedder: Embedder):
    texts = ["our physician", "our bicycle", "our doctor", ""]
    like = embedder.likeness("our doctor?", texts)
    assert like[2] > like[0] > like[1] > like[3]
    common = embedder.likeness("our doctor?", ["our bicycle", "our car", "our house", "my doctor"])
    assert common[3] == max(common)
    assert embedder.likeness("", texts) == [0.0] * 4
    assert embedder.likeness("who?", []) == []


def test_both_ends_of_a_long_text_alone_can_be_asked_for(embedder: Embedder):
    head, tail = "How do deploys go? " * 10, " How do deploys go?" * 40
    long = [
        head + "wine " * 300 + tail,
        head + "x = 1\n" * 300 + tail,
        "Wine " * 60 + tail,
        head + "wine " * 200,
    ]
    one, other, another_head, another_tail = (embedder.embed_one(text, 48) for text in long)
    assert np.array_equal(one, other)
    for short in ("", "deploys", "How do deploys go through staging?"):
        assert np.array_equal(embedder.embed_one(short, 16), embedder.embed_one(short, 64)), (
            "embedded whole"
        )
    assert max(one @ another_head, one @ another_tail) < 0.99
    assert np.allclose(
        embedder.embed(long, 48), [one, other, another_head, another_tail], atol=1e-5
    )


def test_a_question_that_someone_waits_for_gets_nearly_the_same_vector_from_fewer_layers(
    embedder: Embedder,
):
    plain = [
        text
        for text in SENTENCES
        if text.isascii() and 20 < len(text) < 300 and len(set(text.split())) > 4
    ]
    whole, quick = embedder.embed(plain), embedder.embed(plain, 64)
    assert np.sum(whole * quick, axis=1).mean() >= 0.95
    # Near stays as near, so that thresholds hold for both; the diagonal is each text with itself.
    near, quick_near = (
        found - 2 * np.eye(len(plain)) for found in (whole @ whole.T, quick @ whole.T)
    )
    assert abs(quick_near.max(1).mean() - near.max(1).mean()) < 0.03
    others = [
        "Warum schl\u00e4gt der Build fehl?",
        "\u043f\u043e\u0447\u0435\u043c\u0443 \u0442\u0435\u0441\u0442\u044b \u043f\u0430\u0434\u0430\u044e\u0442",
    ]
    assert np.allclose(embedder.embed(others, 64), embedder.embed(others), atol=1e-5), (
        "other letters: all layers"
    )


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
    "one byte changed": (
        lambda whole: whole[:9_000] + b"\x55" + whole[9_001:],
        ModelBroken,
        "not what was shipped",
    ),
}


@pytest.mark.parametrize("name", ["model.safetensors", "question.safetensors"])
@pytest.mark.parametrize("fault", [*SPOILT, "no config"])
def test_a_file_that_is_gone_or_changed_is_not_used_and_names_its_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, name: str
):
    weights = shipped_without_weights(tmp_path / "shipped", monkeypatch)
    spoil, error, said = SPOILT.get(fault, SPOILT["missing"])
    for file in (SHIPPED_WEIGHTS, SHIPPED_WEIGHTS.with_name("question.safetensors")):
        weights.with_name(file.name).write_bytes(file.read_bytes())
    weights.with_name(name).unlink()
    if spoil:
        weights.with_name(name).write_bytes(spoil(SHIPPED_WEIGHTS.with_name(name).read_bytes()))
    if fault == "no config":
        weights.with_name("config.json").unlink()
    with pytest.raises(error, match=said) as raised:
        load("shipped")
    assert REPAIR in raised.value.hint


@pytest.mark.parametrize(
    "change",
    [
        {"vocab_size": 30_523},
        {"word_scale_size": 32},
        {"intermediate_size": 768},
        {"hidden_size": 0},
    ],
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


# Tokens are those of the reference, on any text, in any Python.


GOLDEN_TOKENS = json.loads(
    (Path(__file__).parent / "golden_tokens.json").read_text(encoding="ascii")
)
FIRST, LAST, UNKNOWN = 101, 102, 100

any_text = st.text(st.characters(exclude_categories=()), max_size=300)


@cache
def tokenizer() -> Tokenizer:
    tensors = Folder(SHIPPED_FOLDER, is_shipped=True).weights()
    return Tokenizer(
        tensors.text("vocabulary").rstrip("\n").split("\n"), tensors.text("characters")
    )


@pytest.mark.parametrize("cut_chars", [1, 7, 100, 2_048])
def test_tokens_are_those_of_the_reference_wherever_the_text_is_cut(
    monkeypatch: pytest.MonkeyPatch, cut_chars: int
):
    monkeypatch.setattr("recollect.embed.folder._FIRST_CUT_CHARS", cut_chars)
    assert {each["text"] for each in GOLDEN_TOKENS} >= set(TEXTS)
    assert [tokenizer().encode(each["text"], 256) for each in GOLDEN_TOKENS] == [
        each["tokens"] for each in GOLDEN_TOKENS
    ]


@given(any_text, st.integers(2, 40))
def test_a_cut_encoding_is_the_beginning_of_the_whole(text, most):
    whole = tokenizer().encode(text, 10_000)
    cut = tokenizer().encode(text, most)
    assert cut == [*whole[:-1][: most - 1], LAST]


@pytest.mark.parametrize(
    "unit", ["word ", "x", "é", "漢", ".", " ", "\x00", "[SEP", "q" * 99 + " ", "\ud800"]
)
def test_a_megabyte_does_not_explode(unit):
    text = unit * (1_000_000 // len(unit))
    tokenizer()
    before = time.process_time()
    tokens = tokenizer().encode(text, 256)
    assert len(tokens) <= 256
    assert time.process_time() - before < 30


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \x00\u200b", []),
        ("wo\ud800rd", [2773]),
        ("x" * 101, [UNKNOWN]),
        ("x" * 5_000, [UNKNOWN]),
    ],
)
def test_what_no_golden_text_shows(text: str, tokens: list[int]):
    assert tokenizer().encode(text, 256) == [FIRST, *tokens, LAST]
    assert tokenizer().encode("x" * 100, 256) != [FIRST, UNKNOWN, LAST]


# numpy's libraries are held to one thread in every process of ours, whichever part of us loads numpy first.


SOURCE = Path(__file__).resolve().parents[2] / "src"
LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_LOOK = """
import importlib, os, sys
importlib.import_module(sys.argv[1])
assert "numpy" in sys.modules
print(os.environ["OPENBLAS_NUM_THREADS"], len(os.listdir("/proc/self/task")))
"""


def modules_with_numpy() -> list[str]:
    found = (path for path in SOURCE.rglob("*.py") if "\nimport numpy" in path.read_text("utf-8"))
    names = (".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in found)
    return sorted(names)


def look(module: str, **more: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in LIMITS}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, module],
        env={**environ, **more},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize("module", modules_with_numpy())
def test_a_process_that_loads_numpy_through_us_has_one_thread(module: str):
    assert look(module) == "1 1"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_what_a_person_set_for_numpy_holds():
    assert look("recollect.embed.bert", OPENBLAS_NUM_THREADS="2").startswith("2 ")

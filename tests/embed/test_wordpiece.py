"""Tokens are those of the reference, on any text, in any Python."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embed.embedder import SHIPPED_FOLDER
from recollect.embed.folder import Folder, Tensors, Tokenizer
from tests.embed.texts import TEXTS, askable

GOLDEN = json.loads((Path(__file__).parent / "golden_tokens.json").read_text(encoding="ascii"))
FIRST, LAST, UNKNOWN = 101, 102, 100

any_text = st.text(st.characters(exclude_categories=()), max_size=300)


@cache
def vocabulary() -> list[str]:
    return tensors().text("vocabulary").rstrip("\n").split("\n")


@cache
def tensors() -> Tensors:
    return Folder(SHIPPED_FOLDER, is_shipped=True).weights()


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer(vocabulary(), tensors().text("characters"))


def test_the_golden_file_holds_every_text():
    assert {each["text"] for each in GOLDEN} >= set(TEXTS)


@pytest.mark.parametrize("cut_chars", [1, 7, 100, 2_048])
def test_tokens_are_those_of_the_reference_wherever_the_text_is_cut(monkeypatch: pytest.MonkeyPatch, cut_chars: int):
    monkeypatch.setattr("recollect.embed.folder._FIRST_CUT_CHARS", cut_chars)

    assert [tokenizer().encode(each["text"], 256) for each in GOLDEN] == [each["tokens"] for each in GOLDEN]


@cache
def reference() -> Any:
    """The reference tokenizer itself, made from our vocabulary; the golden file is checked without it."""
    tokenizers = pytest.importorskip("tokenizers", reason="the reference tokenizer is not installed")
    pieces = {piece: number for number, piece in enumerate(vocabulary())}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return made


@given(st.lists(st.one_of(any_text, st.sampled_from(TEXTS)), max_size=4).map("".join))
def test_any_text_has_the_tokens_that_the_reference_gives_it(text):
    assert tokenizer().encode(text, 100_000)[1:-1] == reference().encode(askable(text)).ids


@given(any_text, st.integers(2, 40))
def test_a_cut_encoding_is_the_beginning_of_the_whole(text, most):
    whole = tokenizer().encode(text, 10_000)

    cut = tokenizer().encode(text, most)

    assert cut == [*whole[:-1][: most - 1], LAST]


@pytest.mark.parametrize("unit", ["word ", "x", "é", "漢", ".", " ", "\x00", "[SEP", "q" * 99 + " ", "\ud800"])
def test_a_megabyte_does_not_explode(unit):
    text = unit * (1_000_000 // len(unit))
    tokenizer()

    before = time.process_time()
    tokens = tokenizer().encode(text, 256)

    assert len(tokens) <= 256
    assert time.process_time() - before < 30


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", []), (" \x00\u200b", []), ("wo\ud800rd", [2773]), ("x" * 101, [UNKNOWN]), ("x" * 5_000, [UNKNOWN])],
)
def test_what_no_golden_text_shows(text: str, tokens: list[int]):
    assert tokenizer().encode(text, 256) == [FIRST, *tokens, LAST]
    assert tokenizer().encode("x" * 100, 256) != [FIRST, UNKNOWN, LAST]

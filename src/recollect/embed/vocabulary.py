"""The tokenizer of a model's folder. WordPiece alone, which every BERT has; models with another kind can still serve
through an endpoint, which has its own."""

from __future__ import annotations

from typing import Any, Protocol

from recollect.embed.folder import Folder
from recollect.embed.tokenizer import Marks, Tokenizer

_MOST_WORDS = 2_000_000
_ELSEWHERE = "A server that runs it can be named instead (http://127.0.0.1:PORT/v1#MODEL); `shipped` is always there."


class Tokens(Protocol):
    def encode(self, text: str, max_tokens: int) -> list[int]: ...


def tokens_of(folder: Folder, characters: str) -> tuple[Tokens, int]:
    """And how many numbers it can give. `characters`: what becomes of each (tokenizer.py)."""
    said = folder.json("tokenizer_config.json")
    if not folder.has("tokenizer.json"):
        if not folder.has("vocab.txt"):
            raise folder.unfit("it has neither tokenizer.json nor vocab.txt")
        return _word_pieces(folder, folder.lines("vocab.txt"), said, characters, _lowers(folder, said, None))
    whole = folder.json("tokenizer.json")
    model = whole.get("model")
    if not isinstance(model, dict):
        raise folder.unfit("tokenizer.json names no model")
    if model.get("type", "WordPiece") != "WordPiece" or model.get("continuing_subword_prefix", "##") != "##":
        raise folder.unfit(f"its tokenizer is of the kind {model.get('type')}, not WordPiece", _ELSEWHERE)
    vocabulary = _in_order(folder, model.get("vocab"))
    return _word_pieces(folder, vocabulary, said, characters, _lowers(folder, said, whole.get("normalizer")))


def _in_order(folder: Folder, vocabulary: Any) -> list[str]:
    if not isinstance(vocabulary, dict) or not all(type(number) is int for number in vocabulary.values()):
        raise folder.unfit("tokenizer.json has no vocabulary")
    most = max(vocabulary.values(), default=-1)
    if not 0 <= most < _MOST_WORDS or min(vocabulary.values()) < 0:
        raise folder.unfit("the vocabulary in tokenizer.json is not numbered as one is")
    found = [f"\0{number}" for number in range(most + 1)]  # a number that no word has is never met
    for word, number in vocabulary.items():
        found[number] = word
    return found


def _word_pieces(
    folder: Folder, vocabulary: list[str], said: dict[str, Any], characters: str, lowercase: bool
) -> tuple[Tokens, int]:
    def mark(name: str, usual: str) -> str:
        found = said.get(f"{name}_token", usual)
        found = found.get("content") if isinstance(found, dict) else found
        return found if isinstance(found, str) and found else usual

    marks = Marks(
        mark("cls", "[CLS]"), mark("sep", "[SEP]"), mark("unk", "[UNK]"), (mark("pad", "[PAD]"), mark("mask", "[MASK]"))
    )
    missing = {marks.first, marks.last, marks.unknown} - set(vocabulary)
    if missing:
        raise folder.unfit(f"its vocabulary lacks {', '.join(sorted(missing))}")
    return Tokenizer(vocabulary, characters, marks, lowercase=lowercase), len(vocabulary)


def _lowers(folder: Folder, said: dict[str, Any], normalizer: Any) -> bool:
    """Whether it was trained on lower case without accents. Anything in between is not known here."""
    if isinstance(normalizer, dict):
        if normalizer.get("type") != "BertNormalizer":
            raise folder.unfit(f"its tokenizer prepares text in a way that is not known ({normalizer.get('type')})")
        lowers, strips = normalizer.get("lowercase", True), normalizer.get("strip_accents")
        parts = normalizer.get("handle_chinese_chars", True)
    else:
        lowers, strips = said.get("do_lower_case", True), said.get("strip_accents")
        parts = said.get("tokenize_chinese_chars", True)
    if (strips is not None and bool(strips) != bool(lowers)) or not parts:
        raise folder.unfit("its tokenizer treats accents or Chinese in a way that is not known here")
    return bool(lowers)

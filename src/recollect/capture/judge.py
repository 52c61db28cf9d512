"""Weighs each sentence by itself: what speaks for a standing rule, what speaks against it, and what rules it out.

Two things are known of a sentence: its form, a sum of named signals (data/<language>.toml), and log odds by its words,
learned by tools/train_capture.py. A rule is in force at once where both are sure; where one is, it waits in the inbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from math import inf, sqrt

from recollect.capture.language import EXPLICIT, Language
from recollect.capture.prompt_text import Action, Piece
from recollect.capture.tables import Patterns, table

WEIGHTS = "judge_weights.json"
JUDGED_LANGUAGES = ("en", "de", "es", "fr", "pt", "ru", "vi")

# Scores of the form.
STORE = 4.0  # from here on a rule is in force at once
STORE_IF_FIRM = 3.0  # the same, where its form is unmistakable
INBOX = 2.5  # from here on it waits for the person
_SPEAKS_FOR, _PLAIN = 1.0, 6.0  # from here on the form speaks for a rule at all, and it is as good as said
_BACKED = 3.0  # added to a sentence that the next one makes lasting

# Log odds of the learned judge, at the real base rate, from which a rule is in force.
SURE_IF_EXPLICIT = -2.8  # where it says itself that it is to last, or all of its form does
SURE_IF_FIRM = -2.5
SURE_IF_LIKE_A_RULE = 0.5  # by its form, though another kind of sentence might look so, too
SURE_BY_WORDS = 2.0  # where the form is not that of a rule, but speaks for one
WAITS = 0.2  # from here on it waits in the inbox, whatever its form

_QUESTION = "a question"
_TASK = "a task"
_MADE_LASTING = "what follows makes it lasting"
COMPLAINT = "what was done, not what is to be done"
_OF_THE_PRODUCT = "what a thing has to do"
# These rule out even a sentence that says itself that it is to last.
_HARD_VETOES = frozenset(
    (_QUESTION, "an order for this once", "somebody else's words", "said again of what was asked for", "a permission")
)
# These do not count against an unmistakable form: "stop adding notes, I never read them".
_SOFT_VETOES = frozenset(("an idiom", "a story"))

MAX_TOKENS = 120  # of one sentence
_WORD_RUN, _BONE_RUN = 2, 3
_STEM_CHARS = 5
_MANY = 5
_NO_SHARE = 128  # shares are bytes; this one stands for none at all
_CUES = Patterns("judge")


def weigh(pieces: tuple[Piece, ...], language: Language) -> tuple[Piece, ...]:
    judged = [_weigh_form(piece, language) for piece in pieces]
    _back_up(judged, language)
    for number in range(1, len(judged)):
        # "The importer must skip empty lines. Never throw.": an order to the importer.
        if _OF_THE_PRODUCT in judged[number - 1].signals and not is_explicit(judged[number]):
            judged[number] = replace(judged[number], firm=False, score=min(judged[number].score, INBOX))
    known = learned_judge(language.code)
    if known is None:
        return tuple(judged)
    # It learned most from English. Elsewhere form decides where there is one, and words only add what waits.
    return tuple(
        replace(piece, odds=known.odds(traits(judged, number)))
        if language.code == "en" or piece.score < INBOX
        else piece
        for number, piece in enumerate(judged)
    )


def action_of(piece: Piece) -> Action:
    if piece.veto or not is_like_a_rule(piece):
        return Action.DROPPED
    if _TASK in piece.signals and piece.odds is not None and piece.odds < SURE_IF_LIKE_A_RULE:
        return Action.INBOX
    is_sure_form = piece.score >= (STORE_IF_FIRM if piece.firm else STORE)
    if piece.odds is None:
        return Action.STORED if is_sure_form else Action.INBOX
    return Action.STORED if piece.odds >= _sure_from(piece, is_sure_form) else Action.INBOX


def is_like_a_rule(piece: Piece) -> bool:
    return piece.score >= INBOX or (piece.odds is not None and piece.odds >= WAITS)


def is_explicit(piece: Piece) -> bool:
    """It says in so many words that it is to last."""
    return not EXPLICIT.isdisjoint(piece.signals)


def _sure_from(piece: Piece, is_sure_form: bool) -> float:
    if _MADE_LASTING in piece.signals or (is_explicit(piece) and ": " in piece.seen):  # "remember this: ..."
        return -inf
    if is_sure_form:
        return SURE_IF_EXPLICIT if is_explicit(piece) or piece.score >= _PLAIN else SURE_IF_FIRM
    if piece.score >= INBOX:
        return SURE_IF_LIKE_A_RULE
    return SURE_BY_WORDS if piece.score >= _SPEAKS_FOR else inf


def _weigh_form(piece: Piece, language: Language) -> Piece:
    if piece.veto:
        return piece
    seen = _CUES.polite_end.sub("", piece.seen)
    said = [signal for signal in language.signals if signal.pattern.search(seen)]
    firm = any(signal.firm for signal in said)
    if firm:
        said = [signal for signal in said if not signal.yields]
    names = tuple(signal.name for signal in said)
    explicit = not EXPLICIT.isdisjoint(names)
    found = (why for why, pattern in language.vetoes.items() if pattern.search(seen))
    veto = next((why for why in found if why in _HARD_VETOES or not (explicit or (firm and why in _SOFT_VETOES))), "")
    if not veto and not firm and language.has("complaint", seen):
        veto = COMPLAINT
    return replace(piece, score=sum(signal.weight for signal in said), signals=names, veto=veto, firm=firm)


def _back_up(judged: list[Piece], language: Language) -> None:
    """ "Same for all of them": a sentence that makes the one before it lasting says nothing by itself."""
    for number, last in enumerate(judged):
        if not language.has("back", last.seen) or last.veto == _QUESTION:
            continue
        before = next((n for n in range(number - 1, -1, -1) if judged[n].veto != _QUESTION), None)
        if before is None or judged[before].veto:
            judged[number] = replace(last, score=min(last.score, INBOX), firm=False)
            continue
        own = judged[before]
        signals = (*own.signals, _MADE_LASTING)
        judged[before] = replace(own, score=max(own.score, 0.0) + _BACKED, signals=signals, firm=True)
        if last.score < INBOX or is_explicit(last):
            judged[number] = replace(last, score=0.0)


@dataclass(frozen=True, slots=True)
class LearnedJudge:
    bias: float
    scale: float
    shares: Mapping[str, int]

    def odds(self, traits: Iterable[str]) -> float:
        known = [share for share in map(self.shares.get, traits) if share is not None]
        return self.bias + (self.scale * (sum(known) - _NO_SHARE * len(known)) / sqrt(len(known)) if known else 0.0)


@cache
def learned_judge(code: str) -> LearnedJudge | None:
    return LearnedJudge(**table(WEIGHTS)) if code in JUDGED_LANGUAGES else None


def traits(pieces: Sequence[Piece], number: int) -> set[str]:
    """Of one sentence, which patterns have judged, among those around it."""
    piece = pieces[number]
    small, classes = _word_classes()
    words = list(_tokens(piece.seen))
    bones = [word if word in small or not word[0].isalpha() else classes.get(word) or _ending(word) for word in words]
    found = set(_runs(words, _WORD_RUN))
    found.update(f"~ {run}" for run in _runs(bones, _BONE_RUN))
    found.update(f"{word[:_STEM_CHARS]}*" for word in words if len(word) > _STEM_CHARS and word[0].isalpha())
    found.update(f"!{signal}" for signal in piece.signals)
    if piece.veto:
        found.add(f"!not: {piece.veto}")
    found.add(f"#sentences {min(len(pieces), _MANY)}")
    found.add(f"#words {min(len(piece.seen.split()) // 6, _MANY)}")
    if number and pieces[number - 1].seen.endswith("?"):
        found.add("#after a question")
    if number + 1 < len(pieces) and pieces[number + 1].seen.endswith("?"):
        found.add("#before a question")
    return found


def _tokens(seen: str) -> Iterator[str]:
    """Lower case; a name with capitals inside, an underscore or a bracket is no word. Paths and numbers are classes."""
    for match in islice(_CUES.token.finditer(seen), MAX_TOKENS):
        kind, text = match.lastgroup, match.group()
        if kind == "word":
            yield "<name>" if text[1:] != text[1:].lower() and not text.isupper() else text.lower()
        else:
            yield text if kind == "mark" else f"<{kind}>"


def _runs(words: list[str], most: int) -> Iterator[str]:
    padded = ["^", *words, "$"]
    for size in range(1, most + 1):
        for start in range(len(padded) - size + 1):
            yield " ".join(padded[start : start + size])


def _ending(word: str) -> str:
    return next((f"~{end}" for end in ("ing", "ed", "ly", "s") if word.endswith(end) and len(word) > len(end) + 2), "~")


@cache
def _word_classes() -> tuple[frozenset[str], dict[str, str]]:
    """The small words, and the class of each other word that has one; the first class that names a word counts."""
    read = table("judge.toml")
    classes = {word: name for name, words in reversed(read["classes"].items()) for word in words.split()}
    return frozenset(read["small"].split()), classes

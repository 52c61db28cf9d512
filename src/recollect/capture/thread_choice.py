"""Which thread a turn belongs to: the current one, an earlier one (which may have to be woken), a fork of one, or a new
one.

What speaks for a thread is added up: shared words, shared files, meaning, and whether it is the current one while the
prompt leans on what was said just before. Whether a prompt leans is known in English only; in other languages meaning,
files and time decide alone. The weights (logarithms of odds) were fitted on one half of bench/data/threads.jsonl.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.capture import terms
from recollect.capture.tables import Patterns, Words, table
from recollect.capture.turns import Turn, says_nothing
from recollect.model.act import Deed
from recollect.model.memory import Thread
from recollect.model.record import Record

NEAR_ZERO = 0.33  # the similarity of two texts about programming that have nothing to do with each other
COVERED = 0.3  # a larger share of common words does not count more: most words of a turn are new
# A thread with more turns shares words and meaning with everything in its project: each doubling asks for more of both.
SMALL_TURNS = 4
CONTINUES_AT, FORKS_AT = 0.0, -1.5
LEANS_A_LITTLE, LITTLE_FOR_MINUTES = 0.4, 30.0
LEANS_FOR_MINUTES = 8 * 60.0  # for this long "do that" still means what was discussed last
MAX_TURNS = 40  # a longer thread is continued in a new one, so that continuing always costs the same
_CONCLUSION_CHARS, _PROMPT_CHARS = 300, 600
_COMMON_FILE_SHARE = 0.25  # the weight of a file that every piece of work touches
_MIN_ANSWER_WORDS, _MIN_ANSWER_CHARS = 6, 15  # a shorter answer is a nod
_CUES = Patterns("thread_choice")
_WORDS = Words("thread_choice")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a turn is about."""

    prompt: str
    conclusion: str
    edited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    is_plan: bool = False  # a plan was handed over to be carried out: work of its own

    @property
    def asked(self) -> str:
        """What the store is searched for: names and words that may name a subject."""
        files = " ".join(terms.stem_of(file) for file in (*self.edited, *self.read)[:6])
        prompt, conclusion = self.prompt[:_PROMPT_CHARS], self.conclusion[:_CONCLUSION_CHARS]
        return f"{_subject_words(prompt)} {files} {_subject_words(conclusion)}".strip()

    @property
    def meaning(self) -> str:
        """The text to embed."""
        return f"{self.prompt[:_PROMPT_CHARS]}\n{self.conclusion[:_CONCLUSION_CHARS]}".strip()


@dataclass(frozen=True, slots=True)
class Candidate:
    thread: Thread
    cover: float = 0.0  # the share of what was asked, weighted by rarity, that occurs in it
    near: float | None = None  # None: there is no vector to compare
    place: int | None = None  # 0: the current thread, 1: the one before it in this session; None: of another session
    idle_minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class Continue:
    thread: Thread
    score: float = 0.0
    same_turn: bool = False  # it already has the beginning of this turn


@dataclass(frozen=True, slots=True)
class Open:
    parent: Thread | None = None  # the thread that it was forked from, or that it continues because that one is full
    score: float = -math.inf
    is_fork: bool = True


@dataclass(frozen=True, slots=True)
class Leave:
    """Nothing is kept."""

    reason: str


Decision = Continue | Open | Leave


def subject_of(turn: Turn, record: Record) -> Subject:
    is_plan = turn.is_whole and (turn.acts[0].plan or bool(terms.plan_heading(turn.acts[0].text)))
    return Subject(record.asked, turn.conclusion, turn.files(Deed.EDIT), turn.files(Deed.READ), is_plan)


def choose_thread(about: Subject, record: Record, candidates: Sequence[Candidate]) -> Decision:
    has_result = bool(record.changed or record.ran)
    if not has_result and says_nothing(record.asked) and len(terms.content(record.said)) < _MIN_ANSWER_WORDS:
        return Leave("too little said")  # a "yes" with a short answer
    if about.is_plan:  # carried out again, or work of its own
        same = (one.thread for one in candidates if one.thread.title and one.thread.title in about.prompt)
        again = next(same, None)
        return Continue(again) if again is not None else Open()
    score, best = max(
        ((rating(about, one), one) for one in candidates), key=lambda pair: pair[0], default=(-math.inf, None)
    )
    leans_on = _leans_on(about, record, candidates) if score < CONTINUES_AT else None
    if leans_on is not None:
        score, best = CONTINUES_AT, leans_on
    if best is not None and score >= CONTINUES_AT:
        is_full = best.thread.activations >= MAX_TURNS
        return Open(best.thread, score, is_fork=False) if is_full else Continue(best.thread, score)
    if not is_own_work(record):
        return Leave("too little to open a thread")
    forked = best is not None and best.place == 0 and score >= FORKS_AT
    return Open(best.thread if best is not None and forked else None, score)


def _leans_on(about: Subject, record: Record, candidates: Sequence[Candidate]) -> Candidate | None:
    """A prompt that names nothing means the current thread, whatever files it touches; so does one that names little
    and comes right after it."""
    leans = leaning(about.prompt)
    came_of_it = record.changed or record.ran or record.said
    if leans < (LEANS_A_LITTLE if came_of_it else 1.0) or turns_away(about.prompt):
        return None
    minutes = LEANS_FOR_MINUTES if leans == 1.0 else LITTLE_FOR_MINUTES
    return next((one for one in candidates if one.place == 0 and one.idle_minutes <= minutes), None)


def rating(about: Subject, one: Candidate) -> float:
    """The odds that the turn belongs to it, as a logarithm: each thing that speaks for the thread, times its weight."""
    weights: dict[str, float] = table("thread_weights.json")["words alone" if one.near is None else "with vectors"]
    is_current, leans = one.place == 0, leaning(about.prompt)
    size = max(1.0, one.thread.activations / SMALL_TURNS)
    values = {
        "base": 1.0,
        "named": named(about.prompt, one.thread),
        "cover": min(1.0, one.cover / (COVERED * size)),
        "size": math.log2(size),
        "files": shared_files(about, one.thread),
        "near": 0.0 if one.near is None else one.near - NEAR_ZERO,
        "current": 0.5 ** (one.idle_minutes / 60) if is_current else 0.0,
        "leaning": leans if is_current else 0.0,
        "elsewhere": leans if one.place is None else 0.0,
        "of session": 1.0 if one.place else 0.0,
        "away": 1.0 if is_current and turns_away(about.prompt) else 0.0,
    }
    return sum(weights[name] * value for name, value in values.items())


def named(prompt: str, thread: Thread) -> float:
    """From 0 to 1: how many words of the title occur in the prompt, in the singular or plural; two are enough."""
    said, title = (
        {word[:-1] if word.endswith("s") and len(word) > 3 else word for word in terms.content(text)}
        for text in (prompt, thread.title)
    )
    return min(2, len(said & title)) / 2


def shared_files(about: Subject, thread: Thread) -> float:
    """From 0 to 1: the share of the turn's files that the thread knows."""
    known = {anchor.path for anchor in thread.anchors}
    touched = dict.fromkeys(about.read, 1.0) | dict.fromkeys(about.edited, 2.0)
    share = 0.0
    for file in touched.keys() & known:
        is_common = file.rsplit("/", 1)[-1].casefold().split(".")[0] in _WORDS.common_files
        share += touched[file] * (_COMMON_FILE_SHARE if is_common else 1.0)
    return share / (sum(touched.values()) or 1.0)


def is_own_work(record: Record) -> bool:
    """Whether it is work of its own: it has a subject and anything came of it, or something was changed or failed.
    Whoever turns to something else is heard though little was done yet."""
    if record.changed or "(failed)" in record.ran:
        return True
    named = len(set(terms.content(record.asked))) + len(terms.names(record.asked))
    return bool(record.ran or len(record.said) >= _MIN_ANSWER_CHARS) and named >= 2 and not says_nothing(record.asked)


def turns_away(prompt: str) -> bool:
    """It announces another subject."""
    return _CUES.switches.match(prompt) is not None


def leaning(prompt: str) -> float:
    """From 0 (stands alone) to 1 (says nothing without what came before)."""
    subject = len(set(terms.content(prompt))) + 2 * len(terms.names(prompt))
    if not subject:
        return 1.0
    leans = 0.45 if _CUES.follows.match(prompt) else 0.0
    leans += 0.0 if _WORDS.pointing.isdisjoint(terms.words(prompt)) else 0.2
    return min(1.0, leans + max(0.0, 0.5 - 0.1 * subject))


def _subject_words(text: str) -> str:
    return " ".join(dict.fromkeys([*terms.names(text), *terms.content(text)]))

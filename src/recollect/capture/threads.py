"""Where a turn belongs: to the thread at hand, to an earlier one (which may have to be woken), beside one (a fork), or
to a new one.

What speaks for a thread is added up: shared words, shared files, meaning, and whether it is the one at hand while the
prompt leans on what was said. The weights were fitted on one half of bench/data/threads.jsonl.

Looks nothing up and writes nothing (ops/threads.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.capture import cue, terms
from recollect.capture.sentence import plan_heading, says_nothing
from recollect.capture.turn import Turn
from recollect.model.act import Deed
from recollect.model.memory import Thread
from recollect.model.record import Record

FULL = 40
"""Turns. A thread that is longer is gone on with in a new one: what it costs to go on stays the same."""
_CONCLUSION_CHARS = 300
_PROMPT_CHARS = 600
_EVERYONES = frozenset(
    "readme changelog cargo package package-lock pnpm-lock requirements pyproject go makefile dockerfile settings "
    "config tsconfig .gitignore main index mod lib __init__ app".split()
)
"""Files that every piece of work touches."""
_EVERYONES_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Subject:
    """What a turn is about."""

    prompt: str
    conclusion: str
    edited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    is_plan: bool = False
    """A plan was handed over to be carried out: work of its own."""

    @property
    def asked(self) -> str:
        """What the store is asked: the subject without the small change."""
        files = " ".join(terms.stem_of(file) for file in (*self.edited, *self.read)[:6])
        return f"{_dense(self.prompt[:_PROMPT_CHARS])} {files} {_dense(self.conclusion[:_CONCLUSION_CHARS])}".strip()

    @property
    def meaning(self) -> str:
        """What is embedded."""
        return f"{self.prompt[:_PROMPT_CHARS]}\n{self.conclusion[:_CONCLUSION_CHARS]}".strip()


@dataclass(frozen=True, slots=True)
class Candidate:
    thread: Thread
    cover: float = 0.0
    """Which share of the rarity of what was asked stands in it."""
    near: float | None = None
    """None: there is no vector to tell."""
    place: int | None = None
    """0: the thread at hand, 1: the one before it in this session; None: of another session."""
    idle_minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """Of what speaks for a thread: logarithms of odds."""

    base: float
    named: float
    """The prompt names what the thread is called by."""
    cover: float
    files: float
    near: float
    at_hand: float
    leaning: float
    of_session: float
    away: float
    """At hand, and the prompt says that something else is meant."""


MEANING = Weights(-3.8, named=2.9, cover=2.2, files=2.5, near=9.5, at_hand=1.5, leaning=2.2, of_session=0.5, away=-0.5)
WORDS = Weights(-5.1, named=4.2, cover=3.8, files=3.5, near=0.0, at_hand=1.3, leaning=2.3, of_session=0.0, away=-0.5)
"""Where no vector tells."""
NEAR_ZERO = 0.33
"""So near are two texts of one trade that have nothing to do with each other."""
COVERED = 0.3
"""More of its words than this no thread need share: most of what is said is new each time."""
SMALL = 4
"""Turns. A thread that is larger shares words and meaning with everything in its project: with each doubling more of
both is asked for."""
LARGE = 1.0
ELSEWHERE = -1.2
"""A prompt that leans on what was said does not mean a thread of another session."""
CONTINUES_AT = 0.0
FORKS_AT = -1.5
LEANS_A_LITTLE = 0.4
LITTLE_FOR_MINUTES = 30.0
LEANS_FOR_MINUTES = 8 * 60.0
"""So long after, "do that" still means what was spoken of."""


@dataclass(frozen=True, slots=True)
class Continue:
    thread: Thread
    score: float = 0.0
    same_turn: bool = False
    """The rest of a turn of which it has the beginning."""


@dataclass(frozen=True, slots=True)
class Open:
    parent: Thread | None = None
    """What it was forked from; or what it goes on with, that being full."""
    score: float = -math.inf
    is_fork: bool = True


@dataclass(frozen=True, slots=True)
class Leave:
    """Nothing is kept."""

    reason: str


Decision = Continue | Open | Leave


def subject(turn: Turn, record: Record) -> Subject:
    is_plan = turn.is_whole and (turn.acts[0].plan or bool(plan_heading(turn.acts[0].text)))
    return Subject(record.asked, turn.conclusion, turn.files(Deed.EDIT), turn.files(Deed.READ), is_plan)


def decide(about: Subject, record: Record, candidates: Sequence[Candidate]) -> Decision:
    if not _is_worth(record):
        return Leave("too little said")
    if about.is_plan:  # carried out again, or work of its own
        same = (one.thread for one in candidates if one.thread.title and one.thread.title in about.prompt)
        again = next(same, None)
        return Continue(again) if again is not None else Open()
    rated = [(rating(about, one), one) for one in candidates]
    score, best = max(rated, key=lambda pair: pair[0], default=(-math.inf, None))
    leans_on = _leans_on(about, record, candidates) if score < CONTINUES_AT else None
    if leans_on is not None:
        score, best = CONTINUES_AT, leans_on
    if best is not None and score >= CONTINUES_AT:
        is_full = best.thread.activations >= FULL
        return Open(best.thread, score, is_fork=False) if is_full else Continue(best.thread, score)
    if not opens(record):
        return Leave("too little to open a thread")
    forked = best is not None and best.place == 0 and score >= FORKS_AT
    return Open(best.thread if best is not None and forked else None, score)


def _leans_on(about: Subject, record: Record, candidates: Sequence[Candidate]) -> Candidate | None:
    """A prompt that names nothing means what is at hand, wherever its files lie; so does one that names little, right
    after it."""
    leaning = cue.leaning(about.prompt)
    came_of_it = record.changed or record.ran or record.said
    if leaning < (LEANS_A_LITTLE if came_of_it else 1.0) or cue.turns_away(about.prompt):
        return None
    minutes = LEANS_FOR_MINUTES if leaning == 1.0 else LITTLE_FOR_MINUTES
    return next((one for one in candidates if one.place == 0 and one.idle_minutes <= minutes), None)


def rating(about: Subject, one: Candidate) -> float:
    """The odds that the turn belongs to it, as a logarithm."""
    return sum(value for _, value in evidence(about, one))


def evidence(about: Subject, one: Candidate) -> tuple[tuple[str, float], ...]:
    weights = WORDS if one.near is None else MEANING
    at_hand = one.place == 0
    fresh = 0.5 ** (one.idle_minutes / 60)
    leaning = cue.leaning(about.prompt)
    near = 0.0 if one.near is None else one.near - NEAR_ZERO
    return (
        ("base", weights.base),
        ("named", weights.named * named(about.prompt, one.thread)),
        ("cover", weights.cover * min(1.0, one.cover / (COVERED * _growth(one.thread)))),
        ("size", -LARGE * math.log2(_growth(one.thread))),
        ("files", weights.files * shared_files(about, one.thread)),
        ("near", weights.near * near),
        ("at_hand", weights.at_hand * fresh if at_hand else 0.0),
        ("leaning", weights.leaning * leaning if at_hand else ELSEWHERE * leaning if one.place is None else 0.0),
        ("of_session", weights.of_session if one.place else 0.0),
        ("away", weights.away if at_hand and cue.turns_away(about.prompt) else 0.0),
    )


def _growth(thread: Thread) -> float:
    return max(1.0, thread.activations / SMALL)


def named(prompt: str, thread: Thread) -> float:
    """From 0 to 1: two words of its title are a name."""
    said = {_singular(word) for word in terms.content(prompt)}
    return min(2, len(said & {_singular(word) for word in terms.content(thread.title)})) / 2


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def shared_files(about: Subject, thread: Thread) -> float:
    """From 0 to 1: which share of the files that it touches the thread knows."""
    known = {anchor.path for anchor in thread.anchors}
    touched = dict.fromkeys(about.read, 1.0) | dict.fromkeys(about.edited, 2.0)
    whole = sum(touched.values())
    share = sum(weight * _own(file) for file, weight in touched.items() if file in known)
    return share / whole if whole else 0.0


def _own(file: str) -> float:
    stem = file.rsplit("/", 1)[-1].casefold().split(".")[0]
    return _EVERYONES_SHARE if stem in _EVERYONES else 1.0


def opens(record: Record) -> bool:
    """Whether it is work of its own. A subject and anything that came of it: whoever turns to something else is heard
    though little was done yet. Without a subject, a change or a failure."""
    if record.changed or "(failed)" in record.ran:
        return True
    named = len(set(terms.content(record.asked))) + len(terms.names(record.asked))
    return bool(record.ran or len(record.said) >= _ANSWER_CHARS) and named >= 2 and not says_nothing(record.asked)


def _is_worth(record: Record) -> bool:
    """A nod and a short answer to it are not."""
    if record.changed or record.ran or not says_nothing(record.asked):
        return True
    return len(terms.content(record.said)) >= _ANSWER_WORDS


_ANSWER_WORDS = 6
_ANSWER_CHARS = 15
"""A shorter answer is a nod."""


def _dense(text: str) -> str:
    return " ".join(dict.fromkeys([*terms.names(text), *terms.content(text)]))

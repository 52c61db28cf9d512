"""Teaches the judge of rules (capture/learned.py) from the labelled prompts. The same bytes each time.

    PYTHONPATH=src python tools/train_capture.py            # figures by cross-validation, then the weights
    PYTHONPATH=src python tools/train_capture.py --figures  # figures alone
    PYTHONPATH=src python tools/train_capture.py --train a.jsonl --test b.jsonl --figures

Logistic regressions with a penalty on squares, fitted by L-BFGS: one for prompts (do they state a rule?), one for
sentences (is it this one?), two for the kinds, one for the scope, and one for the tone (the embedding model's first
layers). Thresholds are chosen on prompts that the judge was not taught with.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from base64 import b85encode
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.bench.capture import Labelled, content_share, read
from recollect.capture import learned, pipeline, traits
from recollect.embed import load

Floats = NDArray[np.float64]
Bars = tuple[tuple[float, float], tuple[float, float]]

DATA = Path(pipeline.__file__).parents[1] / "bench" / "data"
TAUGHT = (DATA / "prompts-tune.jsonl", DATA / "prompts-fresh.jsonl")
KEPT = Path(learned.__file__).with_name("languages") / "en_learned.py"

FOLDS = 8
SEED = 5
LEAST_SEEN = 2
"""A trait of one prompt alone says nothing about others."""
C = 30.0
"""How little a large weight costs."""
SMALLEST = 5
"""Of 127: a trait all of whose shares are smaller is left out."""
STORE_PRECISION, INBOX_PRECISION = 0.975, 0.94
_COUNTED = "abc"
"""How the ids begin of the prompts that figures are of. Not those that the patterns were written by: on them they say
too much about themselves. Nor those that were put together from parts: they are too much alike."""
_PART_OF, _APART = 0.5, 0.2
"""Of a rule's words: a sentence with so many is part of it; one with fewer is not."""
_APART_WEIGHT = 0.5


@dataclass(frozen=True)
class Case:
    said: Labelled
    traits: traits.Traits
    tone: Floats
    shares: tuple[float, ...]
    """How much of the rule's words each sentence holds."""

    @property
    def is_rule(self) -> bool:
        return self.said.kind != "none"


class Sparse:
    """Sets of traits as rows, each of length one."""

    def __init__(self, sets: Sequence[Iterable[str]], rows: dict[str, int]) -> None:
        known = [sorted(rows[trait] for trait in one if trait in rows) for one in sets]
        self.count, self.width = len(sets), len(rows)
        self.row = np.repeat(np.arange(len(known)), [len(one) for one in known])
        self.column = np.array([column for one in known for column in one], dtype=np.int64)
        self.value = np.repeat([1 / np.sqrt(max(len(one), 1)) for one in known], [len(one) for one in known])

    def __matmul__(self, weights: Floats) -> Floats:
        return np.bincount(self.row, self.value * weights[self.column], minlength=self.count)

    def back(self, errors: Floats) -> Floats:
        return np.bincount(self.column, self.value * errors[self.row], minlength=self.width)


class Dense:
    def __init__(self, rows: Floats) -> None:
        self.rows, (self.count, self.width) = rows, rows.shape

    def __matmul__(self, weights: Floats) -> Floats:
        return self.rows @ weights

    def back(self, errors: Floats) -> Floats:
        return self.rows.T @ errors


def fitted(rows: Sparse | Dense, right: Floats, c: float, weight: Floats | None = None) -> tuple[Floats, float]:
    """Weights and bias; the bias is free of the penalty."""
    importance = c * (np.ones(rows.count) if weight is None else weight)
    sign = 2 * right - 1

    def loss(point: Floats) -> tuple[float, Floats]:
        margin = sign * (rows @ point[:-1] + point[-1])
        wrong = -sign * importance / (1 + np.exp(np.clip(margin, -60, 60)))
        slope = np.append(rows.back(wrong) + point[:-1], wrong.sum())
        return float((importance * np.logaddexp(0, -margin)).sum() + point[:-1] @ point[:-1] / 2), slope

    point = _least(loss, np.zeros(rows.width + 1))
    return point[:-1], float(point[-1])


def _least(
    loss: Callable[[Floats], tuple[float, Floats]], point: Floats, rounds: int = 200, memory: int = 10
) -> Floats:
    """L-BFGS with halving steps."""
    value, slope = loss(point)
    moves: list[tuple[Floats, Floats]] = []
    for _ in range(rounds):
        if np.abs(slope).max() < 1e-3:
            break
        way, shares = -slope.copy(), []
        for step, turn in reversed(moves):
            share = step @ way / (step @ turn)
            way -= share * turn
            shares.append(share)
        if moves:
            step, turn = moves[-1]
            way *= step @ turn / (turn @ turn)
        for (step, turn), share in zip(moves, reversed(shares), strict=True):
            way += step * (share - turn @ way / (step @ turn))
        size = 1.0 if moves else 1.0 / max(1.0, float(np.abs(slope).sum()))
        for _ in range(30):
            at, slope_there = loss(point + size * way)
            if at <= value + 1e-4 * size * float(slope @ way):
                break
            size /= 2
        step, turn = size * way, slope_there - slope
        if step @ turn > 1e-12:
            moves = [*moves, (step, turn)][-memory:]
        point, value, slope = point + step, at, slope_there
    return point


@dataclass(frozen=True)
class Taught:
    """A judge in full precision."""

    rows: dict[str, int]
    words: dict[str, tuple[Floats, float]]
    tones: dict[str, tuple[Floats, float]]

    def said(self, name: str, cases: Sequence[Case]) -> Floats:
        weights, bias = self.words[name]
        return Sparse([case.traits.prompt for case in cases], self.rows) @ weights + bias

    def heard(self, name: str, cases: Sequence[Case]) -> Floats:
        weights, bias = self.tones[name]
        return np.array([case.tone for case in cases]) @ weights + bias


def taught(cases: Sequence[Case]) -> Taught:
    prompts = [case.traits.prompt for case in cases]
    counts = Counter(trait for one in prompts for trait in one)
    counts.update(trait for case in cases for one in case.traits.pieces for trait in one - case.traits.prompt)
    rows = {trait: row for row, trait in enumerate(sorted(t for t, seen in counts.items() if seen >= LEAST_SEEN))}
    rules = [case for case in cases if case.is_rule]
    asked: dict[str, tuple[Sequence[Case], Callable[[Labelled], bool]]] = {
        "rule": (cases, lambda said: said.kind != "none"),
        "preference": (rules, lambda said: said.kind == "preference"),
        "correction": (rules, lambda said: said.kind == "correction"),
        "devops": (rules, lambda said: said.kind == "devops"),
        "user": (rules, lambda said: said.scope == "user"),
    }
    words, tones = {}, {}
    for name in learned.QUESTIONS:
        among, wanted = asked[name]
        right = np.array([float(wanted(case.said)) for case in among])
        words[name] = fitted(Sparse([case.traits.prompt for case in among], rows), right, C)
        tones[name] = _tone(np.array([case.tone for case in among]), right)
    return Taught(rows, words | {"piece": _pieces(cases, rows)}, tones)


def _tone(heard: Floats, right: Floats) -> tuple[Floats, float]:
    middle, spread = heard.mean(0), heard.std(0) + 1e-6
    unit = spread * np.sqrt(heard.shape[1])
    weights, bias = fitted(Dense((heard - middle) / unit), right, C)
    return weights / unit, bias - float(middle @ (weights / unit))


def _pieces(cases: Sequence[Case], rows: dict[str, int]) -> tuple[Floats, float]:
    sets: list[frozenset[str]] = []
    right: list[float] = []
    weight: list[float] = []
    for case in cases:
        best = max(case.shares, default=0.0)
        for one, share in zip(case.traits.pieces, case.shares, strict=True):
            is_part = case.is_rule and (share == best or share >= _PART_OF)
            if case.is_rule and not is_part and share >= _APART:
                continue
            sets.append(one)
            right.append(float(is_part))
            weight.append(_APART_WEIGHT if case.is_rule and not is_part else 1.0)
    return fitted(Sparse(sets, rows), np.array(right), C, np.array(weight))


def cases_of(files: Sequence[Path]) -> list[Case]:
    """English alone, and only what has words of the person's own; the rest never reaches the judge."""
    ear = load()
    found = []
    for said in [one for file in files for one in read(file)]:
        draft = pipeline.read(said.prompt)
        if draft.dropped or draft.language.code != "en":
            continue
        shares = tuple(content_share(said.rule, piece.text) for piece in draft.pieces)
        tone = ear.tone(pipeline.own_words(draft)).astype(np.float64)
        found.append(Case(said, traits.of(draft), tone, shares))
    return found


def unseen(cases: Sequence[Case], groups: Sequence[str]) -> dict[str, Floats]:
    """For each question the words' log odds and, as `name + tone`, the sum: by a judge not taught with the group."""
    of = np.array(groups)
    found = {name: np.zeros(len(cases)) for one in learned.QUESTIONS for name in (one, f"{one} + tone")}
    for group in sorted(set(groups)):
        one = taught([case for case, other in zip(cases, groups, strict=True) if other != group])
        held = [case for case, other in zip(cases, groups, strict=True) if other == group]
        for name, odds in answers(one, held).items():
            found[name][of == group] = odds
    return found


def answers(one: Taught, cases: Sequence[Case]) -> dict[str, Floats]:
    found = {}
    for name in learned.QUESTIONS:
        found[name] = one.said(name, cases)
        found[f"{name} + tone"] = found[name] + one.heard(name, cases)
    return found


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def bar(odds: Floats, is_rule: NDArray[np.bool_], precision: float) -> float:
    """The lowest threshold from which on so many of those called rules are rules."""
    order = np.argsort(-odds, kind="stable")
    good = np.cumsum(is_rule[order]) / np.arange(1, len(order) + 1) >= precision
    last = int(np.flatnonzero(good).max(initial=0))
    return float(odds[order[last]])


def figures(name: str, odds: Floats, is_rule: NDArray[np.bool_], at: float) -> str:
    called = odds >= at
    right = int((called & is_rule).sum())
    return f"{name}: precision {right / max(int(called.sum()), 1):.3f}, recall {right / int(is_rule.sum()):.3f}"


def told(cases: Sequence[Case], odds: dict[str, Floats], bars: Bars) -> None:
    is_rule = np.array([case.is_rule for case in cases])
    for with_tone, (inbox, store) in zip(("", " + tone"), bars, strict=True):
        rule = odds[f"rule{with_tone}"]
        tell("  " + figures(f"words{with_tone}, stored", rule, is_rule, store))
        tell("  " + figures(f"words{with_tone}, stored or inbox", rule, is_rule, inbox))
        sorts = [sort for sort in learned.QUESTIONS if sort not in ("rule", "user")]
        kinds = np.argmax([odds[f"{sort}{with_tone}"] for sort in sorts], 0)
        far = odds[f"user{with_tone}"] > 0
        kind = np.mean([sorts[k] == case.said.kind for k, case in zip(kinds, cases, strict=True) if case.is_rule])
        scope = np.mean([f == (case.said.scope == "user") for f, case in zip(far, cases, strict=True) if case.is_rule])
        tell(f"    of the rules: kind {kind:.3f}, scope {scope:.3f}")


def quoted(name: str, raw: bytes) -> str:
    text = b85encode(zlib.compress(raw, 9)).decode()
    lines = "\n".join(text[start : start + 118] for start in range(0, len(text), 118))
    return f'{name} = """\n{lines}\n"""'


def in_bytes(weights: Floats) -> tuple[float, bytes]:
    scale = float(np.abs(weights).max()) / 127
    return scale, (np.round(weights / scale) + 128).astype(np.uint8).tobytes()


def columns(
    names: Sequence[str], fits: dict[str, tuple[Floats, float]]
) -> tuple[dict[str, tuple[float, float]], bytes]:
    kept, shares = {}, b""
    for name in names:
        weights, bias = fits[name]
        scale, raw = in_bytes(weights)
        kept[name] = (round(bias, 6), float(f"{scale:.6g}"))
        shares += raw
    return kept, shares


def written(one: Taught, bars: Bars) -> str:
    """A module: the rooms that decide read no files."""
    table = np.array([np.abs(one.words[name][0]) for name in learned.COLUMNS])
    keeps = (table >= SMALLEST / 127 * table.max(1)[:, None]).any(0)
    names = [trait for trait, keep in zip(one.rows, keeps, strict=True) if keep]
    words, word_shares = columns(learned.COLUMNS, {name: (w[keeps], bias) for name, (w, bias) in one.words.items()})
    tones, tone_shares = columns(learned.QUESTIONS, one.tones)
    by_words, by_tone = [tuple(round(at, 3) for at in pair) for pair in bars]
    return "\n".join((
        '"""Made by tools/train_capture.py: what the learned judge knows of English. Not to be edited."""',
        "",
        f"WORDS = {words}",
        f"TONES = {tones}",
        f"BY_WORDS = {by_words}",
        f"BY_TONE = {by_tone}",
        quoted("TRAITS", "\n".join(names).encode()),
        quoted("WORD_SHARES", word_shares),
        quoted("TONE_SHARES", tone_shares),
        "",
    ))  # fmt: skip


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--train", type=Path, nargs="+", default=list(TAUGHT))
    ask.add_argument("--test", type=Path, nargs="*", default=[])
    ask.add_argument("--strangers", action="store_true", help="figures across authors, too")
    ask.add_argument("--figures", action="store_true", help="write nothing")
    asked = ask.parse_args()
    cases = cases_of(asked.train)
    authors = [case.said.id[0] for case in cases]
    counted = np.array([author in _COUNTED for author in authors])
    fresh = [case for case, counts in zip(cases, counted, strict=True) if counts]
    is_rule = np.array([case.is_rule for case in fresh])
    folds = [str(fold) for fold in np.random.default_rng(SEED).permutation(len(cases)) % FOLDS]
    odds = {name: values[counted] for name, values in unseen(cases, folds).items()}
    by_words, by_tone = (
        (bar(odds[name], is_rule, INBOX_PRECISION), bar(odds[name], is_rule, STORE_PRECISION))
        for name in ("rule", "rule + tone")
    )
    bars = (by_words, by_tone)
    tell(
        f"{len(fresh)} prompts, {int(is_rule.sum())} rules; each judged by what was taught by seven eighths without it:"
    )
    told(fresh, odds, bars)
    if asked.strangers:
        tell("each judged by what was taught by other authors alone:")
        told(fresh, {name: values[counted] for name, values in unseen(cases, authors).items()}, bars)
    one = taught(cases)
    if asked.test:
        tested = cases_of(asked.test)
        tell(f"{len(tested)} prompts of {', '.join(file.name for file in asked.test)}:")
        told(tested, answers(one, tested), bars)
    if not asked.figures:
        KEPT.write_text(written(one, bars), encoding="utf-8")
        tell(f"{KEPT.name}: {KEPT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

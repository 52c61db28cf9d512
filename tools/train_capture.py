"""Teaches the judge of sentences (capture/prompt_rules.py) from labelled prompts. The same files give the same bytes.

    PYTHONPATH=. python tools/train_capture.py                    # figures by cross-validation, then the weights
    PYTHONPATH=. python tools/train_capture.py --real FILE ...    # with prompts of real sessions, too
    PYTHONPATH=. python tools/train_capture.py --figures          # figures alone

A logistic regression with a penalty on squares, fitted by L-BFGS. Invented prompts come in two kinds: tidy ones that
state a rule in every second line, and untidy ones as people type them (prompts-untidy.jsonl, in several languages).
Real ones state a rule in three of a hundred: `--real` files ({"text", "durable": [{"span"}], "session"}) bring the base
rate, each of their sentences counting as REAL_WEIGHT. Only traits that occur in invented prompts are kept, so that no
text of a real session gets into the table. Without a real file the judge hears too much.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.capture import content_share, read
from recollect.capture import prompt_rules
from recollect.capture.prompt_rules import JUDGED_LANGUAGES, judge_prompt, traits

Floats = NDArray[np.float64]

DATA = Path(__file__).parents[1] / "bench" / "data"
TAUGHT = (DATA / "prompts-tune.jsonl", DATA / "prompts-fresh.jsonl")
UNTIDY = DATA / "prompts-untidy.jsonl"
WEIGHTS = Path(prompt_rules.__file__).parent / "data" / prompt_rules.WEIGHTS

FOLDS = 5
LEAST_SEEN = 4
"""A trait of fewer invented sentences says nothing about others."""
MOST_TRAITS = 5_000
C = 9.0
"""How little a large weight costs."""
REAL_WEIGHT = 3.0
TIDY_WEIGHT = 0.3
_PART_OF, _APART = 0.5, 0.2
"""Of a rule's words: a sentence with so many is part of it; one with fewer is not."""
_PUT_TOGETHER = "d"
"""How the ids begin of the prompts that are put together from parts: too much alike for a figure."""
_WORD = re.compile(r"[\w']+")


@dataclass(frozen=True)
class Case:
    """One sentence."""

    traits: frozenset[str]
    is_rule: bool
    prompt: str
    group: str
    """What must not be on both sides of a fold."""
    weight: float = 1.0
    is_real: bool = False
    is_counted: bool = True


class Sparse:
    """Sets of traits as rows, each of length one."""

    def __init__(self, sets: Sequence[Iterable[str]], rows: dict[str, int]) -> None:
        known = [sorted(rows[trait] for trait in one if trait in rows) for one in sets]
        self.count, self.width = len(sets), len(rows)
        self.row = np.repeat(np.arange(len(known)), [len(one) for one in known])
        self.column = np.array([column for one in known for column in one], dtype=np.int64)
        self.value = np.repeat(
            [1 / np.sqrt(max(len(one), 1)) for one in known], [len(one) for one in known]
        )

    def __matmul__(self, weights: Floats) -> Floats:
        return np.bincount(self.row, self.value * weights[self.column], minlength=self.count)

    def back(self, errors: Floats) -> Floats:
        return np.bincount(self.column, self.value * errors[self.row], minlength=self.width)


def fitted(
    rows: Sparse, right: Floats, c: float, weight: Floats | None = None
) -> tuple[Floats, float]:
    """Weights and bias; the bias is free of the penalty."""
    importance = c * (np.ones(rows.count) if weight is None else weight)
    sign = 2 * right - 1

    def loss(point: Floats) -> tuple[float, Floats]:
        margin = sign * (rows @ point[:-1] + point[-1])
        wrong = -sign * importance / (1 + np.exp(np.clip(margin, -60, 60)))
        slope = np.append(rows.back(wrong) + point[:-1], wrong.sum())
        return float(
            (importance * np.logaddexp(0, -margin)).sum() + point[:-1] @ point[:-1] / 2
        ), slope

    point = _least(loss, np.zeros(rows.width + 1))
    return point[:-1], float(point[-1])


def _least(
    loss: Callable[[Floats], tuple[float, Floats]],
    point: Floats,
    rounds: int = 200,
    memory: int = 10,
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


def invented(files: Sequence[Path]) -> Iterator[Case]:
    """Of the languages that have a judge."""
    for said in (one for file in files for one in read(file)):
        draft = judge_prompt(said.prompt)
        if draft.dropped or draft.language.code not in JUDGED_LANGUAGES:
            continue
        shares = [content_share(said.rule, piece.text) for piece in draft.pieces]
        for number, share in enumerate(shares):
            is_part = said.kind != "none" and (share == max(shares) or share >= _PART_OF)
            if said.kind != "none" and not is_part and share >= _APART:
                continue
            known = frozenset(traits(draft.pieces, number))
            counted = not said.id.startswith(_PUT_TOGETHER)
            yield Case(known, is_part, said.id, said.id, TIDY_WEIGHT, is_counted=counted)


def spanned(files: Sequence[Path], *, is_real: bool) -> Iterator[Case]:
    weight = REAL_WEIGHT if is_real else 1.0
    for row in (
        json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()
    ):
        draft = judge_prompt(row["text"])
        if draft.dropped or draft.language.code not in JUDGED_LANGUAGES:
            continue
        spans = [set(_WORD.findall(one["span"].lower())) for one in row["durable"]]
        for number, piece in enumerate(draft.pieces):
            words = set(_WORD.findall(piece.text.lower()))
            is_rule = any(2 * len(words & span) >= min(len(words), len(span)) for span in spans)
            known, group = (
                frozenset(traits(draft.pieces, number)),
                row["session"] if is_real else row["id"],
            )
            yield Case(known, is_rule, row["text"], group, weight, is_real=is_real)


def taught(cases: Sequence[Case]) -> tuple[list[str], Floats, float]:
    """The traits that say most, their weights, the bias."""
    right = np.array([float(case.is_rule) for case in cases])
    weight = np.array([case.weight for case in cases])
    seen = Counter(trait for case in cases if not case.is_real for trait in case.traits)
    names = sorted(trait for trait, count in seen.items() if count >= LEAST_SEEN)
    for most in (len(names), MOST_TRAITS):
        rows = Sparse(
            [case.traits for case in cases], {name: row for row, name in enumerate(names)}
        )
        weights, bias = fitted(rows, right, C, weight)
        if most < len(names):
            break
        telling = np.abs(weights) * np.sqrt(np.bincount(rows.column, minlength=len(names)))
        names = [names[row] for row in sorted(np.argsort(-telling, kind="stable")[:MOST_TRAITS])]
    return names, weights, bias


def unseen(cases: Sequence[Case]) -> Floats:
    """Log odds of each sentence by a judge not taught with its group."""
    fold = np.array([zlib.crc32(case.group.encode()) % FOLDS for case in cases])
    odds = np.zeros(len(cases))
    for number in range(FOLDS):
        names, weights, bias = taught(
            [case for case, own in zip(cases, fold, strict=True) if own != number]
        )
        rows = {name: row for row, name in enumerate(names)}
        held = [case.traits for case, own in zip(cases, fold, strict=True) if own == number]
        odds[fold == number] = Sparse(held, rows) @ weights + bias
    return odds


def figures(cases: Sequence[Case], odds: Floats) -> Iterator[str]:
    for is_real in (False, True):
        best: dict[str, tuple[float, bool]] = defaultdict(lambda: (-99.0, False))
        for case, value in zip(cases, odds, strict=True):
            if case.is_real is is_real and case.is_counted:
                at, is_rule = best[case.prompt]
                best[case.prompt] = (max(at, float(value)), is_rule or case.is_rule)
        rules = sum(is_rule for _, is_rule in best.values())
        yield f"{'real' if is_real else 'invented'}: {len(best)} prompts, {rules} rules"
        for bar in (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0) if rules else ():
            called = [is_rule for at, is_rule in best.values() if at >= bar]
            precision = sum(called) / max(len(called), 1)
            yield (
                f"  from {bar:+.1f}: {100 * len(called) / len(best):5.1f} of 100, "
                f"precision {precision:.3f}, recall {sum(called) / rules:.3f}"
            )


def written(names: Sequence[str], weights: Floats, bias: float) -> str:
    """As LearnedJudge reads it: each weight as one byte, 128 for none."""
    scale = float(np.abs(weights).max()) / 127
    shares = dict(zip(names, (np.round(weights / scale) + 128).astype(int).tolist(), strict=True))
    kept = {
        "bias": round(bias, 6),
        "scale": float(f"{scale:.6g}"),
        "shares": dict(sorted(shares.items())),
    }
    return json.dumps(kept, ensure_ascii=False, indent=0, separators=(",", ":")) + "\n"


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    ask = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ask.add_argument("--train", type=Path, nargs="+", default=list(TAUGHT))
    ask.add_argument(
        "--real", type=Path, nargs="*", default=[], help="labelled prompts of real sessions"
    )
    ask.add_argument("--figures", action="store_true", help="write nothing")
    asked = ask.parse_args()
    cases = [
        *invented(asked.train),
        *spanned([UNTIDY], is_real=False),
        *spanned(asked.real, is_real=True),
    ]
    for line in figures(cases, unseen(cases)):
        tell(line)
    if not asked.figures:
        WEIGHTS.write_text(written(*taught(cases)), encoding="utf-8")
        tell(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

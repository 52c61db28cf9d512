"""How well rules are heard in what people say: precision and recall on labelled prompts, beside simple patterns.

A prompt counts as heard where its rule is stored or waits in the inbox; `stored` counts what is in force at once.
The held-out half is only ever scored: the patterns were written while looking at the other (data/PROMPTS.md).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import Report, percentile, share
from recollect.app.rule_keeping import load_english
from recollect.base.errors import BadInput
from recollect.capture.prompt_rules import find_rules
from recollect.capture.prompt_text import FoundRule
from recollect.render.inject import without_ours

_DATA = Path(__file__).parent / "data"
SHIPPED = (_DATA / "prompts-tune.jsonl", _DATA / "prompts-held.jsonl")
CLASSES = ("preference", "correction", "devops")
_SIMPLE = re.compile(
    r"\b(?:always|never|prefer|don't|do not|from now on|we use|stop)\b", re.IGNORECASE
)
_WORD = re.compile(r"[a-z0-9_@][\w@./-]{2,}")
_SMALL = frozenset(
    "the and for are not with use from that this into only never always does its has have all".split()
)


@dataclass(frozen=True, slots=True)
class Labelled:
    id: str
    prompt: str
    kind: str
    scope: str
    rule: str


@dataclass(frozen=True, slots=True)
class Score:
    """Of one way to hear rules on one file."""

    system: str
    heard: int
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class CaptureFigures:
    suite: str
    prompts: int
    rules: int
    scores: tuple[Score, ...]
    recall_by_class: dict[str, float]
    precision_by_class: dict[str, float]
    """Of what was called so: is it a rule, and of this class?"""
    kind_right: float
    """Of the rules that were heard."""
    scope_right: float
    wording: float
    """Share of rules heard whose text holds at least half of the label's content words. English prompts alone:
    labels are in English whatever the prompt's language."""
    ms_p50: float
    ms_p95: float
    """CPU a prompt."""

    def score(self, system: str) -> Score:
        return next(one for one in self.scores if one.system == system)


@dataclass(frozen=True, slots=True)
class CaptureReport(Report):
    figures: tuple[CaptureFigures, ...]


def read(path: Path) -> list[Labelled]:
    labelled = []
    try:
        for line in path.read_text("utf-8").splitlines():
            if line.strip():
                row = json.loads(line)
                labelled.append(
                    Labelled(row["id"], row["prompt"], row["kind"], row["scope"], row["rule"])
                )
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadInput(
            f"{path} is no file of labelled prompts: {problem}", hint="docs: bench/data/PROMPTS.md"
        ) from None
    return labelled


def run_capture(files: Sequence[Path] = SHIPPED) -> CaptureReport:
    return CaptureReport(tuple(_figures(path.stem, read(path)) for path in files))


def _figures(suite: str, labelled: list[Labelled]) -> CaptureFigures:
    heard, spent = _timed(labelled)
    pairs = list(zip(labelled, heard, strict=True))
    right = [(one, said) for one, said in pairs if one.kind != "none" and said.action != "dropped"]
    english = [(one, said) for one, said in right if one.prompt.isascii()]
    return CaptureFigures(
        suite=suite,
        prompts=len(labelled),
        rules=sum(one.kind != "none" for one in labelled),
        scores=(
            _score("stored or inbox", labelled, [said.action != "dropped" for said in heard]),
            _score("stored", labelled, [said.action == "stored" for said in heard]),
            _score(
                "simple patterns", labelled, [bool(_SIMPLE.search(one.prompt)) for one in labelled]
            ),
        ),
        recall_by_class={
            kind: share(
                sum(one.kind == kind for one, _ in right), sum(one.kind == kind for one in labelled)
            )
            for kind in CLASSES
        },
        precision_by_class={
            kind: share(
                sum(one.kind == said.rule_type == kind for one, said in pairs),
                sum(said.rule_type == kind for said in heard),
            )
            for kind in CLASSES
        },
        kind_right=share(sum(one.kind == said.rule_type for one, said in right), len(right)),
        scope_right=share(sum(one.scope == said.scope for one, said in right), len(right)),
        wording=share(
            sum(content_share(one.rule, said.rule) >= 0.5 for one, said in english), len(english)
        ),
        ms_p50=round(percentile(spent, 50), 2) if spent else 0.0,
        ms_p95=round(percentile(spent, 95), 2) if spent else 0.0,
    )


def _timed(labelled: list[Labelled]) -> tuple[list[FoundRule], list[float]]:
    heard: list[FoundRule] = []
    spent: list[float] = []
    load_english()
    for one in labelled:
        begun = time.process_time()
        heard.append(find_rules(without_ours(one.prompt)).verdict)
        spent.append((time.process_time() - begun) * 1000)
    return heard, spent


def _score(system: str, labelled: list[Labelled], called: list[bool]) -> Score:
    right = sum(
        one.kind != "none" and is_called for one, is_called in zip(labelled, called, strict=True)
    )
    return Score(
        system,
        sum(called),
        share(right, sum(called)),
        share(right, sum(one.kind != "none" for one in labelled)),
    )


def content_share(gold: str, said: str) -> float:
    """How much of the label's content words a text holds."""
    wanted = set(_WORD.findall(gold.lower())) - _SMALL
    # The label says "commits" where the person said "commit": four letters tell most words apart.
    stems = {word[:4] for word in _WORD.findall(said.lower())}
    return share(sum(word[:4] in stems for word in wanted), len(wanted)) if wanted else 1.0

"""The figures of `recollect bench capture`, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.render.blocks import Block, Line, Table, Tone

if TYPE_CHECKING:
    from recollect.bench.capture import CaptureReport


def blocks(report: CaptureReport) -> Iterator[Block]:
    for one in report.figures:
        yield Line(f"{one.suite}: {one.prompts:,} prompts, {one.rules:,} of them state a rule", Tone.TITLE)
        yield Table(
            ("system", "heard", "precision", "recall"),
            tuple((s.system, f"{s.heard:,}", f"{s.precision:.3f}", f"{s.recall:.3f}") for s in one.scores),
        )
        yield Table(
            ("class", "precision", "recall"),
            tuple(
                (kind, f"{one.precision_by_class[kind]:.3f}", f"{recall:.3f}")
                for kind, recall in one.recall_by_class.items()
            ),
        )
        yield Line(
            f"of the rules heard: kind {one.kind_right:.3f}, scope {one.scope_right:.3f}, wording {one.wording:.3f}; "
            f"CPU p50 {one.ms_p50:.2f} ms, p95 {one.ms_p95:.2f} ms a prompt"
        )
        yield Line()
    yield Line("wording: share whose text holds half of the label's content words or more.", Tone.DIM)

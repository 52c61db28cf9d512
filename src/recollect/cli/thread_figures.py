"""The figures of `recollect bench capture --part threads`, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.render.blocks import Block, Line, Table, Tone

if TYPE_CHECKING:
    from recollect.bench.threads import ThreadReport


def blocks(report: ThreadReport) -> Iterator[Block]:
    for one in report.figures:
        yield Line(f"{one.half}: {one.sessions} sessions, {one.turns} turns, {one.topics} topics", Tone.TITLE)
        yield Table(
            ("system", "threads", "purity", "coverage", "B3 precision", "B3 recall", "B3 F1"),
            tuple(
                (
                    s.system, str(s.threads), f"{s.purity:.3f}", f"{s.coverage:.3f}", f"{s.precision:.3f}",
                    f"{s.recall:.3f}", f"{s.f1:.3f}",
                )
                for s in one.scores
            ),
        )  # fmt: skip
        yield Line(f"kept: {one.kept:.3f} of the turns that have a topic, {one.junk_kept} of {one.junk} that have none")
        yield Line()
    yield Line("The weights were fitted on `tune`; `held` is only ever scored.", Tone.DIM)

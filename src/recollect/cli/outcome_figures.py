"""The figures of `recollect bench capture --part pairs`, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.render.blocks import Block, Line, Table, Tone

if TYPE_CHECKING:
    from recollect.bench.pairs import PairReport


def pair_blocks(report: PairReport) -> Iterator[Block]:
    for one in report.figures:
        said = f"{one.sessions} sessions, {one.lessons} lessons in them, {one.without} with nothing to learn"
        yield Line(f"{one.half}: {said}", Tone.TITLE)
        yield Table(
            ("system", "told", "right", "precision", "recall"),
            tuple((s.system, str(s.told), str(s.right), f"{s.precision:.3f}", f"{s.recall:.3f}") for s in one.scores),
        )
        for label, those in (("missed", one.missed), ("wrong", one.wrong)):
            if those:
                yield Line(f"{label}: {'; '.join(those)}", Tone.DIM)
        yield Line()

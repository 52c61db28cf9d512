"""The tables of `recollect bench steer`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.render.blocks import Block, Line, Table, Tone

if TYPE_CHECKING:
    from recollect.bench.steer import SteerReport


def blocks(report: SteerReport) -> Iterator[Block]:
    start, prompt = report.start, report.prompt
    yield Line(f"The server, from its spawn to `initialize` answered ({start.runs} runs)", Tone.TITLE)
    yield Table(
        ("", "cpu ms", "wall ms", "memory MB"),
        (
            ("ours", f"{start.cpu_ms:.0f}", f"{start.wall_ms:.0f}", f"{start.memory_mb:.1f}"),
            ("empty", f"{start.empty_cpu_ms:.0f}", f"{start.empty_wall_ms:.0f}", f"{start.empty_memory_mb:.1f}"),
            ("ratio", f"{start.cpu_ratio:.2f}", "", f"{start.memory_ratio:.2f}"),
        ),
    )
    yield Line("A call, as the agent waits for it (ms)", Tone.TITLE)
    rows = [
        (f"{size.memories:,}", one.tool, f"{one.calls}", f"{one.p50_ms:.1f}", f"{one.p95_ms:.1f}")
        for size in report.sizes
        for one in size.calls
    ]
    yield Table(("memories", "tool", "calls", "p50", "p95"), tuple(rows))
    yield Line("Going through all of it, in the daemon", Tone.TITLE)
    plans = [
        (
            f"{size.memories:,}", one.what, f"{one.cpu_s:.2f}", f"{one.wall_s:.2f}", f"{one.merges:,}",
            f"{one.daemon_mb:.0f}",
        )
        for size in report.sizes
        for one in size.plans
    ]  # fmt: skip
    yield Table(("memories", "what", "cpu s", "wall s", "merges", "daemon MB"), tuple(plans))
    yield Line(
        f"In every prompt: {prompt.tools} tools, {prompt.tool_chars:,} characters (about {prompt.tool_tokens:,} "
        f"tokens), instructions {prompt.instruction_chars:,} ({prompt.instruction_tokens:,}); the skill, when called, "
        f"{prompt.skill_chars:,} ({prompt.skill_tokens:,})."
    )
    yield Line("passed" if report.passed else "failed", Tone.GOOD if report.passed else Tone.BAD)

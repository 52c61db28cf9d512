"""The tables of `recollect bench hooks`. What was not measured is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.render.blocks import Block, Line, Table, Tone

if TYPE_CHECKING:
    from recollect.bench.hook_crowd import Crowd, Soak
    from recollect.bench.hook_pace import Bulk, Pace, Spread
    from recollect.bench.hook_trials import Trial
    from recollect.bench.hooks import HooksReport

_SPREAD = ("p50", "p95", "p99", "worst")


def blocks(report: HooksReport) -> Iterator[Block]:
    yield from _pace(report.pace, report.bulk)
    if report.crowd:
        yield from _crowd(report.crowd, report.memories)
    if report.faults:
        yield from _faults(report.faults)
    if report.soak:
        yield from _soak(report.soak, report.memories)
    yield Line("passed" if report.passed else "failed", Tone.GOOD if report.passed else Tone.BAD)


def _pace(found: tuple[Pace, ...], bulk: Bulk | None) -> Iterator[Block]:
    warm = [(f"{pace.memories:,}", pace.warm) for pace in found if pace.warm]
    if bulk:
        warm.append((f"embedding ({bulk.vectors_given:,})", bulk.warm))
    if warm:
        yield Line("The hook of a prompt, with a warm daemon (ms)", Tone.TITLE)
        yield Table(
            ("memories", "answered by", *_SPREAD, "cpu", "bare cpu", "ratio", "bare wall", "answered", "past deadline"),
            tuple(
                (
                    name, one.how, *_spelt(one.wall), f"{one.cpu_ms:.1f}", f"{one.bare_cpu_ms:.1f}",
                    f"{one.cpu_ratio:.2f}", f"{one.bare_wall_ms:.1f}", f"{one.answered} of {one.prompts}",
                    f"{one.past_deadline}",
                )
                for name, one in warm
            ),
        )  # fmt: skip
        yield Line("The daemon's part of it (ms)", Tone.TITLE)
        yield Table(
            ("memories", *_SPREAD, "cpu", "memory MB"),
            tuple(
                (name, *_spelt(one.daemon), f"{one.daemon_cpu_ms:.1f}", f"{one.daemon_memory_mb:.1f}")
                for name, one in warm
            ),
        )
        yield Line("bare: `python -I -S -c pass`, in turn with the hook. The stored vectors are chance.", Tone.DIM)
    firsts = [(pace.memories, pace.first) for pace in found if pace.first]
    if firsts:
        yield Line("The first hook, with no daemon (ms)", Tone.TITLE)
        yield Table(
            ("memories", *_SPREAD, "answered", "spooled", "past deadline"),
            tuple(
                (
                    f"{memories:,}", *_spelt(one.wall), f"{one.answered} of {one.runs}", f"{one.spooled}",
                    f"{one.past_deadline}",
                )
                for memories, one in firsts
            ),
        )  # fmt: skip


def _crowd(found: Crowd, memories: int) -> Iterator[Block]:
    yield Line(f"{found.sessions} sessions at once, {found.events:,} events each, {memories:,} memories", Tone.TITLE)
    yield Table(
        ("lost", "in store", "in spool", "received late", *_SPREAD, "a second", "past deadline", "exit not 0"),
        (
            (
                f"{found.lost:,}", f"{found.in_store:,}", f"{found.in_spool:,}", f"{found.received_late:,}",
                *_spelt(found.wall), f"{found.per_s:.1f}", f"{found.past_deadline:,}", f"{found.non_zero_exits:,}",
            ),
        ),
    )  # fmt: skip


def _faults(found: tuple[Trial, ...]) -> Iterator[Block]:
    yield Line(f"{sum(one.runs for one in found):,} hooks over {len(found)} faults", Tone.TITLE)
    yield Table(
        ("fault", "runs", "exit not 0", "malformed", "stderr bytes", "past deadline", "left", "answered", "worst ms"),
        tuple(
            (
                one.fault, one.broke or (f"not tried: {one.not_tried}" if one.not_tried else f"{one.runs:,}"),
                *(
                    f"{count:,}"
                    for count in (
                        one.non_zero_exits, one.malformed, one.stderr_bytes, one.past_deadline, one.left_behind,
                        one.answered,
                    )
                ),
                f"{one.worst_ms:.0f}",
            )
            for one in found
        ),
    )  # fmt: skip


def _soak(found: Soak, memories: int) -> Iterator[Block]:
    yield Line(f"The daemon after {found.events:,} events, {memories:,} memories", Tone.TITLE)
    yield Table(
        ("", "memory MB", "descriptors", "threads", "children"),
        tuple(
            (when, f"{one.memory_mb:.1f}", f"{one.descriptors}", f"{one.threads}", f"{one.children}")
            for when, one in (("early", found.early), ("late", found.late))
        ),
    )
    yield Line(
        f"{found.not_taken:,} not taken, {found.per_s:.0f} a second; idle for {found.idle_s:.0f} s: "
        f"{found.idle_cpu_percent:.2f} % of a core; home {found.home_mb:.1f} MB"
    )


def _spelt(spread: Spread) -> tuple[str, ...]:
    return tuple(f"{ms:.1f}" for ms in (spread.p50, spread.p95, spread.p99, spread.worst))

"""`recollect bench …`: runs a benchmark in a scratch folder and prints its figures; exit 1 if one fails its claim."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from recollect.cli.paint import paint, print_json
from recollect.cli.progress import Bar
from recollect.render.blocks import Block, Line, Tone

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_seed = click.option("--seed", default=1, show_default=True, help="The same seed, the same accidents.")


@click.group()
def bench() -> None:
    """Measure it: speed, crashes, damage. Everything happens in a scratch folder."""


@bench.command()
@click.option("--sizes", default="1000,10000,100000", show_default=True, help="Memories, divided by commas.")
@_as_json
def store(sizes: str, as_json: bool) -> int:
    """Insert rate, size, and what a full-text query costs as the store grows."""
    from recollect.bench.store import run_store

    try:
        wanted = tuple(int(size) for size in sizes.split(","))
    except ValueError:
        raise click.UsageError(f"--sizes {sizes!r}: whole numbers divided by commas are wanted.") from None
    return _run(lambda folder, bar: run_store(folder, sizes=wanted, progress=bar), as_json)


@bench.command()
@click.option("--cycles", default=1000, show_default=True, type=click.IntRange(min=1), help="How often it is killed.")
@_seed
@_as_json
def crash(cycles: int, seed: int, as_json: bool) -> int:
    """Kill -9 and power cuts: is anything acknowledged ever lost?"""
    from recollect.bench.crash import run_crash

    return _run(lambda folder, bar: run_crash(folder, cycles=cycles, seed=seed, progress=bar), as_json)


@bench.command()
@click.option("--processes", default=16, show_default=True, type=click.IntRange(min=1), help="Writers at once.")
@click.option("--writes", default=500, show_default=True, type=click.IntRange(min=1), help="Writes of each.")
@_as_json
def writers(processes: int, writes: int, as_json: bool) -> int:
    """Many processes writing to one store at once."""
    from recollect.bench.writers import run_writers

    return _run(lambda folder, bar: run_writers(folder, processes=processes, writes=writes, progress=bar), as_json)


@bench.command()
@click.option(
    "--flips", default=1000, show_default=True, type=click.IntRange(min=1), help="Bits to flip, one at a time."
)
@_seed
@_as_json
def flips(flips: int, seed: int, as_json: bool) -> int:
    """Random bit flips: which share does `verify` find?"""
    from recollect.bench.flips import run_flips

    return _run(lambda folder, bar: run_flips(folder, flips=flips, seed=seed, progress=bar), as_json)


@bench.command()
@click.option("--runs", default=21, show_default=True, type=click.IntRange(min=1), help="Runs to take the median of.")
@_as_json
def start(runs: int, as_json: bool) -> int:
    """CPU of `recollect --help` beside importing click."""
    from recollect.bench.start import run_start

    return _run(lambda folder, bar: run_start(folder, runs=runs, progress=bar), as_json)


def _run(benchmark: Callable[[Path, Bar], Any], as_json: bool) -> int:
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        report = benchmark(Path(folder), Bar())
    if as_json:
        print_json(report.to_json())
    else:
        paint(_lines(report.to_json()))
    return 0 if report.passed else 1


def _lines(figures: dict[str, Any], indent: str = "") -> list[Block]:
    lines: list[Block] = []
    for name, value in figures.items():
        label = f"{indent}{name.replace('_', ' ')}"
        if isinstance(value, dict):
            lines += [Line(label, Tone.TITLE), *_lines(value, indent + "  ")]
        elif isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            for part in value:
                lines += [Line(label, Tone.TITLE), *_lines(part, indent + "  ")]
        else:
            lines.append(Line(f"{label:<34} {_spelt(value)}"))
    return lines


def _spelt(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

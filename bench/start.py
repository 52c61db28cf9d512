"""What it costs to start: `recollect --help` beside the bare import of click, in CPU time.

The ratio is the figure: it holds on any machine, the milliseconds only on the one that was measured.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.report import Report
from recollect.base.errors import BadInput, RecollectError
from recollect.store import Progress

MOST_RATIO = 1.5
# As a console script does it.
_HELP = ("-P", "-c", "from recollect.cli import main; main()", "--help")
_CLICK = ("-P", "-c", "import click")


@dataclass(frozen=True, slots=True)
class StartReport(Report):
    runs: int
    help_ms: float
    click_ms: float
    ratio: float

    @property
    def passed(self) -> bool:
        return self.ratio <= MOST_RATIO


def run_start(folder: Path, *, runs: int = 21, progress: Progress) -> StartReport:
    """The two in turn, so that what else the machine does falls on both."""
    helps: list[float] = []
    clicks: list[float] = []
    for run in range(runs):
        helps.append(_cpu_ms(folder, _HELP))
        clicks.append(_cpu_ms(folder, _CLICK))
        progress(run + 1, runs)
    help_ms, click_ms = statistics.median(helps), statistics.median(clicks)
    return StartReport(runs, round(help_ms, 1), round(click_ms, 1), round(help_ms / click_ms, 2))


def _cpu_ms(folder: Path, command: tuple[str, ...]) -> float:
    try:
        import resource
    except ImportError:
        raise BadInput(
            "This system does not tell the CPU time of a child process.",
            hint="Run it on Linux or macOS.",
        ) from None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise RecollectError(
            f"`{command[2]}` ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"
        )
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000

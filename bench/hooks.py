"""What hooks cost and what they survive, with real processes: the script that agents call, and the daemon it starts.

    pace     the hook of a prompt beside a bare interpreter, as the store grows; and the first one, with no daemon
    bulk     the same while the daemon embeds
    crowd    many sessions at once: is an event lost
    faults   everything around the hook that can be wrong: what an agent must never see
    soak     what becomes of the daemon after very many events

A part whose number is 0 is left out, and its figures with it. Each part has a home of its own, and no daemon of it is
alive at the end.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import hook_crowd, hook_pace, hook_trials
from bench.hook_crowd import Crowd, Soak
from bench.hook_pace import Bulk, Pace
from bench.hook_trials import Trial
from bench.house import House
from bench.report import Report
from recollect.base.errors import BadInput
from recollect.store import Progress

FEW_MEMORIES = 1_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of each."""

    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    prompts: int = 500
    """Hooks with a warm daemon, at each size and in `bulk`."""
    firsts: int = 50
    """Hooks without a daemon, at each size."""
    sessions: int = 16
    events: int = 1_000
    """Of each session."""
    runs: int = 10_000
    """Over all faults."""
    soak: int = 100_000
    idle_s: float = 20.0
    memories: int = FEW_MEMORIES
    """In the stores of all but the first part."""

    @property
    def steps(self) -> int:
        sizes = self.sizes if self.prompts or self.firsts else ()
        paced = (self.prompts + self.firsts) * len(sizes) + self.prompts
        return max(sizes, default=0) + paced + self.sessions * self.events + self.runs + self.soak


@dataclass(frozen=True, slots=True)
class HooksReport(Report):
    memories: int
    """In the stores of all parts but pace."""
    pace: tuple[Pace, ...]
    bulk: Bulk | None
    crowd: Crowd | None
    faults: tuple[Trial, ...]
    soak: Soak | None

    @property
    def passed(self) -> bool:
        """What must never be; how fast it is stands for itself."""
        kept = (
            self.crowd is None
            or self.crowd.lost == self.crowd.non_zero_exits == self.crowd.malformed == 0
        )
        paced = [one for pace in self.pace for one in (pace.warm, pace.first)]
        in_time = all(one is None or one.past_deadline == 0 for one in paced)
        taken = self.soak is None or self.soak.not_taken == 0
        return kept and in_time and taken and all(trial.passed for trial in self.faults)


def run_hooks(folder: Path, *, plan: Plan, progress: Progress) -> HooksReport:
    if sys.platform != "linux":
        raise BadInput(
            "What a process leaves behind can be seen on Linux alone.", hint="Run it there."
        )
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        progress(done, plan.steps)

    def ready(place: House) -> House:
        hook_pace.grow(place, 0, plan.memories, lambda _: None)
        return place

    pace: tuple[Pace, ...] = ()
    bulk, crowd, soak = None, None, None
    faults: tuple[Trial, ...] = ()
    if plan.sizes and (plan.prompts or plan.firsts):
        with open_house(folder / "pace") as place:
            pace = tuple(hook_pace.run_pace(place, plan.sizes, plan.prompts, plan.firsts, step))
    if plan.prompts:
        with open_house(folder / "bulk") as place:
            bulk = hook_pace.run_bulk(ready(place), plan.memories, plan.prompts, step)
    if plan.sessions and plan.events:
        with open_house(folder / "crowd") as place:
            crowd = hook_crowd.run_crowd(ready(place), plan.sessions, plan.events, step)
    if plan.runs:
        with open_house(folder / "faults") as place:
            faults = hook_trials.run_faults(ready(place), plan.runs, step)
    if plan.soak:
        with open_house(folder / "soak") as place:
            soak = hook_crowd.run_soak(ready(place), plan.soak, plan.idle_s, step)
    return HooksReport(plan.memories, pace, bulk, crowd, faults, soak)


@contextmanager
def open_house(root: Path) -> Iterator[House]:
    """Its runtime folder stands apart: the path of a socket has to be short."""
    with tempfile.TemporaryDirectory(prefix="rcl-", ignore_cleanup_errors=True) as runtime:
        place = House(str(root), runtime, str(root / "work"))
        place.furnish()
        try:
            yield place
        finally:
            place.stop()
            place.clear()

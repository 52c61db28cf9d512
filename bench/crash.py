"""Kills the program at random moments and asks what is left.

Two questions. `kill -9`: a process that pins in a loop is killed, over and over, on one database; what it
acknowledged must be there once, and a write whose fate was unknown may be tried again without harm. Power cut
(powercut.py): the same for unsynced data, which no kill can show; with controls that must lose, so that a
clean result means something.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bench import child
from bench.child import Child
from bench.pins import Kept, Pin, Pinner, kept
from bench.powercut import Cuts, run_cuts
from bench.report import Report
from recollect.base.errors import RecollectError
from recollect.store import Progress, SqliteStore, Tuning

CUTS = 300
_LONGEST_S = 0.03
_MOST_SEEN = 4
_PIN_WORDS = 40


@dataclass(frozen=True, slots=True)
class CrashReport(Report):
    cycles: int
    acknowledged: int
    lost: int
    duplicates: int
    verify_findings: int
    tried_again: int
    """Writes that were under way at a kill and applied a second time."""
    power_cut: Cuts
    normal: Cuts
    """With synchronous=NORMAL, the usual advice for WAL: why it is not ours."""
    control: Cuts
    """With synchronous=OFF."""

    @property
    def passed(self) -> bool:
        kills = self.lost == self.duplicates == self.verify_findings == 0
        cuts = self.power_cut.lost == self.power_cut.duplicates == self.power_cut.corrupt == 0
        return kills and cuts and self.control.lost > 0


def run_crash(
    folder: Path, *, cycles: int, seed: int, progress: Progress, cuts: int = CUTS
) -> CrashReport:
    total = cycles + 3 * cuts

    def cut(synchronous: str, before: int) -> Cuts:
        return run_cuts(
            folder / synchronous,
            synchronous=synchronous,
            cuts=cuts,
            seed=seed,
            progress=lambda done, _: progress(before + done, total),
        )

    killed = _Kills(folder, seed)
    killed.run(cycles, lambda done: progress(done, total))
    return CrashReport(
        cycles,
        len(killed.acknowledged),
        killed.lost,
        killed.duplicates,
        killed.findings,
        killed.tried_again,
        power_cut=cut("FULL", cycles),
        normal=cut("NORMAL", cycles + cuts),
        control=cut("OFF", cycles + 2 * cuts),
    )


class _Kills:
    """One database carried through all cycles. Every fourth cycle is blind: killed without waiting for its
    first write, so while it opens and recovers; and every fourth is blind on a new file, while it is made."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self._chance = random.Random(seed)
        self._unknown: dict[str, Any] | None = None
        self.acknowledged: list[str] = []
        self.tried_again = 0
        self.lost = 0
        self.duplicates = 0
        self.findings = 0

    def run(self, cycles: int, progress: Callable[[int], None]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        old = self._folder / "killed.db"
        ready = Child(pin_until_killed, self._seed)
        try:
            for cycle in range(cycles):
                # The next one stands ready while this one writes: a process takes longer to start than to kill.
                victim, ready = ready, Child(pin_until_killed, self._seed + cycle + 1)
                if cycle % 4 == 3:
                    self._new_file(victim, self._folder / f"new-{cycle}.db")
                else:
                    self._old_file(victim, old, blind=cycle % 4 == 1)
                progress(cycle + 1)
        finally:
            with ready:
                pass
        # Once, after all cycles: what is lost does not come back.
        self._look_at(old, self.acknowledged)

    def _old_file(self, victim: Child, path: Path, *, blind: bool) -> None:
        done, tries = self._kill(victim, path, blind=blind, again=self._unknown)
        self.tried_again += self._unknown is not None and bool(tries)
        if tries:
            self._unknown = None if tries[-1]["id"] in done else tries[-1]
        self.acknowledged += done

    def _new_file(self, victim: Child, path: Path) -> None:
        done, _ = self._kill(victim, path, blind=True, again=None)
        self._look_at(path, done)
        for left in self._folder.glob(f"{path.name}*"):
            left.unlink()

    def _kill(
        self, victim: Child, path: Path, *, blind: bool, again: dict[str, Any] | None
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """What was acknowledged, and what was tried."""
        with victim:
            victim.answer()
            # Half of them with a log that is folded back at almost every write.
            pages = self._chance.choice([8, Tuning().checkpoint_pages])
            victim.tell({"path": str(path), "checkpoint_pages": pages, "again": again})
            # Each write is said twice: tried, done.
            said = (
                []
                if blind
                else [victim.answer() for _ in range(2 * self._chance.randint(1, _MOST_SEEN))]
            )
            time.sleep(self._chance.uniform(0, _LONGEST_S))
            victim.kill()
            said += victim.heard()
        return [id for word, id in said if word == "done"], [
            pin for word, pin in said if word == "try"
        ]

    def _look_at(self, path: Path, acknowledged: list[str]) -> None:
        found, findings = looked_at(path, acknowledged)
        self.lost += found.lost
        self.duplicates += found.duplicates
        self.findings += findings


def looked_at(path: Path, acknowledged: list[str]) -> tuple[Kept, int]:
    """What is left of what was acknowledged, and how much is wrong; a file that does not open holds nothing."""
    try:
        store = SqliteStore(path, Tuning())
    except RecollectError:
        return Kept(len(acknowledged), 0), 1
    try:
        return kept(store, acknowledged), len(store.verify())
    finally:
        store.close()


def pin_until_killed(seed: int) -> None:
    """In a process of its own. Says what it is about to write, and when it is written."""
    pinner = Pinner(seed, _PIN_WORDS)
    child.say("ready")
    order = child.told()
    store = SqliteStore(Path(order["path"]), Tuning(checkpoint_pages=order["checkpoint_pages"]))
    again = order["again"]
    for number in count():
        pin = Pin.parse(again) if again and number == 0 else pinner.draw()
        child.say(["try", pin.to_json()])
        store.apply(pin.plan(), pin.act())
        child.say(["done", pin.id])

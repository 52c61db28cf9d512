"""A report passes only where what must hold did hold; and what the start costs is measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.crash import CrashReport
from bench.flips import FlipsReport
from bench.powercut import Cuts
from bench.start import MOST_RATIO, StartReport
from bench.writers import WritersReport

CRASH = CrashReport(
    cycles=1, acknowledged=1, lost=0, duplicates=0, verify_findings=0, tried_again=0,
    power_cut=Cuts("FULL", cuts=1, acknowledged=1), normal=Cuts("NORMAL", cuts=1, acknowledged=1),
    control=Cuts("OFF", cuts=1, acknowledged=1, lost=1, corrupt=1),
)  # fmt: skip
WRITERS = WritersReport(
    processes=2, writes=3, acknowledged=6, lost=0, duplicates=0, busy=0, ids_taken=0, verify_findings=0, per_s=1.0,
    slowest_ms=1.0,
)  # fmt: skip
FLIPS = FlipsReport(
    flips=10, database_bytes=1, changed_a_value=10, found_of_those=9, share=0.9, integrity_check_share=0.1,
    false_alarms=0, crashes=(), places=(),
)  # fmt: skip
START = StartReport(runs=1, help_ms=1.0, click_ms=1.0, ratio=MOST_RATIO)
HARMS: tuple[dict[str, Any], ...] = ({"lost": 1}, {"corrupt": 1}, {"duplicates": 1})
SPOILT: list[tuple[Any, dict[str, Any]]] = [
    *((CRASH, {name: 1}) for name in ("lost", "duplicates", "verify_findings")),
    *((CRASH, {"power_cut": Cuts("FULL", cuts=1, acknowledged=1, **harm)}) for harm in HARMS),
    (CRASH, {"control": replace(CRASH.control, lost=0)}),
    (WRITERS, {"acknowledged": 5}),
    *((WRITERS, {name: 1}) for name in ("lost", "duplicates", "busy", "verify_findings")),
    (FLIPS, {"share": 0.8999}),
    (FLIPS, {"crashes": ("OverflowError()",)}),
    (START, {"ratio": MOST_RATIO + 0.01}),
]


@pytest.mark.parametrize(("good", "harm"), SPOILT)
def test_a_spoilt_report_does_not_pass(good: Any, harm: dict[str, Any]):
    assert good.passed
    assert not replace(good, **harm).passed

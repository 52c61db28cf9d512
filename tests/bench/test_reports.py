"""A report passes only where what must hold did hold; and what the start costs is measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.crash import CrashReport
from bench.flips import FlipsReport
from bench.hook_crowd import Crowd, Soak
from bench.hook_pace import Bulk, First, Pace, Spread, Warm
from bench.hook_trials import Trial
from bench.hooks import HooksReport
from bench.injections import InjectionReport
from bench.powercut import Cuts
from bench.processes import Body
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
INJECTIONS = InjectionReport(
    payloads=500, sessions=1, rules=1, rules_with_payload=0, texts=1, recalled=1, outside_fence=0, broken_fences=0,
    notices_with_payload=0,
)  # fmt: skip
SPREAD = Spread(1, 2, 3, 4)
BODY = Body(memory_mb=90.0, descriptors=16, threads=6, children=0)
WARM = Warm(1, "words alone", 1, SPREAD, 12.0, 9.0, 10.0, 1.2, SPREAD, 8.0, 90.0, past_deadline=0)
PACE = Pace(memories=9, database_mb=0.5, warm=WARM, first=First(1, SPREAD, answered=1, spooled=0, past_deadline=0))
CROWD: Any = Crowd(2, 3, 0, 6, 0, 0, SPREAD, 20.0, non_zero_exits=0, malformed=0, past_deadline=0)
SOAK = Soak(9, 0, 50.0, BODY, BODY, 0.1, 1.0, 2.0)
FAULTS: tuple[Any, ...] = (Trial("payload empty", 3),)
HOOKS = HooksReport(memories=9, pace=(PACE,), bulk=Bulk(WARM, vectors_given=2), crowd=CROWD, faults=FAULTS, soak=SOAK)
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
    (INJECTIONS, {"payloads": 499}),
    *(
        (INJECTIONS, {name: 1})
        for name in ("rules_with_payload", "outside_fence", "broken_fences", "notices_with_payload")
    ),
    *((HOOKS, {"crowd": replace(CROWD, **{name: 1})}) for name in ("lost", "malformed")),
    (HOOKS, {"soak": replace(SOAK, not_taken=1)}),
    (HOOKS, {"pace": (replace(PACE, first=First(1, SPREAD, 1, 0, past_deadline=1)),)}),
    (HOOKS, {"pace": (replace(PACE, warm=replace(WARM, past_deadline=1)),)}),
    *(
        (HOOKS, {"faults": (replace(FAULTS[0], **{name: 1}),)})
        for name in ("non_zero_exits", "malformed", "past_deadline", "left_behind")
    ),
    (START, {"ratio": MOST_RATIO + 0.01}),
]


@pytest.mark.parametrize(("good", "harm"), SPOILT)
def test_a_spoilt_report_does_not_pass(good: Any, harm: dict[str, Any]):
    assert good.passed
    assert not replace(good, **harm).passed

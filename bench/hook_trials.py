"""Runs the hook under each fault of the table and counts what an agent must never see.

Every fault gets a home of its own, copied from one with a few memories in it. Whatever the fault, a hook exits 0,
prints nothing or one JSON object, is gone by its deadline and leaves no process behind but the one daemon. Bytes on
stderr are counted too; some shells write there before the first line of a script, in a folder that is gone.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import house
from bench.fault import Call, Fault, Unable
from bench.hook_faults import FAULTS
from bench.hook_pace import Step
from bench.house import House, Ran, soon
from recollect.wire import stub

_GONE_WITHIN_S = 30.0  # a second daemon that finds the lock taken may wait three seconds, and longer on a busy machine


@dataclass(frozen=True, slots=True)
class Trial:
    fault: str
    runs: int
    not_tried: str = ""
    """Why, where this machine cannot be given the fault."""
    broke: str = ""
    """What ended the trial before its last run: the others go on."""
    non_zero_exits: int = 0
    malformed: int = 0
    """Standard output that is neither nothing nor one JSON object."""
    stderr_bytes: int = 0
    past_deadline: int = 0
    left_behind: int = 0
    """Hook processes, and daemons beyond the one."""
    answered: int = 0
    worst_ms: float = 0.0

    @property
    def passed(self) -> bool:
        return (
            not self.broke
            and self.non_zero_exits == self.malformed == self.past_deadline == self.left_behind == 0
        )


def run_faults(
    template: House, runs: int, step: Step, faults: tuple[Fault, ...] = FAULTS
) -> tuple[Trial, ...]:
    """`runs` are spread over the faults. `template`: a home that nobody uses just now."""
    each, more = divmod(runs, len(faults))
    shares = [each + (number < more) for number in range(len(faults))]
    return tuple(
        _tried(template, fault, share, step)
        for fault, share in zip(faults, shares, strict=True)
        if share
    )


def _tried(template: House, fault: Fault, runs: int, step: Step) -> Trial:
    root = Path(template.root, "fault")
    place = House(str(root), template.runtime, template.project)
    place.user.mkdir(parents=True)
    shutil.copytree(template.home.root, place.home.root)
    stub.write_hook(str(place.home.root), sys.executable)
    try:
        with fault.arrange(place) as call:
            ran = [_run(place, call, number, step) for number in range(runs)]
            left = _left(call.house or place)
    except Unable as why:
        step(runs)
        return Trial(fault.name, 0, not_tried=str(why))
    except (OSError, shutil.Error) as problem:
        return Trial(fault.name, 0, broke=f"{type(problem).__name__}: {problem}")
    finally:
        place.clear()
        shutil.rmtree(root, ignore_errors=True)
    late = house.deadline_ms(call.event)
    return Trial(
        fault.name,
        runs,
        non_zero_exits=sum(one.code != 0 for one in ran),
        malformed=sum(not one.is_whole for one in ran),
        stderr_bytes=sum(len(one.err) for one in ran),
        past_deadline=sum(one.wall_ms > late for one in ran),
        left_behind=left,
        answered=sum(bool(one.out) for one in ran),
        worst_ms=round(max(one.wall_ms for one in ran), 1),
    )


def _run(place: House, call: Call, number: int, step: Step) -> Ran:
    call.before(number)
    body = call.body(number)
    ran = (call.house or place).run(
        call.event, body, environ=call.environ, cwd=call.cwd, shell_line=call.shell_line
    )
    step(1)
    return ran


def _left(place: House) -> int:
    soon(lambda: not place.hooks() and len(place.daemons()) <= 1, _GONE_WITHIN_S)
    return len(place.hooks()) + max(0, len(place.daemons()) - 1)

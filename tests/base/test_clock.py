from __future__ import annotations

from recollect.base.clock import FixedClock, SystemClock
from recollect.base.moment import Moment


def test_a_fixed_clock_stands_still_until_it_is_set():
    clock = FixedClock(Moment(5))
    assert (clock.now(), clock.now()) == (Moment(5), Moment(5))
    clock.at = Moment(9)
    assert clock.now() == Moment(9)


def test_the_systems_clock_tells_the_present():
    assert "2024" < SystemClock().now().iso() < "2100"

"""A clock that is a year ahead or a day back at a member's: what is shared arrives, in order; later words win."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from recollect.base.clock import SystemClock
from recollect.base.moment import Moment
from tests.team.conftest import Team
from tests.team.people import Person
from tests.team.test_members import check_sound

JUMPS = {"a year ahead": 365.0, "a day back": -1.0, "in 2200": 63_500.0}


@contextmanager
def clock_moved(days: float) -> Iterator[None]:
    right = SystemClock.now

    def now(clock: SystemClock) -> Moment:
        return right(clock).plus(days=days)

    with patch.object(SystemClock, "now", now):
        yield


@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_what_is_shared_under_a_wrong_clock_arrives_and_later_words_win(
    days: float, ann: Person, ben: Person, team: Team
):
    with clock_moved(days):
        id = ann.add_rule("Deploys go through staging first.", "--team")
    ben.sync()
    assert list(ben.rules()) == ["Deploys go through staging first."]

    ann.run("edit", id, "--body", "Deploys go through staging and a review.")
    ann.sync()
    ben.sync()
    assert list(ben.rules()) == ["Deploys go through staging and a review."]

    with clock_moved(days):
        ben.run("edit", id, "--body", "Deploys go through staging on Tuesdays.")
        ben.sync()
    ann.sync()
    assert list(ann.rules()) == list(ben.rules()) == ["Deploys go through staging on Tuesdays."]
    check_sound(team, ann, ben)


@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_what_waited_while_the_clock_jumped_is_sent_in_order(
    days: float, ann: Person, ben: Person, team: Team
):
    team.hang()
    id = ann.add_rule("Log lines are key=value.", "--team")
    with clock_moved(days):
        ann.run("edit", id, "--body", "Log lines are JSON.")
        ann.run("rules")  # asks in vain, and notes when
    ann.run("edit", id, "--body", "Log lines are plain words.")
    team.hang(on=False)
    ann.sync()
    ben.sync()
    assert list(ben.rules()) == ["Log lines are plain words."]
    assert ann.status()["waiting"] == 0
    with clock_moved(days):
        ann.run("unshare", id)
    ben.run("rules")
    ben.sync()
    assert list(ben.rules()) == []
    check_sound(team, ann, ben)

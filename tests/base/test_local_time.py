"""Times as a person reads them: local, with the zone's name, summer time included."""

from zoneinfo import ZoneInfo

import pytest

from recollect.base.local_time import day_start, local_day, local_minute, local_second
from recollect.base.moment import Moment
from tests.conftest import set_time_zone

BERLIN, NEW_YORK, KATHMANDU = map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Asia/Kathmandu"))


@pytest.mark.parametrize(
    ("at", "zone", "words"),
    [
        ("2026-02-01T08:30:00Z", BERLIN, "2026-02-01 09:30 CET"),
        ("2026-07-01T08:30:00Z", BERLIN, "2026-07-01 10:30 CEST"),
        ("2026-03-29T00:59:59Z", BERLIN, "2026-03-29 01:59 CET"),
        ("2026-03-29T01:00:00Z", BERLIN, "2026-03-29 03:00 CEST"),
        ("2026-10-25T00:30:00Z", BERLIN, "2026-10-25 02:30 CEST"),
        ("2026-10-25T01:30:00Z", BERLIN, "2026-10-25 02:30 CET"),
        ("2026-02-01T02:30:00Z", NEW_YORK, "2026-01-31 21:30 EST"),
        ("2026-02-01T08:30:00Z", KATHMANDU, "2026-02-01 14:15 UTC+05:45"),
        ("2026-02-01T08:30:00Z", ZoneInfo("UTC"), "2026-02-01 08:30 UTC"),
    ],
)
def test_a_time_is_local_and_names_its_zone(at: str, zone: ZoneInfo, words: str):
    assert local_minute(Moment.parse(at), zone) == words


def test_the_zone_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch):
    at = Moment.parse("2026-07-01T23:30:00Z")
    set_time_zone(monkeypatch, "Europe/Berlin")
    assert local_second(at) == "2026-07-02 01:30:00 CEST"
    assert local_day(at) == "2026-07-02"
    set_time_zone(monkeypatch, "America/New_York")
    assert local_second(at) == "2026-07-01 19:30:00 EDT"


def test_a_day_begins_at_local_midnight_on_every_day_of_the_year(monkeypatch: pytest.MonkeyPatch):
    set_time_zone(monkeypatch, "Europe/Berlin")
    assert day_start("2026-02-01").iso() == "2026-01-31T23:00:00.000000Z"
    assert day_start("2026-07-01").iso() == "2026-06-30T22:00:00.000000Z"
    assert day_start("2026-03-29").iso() == "2026-03-28T23:00:00.000000Z"
    for zone in (BERLIN, NEW_YORK, KATHMANDU):
        assert local_day(day_start("2026-03-29", zone), zone) == "2026-03-29"


def test_the_ends_of_the_calendar_have_a_time_too():
    assert local_minute(Moment.parse("9999-12-31T23:59:00Z"), KATHMANDU) == "9999-12-31 23:59 UTC"
    assert local_minute(Moment.parse("0001-01-01T00:00:00Z"), NEW_YORK) == "0001-01-01 00:00 UTC"

"""Times as a person reads them: in the zone of this machine (or of `TZ`), and with its name. Programs read UTC
(`Moment.iso`)."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from recollect.base.moment import Moment


def local(at: Moment, zone: tzinfo | None = None) -> datetime:
    """`zone`: another one than that of this machine."""
    when = at.datetime()
    try:
        return when.astimezone(zone)
    except (OverflowError, OSError, ValueError):  # at the ends of the calendar
        return when.astimezone(UTC)


def local_day(at: Moment, zone: tzinfo | None = None) -> str:
    """`2026-02-01`."""
    return local(at, zone).date().isoformat()


def local_minute(at: Moment, zone: tzinfo | None = None) -> str:
    """`2026-02-01 09:30 CET`."""
    when = local(at, zone)
    return f"{_written(when, 'minutes')} {zone_name(when)}"


def local_second(at: Moment, zone: tzinfo | None = None) -> str:
    """`2026-02-01 09:30:00 CET`."""
    when = local(at, zone)
    return f"{_written(when, 'seconds')} {zone_name(when)}"


def _written(when: datetime, timespec: str) -> str:
    return when.replace(tzinfo=None).isoformat(" ", timespec=timespec)


def zone_name(when: datetime) -> str:
    """Its abbreviation; `UTC+05:45` where it has none, or the system spells it out."""
    name = when.tzname() or ""
    if name.isascii() and name.isalpha() and name.isupper() and len(name) <= 5:
        return name
    offset = when.strftime("%z")
    return f"UTC{offset[:3]}:{offset[3:5]}"


def day_start(day: str, zone: tzinfo | None = None) -> Moment:
    """When a day, `2026-02-01`, begins here. Raises ValueError."""
    begins = datetime.fromisoformat(day)
    return Moment.of(begins.replace(tzinfo=zone) if zone else begins.astimezone())

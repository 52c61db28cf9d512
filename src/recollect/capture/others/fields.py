"""Cells of a foreign table as text, lists and times, whatever a program put there."""

from __future__ import annotations

import json
from collections.abc import Mapping

from recollect.base.moment import Moment

_MILLIS_FROM = 100_000_000_000
"""From here on a number of seconds would be in the year 5138: it counts milliseconds."""

Row = Mapping[str, object]


def text(row: Row, *names: str) -> str:
    """The first of these columns that is there and holds any."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def listed(row: Row, name: str) -> tuple[str, ...]:
    """A JSON list of texts; a text that is none counts as a list of one."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        return ()
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return (value.strip(),)
    if isinstance(found, list):
        return tuple(one.strip() for one in found if isinstance(one, str) and one.strip())
    return (found.strip(),) if isinstance(found, str) and found.strip() else ()


def moment(row: Row, *names: str) -> Moment | None:
    for name in names:
        value = row.get(name)
        try:
            if isinstance(value, int | float) and value > 0:
                found = Moment(int(value * (1_000 if value >= _MILLIS_FROM else 1_000_000)))
                found.iso()  # refuses what no calendar holds
                return found
            if isinstance(value, str) and value.strip():
                return Moment.parse(value.strip())
        except (ValueError, OverflowError):
            continue
    return None

"""A point in time, in UTC, to the microsecond. A value: it never reads the clock (clock.py does)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recollect.base.structs import Struct

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_SECONDS = 86_400
DAY_MICROS = DAY_SECONDS * 1_000_000


class Moment(Struct):
    micros: int

    def __lt__(self, other: Moment) -> bool:
        return self.micros < other.micros

    def __le__(self, other: Moment) -> bool:
        return self.micros <= other.micros

    @classmethod
    def of(cls, when: datetime) -> Moment:
        """An aware time, exactly; a naive one is taken as UTC."""
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return cls((aware - _EPOCH) // timedelta(microseconds=1))

    @classmethod
    def parse(cls, text: str) -> Moment:
        """ISO 8601, as `iso` prints it. Raises ValueError."""
        return cls.of(datetime.fromisoformat(text))

    def datetime(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.micros)

    def iso(self) -> str:
        return self.datetime().isoformat(timespec="microseconds").replace("+00:00", "Z")

    def stamp(self) -> str:
        """`20260201_083000`, as it stands in ids."""
        return self.datetime().strftime("%Y%m%d_%H%M%S")

    @classmethod
    def of_stamp(cls, stamp: str) -> Moment:
        """The begin of a stamp is enough: `20260201_0830`. Raises ValueError."""
        whole = stamp + "00000101_000000"[len(stamp) :]
        return cls.of(datetime.strptime(whole, "%Y%m%d_%H%M%S").replace(tzinfo=UTC))

    def plus(self, *, seconds: float = 0, days: float = 0) -> Moment:
        return Moment(self.micros + round((seconds + days * DAY_SECONDS) * 1_000_000))

    def days_since(self, earlier: Moment) -> float:
        """Never negative: a clock that was set back makes nothing younger than new."""
        return max(0, self.micros - earlier.micros) / DAY_MICROS

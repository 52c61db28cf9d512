"""Asking a store the way the product does, by words alone; and vectors small enough to read."""

from __future__ import annotations

import struct

from recollect.base.moment import Moment
from recollect.model.query import Hit, Query
from recollect.ops import asking
from recollect.store import Store
from tests.values import AGE, NOW


def search(store: Store, query: Query, *, now: Moment = NOW) -> list[Hit]:
    return list(asking.ask([store], query, now=now, rules=AGE).picked.hits)


def vector(*numbers: float) -> bytes:
    """As `put_vectors` and `nearest` take it: 32-bit floats."""
    return struct.pack(f"<{len(numbers)}f", *numbers)

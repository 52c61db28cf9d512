"""Once: an event that an agent tells us of in two ways is answered once.

An agent can call us by its settings and by a plugin; both calls run at the same moment, with the same event. The first
to come is answered, the other with nothing. Events can repeat (a turn that ends twice alike), so each way's are
counted: the second of one way is the second of the other, not a repetition of the first.

In memory alone. A way that lost a call (killed, too late) lags behind and stays silent: nothing is ever said twice, and
the other goes on speaking.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

_MOST_EVENTS = 5_000


class Once:
    def __init__(self) -> None:
        self._counts: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._guard = threading.Lock()

    def is_first(self, event: str, way: str) -> bool:
        """Whether no other way has told of this one yet. `event` is the same for the same event."""
        with self._guard:
            counts = self._counts.setdefault(event, {})
            self._counts.move_to_end(event)
            while len(self._counts) > _MOST_EVENTS:
                self._counts.popitem(last=False)
            counts[way] = counts.get(way, 0) + 1
            return all(count < counts[way] for other, count in counts.items() if other != way)

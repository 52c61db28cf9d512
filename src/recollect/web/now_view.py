"""Now: the rules of this project, what memory does at this moment, and, at first, the past sessions that it could
learn from."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

from starlette.responses import Response

from recollect.base.errors import RecollectError
from recollect.model.memory import Condition, RuleType
from recollect.model.result import Card
from recollect.web.pages import NOWHERE, Page, view

FEED_LINES = 30
_MAX_RULES = 100
_counted: dict[str, tuple[float, Counts]] = {}  # by project: until when it holds, and what was counted


class Counts(NamedTuple):  # of past sessions
    here: int = 0
    everywhere: int = 0


@view("/now", nav="Now")
def show(page: Page) -> Response:
    rules = page.op("rules", limit=_MAX_RULES).cards
    feed = page.op("activity", limit=FEED_LINES).items
    # What happened a moment before may be written a moment later.
    since = (feed[0].at if feed else page.app.clock.now()).plus(seconds=-10).iso()
    waiting = page.op("list", status=Condition.WAITING, limit=1).total
    past = count_past(page)
    if not past.here and (feed or len(page.site.projects()) > 2):  # those of other projects only at the very first
        past = Counts()
    return page.render(
        "now.html", rules=rules, max_rules=_MAX_RULES, feed=feed, since=since, waiting=waiting, past=past
    )  # fmt: skip


def count_past(page: Page) -> Counts:
    """Past sessions that could be imported here; none where some were."""
    until_s, found = _counted.get(page.project, (0.0, Counts()))
    if time.monotonic() > until_s and page.project != NOWHERE:
        with suppress(RecollectError):  # a folder that cannot be read: the page goes on without
            facts = page.op("import sessions", count=True).facts
            found = Counts() if facts["imported"] else Counts(facts["here"], facts["sessions"])
        _counted[page.project] = (time.monotonic() + 60.0, found)  # counting looks into every transcript there is
    return found


def forget_count(page: Page) -> None:
    _counted.pop(page.project, None)


def three_things(page: Page) -> list[Card]:
    """The most telling of what is known: rules, then lessons, then the threads that were active last."""
    rules = [card for card in page.op("rules", limit=_MAX_RULES).cards if card.scope is page.app.scope]
    rules = sorted(rules, key=lambda card: (card.memory.rule_type is RuleType.FAILURE, -card.memory.seen))
    return [*rules, *page.op("threads", limit=3).cards][:3]

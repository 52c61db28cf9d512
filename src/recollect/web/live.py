"""Server-sent events: what memory does while a page is open, and how far long work is. The log says that something was
done (a look at its size is all that waiting costs); `activity` says what."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from recollect.base.clock import SystemClock
from recollect.base.errors import RecollectError
from recollect.base.log import LogFollower
from recollect.base.paths import Home, home
from recollect.web import work
from recollect.web.pages import opened
from recollect.web.views import FEED_LINES

if TYPE_CHECKING:
    from recollect.web.site import Site

_POLL_S = 0.25
_SPACING_S = 0.5  # between two questions: work is logged in bursts
_SETTLE_S = 1.0  # some lines are logged just before what they tell of is written
_open: set[object] = set()

Events = AsyncIterator[dict[str, object]]  # an empty one only says that we are here


def streams(site: Site) -> list[Route]:
    kinds: dict[str, Callable[[Site, Request], Events]] = {
        "/live": _feed,
        "/work/{id}/live": _progress,
    }
    return [
        Route("/p/{project}" + path, partial(_answer, site, events))
        for path, events in kinds.items()
    ]


async def _answer(
    site: Site, events: Callable[[Site, Request], Events], request: Request
) -> Response:
    if len(_open) >= 20 or site.find(request.path_params["project"]) is None:
        return Response(status_code=204)  # which tells a browser not to try again
    return StreamingResponse(_write(events(site, request)), media_type="text/event-stream")


async def _write(events: Events) -> AsyncIterator[str]:
    _open.add(events)
    try:
        async for event in events:
            yield f"data: {json.dumps(event)}\n\n" if event else ": here\n\n"
    finally:
        _open.discard(events)


async def _feed(site: Site, request: Request) -> Events:
    """Each thing that happened since a time, as a line of the feed; the page leaves out those that it has."""
    since = request.query_params.get("since") or SystemClock().now().iso()
    follower, seen = LogFollower(Home(home()).logs), set[str]()
    asks, asked_s, beat_s = (
        [0.0],
        0.0,
        0.0,
    )  # the first time at once: something may have happened meanwhile
    while not site.is_ending():
        now_s = time.monotonic()
        if follower.read_new():
            asks = [max(now_s, asked_s + _SPACING_S), now_s + _SETTLE_S]
        if asks and now_s >= asks[0]:
            asks, asked_s = asks[1:], now_s
            for event in await run_in_threadpool(_new_lines, site, request, since, seen):
                yield event
        elif now_s >= beat_s:
            beat_s = now_s + 15.0  # so that a page that is gone is noticed
            yield {}
        await asyncio.sleep(_POLL_S)


def _new_lines(site: Site, request: Request, since: str, seen: set[str]) -> list[dict[str, object]]:
    """Oldest first. Where the store cannot be read just now, the next change brings it."""
    try:
        with opened(site, request) as page:
            found = page.op("activity", limit=FEED_LINES, since=since).items
            new = [one for one in reversed(found) if one.id not in seen]
            seen.update(one.id for one in new)
            return [{"id": one.id, "html": page.fill("feed_item.html", item=one)} for one in new]
    except RecollectError:
        return []


async def _progress(site: Site, request: Request) -> Events:
    found, before = work.find(request.path_params["project"], request.path_params["id"]), None
    while found is not None and not site.is_ending():
        now = {"done": found.done, "total": found.total, "said": found.said, "ended": found.is_over}
        if now != before:
            yield now
        if found.is_over:
            return
        before = now
        await asyncio.sleep(_POLL_S)

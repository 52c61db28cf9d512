"""Sessions: the list, and one session as a timeline, a few turns at a time."""

from __future__ import annotations

from starlette.responses import Response

from recollect.model.timeline import Sessions, Timeline
from recollect.render import session_blocks
from recollect.web.pages import Page, view

_SESSIONS, _TURNS = 50, 10


@view("/sessions", nav="Sessions")
def show(page: Page) -> Response:
    found: Sessions = page.op("sessions", limit=_SESSIONS, offset=page.number("offset") or 0)
    until = found.offset + len(found.sessions)
    newer = None if found.offset == 0 else max(0, found.offset - _SESSIONS)
    older = until if until < found.total else None
    return page.render("sessions.html", found=found, newer=newer, older=older, until=until, words=session_blocks)


@view("/sessions/{id:path}")
def show_one(page: Page) -> Response:
    found: Timeline = page.op("session", page.args["id"], turn=page.number("turn"), limit=_TURNS)
    shown = [turn.number for turn in found.turns if turn.number]
    first, last = (shown[0], shown[-1]) if shown else (0, 0)
    return page.render(
        "session.html", found=found, session=found.session, first=first, last=last, per_page=_TURNS,
        earlier=max(1, first - _TURNS) if first > 1 else None, later=last + 1 if last < found.all_turns else None,
        words=session_blocks,
    )  # fmt: skip

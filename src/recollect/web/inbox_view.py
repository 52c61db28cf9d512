"""Inbox: what waits for a decision, by the session that it was heard in, the latest first."""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import Response

from recollect.model.memory import Status
from recollect.model.result import Card
from recollect.web.pages import Page, view

_MOST = 200


class Waiting(NamedTuple):
    card: Card
    replaces: list[Card]  # the rules in force whose place it may take


@view("/inbox", nav="Inbox")
def show(page: Page) -> Response:
    sessions: dict[str, list[Waiting]] = {}
    for card in page.op("inbox list", limit=_MOST).cards:
        replaces = [page.op("show", id).card for id in card.replaces]
        sessions.setdefault(card.memory.group, []).append(Waiting(card, replaces))
    known = {one.id: one for one in page.op("sessions", limit=_MOST).sessions}
    notes = page.op("notes", status=Status.CANDIDATE, limit=_MOST).cards
    return page.render("inbox.html", sessions=sessions, known=known, notes=notes)

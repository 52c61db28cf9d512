"""Library."""

from __future__ import annotations

from starlette.responses import Response

from recollect.web.pages import Page, view


@view("/library", nav="Library")
def show(page: Page) -> Response:
    return page.render("soon.html", title="Library")

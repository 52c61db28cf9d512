"""Try a prompt."""

from __future__ import annotations

from starlette.responses import Response

from recollect.web.pages import Page, view


@view("/try", nav="Try a prompt")
def show(page: Page) -> Response:
    return page.render("soon.html", title="Try a prompt")

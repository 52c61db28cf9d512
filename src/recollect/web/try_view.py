"""Try a prompt: what an agent would be told now, what came near it, and the floor between the two."""

from __future__ import annotations

from starlette.responses import Response

from recollect.base.errors import RecollectError
from recollect.web.acts import SETTINGS
from recollect.web.pages import Page, view

[FLOOR] = SETTINGS


@view("/try", nav="Try a prompt")
def show(page: Page) -> Response:
    prompt, saved = page.query.get("prompt", "").strip(), page.app.settings.figure(FLOOR)
    try:
        floor = min(1.0, max(0.0, float(page.query["floor"])))
    except (KeyError, ValueError):
        floor = saved
    trial, problem = None, None
    if prompt:
        try:
            trial = page.ask("try", prompt=[prompt], floor=floor)
        except RecollectError as found:
            problem = found
    return page.render(
        "try.html", prompt=prompt, floor=floor, saved=saved, setting=FLOOR, trial=trial, problem=problem
    )  # fmt: skip

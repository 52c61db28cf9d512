"""Timeline and health: what happened day by day, how quick hooks are, what memory holds and costs, what is wrong."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import Response

from recollect.base.errors import RecollectError
from recollect.model.memory import Lane
from recollect.web.charts import days_chart, share_bar
from recollect.web.pages import Page, view
from recollect.web.words import SOURCES

_CHARTS = (("Prompts", "prompts", "answered"), ("Tokens added", "tokens", ""), ("Memories kept", "kept", ""))


@view("/health", nav="Health")
def show(page: Page) -> Response:
    figures = page.op("figures")
    days, names = figures.days, [day.day for day in figures.days]

    def values(of: str) -> list[int]:
        return [getattr(day, of) for day in days] if of else []

    charts = []
    for title, of, part in _CHARTS:
        drawn = days_chart(f"{title} by day", names, values(of), values(part))
        charts.append((title, of, max(values(of)), drawn))
    sources = {SOURCES.get(Lane(lane), lane): many for lane, many in figures.sources.items()}
    try:
        checks = page.ask("doctor")["checks"]  # the daemon holds the model, which is checked, too
    except RecollectError as problem:
        checks = [{"name": "doctor", "mark": "bad", "detail": problem.message, "repair": problem.hint}]
    return page.render(
        "health.html", figures=figures, charts=charts, sources=_bars(sources),
        kinds=_bars({f"{kind}s": many for kind, many in figures.kinds.items()}),
        checks=sorted(checks, key=lambda one: ("bad", "warn", "good").index(one["mark"])),
    )  # fmt: skip


def _bars(counts: dict[str, int]) -> list[tuple[str, int, Markup]]:
    """The largest first."""
    most = max(counts.values(), default=1)
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return [(name, many, share_bar(name, many, most)) for name, many in ordered]

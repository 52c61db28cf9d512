"""Every view, in the order of the bar at the top."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starlette.routing import Route

if TYPE_CHECKING:
    from recollect.web.site import Site

_VIEWS = ("now_view", "sessions_view", "inbox_view", "library_view", "try_view", "health_view", "work")


def load() -> None:
    for name in _VIEWS:
        import_module(f"recollect.web.{name}")


def streams(site: Site) -> list[Route]:
    """What goes on while a page is open: the live feed, and the progress of long work."""
    from recollect.web import live

    return live.streams(site)

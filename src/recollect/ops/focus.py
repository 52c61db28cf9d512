"""What the work is about just now. The state is in the project's database; `.ai/focus.json` shows it and is never
read back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from recollect.base.errors import StoreError
from recollect.base.moment import Moment
from recollect.model.codec import Json
from recollect.ops.app import App
from recollect.ops.here import scope_here, show_view
from recollect.recall.weigh import Focus

_STATE = "focus"
_MOST = 50


def focused(app: App) -> tuple[Focus, ...]:
    """Nothing where nothing is set, or where what is kept cannot be read: a recall goes on without."""
    scope = scope_here(app)
    if app.store_path(scope) is None:
        return ()
    try:
        return _decoded(app.reading(scope).sessions.state(_STATE))
    except StoreError:
        return ()


def keep_focus(app: App, points: Sequence[Focus]) -> None:
    """What is in focus from now on; nothing for all."""
    points = tuple(points)[-_MOST:]
    shown: dict[str, Json] = {
        "active_focus": [dict(point) for point in as_listed(points)],
        "last_updated": app.clock.now().iso(),
    }
    app.writing(scope_here(app)).sessions.put_state(_STATE, json.dumps(shown, ensure_ascii=False))
    show_view(app, "focus.json", shown)


def as_listed(points: Sequence[Focus]) -> tuple[Mapping[str, Json], ...]:
    return tuple({"topic": p.topic, "weight": p.weight, "set_at": p.set_at.iso()} for p in points)


def _decoded(kept: str | None) -> tuple[Focus, ...]:
    try:
        points = json.loads(kept or "{}").get("active_focus", [])
        return tuple(
            Focus(str(point["topic"]), min(1.0, max(0.0, float(point["weight"]))), Moment.parse(point["set_at"]))
            for point in points[:_MOST]
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return ()

"""The heartbeat of a project. The state is in its database (the user's, where there is no project);
`.ai/heartbeat.json` shows it and is never read back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.lifecycle import heartbeat as heart
from recollect.model.heartbeat import Heartbeat
from recollect.model.result import Told
from recollect.ops.app import App
from recollect.ops.here import scope_here, show_view

if TYPE_CHECKING:
    from recollect.store import Sessions

_STATE = "heartbeat"


def heartbeat(app: App) -> Told:
    """What `heartbeat` shows: as it stands now, nothing written."""
    now = look(app)
    since = f"{now.since_last} since anyone last spoke: {now.meaning}"
    return Told(
        f"Beat {now.beat}, {since}.",
        {**heart.as_json(now), "since_last": now.since_last, "meaning": now.meaning},
    )


def look(app: App) -> Heartbeat:
    at = app.clock.now()
    return kept(app) or heart.begun(at)


def kept(app: App) -> Heartbeat | None:
    """As it stands now; None where nobody ever spoke."""
    if app.store_path(scope_here(app)) is None:
        return None
    found = _kept(app.reading(scope_here(app)).sessions)
    return heart.ticked(found, app.clock.now()) if found else None


def tick(app: App) -> None:
    """For the daemon, now and then. Where nothing is kept yet, nothing is begun."""
    if app.store_path(scope_here(app)) is None:
        return
    store = app.writing(scope_here(app))
    before = _kept(store.sessions)
    if before is None:
        return
    with store.together():
        now = heart.ticked(_kept(store.sessions) or before, app.clock.now())
        store.sessions.put_state(_STATE, json.dumps(heart.as_json(now)))
    show_view(app, "heartbeat.json", heart.as_json(now))


def interact(app: App) -> Heartbeat:
    """Someone spoke. Returns the heartbeat as it was just before, which is what an agent is told."""
    at = app.clock.now()
    store = app.writing(scope_here(app))
    with store.together():
        before = heart.ticked(_kept(store.sessions) or heart.begun(at), at)
        after = heart.interacted(before, at)
        store.sessions.put_state(_STATE, json.dumps(heart.as_json(after)))
    return before


def spoke_at(app: App, at: Moment) -> None:
    """Someone spoke a while ago, and no hook could say so then."""
    store = app.writing(scope_here(app))
    now = heart.ticked(_kept(store.sessions) or heart.begun(at), app.clock.now())
    if now.last_interaction_at < at <= now.last_beat_at or not now.beat:
        store.sessions.put_state(_STATE, json.dumps(heart.as_json(heart.interacted(now, at))))


def show(app: App) -> None:
    """As it stands, for who looks into the project's folder."""
    now = kept(app)
    if now is not None:
        show_view(app, "heartbeat.json", heart.as_json(now))


def _kept(sessions: Sessions) -> Heartbeat | None:
    try:
        return heart.from_json(json.loads(sessions.state(_STATE) or "null"))
    except (ValueError, RecursionError):
        return None

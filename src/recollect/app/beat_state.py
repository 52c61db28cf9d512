"""The heartbeat of a project. The state is in its database (the user's, where there is no project);
`.ai/heartbeat.json` shows it and is never read back."""

from __future__ import annotations

from recollect.app.core import App
from recollect.app.states import HEARTBEAT, write_project_view
from recollect.base.moment import Moment
from recollect.lifecycle import timing as heart
from recollect.model.codec import encode
from recollect.model.result import Summary
from recollect.model.session import Heartbeat


def heartbeat(app: App) -> Summary:
    """What `heartbeat` shows. Writes nothing."""
    now = current(app)
    since = f"{now.since_last} since anyone last spoke: {now.meaning}"
    return Summary(f"Beat {now.beat}, {since}.", {**encode(now), "since_last": now.since_last, "meaning": now.meaning})


def current(app: App) -> Heartbeat:
    return load(app) or heart.new_heartbeat(app.clock.now())


def load(app: App) -> Heartbeat | None:
    """The heartbeat now; None if nobody ever spoke."""
    if app.store_path(app.scope) is None:
        return None
    found = HEARTBEAT.find(app.reader(app.scope))
    return heart.tick(found, app.clock.now()) if found else None


def tick(app: App, _memo: object = None) -> bool:
    """Job: counts the beats that passed. Where nobody ever spoke, nothing is begun."""
    if app.store_path(app.scope) is None:
        return False
    store = app.writer(app.scope)
    with store.transaction():
        before = HEARTBEAT.find(store)
        if before is not None:
            HEARTBEAT.write(store, heart.tick(before, app.clock.now()))
    write_view(app)
    return False


def record_interaction(app: App) -> Heartbeat:
    """Someone spoke. Returns the heartbeat as it was just before, which is what an agent is told."""
    at = app.clock.now()
    store = app.writer(app.scope)
    with store.transaction():
        before = heart.tick(HEARTBEAT.find(store) or heart.new_heartbeat(at), at)
        HEARTBEAT.write(store, heart.record_interaction(before, at))
    return before


def record_late_interaction(app: App, at: Moment) -> None:
    """Someone spoke a while ago, when no hook could tell us."""
    store = app.writer(app.scope)
    now = heart.tick(HEARTBEAT.find(store) or heart.new_heartbeat(at), app.clock.now())
    if now.last_interaction_at < at <= now.last_beat_at or not now.beat:
        HEARTBEAT.write(store, heart.record_interaction(now, at))


def write_view(app: App) -> None:
    """Show it in the project's folder."""
    now = load(app)
    if now is not None:
        write_project_view(app, "heartbeat.json", encode(now))

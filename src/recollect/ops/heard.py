"""Taker: prompts that no hook could look at when they came (no daemon, no time left) are captured from the transcript.

A prompt is seen twice, by its hook and in the transcript, and either may come first: a daemon can be held up. Whoever
comes first claims the prompt and captures it, in one transaction; the other finds the claim and settles it. Prompts are
known by their session and a check sum; their words are kept nowhere.
"""

from __future__ import annotations

import json

from recollect.base.errors import RecollectError
from recollect.base.moment import Moment
from recollect.model.act import Act, Sitting, Speaker
from recollect.ops import acts, capture, heartbeat, notices, sessions
from recollect.ops.app import App
from recollect.ops.digest import Writes
from recollect.ops.here import scope_here
from recollect.wire.pointer import checksum

_NAME = "heard"
_MAX_CLAIMS = 500
_NEWS_S = 86_400.0
_COMPARED_CHARS = 2_000


def claim(app: App, session: str, text: str) -> bool:
    """For a hook: whether the prompt is still to be captured. To be called in the transaction that captures it."""
    return _claim(app, _key(session, acts.clean(app, text)), 1)


def take(app: App, sitting: Sitting) -> Writes | None:
    found = [act for act in sitting.new if act.speaker is Speaker.PERSON and not act.agent and not sitting.agent]
    if not found:
        return None
    claims = _read(app.reading(scope_here(app)).sessions.state(_NAME))
    # Looking at a prompt takes long; those whose hook has claimed it need no look.
    looked = [(act, None if _is_claimed(claims, sitting, act) else capture.read(app, act.text)) for act in found]

    def write() -> None:
        for act, draft in looked:
            if not _claim(app, _key(sitting.session, act.text), -1, is_past=sitting.past):
                continue
            if not sitting.past:
                sessions.spoke(app, sitting.session, sitting.host, act.at)
                heartbeat.spoke_at(app, act.at)
            try:
                notice = capture.settled(
                    app, draft or capture.read(app, act.text), session=sitting.session, at=act.at, refuses=act.refuses
                )
            except RecollectError as problem:
                app.log.line("not-kept", of="capture", session=sitting.session, problem=problem.message)
                continue
            if notice and not sitting.past and _is_recent(act.at, app.clock.now()):
                notices.leave(app, notice)

    return write


def _is_recent(said_at: Moment, now: Moment) -> bool:
    """An old session that is resumed is read from its beginning: what was said in it long ago is no news."""
    return abs(now.micros - said_at.micros) < _NEWS_S * 1_000_000


def _is_claimed(claims: dict[str, int], sitting: Sitting, act: Act) -> bool:
    return claims.get(_key(sitting.session, act.text), 0) > 0


def _claim(app: App, key: str, side: int, *, is_past: bool = False) -> bool:
    """`side`: 1 for a hook, -1 for a transcript. Each adds its own; what the other has added before is settled by it.
    Of past sessions no hook will come any more, so nothing is left for one."""
    store = app.writing(scope_here(app))  # not `reading`: it sees what this transaction claimed before
    claims = _read(store.sessions.state(_NAME))
    before = claims.pop(key, 0)
    if before + side and not (is_past and before + side < 0):
        claims[key] = before + side
    while len(claims) > _MAX_CLAIMS:
        del claims[next(iter(claims))]
    store.sessions.put_state(_NAME, json.dumps(claims))
    return before * side >= 0


def mark(text: str) -> str:
    """A check sum of a prompt, however it is spaced."""
    return checksum(" ".join(text.split())[:_COMPARED_CHARS])


def _key(session: str, text: str) -> str:
    return f"{session} {mark(text)}"


def _read(state: str | None) -> dict[str, int]:
    try:
        kept = json.loads(state or "{}")
    except ValueError:
        return {}
    return {key: count for key, count in kept.items() if isinstance(count, int)} if isinstance(kept, dict) else {}

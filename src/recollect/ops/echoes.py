"""What a session was told from memory: what it says in these words is an echo, and not taken in again."""

from __future__ import annotations

from recollect.model.ledger import Talker, Way, memory_of
from recollect.model.memory import Kind, Status
from recollect.model.query import Query
from recollect.ops.app import App

_MOST = 60
_HEADLINES = 5


def told(app: App, session: str) -> list[str]:
    """Since it last lost what it was shown, and before; and the headlines that sessions begin with, unless they are its
    own."""
    texts: list[str] = []
    for _, store in app.scopes():
        known = store.sessions.session(session)
        epochs = range(max(0, known.epoch - 1), known.epoch + 1) if known is not None else ()
        shown = {
            memory_of(mark) for epoch in epochs for mark in store.sessions.shown(Talker(session, "", epoch), Way.TOLD)
        }
        memories = [memory for id in sorted(shown, reverse=True)[:_MOST] if (memory := store.exact(id)) is not None]
        latest = store.find(Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=_HEADLINES))
        memories += [memory for memory in latest if memory.group != session and memory.id not in shown]
        texts += [f"{memory.title}\n{memory.body}" for memory in memories]
    return texts

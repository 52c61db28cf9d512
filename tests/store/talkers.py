"""Who talks, in tests of sessions."""

from __future__ import annotations

from dataclasses import replace

from recollect.model.ledger import Pointer, Talker
from recollect.model.session import Session
from tests.values import NOW

ME = Talker("s-1")


def session(id: str = "s-1", **given: int) -> Session:
    return Session(id=id, host="claude-code", started_at=NOW, **given)


def pointer(**given: object) -> Pointer:
    return replace(Pointer(name="turn-ended", host="claude-code", session="s-1", at=NOW), **given)  # type: ignore[arg-type]

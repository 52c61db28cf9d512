"""How far each transcript was read, and which acts were taken in from it. Both are kept in the same transaction as
what was made of them, so that a process can be killed at any moment and nothing is lost or taken in twice.

A cursor says where to read on. An act is also known by itself, by a check sum of 64 bits: sessions that were forked
or resumed repeat older lines in new files, and may give them another id and another session's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from recollect.agents import DEFAULT_HOST, Cursor
from recollect.base.moment import Moment
from recollect.model.act import Act

if TYPE_CHECKING:
    from recollect.store import Store

_PREFIX = "cursor:"
_COMPARED_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A transcript that is read while it is written."""

    path: str
    session: str
    host: str = DEFAULT_HOST
    agent: str = ""
    """The subagent whose transcript it is: its end ends no session."""
    cwd: str = ""
    cursor: Cursor = field(default_factory=Cursor)
    ended: bool = False
    """Its session is over."""
    read_at: Moment = field(default_factory=lambda: Moment(0))


def load(store: Store) -> list[Followed]:
    """The one that was read last comes last."""
    found = (_decode(value) for value in store.sessions.states(_PREFIX).values())
    return sorted((one for one in found if one is not None), key=lambda one: one.read_at)


def find(store: Store, path: str) -> Followed | None:
    return _decode(store.sessions.state(state_name(_PREFIX, path)) or "")


def put(store: Store, one: Followed) -> None:
    kept = [one.path, one.session, one.host, one.agent, one.cwd, one.cursor.offset, one.cursor.mark, one.ended]
    store.sessions.put_state(state_name(_PREFIX, one.path), json.dumps([*kept, one.read_at.micros]))


def drop(store: Store, path: str) -> None:
    store.sessions.drop_state(state_name(_PREFIX, path))


def state_name(prefix: str, path: str) -> str:
    return prefix + blake2b(path.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _decode(value: str) -> Followed | None:
    try:
        path, session, host, agent, cwd, offset, mark, ended, read_at = json.loads(value)
        cursor = Cursor(int(offset), str(mark))
        return Followed(
            path=str(path), session=str(session), host=str(host), agent=str(agent), cwd=str(cwd), cursor=cursor,
            ended=bool(ended), read_at=Moment(int(read_at)),
        )  # fmt: skip
    except (ValueError, TypeError):
        return None


# Acts


def act_key(act: Act) -> int:
    """The same for a copy in another file."""
    # Without its time, two that say the same are told apart by their lines.
    which = act.id if act.doing or act.at.micros <= 0 else ""
    said = f"{act.at.micros} {act.speaker} {which} {'' if act.doing else act.text[:_COMPARED_CHARS]}"
    return int.from_bytes(blake2b(said.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True)


def unknown_acts(store: Store, acts: Iterable[Act]) -> dict[int, Act]:
    """Those that were not taken in yet, or by an import that was undone."""
    by_key = {act_key(act): act for act in acts}
    taken = store.sessions.taken_acts(list(by_key))
    undone = {change for change in set(taken.values()) if is_undone(store, change)}
    return {key: act for key, act in by_key.items() if taken.get(key) is None or taken[key] in undone}


def is_undone(store: Store, change: str) -> bool:
    found = store.log(limit=1, change=change) if change else []
    return bool(found and found[0].undone_by)

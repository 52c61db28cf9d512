"""A clock that jumped: what the home and its databases hold is of another time than now.

The clock itself is the machine's and stays. All that a clock leaves behind is dated anew instead: the times of every
file, the heartbeat, sessions, received events, pointers in the spool and what a killed hook left there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from recollect.base.clock import SystemClock
from recollect.base.moment import Moment
from recollect.bench.fault import Arrange, Call, plain
from recollect.bench.house import PROMPT, House, payload
from recollect.lifecycle import heartbeat as heart
from recollect.model.ledger import Pointer
from recollect.model.session import Session
from recollect.store import SqliteStore, Tuning
from recollect.wire import pointer

YEARS_DAYS = 3_650.0


def jumped(days: float) -> Arrange:
    """Everything is of so many days from now."""

    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        house.start()
        house.stop()
        at = SystemClock().now().plus(days=days)
        _date_store(house, at)
        _date_spool(house, at)
        for folder in (house.home.root, Path(house.place.runtime)):
            _date_files(folder, at)
        yield plain(house)

    return arranged


def _date_store(house: House, at: Moment) -> None:
    beat = heart.as_json(replace(heart.begun(at), beat=7, last_interaction_beat=7))
    store = SqliteStore(house.store, Tuning())
    try:
        store.sessions.put_state("heartbeat", json.dumps(beat))
        store.sessions.put_session(Session(id="dated", host="claude-code", started_at=at, number=1), at=at)
        store.sessions.receive(Pointer(name="prompt", host="claude-code", session="dated", at=at))
    finally:
        store.close()


def _date_spool(house: House, at: Moment) -> None:
    said = payload(house, PROMPT, "dated", 0, transcript_path=f"{house.root}/dated.jsonl")
    header = {"event": PROMPT, "host": "claude-code", "cwd": house.project}
    left = Path(pointer.leave(house.place, pointer.make(header, said)))
    left.with_name("cut").write_bytes(left.read_bytes()[:-9])


def _date_files(folder: Path, at: Moment) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):  # what is inside a folder first
        os.utime(path, ns=(at.micros * 1_000, at.micros * 1_000), follow_symlinks=False)

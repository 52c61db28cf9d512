"""Faults around the program: a hook that is killed while it spools, a stranger at the socket, a clock that jumped.

The clock itself is the machine's and stays. All that a clock leaves behind is dated anew instead: the times of every
file, the heartbeat, sessions, received events, pointers in the spool and what a killed hook left there.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from bench.fault import Arrange, Call, Unable, plain, prompt
from bench.house import PROMPT, House, payload
from recollect.base.clock import SystemClock
from recollect.base.moment import Moment
from recollect.model.codec import encode
from recollect.model.session import Heartbeat, Pointer, Session, StateRecord
from recollect.store import SqliteStore, Tuning
from recollect.wire import frame, pointer, stub
from recollect.wire.place import make_private

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
    beat = encode(replace(Heartbeat.begin(at), beat=7, last_interaction_beat=7))
    store = SqliteStore(house.store, Tuning())
    try:
        store.put(StateRecord("heartbeat", json.dumps(beat)))
        store.put(Session(id="dated", host="claude-code", started_at=at, last_at=at, number=1))
        store.put(Pointer(name="prompt", host="claude-code", session="dated", at=at))
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


_LONGEST_BEFORE_KILL_S = 0.15
_NOBODY = 65_534
IMPOSTOR = b"from a stranger"  # no JSON, so that it would count as malformed


@contextmanager
def spooler_killed(house: House) -> Iterator[Call]:
    """Before each run another hook, which finds no daemon, is killed at some instant: before it leaves its pointer, in
    the midst of it, or after. The next one must not mind, and no half of a pointer may ever count."""
    chance = random.Random(1)

    def before(number: int) -> None:
        house.kill()
        _killed(house, prompt(house, -1 - number), chance.uniform(0, _LONGEST_BEFORE_KILL_S))

    yield replace(plain(house), before=before)


def _killed(house: House, body: bytes, after_s: float) -> None:
    command = [stub.script_path(str(house.home.root)), PROMPT]
    with (
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=house.environ,
            cwd=house.project,
            start_new_session=True,  # the script and its Python are killed together, the daemon that they began is not
        ) as process
    ):
        with suppress(BrokenPipeError):
            _say(process, body)
        time.sleep(after_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _say(process: subprocess.Popen[bytes], body: bytes) -> None:
    if process.stdin is not None:
        process.stdin.write(body)
        process.stdin.close()


@contextmanager
def stranger_at_the_socket(house: House) -> Iterator[Call]:
    """The runtime folder and the socket in it are another user's, who answers. Nothing of that may be printed."""
    if os.geteuid() != 0:
        raise Unable("only root can give a folder away")
    runtime, path = Path(house.place.runtime), Path(house.place.socket)
    make_private(str(runtime))
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        for given_away in (path, runtime):
            os.chown(given_away, _NOBODY, _NOBODY)
        thread = threading.Thread(target=_answer_all, args=(listener,), daemon=True)
        thread.start()
        try:
            yield plain(house)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            os.chown(runtime, os.geteuid(), os.getegid())
            path.unlink()


def _answer_all(listener: socket.socket) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line, suppress(OSError):
            line.recv(65_536)
            line.sendall(frame.encode_reply(frame.OK, IMPOSTOR))

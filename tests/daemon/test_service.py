"""Hooks through a real daemon: what is remembered reaches the agent, and nothing that goes wrong ends the daemon."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.settings import load
from recollect.model.result import Scope
from recollect.ops import memories
from recollect.store import Store
from recollect.wire import frame, pointer
from recollect.wire.place import connect
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, soon
from tests.wire.conftest import leave

pytestmark = [pytest.mark.skipif(not LINUX, reason="looks at processes in /proc"), FORKS]


class Session:
    """An agent at work in a project."""

    def __init__(self, house: House, project: Path, id: str = "s1") -> None:
        project.mkdir(exist_ok=True)
        self.house = house
        self.project = project
        self.id = id

    def payload(self, event: str, **fields: Any) -> bytes:
        shared = {"session_id": self.id, "cwd": str(self.project), "hook_event_name": event, "transcript_path": ""}
        return json.dumps(shared | fields).encode()

    def header(self, event: str) -> dict[str, str]:
        return {
            "op": "hook", "host": "claude-code", "event": event, "cwd": str(self.project),
            "deadline_ms": str(PATIENCE_S * 1_000), "env-CLAUDE_PROJECT_DIR": str(self.project),
        }  # fmt: skip

    def hook(self, event: str, *, body: bytes | None = None, confirm: bool = True, **fields: Any) -> tuple[str, bytes]:
        """As the hook process would: sends, takes, confirms."""
        line = socket.socket(fileno=connect(self.house.place, PATIENCE_S).detach())
        line.settimeout(PATIENCE_S)
        with line:
            request = self.payload(event, **fields) if body is None else body
            line.sendall(frame.encode_request(self.header(event), request))
            kind, printed = frame.read_reply(line.recv)
            if confirm and kind in (frame.OK, frame.UNKEPT):
                line.sendall(frame.SHOWN)
        return kind, printed

    def app(self) -> App:
        home = self.house.home
        found = projects.find(self.project, Path.home())
        return App(home=home, project=found, settings=load(home.conf, None, {}), clock=SystemClock())

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The project's, to read."""
        with closing(self.app()) as app:
            yield app.reader(Scope.PROJECT)

    def pin(self, text: str) -> str:
        """The id of what was pinned."""
        with closing(self.app()) as app:
            return memories.pin(app, text).plan.touched()[0]

    def store_path(self) -> Path:
        with closing(self.app()) as app:
            path = app.store_path(Scope.PROJECT)
        assert path
        return path

    def received(self) -> list[str]:
        with self.store() as store:
            return [pointer.name for _, pointer in store.events()]


@pytest.fixture
def session(shared: House, tmp_path: Path) -> Session:
    """In a project of its own, with a daemon that others use too."""
    return Session(shared, tmp_path / "shop")


@pytest.fixture
def alone(house: House, tmp_path: Path) -> Session:
    """With a daemon of its own, which is not started yet."""
    return Session(house, tmp_path / "shop")


def wait_for_confirmed(session: Session, count: int) -> None:
    """What was shown is written after its answer was confirmed; a prompt that comes in between sees the old state."""
    assert soon(lambda: session.house.status()["answered"] == count)


def test_a_prompt_brings_a_memory_until_it_was_seen_once(session: Session):
    session.pin("Deploys go through staging first")
    confirmed = session.house.status()["answered"]
    for is_printed, is_brought in ((False, True), (True, True), (True, False)):
        kind, printed = session.hook("UserPromptSubmit", prompt="how do we deploy to staging?", confirm=is_printed)
        assert (kind, b"Deploys go through staging first" in printed) == ("ok", is_brought)
        confirmed += is_printed
        wait_for_confirmed(session, confirmed)


def test_what_hooks_left_in_the_spool_is_taken_in_once_and_nonsense_holds_nobody_up(alone: Session):
    assert leave(alone.house.place, {"event": "Stop"})
    assert leave(alone.house.place, {"host": "nobody", "event": [], "session": 3})
    header = {"host": "claude-code", "event": "Stop", "cwd": str(alone.project)}
    for number in range(25):
        for _ in range(2):  # the same event, twice
            assert leave(alone.house.place, pointer.make(header, alone.payload("Stop", prompt_id=f"p{number}")))
    alone.house.start()

    assert soon(lambda: alone.house.status()["spooled"] == 0)
    assert alone.received() == ["turn-ended"] * 25
    assert alone.house.status()["unanswered"] >= 25


def test_while_another_process_holds_the_database_a_prompt_is_answered_and_an_event_is_busy(session: Session):
    session.pin("Deploys go through staging first")
    session.hook("SessionStart", source="startup", confirm=False)  # what it told does not count as shown
    other = apsw.Connection(str(session.store_path()))
    other.set_busy_timeout(PATIENCE_S * 1_000)  # the daemon may be giving vectors just now
    other.execute("BEGIN IMMEDIATE")
    try:
        began_s = time.monotonic()
        busy = session.house.status()["busy"]
        assert session.hook("Stop") == ("busy", b"")
        assert session.house.status()["busy"] == busy + 1
        assert time.monotonic() - began_s < PATIENCE_S / 2, "it does not wait until its time is up"
        kind, printed = session.hook("UserPromptSubmit", prompt="how do we deploy to staging?")
        assert (kind, b"staging" in printed) == ("unkept", True)
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert session.hook("Stop") == ("ok", b"")


def test_a_damaged_database_ends_no_daemon(session: Session):
    session.pin("Deploys go through staging first")
    session.store_path().write_bytes(b"this is no database" * 1_000)
    session.hook("UserPromptSubmit", prompt="how do we deploy?")
    kind, _ = session.hook("UserPromptSubmit", prompt="how do we deploy?")
    assert kind == "ok", "it was set aside, and a new one begun"


def test_a_project_that_is_deleted_under_it_ends_no_daemon(session: Session):
    session.pin("Deploys go through staging first")
    session.hook("SessionStart", source="startup")
    shutil.rmtree(session.project)
    for _ in range(3):
        assert session.hook("UserPromptSubmit", prompt="still there?")[0] in ("ok", "error")


BROKEN = [
    b"", b"{", b"null", b"[]", b"\xff\xfe", b"{}", b'{"session_id": 3}', b"[" * 100_000, b"\0" * 10_000,
    b'{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": ' + b'"x"' * 3,
]  # fmt: skip


def test_whatever_is_sent_there_is_an_answer_and_the_daemon_lives(session: Session):
    session.pin("Deploys go through staging first")
    failed = session.house.status()["failed"]
    for event in ("UserPromptSubmit", "Nonsense", ""):
        for body in BROKEN:
            assert session.hook(event, body=body)[0] in ("ok", "error")
    assert session.hook("UserPromptSubmit", prompt="how do we deploy to staging? " * 40_000)[0] == "ok"
    assert session.house.status()["failed"] == failed, session.house.log()


def test_operations_can_be_asked_for_by_name(session: Session):
    session.pin("Deploys go through staging first")

    def ask(op: str, **values: object) -> tuple[str, Any]:
        question = json.dumps({"op": op, "values": values}).encode()
        kind, body = session.house.ask("ask", question, cwd=str(session.project), deadline_ms=str(PATIENCE_S * 1_000))
        return kind, json.loads(body)

    kind, answer = ask("recall", query=["staging"])
    assert kind == "ok"
    assert "Deploys go through staging first" in json.dumps(answer)
    kind, answer = ask("show", id="thread_19990101_000000_000000")
    assert (kind, answer["error"]["exit_code"]) == ("error", 3)
    assert ask("forget", name="x")[0] == "error"
    assert ask("verify")[1]["clean"] is True
    kind, answer = ask("compact")  # which takes long, and waits for the model
    assert (kind, answer["before"]["active_threads"]) == ("ok", 1)


def test_thousands_of_events_of_many_sessions_leave_memory_and_descriptors_as_they_were(alone: Session):
    alone.pin("Deploys go through staging first")
    alone.house.start()
    assert soon(lambda: alone.house.status()["model"] == "ready")
    failures: list[object] = []
    busy: list[object] = []  # their hooks leave them in the spool

    def work(number: int, events: int) -> None:
        own = Session(alone.house, alone.project, f"s{number}")
        for step in range(events):
            if step % 10:
                told = own.hook("Stop", prompt_id=f"p{step}")
            else:
                told = own.hook("UserPromptSubmit", prompt=f"step {step}: how do we deploy to staging?")
            if told[0] != "ok":
                (busy if told[0] == "busy" else failures).append(told)

    def all_at_once(events: int) -> None:
        threads = [threading.Thread(target=work, args=(number, events)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    all_at_once(50)
    before = alone.house.status()
    all_at_once(100)
    after = alone.house.status()

    assert failures == []
    assert after["failed"] == after["late"] == after["broken"] == 0, alone.house.log()[-2000:]
    assert after["busy"] == len(busy)
    assert after["requests"] - before["requests"] >= 800
    assert after["memory_mb"] - before["memory_mb"] < 10
    assert after["descriptors"] < 40
    assert soon(lambda: alone.house.status()["connections"] == 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_home_that_can_no_longer_be_written_ends_it(house: House):
    pid = house.start()
    house.home.root.chmod(0o500)
    try:
        assert soon(lambda: pid not in house.alive())
    finally:
        house.home.root.chmod(0o700)

"""Hooks through a real daemon: what is remembered reaches the agent, nothing that goes wrong ends the daemon, and a
language model is in nobody's way and gone when the daemon is."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.settings import load
from recollect.model.memory import Kind, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.ops import memories
from recollect.store import LocalStore
from recollect.wire import frame, pointer, stub
from recollect.wire.place import connect
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, soon
from tests.llm.standin import StandIn
from tests.llm.test_program import alive, written
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
        shared = {
            "session_id": self.id,
            "cwd": str(self.project),
            "hook_event_name": event,
            "transcript_path": "",
        }
        return json.dumps(shared | fields).encode()

    def header(self, event: str) -> dict[str, str]:
        return {
            "op": "hook", "host": "claude-code", "event": event, "cwd": str(self.project),
            "deadline_ms": str(PATIENCE_S * 1_000), "env-CLAUDE_PROJECT_DIR": str(self.project),
        }  # fmt: skip

    def hook(
        self,
        event: str,
        *,
        body: bytes | None = None,
        confirm: bool = True,
        pointer: str = "",
        **fields: Any,
    ) -> tuple[str, bytes]:
        """As the hook process would: sends, takes, confirms."""
        line = socket.socket(fileno=connect(self.house.place, PATIENCE_S).detach())
        line.settimeout(PATIENCE_S)
        with line:
            request = self.payload(event, **fields) if body is None else body
            line.sendall(frame.encode_request(self.header(event) | {"pointer": pointer}, request))
            kind, printed = frame.read_reply(line.recv)
            if confirm and kind in (frame.OK, frame.UNKEPT):
                line.sendall(frame.SHOWN)
        return kind, printed

    def app(self) -> App:
        home = self.house.home
        found = projects.find(self.project, Path.home())
        return App(
            home=home, project=found, settings=load(home.conf, None, {}), clock=SystemClock()
        )

    @contextmanager
    def store(self) -> Iterator[LocalStore]:
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


def test_a_prompt_brings_a_memory_until_it_was_seen_once(session: Session):
    session.pin("Deploys go through staging first")
    confirmed = session.house.status()["answered"]
    for is_printed, is_brought in ((False, True), (True, True), (True, False)):
        kind, printed = session.hook(
            "UserPromptSubmit", prompt="how do we deploy to staging?", confirm=is_printed
        )
        assert (kind, b"Deploys go through staging first" in printed) == ("ok", is_brought)
        confirmed += is_printed
        # What was shown is written after its answer was confirmed; a prompt that comes in between sees the old state.
        assert soon(lambda: session.house.status()["answered"] == confirmed)  # noqa: B023 - asked at once


FIRST = """
import os, sys, time
from pathlib import Path
from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.daemon import service, startup
from recollect.daemon.apps import Apps, Model

def send(said):
    print(said.decode(), *sys.modules, flush=True)
    os._exit(0)

home, project, body = sys.argv[1:]
apps = Apps(Home(Path(home)), Path.home(), SystemClock(), Model())
until_s = time.monotonic() + 60
service.Hooks(apps.app, home).answer("", "UserPromptSubmit", body.encode(), {}, project, until_s, send=send)
"""


def test_a_first_prompt_is_answered_before_anything_is_loaded_that_it_can_do_without(
    alone: Session,
):
    alone.pin("Deploys go to the blue cluster first.")
    body = alone.payload("UserPromptSubmit", prompt="Where do deploys go, to which cluster?")
    place = (str(alone.house.home.root), str(alone.project))
    done = subprocess.run(
        [sys.executable, "-Ic", FIRST, *place, body], capture_output=True, text=True, timeout=60
    )
    heavy = "dataclasses inspect numpy pkgutil re2 recollect.capture recollect.ops.recall recollect.redact subprocess"
    assert "blue cluster" in done.stdout, done.stderr
    assert not set(done.stdout.split()) & set(heavy.split())


def test_a_prompt_s_pointer_goes_once_the_event_is_written(session: Session):
    """Its process lives, so nothing else would remove it."""
    path = leave(
        session.house.place, pointer.make(session.header("UserPromptSubmit"), session.payload(""))
    )
    assert (
        session.hook("UserPromptSubmit", prompt="hello there", pointer=os.path.basename(path))[0]
        == "ok"
    )
    assert soon(lambda: not os.path.exists(path))
    assert session.received() == ["prompt"]


def test_what_hooks_left_in_the_spool_is_taken_in_once_and_nonsense_holds_nobody_up(alone: Session):
    assert leave(alone.house.place, {"event": "Stop"})
    assert leave(alone.house.place, {"host": "nobody", "event": [], "session": 3})
    header = {"host": "claude-code", "event": "Stop", "cwd": str(alone.project)}
    for number in range(25):
        for _ in range(2):  # the same event, twice
            assert leave(
                alone.house.place,
                pointer.make(header, alone.payload("Stop", prompt_id=f"p{number}")),
            )
    alone.house.start()

    assert soon(lambda: alone.house.status()["spooled"] == 0)
    assert alone.received() == ["turn-ended"] * 25
    assert alone.house.status()["unanswered"] >= 25


def test_while_another_process_holds_the_database_a_prompt_is_answered_and_an_event_is_busy(
    session: Session,
):
    session.pin("Deploys go through staging first")
    session.hook(
        "SessionStart", source="startup", confirm=False
    )  # what it told does not count as shown
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


def test_a_damaged_database_and_a_project_that_is_deleted_under_it_end_no_daemon(session: Session):
    session.pin("Deploys go through staging first")
    session.store_path().write_bytes(b"this is no database" * 1_000)
    session.hook("UserPromptSubmit", prompt="how do we deploy?")
    kind, _ = session.hook("UserPromptSubmit", prompt="how do we deploy?")
    assert kind == "ok", "it was set aside, and a new one begun"

    def is_deleted() -> bool:
        shutil.rmtree(
            session.project, ignore_errors=True
        )  # what follows an answer may still be written there
        return not session.project.exists()

    assert soon(is_deleted)
    for _ in range(3):
        assert session.hook("UserPromptSubmit", prompt="still there?")[0] in ("ok", "error")


def test_whatever_is_sent_there_is_an_answer_and_the_daemon_lives(session: Session):
    session.pin("Deploys go through staging first")
    failed = session.house.status()["failed"]
    broken = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"{}",
        b'{"session_id": 3}',
        b"[" * 100_000,
        b"\0" * 10_000,
    ]
    broken.append(
        b'{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": ' + b'"x"' * 3
    )
    for event in ("UserPromptSubmit", "Nonsense", ""):
        for body in broken:
            assert session.hook(event, body=body)[0] in ("ok", "error")
    assert (
        session.hook("UserPromptSubmit", prompt="how do we deploy to staging? " * 40_000)[0] == "ok"
    )
    assert session.house.status()["failed"] == failed, session.house.log()


def test_operations_can_be_asked_for_by_name(session: Session):
    session.pin("Deploys go through staging first")

    def ask(op: str, **values: object) -> tuple[str, Any]:
        question = json.dumps({"op": op, "values": values}).encode()
        kind, body = session.house.ask(
            "ask", question, cwd=str(session.project), deadline_ms=str(PATIENCE_S * 1_000)
        )
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


def test_thousands_of_events_of_many_sessions_leave_memory_and_descriptors_as_they_were(
    alone: Session,
):
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
                told = own.hook(
                    "UserPromptSubmit", prompt=f"step {step}: how do we deploy to staging?"
                )
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


# A prompt that waits for a language model


HANGING_SHELL = "#!/bin/sh\necho $$ >> {pids}\nsleep 600 &\nwait\n"
PROMPT = "how do we deploy to staging?"


class Site(Session):
    """A project whose prompts wait for a language model."""

    def __init__(self, house: House, folder: Path, seconds: int) -> None:
        super().__init__(house, folder / "shop")
        self.model = StandIn(folder / "model", "NONE")
        self.pids = folder / "pids"
        house.home.conf.write_text(
            f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={self.model.command}\nMEMORY_RECALL_SCHEME=single\n"
            f"MEMORY_RECALL_SECONDS={seconds}\n"
        )

    def hang(self) -> None:
        self.model.path.write_text(HANGING_SHELL.format(pids=self.pids), encoding="utf-8")

    def hanging(self) -> list[int]:
        """Models that were started and are still there."""
        pids = self.pids.read_text().split() if self.pids.exists() else []
        return [int(pid) for pid in pids if Path(f"/proc/{pid}").exists()]

    def line(self, event: str, session: str, **fields: Any) -> socket.socket:
        """Of a hook that can wait."""
        line = socket.socket(fileno=connect(self.house.place, 10).detach())
        line.settimeout(30)
        header = {**self.header(event), "deadline_ms": "5000", "patience_ms": "60000"}
        line.sendall(
            frame.encode_request(header, self.payload(event, session_id=session, **fields))
        )
        return line


def test_while_a_model_hangs_every_other_hook_is_answered(house: House, tmp_path: Path):
    site = Site(house, tmp_path, seconds=60)
    site.hang()
    pinned = site.pin("Deploys to staging go first")
    house.start()
    with ExitStack() as stack:
        for number in range(5):  # one more than there are threads that answer
            waiting = site.line("UserPromptSubmit", f"s{number}", prompt=PROMPT, prompt_id="p")
            stack.enter_context(waiting)
            assert frame.read_reply(waiting.recv) == ("wait", b"60000"), house.log()
        assert soon(lambda: len(site.hanging()) == 5, 20)

        start, start_said = site.hook("SessionStart", session_id="other", source="startup")
        prompt, said = site.hook(
            "UserPromptSubmit", session_id="other", prompt=PROMPT, prompt_id="p"
        )
        call: dict[str, Any] = {
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "tool_use_id": "t",
        }
        same, _ = site.hook("PreToolUse", session_id="s0", **call)
        stop, _ = site.hook("Stop", session_id="s0")

        assert (start, prompt, same, stop) == ("ok", "ok", "ok", "ok")
        assert pinned.encode() in said + start_said
        assert len(site.hanging()) == 5


def test_a_model_that_hangs_is_gone_and_ordinary_recall_stands(house: House, tmp_path: Path):
    site = Site(house, tmp_path, seconds=3)
    site.hang()
    pinned = site.pin("Deploys to staging go first")
    house.start()

    with site.line("UserPromptSubmit", "s1", prompt=PROMPT, prompt_id="p") as line:
        rest = bytearray()
        assert frame.read_reply(line.recv, rest) == ("wait", b"3000")
        kind, said = frame.read_reply(line.recv, rest)

    assert kind == "ok"
    assert pinned.encode() in said
    assert soon(lambda: site.pids.exists() and not site.hanging())
    assert soon(lambda: 'said="no answer in time"' in house.log(), 5), house.log()


def test_the_real_hook_waits_and_prints_what_was_chosen(house: House, tmp_path: Path):
    site = Site(house, tmp_path, seconds=30)
    site.pin("Deploys to staging go first")
    chosen = site.pin("Anna signs every release")
    site.model.answers(chosen)
    stub.write_hook(str(house.home.root), sys.executable)
    house.start()
    body = {"session_id": "s1", "cwd": str(site.project), "prompt": PROMPT, "prompt_id": "p"}

    ran = subprocess.run(
        [stub.script_path(str(house.home.root)), "UserPromptSubmit", "--deadline-ms", "5000", "--patience-ms", "30000"],
        input=json.dumps(body).encode(), capture_output=True, timeout=60, cwd=site.project,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(site.project)}, check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, b"")
    told = json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"]
    assert chosen in told
    assert "Deploys to staging" not in told
    assert soon(lambda: house.status()["answered"] == 1)


# A model that is asked in the background


UNSURE = "prefer composition over inheritance"
ANSWER = json.dumps({"rule": True, "quote": UNSURE, "type": "devops"})
WITHIN_S = 60


def switch_on(house: House, command: str) -> None:
    house.home.conf.write_text(f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={command}\n", encoding="utf-8")


def program(folder: Path, code: str) -> str:
    path = folder / "odd"
    path.write_text(f"#!{sys.executable} -I\n" + textwrap.dedent(code), encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def say(session: Session, prompt: str) -> None:
    """A turn of one prompt: told to the daemon, and written down as the agent writes it."""
    path = session.project.parent / "t.jsonl"
    session.hook("SessionStart", source="startup", transcript_path=str(path))
    at = SystemClock().now().iso()
    line = {
        "type": "user",
        "uuid": "u1",
        "timestamp": at,
        "message": {"role": "user", "content": prompt},
    }
    session.hook("UserPromptSubmit", prompt=prompt, transcript_path=str(path))
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    session.hook("Stop", transcript_path=str(path))


def rules(session: Session) -> list[Rule]:
    with session.store() as store:
        found = store.find(Query(kinds=(Kind.RULE,), limit=100))
    return [one for one in found if isinstance(one, Rule)]


HANGS = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        open("{0}/child", "w").write(f"{{os.getpid()}}\\n")
        time.sleep(600)
    open("{0}/pid", "w").write(f"{{os.getpid()}}\\n")
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_while_a_model_hangs_hooks_are_answered_and_a_daemon_that_ends_takes_it_along(
    alone: Session, tmp_path: Path, number: signal.Signals
):
    switch_on(alone.house, program(tmp_path, HANGS.format(tmp_path)))
    daemon = alone.house.start()
    say(alone, UNSURE)
    assert soon((tmp_path / "pid").exists, WITHIN_S), alone.house.log()
    alone.pin("The Solana validator restarts with the vestibule flag")
    pids = [written(tmp_path / "pid"), written(tmp_path / "child")]

    kind, printed = alone.hook("UserPromptSubmit", prompt="how does the Solana validator restart")

    assert (kind, b"vestibule" in printed) == ("ok", True)
    assert all(map(alive, pids))
    os.kill(daemon, number)
    assert soon(lambda: not any(map(alive, pids)), WITHIN_S)


@pytest.mark.parametrize("blocked", [True, False])
def test_a_prompt_that_is_unsure_is_in_force_once_a_model_says_so_and_the_model_itself_is_not_heard(
    alone: Session, tmp_path: Path, blocked: bool
):
    """Where it takes the mark away on purpose the hook does hear it: so it is the mark that stops it."""
    stub.write_hook(str(alone.house.home.root), sys.executable)
    hook = stub.script_path(str(alone.house.home.root))
    payload = alone.payload("UserPromptSubmit", prompt="inner words", session_id="inner").decode()
    model = program(
        tmp_path,
        f"""
        import os, subprocess
        environ = dict(os.environ, XDG_RUNTIME_DIR={os.environ["XDG_RUNTIME_DIR"]!r})
        {"pass" if blocked else "del environ['BLOCK_HOOK_AGENTS']"}
        words = [{hook!r}, "claude-code", "UserPromptSubmit", "--deadline-ms", "8000"]
        os.chdir({str(alone.project)!r})
        ran = subprocess.run(words, input={payload!r}.encode(), env=environ, capture_output=True)
        open("{tmp_path}/inner", "w").write(f"{{len(ran.stdout)}}\\n")
        print({json.dumps(json.dumps({"type": "result", "is_error": False, "result": ANSWER}))})
        """,
    )
    switch_on(alone.house, model)
    alone.house.start()

    say(alone, UNSURE)

    assert soon((tmp_path / "inner").exists, WITHIN_S), alone.house.log()
    assert soon(lambda: [one.status for one in rules(alone)] == [Status.ACTIVE], WITHIN_S), (
        alone.house.log()
    )
    assert blocked or soon(
        lambda: "inner" in alone.house.log(), WITHIN_S
    )  # logged after the hook is answered
    assert ("inner" in alone.house.log()) is not blocked

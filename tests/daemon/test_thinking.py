"""Language models through a real daemon: asked in the background, in nobody's way, and gone when the daemon is."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.model.memory import Kind, Rule, Status
from recollect.model.query import Query
from recollect.wire import stub
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session
from tests.llm.test_program import alive, written

pytestmark = [pytest.mark.skipif(not LINUX, reason="looks at processes in /proc"), FORKS]

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


@pytest.fixture
def session(house: House, tmp_path: Path) -> Session:
    return Session(house, tmp_path / "p")


def say(session: Session, prompt: str) -> None:
    """A turn of one prompt: told to the daemon, and written down as the agent writes it."""
    path = session.project.parent / "t.jsonl"
    session.hook("SessionStart", source="startup", transcript_path=str(path))
    at = SystemClock().now().iso()
    line = {"type": "user", "uuid": "u1", "timestamp": at, "message": {"role": "user", "content": prompt}}
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
    session: Session, tmp_path: Path, number: signal.Signals
):
    switch_on(session.house, program(tmp_path, HANGS.format(tmp_path)))
    daemon = session.house.start()
    say(session, UNSURE)
    assert soon((tmp_path / "pid").exists, WITHIN_S), session.house.log()
    session.pin("The Solana validator restarts with the vestibule flag")
    pids = [written(tmp_path / "pid"), written(tmp_path / "child")]

    kind, printed = session.hook("UserPromptSubmit", prompt="how does the Solana validator restart")

    assert (kind, b"vestibule" in printed) == ("ok", True)
    assert all(map(alive, pids))
    os.kill(daemon, number)
    assert soon(lambda: not any(map(alive, pids)), WITHIN_S)


@pytest.mark.parametrize("blocked", [True, False])
def test_a_prompt_that_is_unsure_is_in_force_once_a_model_says_so_and_the_model_itself_is_not_heard(
    session: Session, tmp_path: Path, blocked: bool
):
    """Where it takes the mark away on purpose the hook does hear it: so it is the mark that stops it."""
    stub.write_hook(str(session.house.home.root), sys.executable)
    hook = stub.script_path(str(session.house.home.root))
    payload = session.payload("UserPromptSubmit", prompt="inner words", session_id="inner").decode()
    model = program(
        tmp_path,
        f"""
        import os, subprocess
        environ = dict(os.environ, XDG_RUNTIME_DIR={os.environ["XDG_RUNTIME_DIR"]!r})
        {"pass" if blocked else "del environ['BLOCK_HOOK_AGENTS']"}
        words = [{hook!r}, "claude-code", "UserPromptSubmit", "--deadline-ms", "8000"]
        os.chdir({str(session.project)!r})
        ran = subprocess.run(words, input={payload!r}.encode(), env=environ, capture_output=True)
        open("{tmp_path}/inner", "w").write(f"{{len(ran.stdout)}}\\n")
        print({json.dumps(json.dumps({"type": "result", "is_error": False, "result": ANSWER}))})
        """,
    )
    switch_on(session.house, model)
    session.house.start()

    say(session, UNSURE)

    assert soon((tmp_path / "inner").exists, WITHIN_S), session.house.log()
    assert soon(lambda: [one.status for one in rules(session)] == [Status.ACTIVE], WITHIN_S), session.house.log()
    assert blocked or soon(lambda: "inner" in session.house.log(), WITHIN_S)  # logged after the hook is answered
    assert ("inner" in session.house.log()) is not blocked

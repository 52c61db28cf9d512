"""A slow disk costs no answers: a real daemon, whose syncs are noted in the order in which they happen
(bench/slow_disk.c), and real hooks."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.wire import stub
from tests.cli.run import run
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, soon

GCC = shutil.which("gcc")
SOURCE = Path(__file__).resolve().parents[2] / "bench" / "slow_disk.c"
pytestmark = [
    FORKS,
    pytest.mark.skipif(not (LINUX and GCC), reason="builds a library that notes syncs"),
]


class Disk:
    """What the daemon did: a line for each sync, send and receive."""

    def __init__(self, house: House, log: Path) -> None:
        self.house, self.log, self.said = house, log, 0
        self.project = Path.cwd()

    def tell(self, event: str, **fields: object) -> list[tuple[str, str]]:
        """One event; what the thread that answered it did until it had sent the answer."""
        before = len(self.lines())
        self.said += 1
        payload = {
            "session_id": "s-1", "cwd": str(self.project), "hook_event_name": event,
            "transcript_path": str(self.log.with_name("session.jsonl")), "prompt_id": f"p{self.said}", **fields,
        }  # fmt: skip
        command = [stub.script_path(str(self.house.home.root)), event]
        command += ["--deadline-ms", str(PATIENCE_S * 1_000)]
        hook = subprocess.run(
            command, input=json.dumps(payload).encode(), capture_output=True, cwd=self.project, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (hook.returncode, hook.stderr) == (0, b"")
        assert soon(lambda: not os.listdir(self.house.place.spool + "/new"))
        done = [line.split(" ", 3) for line in self.lines()[before:]]
        thread = next(parts[0] for parts in done if parts[1] == "send")
        own = [(what, int(size), path) for number, what, size, path in done if number == thread]
        # A thread may still be at the end of the event before; a confirmation is one byte.
        began = next(at for at, (what, size, _) in enumerate(own) if what == "receive" and size > 1)
        ended = next(at for at, (what, _, _) in enumerate(own) if what == "send")
        return [(what, path) for what, _, path in own[began:ended]]

    def lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def disk(house: House, tmp_path: Path) -> Iterator[Disk]:
    library, log = tmp_path / "slow_disk.so", tmp_path / "syncs"
    log.touch()
    subprocess.run([str(GCC), "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    stub.write_hook(str(house.home.root), sys.executable)
    noted = {"LD_PRELOAD": str(library), "SLOW_SYNC_LOG": str(log)}
    command = [sys.executable, "-m", "recollect", "daemon", "run"]
    with subprocess.Popen(command, env={**os.environ, **noted}) as daemon:
        try:
            assert soon(lambda: os.path.exists(house.place.socket))
            yield Disk(house, log)
        finally:
            daemon.terminate()


EVENTS: dict[str, dict[str, object]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "From now on, always deploy with make ship."},
    "PreToolUse": {"tool_name": "Read", "tool_use_id": "t1"},
    "PostToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t2"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "general"},
    "Stop": {},
    "SessionEnd": {"reason": "clear"},
}


@pytest.mark.parametrize("is_new", [True, False], ids=["a new project", "a known project"])
def test_no_answer_waits_for_the_disk(disk: Disk, is_new: bool):
    if not is_new:
        assert run("pin", "The staging cluster is deployed by make ship.").code == 0
    for event, fields in EVENTS.items():
        if event == "PreToolUse":
            path = f"{disk.project}/.ai/recall/staging cluster"
            fields = {**fields, "tool_input": {"file_path": path}}

        done = disk.tell(event, **fields)

        assert [path for what, path in done if what == "sync"] == [], event
    assert any(" sync " in line for line in disk.lines()), "the library notes them"


def test_a_prompt_that_a_transcript_holds_is_written_without_waiting_for_the_disk(disk: Disk):
    """Or the next event would wait for it."""
    disk.tell("SessionStart", source="startup")
    assert soon(lambda: disk.house.status()["answered"] == 1)
    before = len(disk.lines())

    disk.tell("UserPromptSubmit", prompt="Where is the invoice rounded?")

    assert soon(lambda: disk.house.status()["answered"] == 2)
    done = [line.split(" ", 3) for line in disk.lines()[before:]]
    thread = next(parts[0] for parts in done if parts[1] == "send")
    assert [path for number, what, _, path in done if (number, what) == (thread, "sync")] == []

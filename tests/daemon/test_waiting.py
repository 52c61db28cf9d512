"""A prompt waits for a language model in a real daemon: others do not, and a model that hangs costs the wait alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.settings import load
from recollect.ops import memories
from recollect.ops.app import App
from recollect.wire import frame, stub, transport
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.llm.standin import StandIn

pytestmark = [pytest.mark.skipif(not LINUX, reason="looks at processes in /proc"), FORKS]

HANGS = "#!/bin/sh\necho $$ >> {pids}\nsleep 600 &\nwait\n"
PROMPT = "how do we deploy to staging?"


class Site:
    def __init__(self, house: House, folder: Path, seconds: int) -> None:
        self.house = house
        self.model = StandIn(folder / "model", "NONE")
        self.project = folder / "shop"
        self.project.mkdir()
        self.pids = folder / "pids"
        house.home.conf.write_text(
            f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={self.model.command}\nMEMORY_RECALL_SCHEME=single\n"
            f"MEMORY_RECALL_SECONDS={seconds}\n"
        )

    def hang(self) -> None:
        self.model.path.write_text(HANGS.format(pids=self.pids), encoding="utf-8")

    def hanging(self) -> list[int]:
        """Models that were started and are still there."""
        pids = self.pids.read_text().split() if self.pids.exists() else []
        return [int(pid) for pid in pids if Path(f"/proc/{pid}").exists()]

    def pin(self, text: str) -> str:
        found = projects.find(self.project, Path.home())
        app = App(home=self.house.home, project=found, settings=load(None, None, {}), clock=SystemClock())
        try:
            return memories.pin(app, text).plan.touched()[0]
        finally:
            app.close()

    def line(self, event: str, session: str, patience_ms: int = 0, **fields: Any) -> socket.socket:
        line = socket.socket(fileno=transport.connect(self.house.place, 10).detach())
        line.settimeout(30)
        header = {
            "op": "hook", "host": "claude-code", "event": event, "cwd": str(self.project), "deadline_ms": "5000",
            "env-CLAUDE_PROJECT_DIR": str(self.project),
        }  # fmt: skip
        if patience_ms:
            header["patience_ms"] = str(patience_ms)
        body = {"session_id": session, "cwd": str(self.project), "hook_event_name": event, **fields}
        line.sendall(frame.encode_request(header, json.dumps(body).encode()))
        return line

    def ask(self, event: str, session: str, **fields: Any) -> tuple[str, bytes]:
        with self.line(event, session, **fields) as line:
            return frame.read_reply(line.recv)


def test_while_a_model_hangs_every_other_hook_is_answered(house: House, tmp_path: Path):
    site = Site(house, tmp_path, seconds=60)
    site.hang()
    pinned = site.pin("Deploys to staging go first")
    house.start()
    with ExitStack() as stack:
        for number in range(5):  # one more than there are threads that answer
            waiting = site.line("UserPromptSubmit", f"s{number}", 60_000, prompt=PROMPT, prompt_id="p")
            stack.enter_context(waiting)
            assert frame.read_reply(waiting.recv) == ("wait", b"60000"), house.log()
        assert soon(lambda: len(site.hanging()) == 5, 20)

        start, start_said = site.ask("SessionStart", "other", source="startup")
        prompt, said = site.ask("UserPromptSubmit", "other", prompt=PROMPT, prompt_id="p")
        same, _ = site.ask("PreToolUse", "s0", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="t")
        stop, _ = site.ask("Stop", "s0")

        assert (start, prompt, same, stop) == ("ok", "ok", "ok", "ok")
        assert pinned.encode() in said + start_said
        assert len(site.hanging()) == 5


def test_a_model_that_hangs_is_gone_and_ordinary_recall_stands(house: House, tmp_path: Path):
    site = Site(house, tmp_path, seconds=3)
    site.hang()
    pinned = site.pin("Deploys to staging go first")
    house.start()

    with site.line("UserPromptSubmit", "s1", 60_000, prompt=PROMPT, prompt_id="p") as line:
        rest = bytearray()
        assert frame.read_reply(line.recv, rest) == ("wait", b"3000")
        kind, said = frame.read_reply(line.recv, rest)

    assert kind == "ok"
    assert pinned.encode() in said
    assert soon(lambda: site.pids.exists() and not site.hanging())
    assert soon(lambda: 'said="no answer in time"' in house.log(), 5), house.log()


def test_a_daemon_that_ends_leaves_no_model_behind(house: House, tmp_path: Path):
    site = Site(house, tmp_path, seconds=60)
    site.hang()
    site.pin("Deploys to staging go first")
    house.start()
    with site.line("UserPromptSubmit", "s1", 60_000, prompt=PROMPT, prompt_id="p") as line:
        frame.read_reply(line.recv)
        assert soon(lambda: site.hanging(), 20)

        house.ask("stop")

        assert soon(house.is_gone)
        assert soon(lambda: not site.hanging(), 10)


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

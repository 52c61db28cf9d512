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

from recollect.wire import frame, stub
from recollect.wire.place import connect
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session
from tests.llm.standin import StandIn

pytestmark = [pytest.mark.skipif(not LINUX, reason="looks at processes in /proc"), FORKS]

HANGS = "#!/bin/sh\necho $$ >> {pids}\nsleep 600 &\nwait\n"
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
        self.model.path.write_text(HANGS.format(pids=self.pids), encoding="utf-8")

    def hanging(self) -> list[int]:
        """Models that were started and are still there."""
        pids = self.pids.read_text().split() if self.pids.exists() else []
        return [int(pid) for pid in pids if Path(f"/proc/{pid}").exists()]

    def line(self, event: str, session: str, **fields: Any) -> socket.socket:
        """Of a hook that can wait."""
        line = socket.socket(fileno=connect(self.house.place, 10).detach())
        line.settimeout(30)
        header = {**self.header(event), "deadline_ms": "5000", "patience_ms": "60000"}
        line.sendall(frame.encode_request(header, self.payload(event, session_id=session, **fields)))
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
        prompt, said = site.hook("UserPromptSubmit", session_id="other", prompt=PROMPT, prompt_id="p")
        call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"}
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

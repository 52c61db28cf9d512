"""A person at a terminal, a tmux server of the test's own, sees what was loaded, clears, compacts and leaves."""

import json
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from tests.e2e.client import DUMMY_KEY, RULE, SUMMARY, VALIDATORS, WAIT_S, World, binary
from tests.e2e.conftest import refuse
from tests.e2e.stand_in import Lane, StandIn, Turn, says

PROMPT = "❯"


class Terminal:
    def __init__(self, world: World, *script: Turn, args: Iterable[str] = ()) -> None:
        self.world = world
        self.service = StandIn(script)
        self._socket = str(world.runtime / "tmux")
        self._args = args

    def __enter__(self) -> Self:
        self.service.__enter__()
        self._accept()
        environ = [
            f"{name}={value}" for name, value in self.world.client_environ(self.service).items()
        ]
        client = [
            str(binary()),
            "--model",
            self.world.model,
            "--permission-mode",
            "default",
            *self._args,
        ]
        command = "exec " + shlex.join(["env", "-i", *environ, *client])
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "160",
            "-y",
            "50",
            "-c",
            str(self.world.project),
            command,
        )
        self.wait_for(PROMPT)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._tmux("kill-server", check=False)
        self.service.__exit__(kind, error, at)

    def say(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self.wait_for(text.split()[0])
        self._tmux("send-keys", "Enter")

    def leave(self) -> None:
        """Ends the client as a person does, and waits until it has."""
        self.say("/exit")
        self._until(
            lambda: self._tmux("has-session", check=False).returncode != 0, "the client to end"
        )

    def wait_for(self, text: str) -> None:
        self._until(lambda: text in self.screen(), repr(text))

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", check=False).stdout

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + WAIT_S / 2
        while not holds():
            assert time.monotonic() < end, (
                f"waited in vain for {what}; on the screen:\n{self.screen()}"
            )
            time.sleep(0.1)

    def _accept(self) -> None:
        """Answers beforehand what the client asks a new user: theme, key, whether to trust the folder."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {
            "hasCompletedOnboarding": True, "theme": "dark", "projects": {str(self.world.project): trusted},
            "customApiKeyResponses": {"approved": [DUMMY_KEY[-20:]], "rejected": []},
        }  # fmt: skip
        (self.world.home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")

    def _tmux(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["tmux", "-S", self._socket, *args],
            env=self.world.environ(), capture_output=True, text=True, timeout=WAIT_S, check=check,
        )  # fmt: skip


def test_a_person_at_a_terminal_has_a_memory(installed: World):
    if shutil.which("tmux") is None:
        refuse("tmux is not on PATH")
    installed.recollect("rule", "add", RULE)

    with Terminal(
        installed,
        says("Good day."),
        says("With a flag."),
        says("Anew."),
        says(SUMMARY, lane=Lane.COMPACT),
        says("On."),
    ) as terminal:
        terminal.say("hello")
        terminal.wait_for("Good day.")
        installed.recollect("pin", VALIDATORS)
        terminal.say("how do solana validators restart?")
        terminal.wait_for("With a flag.")
        terminal.wait_for("Recollect: told Claude Code 1 memory")
        terminal.say("/clear")
        terminal.say("hello once more")
        terminal.wait_for("Anew.")
        terminal.say("/compact")
        terminal.wait_for("Compacted")
        terminal.say("go on")
        terminal.wait_for("On.")
        terminal.leave()

    greeted, asked, cleared, compacted = terminal.service.of(Lane.MAIN)
    assert greeted.holds(RULE) == 1
    assert asked.holds("vestibule") == 1
    assert cleared.holds("Good day.") == 0
    assert cleared.holds(RULE) == 1
    assert compacted.holds(RULE) == 1
    assert all(refused.startswith("CONNECT") for refused in terminal.service.refused)

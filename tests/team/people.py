"""Members of a team, as real as it gets: each with a home, a clone and, if asked for, a daemon of their own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

from recollect.app.core import App
from recollect.model.result import Scope
from recollect.wire import stub
from tests.cli.run import Ran, run
from tests.daemon.real import House
from tests.ops.ask import holding

ROOT = Path(__file__).resolve().parents[2]
REMOTE = "git@code.example:acme/shop.git"


def git(folder: Path, *args: str) -> None:
    named = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *named, *args], cwd=folder, check=True, capture_output=True, env=environ)


def make_repository(folder: Path, remote: str = REMOTE) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init")
    (folder / "README").write_text("shop\n")
    git(folder, "add", "README")
    git(folder, "commit", "-m", "first")
    git(folder, "remote", "add", "origin", remote)
    return folder


class Person:
    def __init__(self, name: str, repository: Path) -> None:
        """The path of a socket has to be short: not a folder of pytest's."""
        self.name = name
        self.root = Path(tempfile.mkdtemp(prefix="rct"))
        self.project = self.root / "shop"
        self.home = self.root / "home"
        for folder in (self.home, self.root / "run"):
            folder.mkdir(mode=0o700)
        shutil.copytree(repository, self.project)
        self.environ = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": str(self.root),
            "XDG_RUNTIME_DIR": str(self.root / "run"), "RECOLLECT_HOME": str(self.home / ".recollect"),
            "PYTHONPATH": str(ROOT / "src"), "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        self._house: House | None = None

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "recollect", *args], cwd=self.project, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *args: str, cwd: Path | None = None, stdin: str = "", code: int = 0) -> str:
        ran = self.ran(*args, cwd=cwd, stdin=stdin)
        assert ran.code == code, (self.name, args, ran)
        return ran.out if code == 0 else ran.err

    def ran(self, *args: str, cwd: Path | None = None, stdin: str = "") -> Ran:
        """In this process, through the real `main`: a process for each would take most of the time."""
        before = Path.cwd()
        os.chdir(cwd or self.project)
        try:
            with patch.dict(os.environ, self.environ, clear=True):
                return run(*args, stdin=stdin.encode())
        finally:
            os.chdir(before)

    def open_app(self) -> App:
        with patch.dict(os.environ, self.environ, clear=True):
            return App.open(self.project)

    def json(self, *args: str, **options: Any) -> Any:
        return json.loads(self.run(*args, "--json", **options))

    def join(self, url: str, team: str = "acme", **options: Any) -> None:
        self.run("team", "join", team, "-", "--person", self.name, stdin=url, **options)

    def add_rule(self, words: str, *options: str) -> str:
        return str(self.json("rule", "add", words, *options)["ids"][0])

    def rules(self, *options: str) -> dict[str, Mapping[str, Any]]:
        return {one["body"]: one for one in self.json("rules", *options)}

    def sync(self) -> Any:
        """`team link` looks at once; a daemon does so by itself."""
        said = self.json("team", "link")
        assert said["notes"] == [], said
        return said

    def status(self) -> Any:
        return self.json("team", "status")

    @property
    def house(self) -> House:
        if self._house is None:
            self._house = House(self.home / ".recollect", self.environ)
        return self._house

    def start_daemon(self) -> None:
        self.run("hook", "--prepare")
        self.house.start()
        self.say("hello there")  # it looks after the projects that somebody works in

    def say(self, prompt: str, session: str = "s-1") -> str:
        """A prompt through the hook that agents call; returns what the agent is told."""
        return self._hook("UserPromptSubmit", session, prompt=prompt, prompt_id=f"p-{prompt[:20]}")

    def begin(self, session: str) -> str:
        return self._hook("SessionStart", session, source="startup")

    def _hook(self, event: str, session: str, **payload: str) -> str:
        given = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self.project),
            "transcript_path": "",
            **payload,
        }
        script = stub.script_path(str(self.home / ".recollect"))
        ran = subprocess.run(
            [script, event, "--deadline-ms", "10000"], input=json.dumps(given), capture_output=True, text=True,
            cwd=self.project, timeout=60, env=self.environ, check=True,
        )  # fmt: skip
        return ran.stdout

    def holding(self, word: str) -> list[Path]:
        """Files of this person's home in which the word stands."""
        return holding(self.home, word)

    def back_up_mirror(self) -> None:
        """As an upgrade does before it changes the database."""
        with closing(self.open_app()) as app:
            store = app.reader(Scope.TEAM)
            assert store.path is not None
            store.backup(store.path.parent / "backups" / "memory-before-v9.db")

    def log_lines(self) -> list[str]:
        return self.house.log().splitlines()

    def end(self) -> None:
        self.house.end()
        shutil.rmtree(self.root, ignore_errors=True)

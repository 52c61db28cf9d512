"""A real `recollect ui`, in a home of its own, and requests to it that no browser would make."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.daemon.real import alive_in, soon

WAIT_S = 60
_FORM = "application/x-www-form-urlencoded"
_SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: str

    @property
    def cookies(self) -> list[str]:
        return self.headers.get_all("Set-Cookie") or []


class World:
    """A home, its projects, and the program in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.project = root, root / "shop"
        (root / "run").mkdir(mode=0o700)
        self.environ = {
            "HOME": str(root), "RECOLLECT_HOME": str(root / "home"), "XDG_RUNTIME_DIR": str(root / "run"),
            "PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", "TMPDIR": str(root / "run"), "PYTHONPATH": str(_SOURCE),
        }  # fmt: skip

    def popen(self, *args: str, cwd: Path | None = None, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "recollect", *args], cwd=cwd or self.project, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more,
        )  # fmt: skip

    def run(
        self, *args: str, cwd: Path | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        with self.popen(*args, cwd=cwd, stderr=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0 or not check, (args, process.returncode, out, err)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def json(self, *args: str, **more: Any) -> Any:
        return json.loads(self.run(*args, "--json", **more).stdout)

    def end(self) -> None:
        if alive_in(self.root / "home"):
            self.run("daemon", "stop", check=False)
        for pid in alive_in(self.root / "home"):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        assert soon(lambda: not alive_in(self.root / "home"))


@contextmanager
def scratch_world(filled: Path | None = None) -> Iterator[World]:
    """`filled`: what it begins with. It comes back to the path where it was filled, which stands in it."""
    # Not a folder of pytest's: the path of a socket has to be short.
    root = filled.with_suffix("") if filled else Path(tempfile.mkdtemp(prefix="rw")).resolve()
    if filled:
        shutil.copytree(filled, root, symlinks=True)
    world = World(root)
    try:
        yield world
    finally:
        world.end()
        shutil.rmtree(root)


class Ui:
    """One process, its address and, once signed in, its cookie."""

    def __init__(self, world: World, *args: str) -> None:
        self.world = world
        handle, self._errors = tempfile.mkstemp(dir=world.root)
        self.process = world.popen("ui", "--port", "0", "--no-browser", *args, stderr=handle)
        os.close(handle)
        assert self.process.stdout is not None
        self.address = self._read_line("http")
        self.code = self._read_line("Code: ").removeprefix("Code: ")
        self.host = urlsplit(self.address).netloc
        self.base = f"http://{self.host}"
        self.cookie = ""
        self.root = ""  # the secret folder of every address
        self.home = ""  # the page that the address leads to

    def _read_line(self, start: str) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith(start), (line, self.errors())
        return line

    @property
    def file(self) -> Path:
        """The private file that leads a browser in."""
        [file] = self.world.root.rglob(f"page-{urlsplit(self.address).port}.html")
        return file

    @property
    def ticket(self) -> str:
        [ticket] = re.findall(
            'name="ticket" value="([^"]+)"', self.file.read_text(encoding="utf-8")
        )
        return str(ticket)

    def enter(self, headers: Mapping[str, str] | None = None, /, **fields: str) -> Answer:
        """The form of the login page, as it sends it."""
        sent = {"Content-Type": _FORM, "Origin": self.base, **(headers or {})}
        return self.ask("POST", "/enter", urlencode(fields).encode(), sent)

    def sign_in(self) -> Ui:
        """As a person does who enters the code."""
        answer = self.enter(code=self.code)
        assert answer.cookies, (answer, self.errors())
        self.cookie = answer.cookies[0].partition(";")[0]
        [leads_to] = re.findall(r'content="0; url=([^"]+)"', answer.body)
        self.root = leads_to.rstrip("/")
        self.home = self._follow(leads_to)
        return self

    def _follow(self, path: str) -> str:
        for _ in range(5):
            answer = self.get(path)
            if answer.status == 200:
                return urlsplit(path).path
            path = answer.headers["Location"]
        raise AssertionError(f"no page at the end of {path}")

    @property
    def project(self) -> str:
        """`/<key>/p/<folder>`, which the addresses of its pages begin with."""
        return "/".join(self.home.split("/")[:4])

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """With these headers alone, and our cookie where one is not given."""
        line = http.client.HTTPConnection(self.host, timeout=WAIT_S)
        try:
            line.request(
                method,
                path,
                body,
                {**({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})},
            )
            answer = line.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode("utf-8", "replace"))
        finally:
            line.close()

    def connect(self, path: str) -> http.client.HTTPConnection:
        """For an answer that is read line by line."""
        line = http.client.HTTPConnection(self.host, timeout=WAIT_S)
        line.request("GET", path, headers={"Cookie": self.cookie})
        return line

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def do(self, op: str, headers: Mapping[str, str] | None = None, /, **fields: str) -> Answer:
        """A form that is sent from a page of its own."""
        sent = {
            "Content-Type": _FORM,
            "Origin": self.base,
            **(headers or {}),
        }
        path = f"{self.project}/do/{op.replace(' ', '-')}"
        return self.ask("POST", path, urlencode(fields, doseq=True).encode(), sent)

    def errors(self) -> str:
        return Path(self._errors).read_text(encoding="utf-8")

    def end(self, *, within_s: float = WAIT_S) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(within_s)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


@contextmanager
def running(world: World, *args: str) -> Iterator[Ui]:
    ui = Ui(world, *args)
    try:
        yield ui
    finally:
        code = ui.end()
    assert code == 0, ui.errors()
    assert "Traceback" not in ui.errors(), ui.errors()


def list_pages(ui: Ui, each: int = 1) -> list[str]:
    """The views that the bar names, and whatever their links lead to: `each` so many of one kind."""
    found, kinds = [ui.home], Counter([_kind(ui.home)])
    for path in found:  # grows meanwhile
        for more in map(unescape, re.findall(r'href="(/\w+/p/[^"]*)"', ui.get(path).body)):
            if more not in found and kinds[_kind(more)] < each and "act=" not in more:
                kinds[_kind(more)] += 1
                found.append(more)
    return found


def _kind(path: str) -> str:
    """Two addresses of one kind differ in an id or in values alone."""
    parts = urlsplit(path)
    view = re.sub(r"/(?:(thread|rule|note)_)?.*", r"/\1", parts.path.split("/", 4)[-1])
    return " ".join([view, *sorted(parse_qs(parts.query))])

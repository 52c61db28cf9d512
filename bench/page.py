"""What the page costs: the CPU of its server for each view, beside that of the daemon it asks; its memory; and how long
a real hook's event takes to reach an open page. The server is the one that `recollect ui` starts, spoken with over its
port; the store holds the corpus's text with random vectors (hook_pace.py says why)."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import quote, urlsplit

from bench import hook_pace, processes
from bench.house import PROMPT, House
from bench.report import Report, percentile
from recollect.base.errors import RecollectError
from recollect.store import Progress

MOST_CPU_MS = 100.0
MOST_MEMORY_MB = 150.0
MOST_LIVE_S = 1.0
_SEARCHED = "library, searched"
_LISTS = (
    "library", "library, page 200", "library, rules only", "library, asleep", "library, a topic", "library, a source",
    "library, muted", _SEARCHED, "now", "inbox", "sessions",
)  # fmt: skip
_WORDS = (
    "queue release",
    "database migration fails",
    "login token expired",
    "cache of the index",
    "deploy staging",
)
_WARMING = 3


@dataclass(frozen=True, slots=True)
class Shown:
    view: str
    requests: int
    cpu_ms: float
    """Of the page's server, for each request."""
    daemon_cpu_ms: float
    """Its own work goes on beside; only a search asks it."""
    p50_ms: float
    p95_ms: float
    kb: float

    @property
    def asked_cpu_ms(self) -> float:
        return self.cpu_ms + (self.daemon_cpu_ms if self.view == _SEARCHED else 0.0)


@dataclass(frozen=True, slots=True)
class PageReport(Report):
    memories: int
    views: tuple[Shown, ...]
    memory_mb: float
    """Resident, after all of it."""
    live_p50_s: float
    live_p95_s: float

    @property
    def passed(self) -> bool:
        quick = all(one.asked_cpu_ms <= MOST_CPU_MS for one in self.views if one.view in _LISTS)
        return quick and self.memory_mb <= MOST_MEMORY_MB and self.live_p95_s <= MOST_LIVE_S


def run_page(
    folder: Path, *, size: int, requests: int, events: int, progress: Progress
) -> PageReport:
    with tempfile.TemporaryDirectory(prefix="rcp") as runtime:  # the path of a socket has a limit
        place = House(str(folder), runtime, str(folder / "project"))
        place.furnish()
        try:
            hook_pace.grow(place, 0, size, lambda done: progress(done, size))
            daemon = place.start()
            place.warm()
            with serving(place) as page:
                views = tuple(
                    _show(page, daemon, name, address, requests) for name, address in page.views()
                )
                live = sorted(_live(place, page, events))
                memory = processes.body(page.pid).memory_mb
        finally:
            place.clear()
    return PageReport(
        size, views, memory, round(percentile(live, 50), 2), round(percentile(live, 95), 2)
    )


class Served:
    def __init__(self, address: str, code: str, pid: int) -> None:
        self.pid = pid
        self._port = urlsplit(address).port or 0
        self._cookie, root = self._enter(code)
        location = self._get(root)[0].getheader("location") or ""
        self.base = location.removesuffix("/now")

    def _enter(self, code: str) -> tuple[str, str]:
        """The cookie, and where the login page leads to."""
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        line.request("POST", "/enter", f"code={code}", {"Origin": f"http://127.0.0.1:{self._port}"})
        answer = line.getresponse()
        leads_to = answer.read().decode().partition("url=")[2].partition('"')[0]
        return (answer.getheader("set-cookie") or "").partition(";")[0], leads_to

    def get(self, address: str) -> bytes:
        answer, body = self._get(self.base + address)
        if answer.status != 200:
            raise RecollectError(f"{address}: {answer.status} {body[:300]!r}")
        return body

    def _get(self, path: str) -> tuple[http.client.HTTPResponse, bytes]:
        line = self.connect(path)
        answer = line.getresponse()
        return answer, answer.read()

    def connect(self, path: str) -> http.client.HTTPConnection:
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        line.request("GET", path, headers={"Cookie": self._cookie})
        return line

    def views(self) -> list[tuple[str, Callable[[int], str]]]:
        listed = self.get("/library").decode()
        ids = list(
            dict.fromkeys(part.split('"')[0] for part in listed.split(f"{self.base}/memory/")[1:])
        )
        return [
            ("library", lambda _: "/library"),
            ("library, page 200", lambda number: f"/library?offset={50 * (200 + number)}"),
            ("library, rules only", lambda _: "/library?kind=rule"),
            ("library, asleep", lambda number: f"/library?status=asleep&offset={50 * number}"),
            ("library, a topic", lambda _: "/library?topic=parser"),
            ("library, a source", lambda _: "/library?source=user&status=active"),
            ("library, muted", lambda _: "/library?status=muted"),
            (_SEARCHED, lambda number: f"/library?q={quote(_WORDS[number % len(_WORDS)])}"),
            ("a memory", lambda number: f"/memory/{ids[number % len(ids)]}"),
            ("now", lambda _: "/now"),
            ("inbox", lambda _: "/inbox"),
            ("sessions", lambda _: "/sessions"),
            ("try a prompt", lambda number: f"/try?prompt={quote(_WORDS[number % len(_WORDS)])}"),
            ("health", lambda _: "/health"),
        ]


@contextmanager
def serving(place: House) -> Iterator[Served]:
    environ = {name: value for name, value in place.environ.items() if name != "CLAUDE_PROJECT_DIR"}
    environ["RECOLLECT_HOME"] = str(place.home.root)
    command = [sys.executable, "-m", "recollect", "ui", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, cwd=place.project
    ) as process:
        try:
            printed = cast(IO[bytes], process.stdout)
            address = printed.readline().decode().strip()
            code = printed.readline().decode().strip().removeprefix("Code: ")
            yield Served(address, code, process.pid)
        finally:
            os.kill(process.pid, signal.SIGINT)


def _show(
    page: Served, daemon: int, name: str, address: Callable[[int], str], requests: int
) -> Shown:
    for number in range(_WARMING):
        page.get(address(number))
    before, spent, size = (processes.cpu_ms(page.pid), processes.cpu_ms(daemon)), [], 0
    for number in range(requests):
        began_s = time.perf_counter()
        size += len(page.get(address(number)))
        spent.append((time.perf_counter() - began_s) * 1_000)
    own, asked = processes.cpu_ms(page.pid) - before[0], processes.cpu_ms(daemon) - before[1]
    return Shown(
        name, requests, round(own / requests, 1), round(asked / requests, 1), round(percentile(spent, 50), 1),
        round(percentile(spent, 95), 1), round(size / requests / 1_000, 1),
    )  # fmt: skip


def _live(place: House, page: Served, events: int) -> Iterator[float]:
    """From the hook's end to the event on an open page."""
    came = threading.Semaphore(0)

    def listen() -> None:
        stream = page.connect(f"{page.base}/live").getresponse()
        while line := stream.readline():
            if line.startswith(b"data:"):
                came.release()

    threading.Thread(target=listen, daemon=True).start()
    time.sleep(1.0)  # until it listens
    for number in range(events):
        said = {
            "session_id": f"live-{number}",
            "prompt": f"always name release {number} after a bird",
            "cwd": place.project,
        }
        place.run(PROMPT, json.dumps({**said, "hook_event_name": PROMPT}).encode())
        began_s = time.perf_counter()
        if not came.acquire(timeout=10):
            raise RecollectError(f"The event of prompt {number} did not reach the page.")
        yield time.perf_counter() - began_s
        while came.acquire(timeout=0.5):
            pass

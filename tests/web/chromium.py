"""A real Chromium, driven by Playwright, and what each page is watched for while it is open."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

# Read when the tests are collected: they have an environment of their own later.
IN_CI = os.environ.get("CI") == "true"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
_FOUND = next(filter(None, map(shutil.which, _NAMES)), _MAC if Path(_MAC).exists() else "")
_AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PATIENCE_MS = 30_000  # whether, not how fast
REBOUND = "rebound.invalid"  # a name that leads here
# Nothing but the page is asked for: no update, no list of bad sites, no spell checker.
_FLAGS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


def refuse(reason: str) -> None:
    """The test says why it did not run. Where it must run, that is a failure."""
    if IN_CI and sys.platform == "linux":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launched() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    if not _FOUND:
        refuse("Chromium is not on PATH: the tests in a browser did not run")
    with tempfile.TemporaryDirectory(prefix="rb") as home, sync_playwright() as playwright:
        flags = [
            *_FLAGS,
            *(["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []),
        ]
        environ = {"HOME": home, "TMPDIR": home, "PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC"}
        browser = playwright.chromium.launch(executable_path=_FOUND, args=flags, env={**environ})
        loop = asyncio.get_running_loop()
        set_running_loop(None)
        yield browser
        set_running_loop(loop)
        browser.close()


# Playwright marks its event loop as running between two calls; other tests in this process have loops of their own.
set_running_loop: Any = asyncio._set_running_loop


class Tab:
    """A page, and all that went wrong on it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.problems: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("request", self._see)
        page.on("response", self._answered)

    def go(self, path: str) -> Response:
        """To a page of the project's, or to one that is named from the root."""
        answer = self.page.goto(self.base + path, wait_until="load")
        assert answer is not None
        return answer

    def serious(self) -> list[str]:
        """What axe finds serious or critical, one line for each place."""
        # Put into the page by the debugger, so the page's own policy stays as it is.
        self.page.evaluate(_AXE.read_text(encoding="utf-8") + ";0")
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {place['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for place in one["nodes"]
        ]

    def text(self, selector: str = "main") -> str:
        return self.page.locator(selector).inner_text()

    def focused(self) -> str:
        """What has the keyboard, in a few words."""
        found: str = self.page.evaluate(
            "(({tagName, name, innerText, id}) => [tagName, name, id, innerText?.trim()].filter(Boolean).join(' '))"
            "(document.activeElement)"
        )
        return found

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.problems.append(f"{said.type}: {said.text}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _see(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.base).netloc:
            self.problems.append(f"asked elsewhere: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.problems.append(f"{response.status}: {response.url}")

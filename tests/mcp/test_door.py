"""Progress and the end of what nobody waits for, on a line that takes as long as it is told to."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import anyio
from mcp import Client

from recollect.mcp.link import Link, Reply
from recollect.mcp.server import Door
from tests.daemon.real import soon


class SlowLink(Link):
    """Works until it is called off, or let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.over = threading.Event()
        self.called_off: list[str] = []
        self.name = ""

    def ask(self, call: Mapping[str, object], *, name: str, within_s: float) -> Reply:
        self.name = name
        self.begun.set()
        self.over.wait(60)
        return Reply("{}", {})

    def progress(self, name: str) -> tuple[int, int] | None:
        return (2, 4) if name == self.name else None

    def cancel(self, name: str) -> None:
        self.called_off.append(name)
        self.over.set()


def test_long_work_tells_how_far_it_is():
    link, heard = SlowLink(), []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))
        link.over.set()

    async def ask() -> None:
        async with Client(Door(link).server()) as client:
            await client.call_tool("ai_suggestions", {}, progress_callback=listen)

    anyio.run(ask)

    assert heard == [(2, 4)]
    assert link.called_off == []


def test_work_that_nobody_waits_for_is_called_off():
    link = SlowLink()

    async def give_up() -> None:
        async with Client(Door(link).server()) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "ai_compact", {})
            assert await anyio.to_thread.run_sync(link.begun.wait, 60)
            tasks.cancel_scope.cancel()

    anyio.run(give_up)

    assert soon(lambda: link.called_off == [link.name])

"""Talking to the real server over its pipes, with the SDK's own client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

VERSIONS = (LATEST_MODERN_VERSION, LATEST_HANDSHAKE_VERSION)


class Talk:
    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client
        self.progress: list[tuple[float, float | None]] = []

    def call(self, tool: str, /, **given: Any) -> CallToolResult:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, total))

        async def ask() -> CallToolResult:
            return await self.client.call_tool(tool, given, read_timeout_seconds=60, progress_callback=heard)

        found = self.portal.call(ask)
        assert len(found.model_dump_json(by_alias=True, exclude_none=True)) < 8_000
        return found

    def text(self, tool: str, /, **given: Any) -> str:
        found = self.call(tool, **given)
        assert not found.is_error, _text(found)
        return _text(found)

    def data(self, tool: str, /, **given: Any) -> dict[str, Any]:
        """What is answered as data is the same as its text."""
        found = self.call(tool, **given)
        assert not found.is_error, _text(found)
        assert found.structured_content == json.loads(_text(found))
        return dict(found.structured_content)

    def error(self, tool: str, /, **given: Any) -> str:
        found = self.call(tool, **given)
        assert found.is_error, _text(found)
        assert found.structured_content is None
        return _text(found)

    def pin(self, content: str, **given: Any) -> str:
        return self.text("ai_pin", content=content, **given).split()[2]


def _text(found: CallToolResult) -> str:
    (part,) = found.content
    assert part.type == "text"
    return part.text


def server(folder: Path | None = None, **environ: str) -> StdioServerParameters:
    """As it is started for a project."""
    passed = {name: os.environ[name] for name in os.environ if name.startswith(("RECOLLECT_", "XDG_", "MEMORY_"))}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "recollect.mcp"], cwd=folder or Path.cwd(),
        env={**passed, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environ},
    )  # fmt: skip


@contextmanager
def talking(folder: Path | None = None, *, version: str = "auto", **environ: str) -> Iterator[Talk]:
    mode: Literal["legacy", "auto"] = "legacy" if version == LATEST_HANDSHAKE_VERSION else "auto"
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        client = stack.enter_context(portal.wrap_async_context_manager(Client(server(folder, **environ), mode=mode)))
        yield Talk(portal, client)

"""Talking to the server with the SDK's own client: in this process, or over the pipes of a real one."""

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

from recollect.mcp.server import Door, Link

VERSIONS = (LATEST_MODERN_VERSION, LATEST_HANDSHAKE_VERSION)


class Talk:
    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client

    def call(self, tool: str, /, **given: Any) -> CallToolResult:
        async def ask() -> CallToolResult:
            return await self.client.call_tool(tool, given, read_timeout_seconds=60)

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


@contextmanager
def talking(folder: Path | None = None) -> Iterator[Talk]:
    """To a server in this process, which passes its calls to a real daemon."""
    with _connected(Client(Door(Link(str(folder or ""))).server())) as talk:
        yield talk


@contextmanager
def talking_over_pipes(version: str = "auto", **environ: str) -> Iterator[Talk]:
    """To a server as it is started for a project."""
    passed = {
        name: os.environ[name]
        for name in os.environ
        if name.startswith(("RECOLLECT_", "XDG_", "MEMORY_"))
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "recollect.mcp"], cwd=Path.cwd(),
        env={**passed, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environ},
    )  # fmt: skip
    mode: Literal["legacy", "auto"] = "legacy" if version == LATEST_HANDSHAKE_VERSION else "auto"
    with _connected(Client(server, mode=mode)) as talk:
        yield talk


@contextmanager
def _connected(client: Client) -> Iterator[Talk]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        yield Talk(portal, stack.enter_context(portal.wrap_async_context_manager(client)))

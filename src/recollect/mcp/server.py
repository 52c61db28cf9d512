"""The server: tools and resources as the protocol spells them; each call is passed on (link.py).

Only this file knows the SDK. Whatever is slow to load is loaded when it is first needed: a session waits for
`initialize`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.mcp.link import LONG_S, WITHIN_S, Link, Reply
from recollect.mcp.tool_list import TOOLS, BadCall, Request, instructions, request

NAME = "recollect"
SCHEME = "recollect://memory/"
_MAX_LISTED = 50
_PROGRESS_S = 0.5
_MAX_AT_ONCE = 16
_MAX_ERROR_CHARS = 2_000
_numbers = count(1)

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


def main() -> None:
    """Serves until standard input ends."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve())
    # A thread may still wait for an answer that nobody needs any more.
    os._exit(0)


async def _serve() -> None:
    link = Link()
    server = Door(link).server() if not link.is_second() else Server(NAME, version=__version__)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class Door:
    def __init__(self, link: Link) -> None:
        self._link = link
        # Not the loop's own threads: those it would wait for at the end.
        self._threads = ThreadPoolExecutor(_MAX_AT_ONCE)

    def server(self) -> Server[Any]:
        return Server(
            NAME,
            version=__version__,
            instructions=instructions(),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    async def list_tools(self, _ctx: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one.tool) for one in TOOLS])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            asked = request(params.name, params.arguments or {})
        except BadCall as problem:
            return _result(Reply(str(problem), None, failed=True))
        return _result(await self._ask(ctx, asked))

    async def list_resources(self, ctx: Context, _params: object) -> types.ListResourcesResult:
        found: list[types.Resource] = []
        for op in ("rules", "notes", "threads"):
            reply = await self._ask(ctx, Request({"op": op, "values": {"limit": _MAX_LISTED}}))
            for memory in (reply.data or {}).get("memories", []):
                about = types.Resource(
                    uri=SCHEME + memory["id"], name=memory["id"], title=memory["title"], mime_type="text/plain"
                )
                found.append(about)
        return types.ListResourcesResult(resources=found)

    async def list_templates(self, _ctx: Context, _params: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=SCHEME + "{id}", name="memory", description="One memory whole, by its id.",
            mime_type="text/plain",
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        id, _, offset = uri.removeprefix(SCHEME).partition("+")
        if not uri.startswith(SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"No such resource: {uri[:200]}")
        call = {"op": "show", "values": {"id": id}, "offset": int(offset) if offset.isdecimal() else 0}
        reply = await self._ask(ctx, Request(call))
        if reply.failed:
            raise MCPError(types.INVALID_PARAMS, reply.text[:_MAX_ERROR_CHARS])
        contents = types.TextResourceContents(uri=params.uri, text=reply.text, mime_type="text/plain")
        return types.ReadResourceResult(contents=[contents])

    async def _ask(self, ctx: Context, asked: Request) -> Reply:
        """In a thread. Long work reports its progress and is cancelled with the request."""
        name = f"{os.getpid()}-{next(_numbers)}"
        within_s = LONG_S if asked.long else WITHIN_S
        reporting = asyncio.create_task(self._report_progress(ctx, name)) if asked.long else None
        try:
            return await self._in_thread(lambda: self._link.ask(asked.call, name=name, within_s=within_s))
        except asyncio.CancelledError:
            # Nothing can be awaited in a request that is cancelled.
            threading.Thread(target=self._link.cancel, args=(name,), daemon=True).start()
            raise
        finally:
            if reporting is not None:
                reporting.cancel()

    async def _report_progress(self, ctx: Context, name: str) -> None:
        reported = -1
        while True:
            await asyncio.sleep(_PROGRESS_S)
            found = await self._in_thread(lambda: self._link.progress(name))
            if found is not None and found[0] > reported:
                reported = found[0]
                await ctx.session.report_progress(reported, found[1] or None)

    async def _in_thread(self, do: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, do)


def _result(reply: Reply) -> types.CallToolResult:
    text = reply.text[:_MAX_ERROR_CHARS] if reply.failed else reply.text
    content: list[Any] = [types.TextContent(type="text", text=text)]
    if reply.failed or reply.data is None:
        return types.CallToolResult(content=content, is_error=reply.failed)
    return types.CallToolResult(content=content, structured_content=reply.data, is_error=False)

"""The MCP server: tools, as tool_list.json lists them (made from OPS by tools/mcp_tools.py), and resources. Each call
is passed to the daemon, which is started as a hook would start it; where none can be, it is answered in this process,
with words alone, and the answer says so. What is slow to load is loaded when first needed: a session waits for
`initialize`. The list and the instructions lead every prompt: they never change within a version."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.base.errors import RecollectError
from recollect.base.ids import fresh_key
from recollect.base.installation import Installation
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.base.shipped import load_table
from recollect.ops import daemon_calls
from recollect.wire import client
from recollect.wire.frame import PROJECT_VARIABLE, SESSION_VARIABLE
from recollect.wire.place import Place, agent_program, find_place

if TYPE_CHECKING:
    from recollect.ops.calls import Work

NAME = "recollect"
SCHEME = "recollect://memory/"
_MAX_ERROR_CHARS = 2_000
_TEXT = "text/plain"
ALONE = "The daemon could not be started: this was done without it, by words alone."
UPGRADED = (
    "Recollect was upgraded after this session began. Restart your agent to use the new version."
)
_LOOK_S = 1.0

Context = ServerRequestContext[Any, Any]


class Tool(NamedTuple):
    op: str
    renamed: Mapping[str, str]  # arguments that the operation calls otherwise
    long: bool  # goes through all memories
    tool: Mapping[str, Any]  # as the protocol lists it

    @property
    def name(self) -> str:
        return str(self.tool["name"])

    @property
    def arguments(self) -> dict[str, dict[str, Any]]:
        return dict(self.tool["inputSchema"]["properties"])


TOOLS = tuple(Tool(**entry) for entry in load_table("recollect.mcp", "tool_list.json")["tools"])
BY_NAME = {tool.name: tool for tool in TOOLS}
# `{program}`: how an agent's shell calls the command line; the same for as long as an installation stands.
INSTRUCTIONS = Path(__file__).with_name("instructions.md").read_text(encoding="utf-8")


def make_call(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, object]:
    values = {name: value for name, value in arguments.items() if value is not None}
    dry_run = values.pop("dry_run", False)
    if isinstance(query := values.get("query"), str):
        values["query"] = [query]
    if isinstance(limit := values.get("limit"), int):
        values["limit"] = min(20, max(1, limit))
    if isinstance(useful := values.get("useful"), bool):
        values["useful"] = "useful" if useful else "not-useful"
    renamed = {tool.renamed.get(name, name): value for name, value in values.items()}
    return {"op": tool.op, "values": renamed, "dry_run": dry_run}


def why_refused(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Says which argument is not in the tool's schema, and which are; empty where all are."""
    unknown = arguments.keys() - tool.arguments.keys()
    if not unknown:
        return ""
    known = ", ".join(tool.arguments) or "none"
    return f"Unknown argument {min(unknown)[:80]!r}.\nKnown: {known}."


def name_arguments(tool: Tool, message: str) -> str:
    """A message of the operation, with the names that the tool gives its arguments."""
    for argument, name in tool.renamed.items():
        message = message.replace(repr(name), repr(argument))
    return message


def name_program(program: str, message: str) -> str:
    """A message that names commands, with the program as an agent's shell calls it."""
    return message.replace("`recollect ", f"`{program} ")


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
        self._threads = ThreadPoolExecutor(16)

    def server(self) -> Server[Any]:
        instructions = INSTRUCTIONS.format(program=self._link.program)
        return Server(
            NAME, version=__version__, instructions=instructions, on_list_tools=self.list_tools,
            on_call_tool=self.call_tool, on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates, on_read_resource=self.read_resource,
        )  # fmt: skip

    async def list_tools(self, _ctx: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one.tool) for one in TOOLS])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            near = difflib.get_close_matches(params.name, BY_NAME, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            text = f"There is no tool {params.name[:80]!r}.{meant} There are: {', '.join(BY_NAME)}."
            return _result(Reply(text, failed=True))
        arguments = params.arguments or {}
        if refusal := why_refused(tool, arguments):
            return _result(Reply(refusal, failed=True))
        call = make_call(tool, arguments)
        reply = await (self._ask_long(ctx, call) if tool.long else self._ask(call))
        if reply.failed:
            reply = reply._replace(text=name_arguments(tool, reply.text))
        if reply.failed or tool.op == "undo":
            reply = reply._replace(text=name_program(self._link.program, reply.text))
        return _result(reply)

    async def list_resources(self, _ctx: Context, _params: object) -> types.ListResourcesResult:
        found: list[types.Resource] = []
        for op in ("rules", "notes", "threads"):
            reply = await self._ask({"op": op, "values": {"limit": 50}})
            for memory in (reply.data or {}).get("memories", []):
                id, title = memory["id"], memory["title"]
                found.append(types.Resource(uri=SCHEME + id, name=id, title=title, mime_type=_TEXT))
        return types.ListResourcesResult(resources=found)

    async def list_templates(
        self, _ctx: Context, _params: object
    ) -> types.ListResourceTemplatesResult:
        uri, about = SCHEME + "{id}", "One memory whole, by its id."
        template = types.ResourceTemplate(
            uri_template=uri, name="memory", description=about, mime_type=_TEXT
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, _ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        id, _, offset = uri.removeprefix(SCHEME).partition("+")
        if not uri.startswith(SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"No such resource: {uri[:200]}")
        page = int(offset) if offset.isdecimal() else 0
        reply = await self._ask({"op": "show", "values": {"id": id}, "offset": page})
        if reply.failed:
            raise MCPError(types.INVALID_PARAMS, reply.text[:_MAX_ERROR_CHARS])
        contents = types.TextResourceContents(uri=params.uri, text=reply.text, mime_type=_TEXT)
        return types.ReadResourceResult(contents=[contents])

    async def _ask_long(self, ctx: Context, call: Mapping[str, object]) -> Reply:
        """Reports its progress, and is cancelled with the request."""
        name = fresh_key()
        reporting = asyncio.create_task(self._report_progress(ctx, name))
        try:
            return await self._ask(call, name, 300.0)
        except asyncio.CancelledError:
            # Nothing can be awaited in a request that is cancelled.
            threading.Thread(target=self._link.cancel, args=(name,), daemon=True).start()
            raise
        finally:
            reporting.cancel()

    async def _report_progress(self, ctx: Context, name: str) -> None:
        reported, loop = -1, asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0.5)
            done, total = await loop.run_in_executor(self._threads, self._link.progress, name)
            if total and done > reported:
                reported = done
                await ctx.session.report_progress(done, total)

    async def _ask(
        self, call: Mapping[str, object], name: str = "", within_s: float = 30.0
    ) -> Reply:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, self._link.ask, call, name or fresh_key(), within_s
        )


def _result(reply: Reply) -> types.CallToolResult:
    text = reply.text[:_MAX_ERROR_CHARS] if reply.failed else reply.text
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(
        content=content, structured_content=reply.data, is_error=reply.failed
    )


class Reply(NamedTuple):
    text: str
    data: dict[str, Any] | None = None
    failed: bool = False


class Link:
    """The way to the operations. Blocks: `Door` calls it in a thread."""

    def __init__(self, folder: str = "") -> None:
        self._environ = environment()
        self._home = Home(home(self._environ))
        self._cwd = folder or os.getcwd()
        self._folder = Path(self._environ.get(PROJECT_VARIABLE) or self._cwd)
        self._installation = Installation()
        self._works: dict[str, Work] = {}  # what is done in this process, by the call's name

    @property
    def program(self) -> str:
        return agent_program(str(self._home.root))

    @property
    def _place(self) -> Place:
        """Looked up each time: a server lives for days, and its runtime folder may become somebody else's."""
        return find_place(str(self._home.root), self._environ)

    def is_second(self) -> bool:
        """Whether a plugin started this server for an agent whose settings start one too: that one serves."""
        if not self._environ.get("RECOLLECT_VIA"):
            return False
        from recollect.integrations import agent_pieces

        try:
            return agent_pieces.is_second_server(self._folder)
        except (RecollectError, OSError):
            return False  # two that serve are better than none

    def ask(self, call: Mapping[str, object], name: str, within_s: float) -> Reply:
        """`name` is the call's own, for `progress` and `cancel`."""
        body = json.dumps(
            {**call, "for": "agent", "session": self._environ.get(SESSION_VARIABLE, "")}
        ).encode()
        try:
            found = daemon_calls.ask(self._cwd, body, name, within_s)
        except daemon_calls.Late:
            return Reply(
                f"Recollect's daemon does not answer.\n`{self.program} doctor` says why.",
                failed=True,
            )
        reply = self._run_alone(name, body) if found is None else _parse_reply(found)
        if reply.failed:
            reply = reply._replace(text=reply.text.replace("`recollect ", f"`{self.program} "))
        if reply.failed and found is not None and self._installation.has_changed():
            # The daemon is of the new version by now, and may know this call by another name.
            return reply._replace(text=f"{reply.text}\n{UPGRADED}")
        return reply

    def progress(self, name: str) -> tuple[int, int]:
        """Of a call: the steps done, and how many there are; 0 before it begins and after it ended."""
        if work := self._works.get(name):
            return work.done, work.total
        try:
            _, answer = client.ask(self._place, {"op": "progress", "name": name}, b"", _LOOK_S)
            done, total = json.loads(answer)
        except (client.Unanswered, ValueError):
            return 0, 0
        return done, total

    def cancel(self, name: str) -> None:
        if work := self._works.get(name):
            work.is_cancelled = True
        else:
            with suppress(client.Unanswered):  # then nobody is working on it
                client.ask(self._place, {"op": "cancel", "name": name}, b"", _LOOK_S)

    def _run_alone(self, name: str, body: bytes) -> Reply:
        if self._installation.has_changed():  # what is not loaded yet would be of another version
            return Reply(UPGRADED, failed=True)
        from recollect.ops import calls

        work = self._works[name] = calls.Work()
        try:
            reply = _parse_reply(daemon_calls.run_alone(self._folder, body, work))
        except FileNotFoundError:
            return Reply(
                "The project's folder no longer exists.\nStart the session in one that does.",
                failed=True,
            )
        finally:
            del self._works[name]
        return (
            reply
            if reply.data is not None or reply.failed
            else reply._replace(text=f"{reply.text}\n{ALONE}")
        )


def _parse_reply(body: bytes) -> Reply:
    try:
        answer: dict[str, Any] = json.loads(body)
    except ValueError:
        return Reply("The daemon could not answer.", failed=True)
    if problem := answer.get("error"):
        return Reply(f"{problem['message']}\n{problem['hint'] or ''}".strip(), failed=True)
    return Reply(str(answer.get("text", "")), answer.get("data"))

"""Puts the page together and serves it on loopback: the routes, the projects, and what was done lately."""

from __future__ import annotations

import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, quote

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.errors import BadInput, NotFound, RecollectError
from recollect.base.ids import fresh_key
from recollect.base.installation import Installation
from recollect.base.paths import Home, home, user_home
from recollect.base.settings import environment
from recollect.base.signals import ended_by_signals
from recollect.web import acts, live
from recollect.web.acts import Act
from recollect.web.connections import count_strangers, limited_protocol
from recollect.web.entrance import Entrance, Invitation, Keys
from recollect.web.guard import Guard
from recollect.web.pages import (
    NOWHERE,
    STATIC_ROUTES,
    THEMES,
    VIEWS,
    YEAR_S,
    Show,
    is_local,
    notice,
    opened,
    root_of,
)

_BACKLOG = 128  # connections that wait to be accepted, and how many are accepted at once
_MAX_HEAD_BYTES = 65_536


_PROBLEMS = {
    404: ("Not found", "There is nothing at this address. It may have been deleted or renamed."),
    405: ("Method not allowed", "This address cannot be asked like that."),
    413: ("Too large", "That was more than can be sent at once."),
}
_UPGRADED = "Recollect was upgraded while this page was open. End `recollect ui` (Ctrl-C) and start it again."


class Site:
    """What stays between requests: where it was started, and the acts that can be taken back."""

    def __init__(self, start: Path) -> None:
        self.start = start
        self._acts: dict[str, tuple[str, Act]] = {}
        self._names: dict[
            str, Path
        ] = {}  # that the project we were started in has had: its first write may change it
        self.is_ending: Callable[[], bool] = lambda: False
        self.installation = Installation()

    def projects(self) -> dict[str, Path]:
        """By the name in the address: the folder of each project that is there, the one we were started in first."""
        found, known = {}, projects.known(Home(home()).projects)
        here = projects.locate(Home(home()).projects, self.start, user_home(environment()))
        if here is not None:
            own = projects.store_folder(Home(home()).projects, here)
            name = own.name if own else f"{here.name}-{here.key[:12]}"
            found[name] = self._names[name] = here.root
        found |= {
            one.folder.name: Path(one.root) for one in known if one.exists and not one.attached
        }
        return {**found, NOWHERE: user_home(environment())}

    def find(self, name: str) -> Path | None:
        """The folder of a project, by its name in the address, also one that it had before."""
        return (self.projects() | self._names).get(name)

    def keep_act(self, project: str, act: Act) -> str:
        id = fresh_key()[:16]
        self._acts[id] = project, act
        for old in list(self._acts)[:-200]:
            self._acts.pop(old, None)
        return id

    def find_act(self, project: str, id: str) -> Act | None:
        of, act = self._acts.get(id, ("", None))
        return act if of == project else None


def serve(
    start: Path,
    *,
    port: int,
    announce: Callable[[Invitation], None],
    warn: Callable[[str], None],
    until_input_ends: bool = False,
) -> None:
    """Until it is interrupted. `announce` gets the way in as soon as the page can be opened."""
    App.open(start).close()  # a home that is refused, or a broken setting, says so at once
    site = Site(start)
    with _listen(port) as listening:
        port = listening.getsockname()[1]
        keys = Keys.draw()
        entrance = Entrance(port, keys, warn=warn)

        async def tidy() -> None:
            entrance.tidy()

        max_strangers = count_strangers()
        config = uvicorn.Config(
            Guard(make(site), entrance.app(), port=port, keys=keys),
            http=limited_protocol(max_strangers),
            ws="none",
            lifespan="off",
            log_level="critical",
            access_log=False,
            server_header=False,
            backlog=min(_BACKLOG, max_strangers),
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=30,
            timeout_notify=5,
            callback_notify=tidy,
        )
        server = uvicorn.Server(config)
        site.is_ending = lambda: server.should_exit
        end = partial(setattr, server, "should_exit", True)
        with ended_by_signals(end, ("SIGINT", "SIGTERM", "SIGHUP")):
            if until_input_ends:
                _end_with_input(server)
            try:
                announce(entrance.invite())
                server.run(sockets=[listening])
            finally:
                entrance.end()


def _end_with_input(server: uvicorn.Server) -> None:
    """Whoever started us holds the other end of our input, and is gone when it ends."""

    def wait() -> None:
        with suppress(OSError, ValueError):
            while sys.stdin.buffer.read(1_024):
                pass
        server.should_exit = True

    threading.Thread(target=wait, name="input", daemon=True).start()


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise BadInput(
            f"--port is {port}; a port is a number up to 65535.",
            hint="Leave it out to take any free one.",
        )
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(_BACKLOG)
    except OSError as problem:
        listening.close()
        hint = "Leave --port out to take any free one."
        raise BadInput(f"Port {port} cannot be used: {problem.strerror}.", hint=hint) from None
    return listening


def make(site: Site) -> Starlette:
    """VIEWS are those of views.py and work.py, which are there once live.py is imported."""

    def route(path: str, handle: Show, method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            form = await _read_form(request) if method == "POST" else None
            return await run_in_threadpool(_answer, site, request, handle, form)

        return Route("/p/{project}" + path, answer, methods=[method])

    def first_page(request: Request) -> str:
        return f"{root_of(request)}/p/{quote(next(iter(site.projects())))}/now"

    async def enter(request: Request) -> Response:
        return RedirectResponse(first_page(request), 303)

    async def choose(request: Request) -> Response:
        project = request.query_params.get("project", NOWHERE)
        return RedirectResponse(f"{root_of(request)}/p/{quote(project)}/now", 303)

    async def switch_theme(request: Request) -> Response:
        form = await _read_form(request)
        back, theme = form.get("back", [""])[0], form.get("theme", [""])[0]
        to = back if is_local(back, root_of(request)) else first_page(request)
        answer = RedirectResponse(to, 303)
        if theme in THEMES:
            answer.set_cookie("theme", theme, max_age=YEAR_S, samesite="strict")
        return answer

    async def missing(request: Request, problem: Exception) -> Response:
        status = problem.status_code if isinstance(problem, HTTPException) else 404
        title, why = _PROBLEMS.get(status, _PROBLEMS[404])
        return notice(status, title, why, back=first_page(request))

    routes = [
        Route("/", enter), Route("/choose", choose), Route("/theme", switch_theme, methods=["POST"]),
        *STATIC_ROUTES,
        route("/do/{op}", acts.act, "POST"), route("/undo", acts.undo, "POST"),
        *(route(one.path, one.show, one.method) for one in VIEWS), *live.streams(site),
    ]  # fmt: skip
    return Starlette(routes=routes, exception_handlers={HTTPException: missing})


def _answer(
    site: Site, request: Request, handle: Show, form: dict[str, list[str]] | None
) -> Response:
    if site.installation.has_changed():  # what is not loaded yet would be of another version
        return notice(503, "Recollect was upgraded", _UPGRADED)
    try:
        with opened(site, request, form) as page:
            try:
                return handle(page)
            except RecollectError as problem:
                return page.problem(problem, 404 if isinstance(problem, NotFound) else 400)
    except RecollectError as problem:
        status = 404 if isinstance(problem, NotFound) else 500
        title = "That did not work"
        return notice(
            status, title, problem.message, hint=problem.hint, back=f"{root_of(request)}/"
        )
    except Exception:  # noqa: BLE001 the outermost edge: one bad page ends no server
        traceback.print_exc()
        why = "This page could not be made, and nothing was changed by looking at it."
        hint = "The terminal in which `recollect ui` runs says more; `recollect doctor` may, too."
        return notice(500, "A fault in Recollect", why, hint=hint, back=f"{root_of(request)}/")


async def _read_form(request: Request) -> dict[str, list[str]]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return parse_qs(body, keep_blank_values=True, max_num_fields=5_000)
    except ValueError:
        raise HTTPException(413) from None

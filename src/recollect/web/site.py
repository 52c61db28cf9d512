"""Puts the page together and serves it on loopback: the routes, the projects, and what was done lately."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs

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
from recollect.base.paths import Home, home, user_home
from recollect.base.settings import environment
from recollect.web import acts, live
from recollect.web.acts import Act
from recollect.web.guard import Guard, TooLarge, refuse
from recollect.web.pages import NOWHERE, THEMES, VIEWS, Show, opened, static_files

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_YEAR_S = 31_536_000
_HOME = '<a href="/">Back to Now</a>'


class Site:
    """What stays between requests: where it was started, and the acts that can be taken back."""

    def __init__(self, start: Path) -> None:
        self.start = start
        self._acts: dict[str, tuple[str, Act]] = {}
        self._names: dict[
            str, Path
        ] = {}  # that the project we were started in has had: its first write may change it
        self.is_ending: Callable[[], bool] = lambda: False

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


def serve(start: Path, *, port: int, announce: Callable[[str], None]) -> None:
    """Until it is interrupted. `announce` gets the address as soon as the page can be opened."""
    App.open(start).close()  # a home that is refused, or a broken setting, says so at once
    site = Site(start)
    with _listen(port) as listening:
        port = listening.getsockname()[1]
        guard = Guard(make(site), port)
        config = uvicorn.Config(
            guard, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none",
            limit_concurrency=200, timeout_graceful_shutdown=1, timeout_keep_alive=30,
        )  # fmt: skip
        server = uvicorn.Server(config)
        site.is_ending = lambda: server.should_exit
        announce(f"http://127.0.0.1:{port}/?token={guard.token}")
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


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
        listening.listen(128)
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

    async def enter(_request: Request) -> Response:
        return RedirectResponse(f"/p/{next(iter(site.projects()))}/now", 303)

    async def choose(request: Request) -> Response:
        return RedirectResponse(f"/p/{request.query_params.get('project', NOWHERE)}/now", 303)

    async def static(request: Request) -> Response:
        name = request.path_params.get("name", "icon.svg")
        if name not in static_files():
            return refuse(404, "Not found", "There is no such file.")
        kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(
            static_files()[name], media_type=kind, headers={"Cache-Control": f"max-age={_YEAR_S}"}
        )

    async def switch_theme(request: Request) -> Response:
        form = await _read_form(request)
        back, theme = form.get("back", [""])[0], form.get("theme", [""])[0]
        answer = RedirectResponse(back if acts.is_local(back) else "/", 303)
        if theme in THEMES:
            answer.set_cookie("theme", theme, max_age=_YEAR_S, samesite="strict")
        return answer

    async def missing(_request: Request, problem: Exception) -> Response:
        status = problem.status_code if isinstance(problem, HTTPException) else 404
        return refuse(status, "Not found", f"There is nothing here. {_HOME}")

    async def too_large(_request: Request, _problem: Exception) -> Response:
        return refuse(413, "Too large", "That was more than can be sent at once.")

    routes = [
        Route("/", enter), Route("/choose", choose), Route("/theme", switch_theme, methods=["POST"]),
        Route("/static/{name}", static), Route("/favicon.ico", static),
        route("/do/{op}", acts.act, "POST"), route("/undo", acts.undo, "POST"),
        *(route(one.path, one.show, one.method) for one in VIEWS), *live.streams(site),
    ]  # fmt: skip
    return Starlette(
        routes=routes, exception_handlers={HTTPException: missing, TooLarge: too_large}
    )


def _answer(
    site: Site, request: Request, handle: Show, form: dict[str, list[str]] | None
) -> Response:
    try:
        with opened(site, request, form) as page:
            try:
                return handle(page)
            except RecollectError as problem:
                return page.problem(problem, 404 if isinstance(problem, NotFound) else 400)
    except RecollectError as problem:
        from markupsafe import escape

        status = 404 if isinstance(problem, NotFound) else 500
        return refuse(
            status, "That did not work", f"{escape(problem.message)} {escape(problem.hint)} {_HOME}"
        )
    except Exception:  # noqa: BLE001 the outermost edge: one bad page ends no server
        traceback.print_exc()
        return refuse(
            500, "A fault in Recollect", "The terminal in which `recollect ui` runs says more."
        )


async def _read_form(request: Request) -> dict[str, list[str]]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return parse_qs(body, keep_blank_values=True, max_num_fields=5_000)
    except ValueError:
        raise TooLarge from None

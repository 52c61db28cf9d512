"""What every view works with: the project's App for as long as the request lasts, operations by name, addresses, and
templates. A view is a function under its address in `VIEWS`; writes are acts.py's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from recollect import __version__
from recollect.app.core import App
from recollect.base.errors import NotFound, RecollectError
from recollect.base.ids import fresh_key
from recollect.ops import daemon_calls
from recollect.ops.table import OPS
from recollect.web import words

if TYPE_CHECKING:
    from recollect.web.site import Site

NOWHERE = "-"  # in an address: no project, only what is kept for all of them
_FOLDER = Path(__file__).parent
THEMES = ("auto", "light", "dark")
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
YEAR_S = 31_536_000


Show = Callable[["Page"], Response]


class View(NamedTuple):
    path: str
    show: Show
    nav: str = ""  # its name in the bar of views
    method: str = "GET"


VIEWS: list[View] = []


def view(path: str, nav: str = "", method: str = "GET") -> Callable[[Show], Show]:
    def add(show: Show) -> Show:
        VIEWS.append(View(path, show, nav, method))
        return show

    return add


def find_op(name: str) -> Any:
    return next(op for op in OPS if op.name == name)


class Page:
    """One request. `form`: what was sent, each field with all its values."""

    def __init__(
        self, site: Site, request: Request, app: App, form: dict[str, list[str]] | None = None
    ) -> None:
        self.site, self.request, self.app, self.form = site, request, app, form or {}
        self.args: dict[str, str] = request.path_params
        self.query: dict[str, str] = dict(request.query_params)
        self.project: str = self.args.get("project", NOWHERE)
        self.root = root_of(request)
        # Of this view, below its project: `memory/rule_…`.
        self.place = request.url.path.removeprefix(self.root).split("/", 3)[-1]

    def op(self, name: str, /, *args: Any, **values: Any) -> Any:
        """Runs an operation here; its Result."""
        return find_op(name).function(self.app, *args, **values)

    def ask(self, name: str, /, **values: Any) -> Any:
        """A question, through the daemon, which holds the model; without one, by words alone. What `--json` prints.
        Nothing is written: what a person looks for here is no recall."""
        found = daemon_calls.ask_or_run(
            self.folder, {"op": name, "values": values, "dry_run": True}, 8.0
        )
        answer = json.loads(found)
        if isinstance(answer, dict) and (problem := answer.get("error")):
            raise RecollectError(problem["message"], hint=problem["hint"])
        return answer

    def number(self, name: str) -> int | None:
        given = self.query.get(name, "")
        return int(given) if given.isascii() and given.isdigit() and len(given) < 9 else None

    def is_local(self, address: str) -> bool:
        return is_local(address, self.root)

    @property
    def folder(self) -> Path:
        return self.site.find(self.project) or self.site.start

    def url(self, view: str, **query: object) -> str:
        """`url("memory/rule_…")`, `url("library", q="pnpm")`: an address in this project; empty values are left out."""
        given = {name: value for name, value in query.items() if value not in (None, "", False)}
        asked = f"?{urlencode(given, doseq=True)}" if given else ""
        return f"{self.root}/p/{quote(self.project)}/{quote(view.strip('/'))}{asked}"

    def here(self, **query: object) -> str:
        """This address with some of its query changed."""
        kept = {name: value for name, value in self.query.items() if name != "act"}
        return self.url(self.place, **kept | query)

    def do(self, op: str) -> str:
        return self.url("do/" + op.replace(" ", "-"))

    def back(self, view: str = "") -> Markup:
        """The hidden field that says where an act returns to: here, unless told otherwise."""
        return Markup('<input type="hidden" name="back" value="{}">').format(
            self.url(view) if view else self.here()
        )

    def render(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        return HTMLResponse(self.fill(template, **values), status)

    def fill(self, template: str, **values: object) -> str:
        current = self.place.split("/")[0]
        theme = self.request.cookies.get("theme", "auto")
        return (
            templates()
            .get_template(template)
            .render(
                page=self,
                root=self.root,
                url=self.url,
                here=self.here,
                do=self.do,
                back=self.back,
                views=[v for v in VIEWS if v.nav],
                current=current,
                projects=self.site.projects(),
                project=self.project,
                version=__version__,
                assets=_assets_version(),
                theme=theme if theme in THEMES else "auto",
                themes=THEMES,
                now=self.app.clock.now(),
                act=self.site.find_act(self.project, self.query.get("act", "")),
                **values,
            )
        )

    def problem(self, problem: RecollectError, status: int = 400) -> HTMLResponse:
        """What went wrong, and what was typed, to be sent again."""
        return self.render(
            "problem.html", status, problem=problem, form=self.form, path=self.request.url.path
        )


@contextmanager
def opened(
    site: Site, request: Request, form: dict[str, list[str]] | None = None
) -> Iterator[Page]:
    project = request.path_params.get("project", NOWHERE)
    folder = site.find(project)
    if folder is None:
        raise NotFound("There is no such project here.", hint="Its folder may be gone.")
    app = App.open(folder)
    try:
        yield Page(site, request, app, form)
    finally:
        app.close()


def root_of(request: Request) -> str:
    """The secret folder that every address of ours begins with (guard.py)."""
    root: str = request.scope["root_path"]
    return root


def is_local(address: str, root: str) -> bool:
    """Leads to a page of ours and nowhere else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_plain = not parts.scheme and not parts.netloc and parts.path.startswith(f"{root}/p/")
    return is_plain and "\\" not in address and address.isprintable()


def notice(
    status: int, title: str, why: str, *, hint: str = "", enter: str = "", back: str = ""
) -> HTMLResponse:
    """A page without a project: what is wrong, and what to do next. `enter`: where a code is sent to; `back`: the
    address of the page Now, for those who may see it."""
    template = templates().get_template("notice.html")
    filled = template.render(
        title=title,
        why=why,
        hint=hint,
        enter=enter,
        back=back,
        version=__version__,
        assets=_assets_version(),
    )
    return HTMLResponse(filled, status, {"Connection": "close"})


async def _send_static(request: Request) -> Response:
    """Files of ours, the same for everyone: nothing in them is private."""
    name = request.path_params.get("name", "icon.svg")
    content = static_files().get(name)
    if content is None:
        return notice(404, "Not found", "There is no such file.")
    kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    return Response(content, media_type=kind, headers={"Cache-Control": f"max-age={YEAR_S}"})


STATIC_ROUTES = (Route("/static/{name}", _send_static), Route("/favicon.ico", _send_static))


@cache
def templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= words.FILTERS
    made.globals |= {"escape": escape}
    return made


@cache
def _assets_version() -> str:
    """Another one in each run: whoever had the port before may have left files of other content in the browser."""
    return fresh_key()


@cache
def static_files() -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in (_FOLDER / "static").iterdir() if path.is_file()
    }

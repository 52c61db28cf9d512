"""What every view works with: the project's App for as long as the request lasts, operations by name, addresses, and
templates. A view is a function under its address in `VIEWS`; writes are acts.py's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode
from zlib import crc32

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from recollect import __version__
from recollect.app.core import App
from recollect.base.errors import NotFound, RecollectError
from recollect.ops import daemon_calls
from recollect.ops.table import OPS
from recollect.web import words

if TYPE_CHECKING:
    from recollect.web.site import Site

NOWHERE = "-"  # in an address: no project, only what is kept for all of them
_FOLDER = Path(__file__).parent
THEMES = ("auto", "light", "dark")


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

    @property
    def folder(self) -> Path:
        return self.site.find(self.project) or self.site.start

    def url(self, view: str, **query: object) -> str:
        """`url("memory/rule_…")`, `url("library", q="pnpm")`: an address in this project; empty values are left out."""
        given = {name: value for name, value in query.items() if value not in (None, "", False)}
        asked = f"?{urlencode(given, doseq=True)}" if given else ""
        return f"/p/{quote(self.project)}/{quote(view.strip('/'))}{asked}"

    def here(self, **query: object) -> str:
        """This address with some of its query changed."""
        kept = {name: value for name, value in self.query.items() if name != "act"}
        return self.url(self.request.url.path.split("/", 3)[3], **kept | query)

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
        current = self.request.url.path.split("/", 3)[-1].split("/")[0]
        theme = self.request.cookies.get("theme", "auto")
        return _templates().get_template(template).render(
            page=self, url=self.url, here=self.here, do=self.do, back=self.back, views=[v for v in VIEWS if v.nav],
            current=current, projects=self.site.projects(), project=self.project, version=__version__,
            assets=_assets_version(), theme=theme if theme in THEMES else "auto", themes=THEMES,
            now=self.app.clock.now(), act=self.site.find_act(self.project, self.query.get("act", "")), **values,
        )  # fmt: skip

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


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= words.FILTERS
    made.globals |= {"escape": escape}
    return made


@cache
def _assets_version() -> str:
    """Changes with the files, so that a browser keeps no old ones."""
    return f"{crc32(b''.join(static_files().values())):08x}"


@cache
def static_files() -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in (_FOLDER / "static").iterdir() if path.is_file()
    }

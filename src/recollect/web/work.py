"""Long work: an operation in a thread with an App of its own, and the page that shows how far it is and what came of
it. It goes on when the page is closed, and ends with the server; imports go on where they were."""

from __future__ import annotations

import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, RedirectResponse, Response

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, RecollectError, Stopped
from recollect.base.ids import fresh_key
from recollect.web.acts import read_values
from recollect.web.pages import Page, find_op, view
from recollect.web.views import forget_count, three_things

WORKS = {  # what the page may run so: its title meanwhile, and afterwards
    "import sessions": ("Importing past sessions", "Past sessions are imported"),
    "import jsonl": ("Importing a file", "The file is imported"),
    "backup": ("Backing up", "Backed up"),
    "export": ("Exporting", "The export is ready"),
}
_lock = threading.Lock()  # of what is kept: a double click starts one piece of work
_kept: dict[str, Work] = {}


class Work:
    """Reports its progress by being called, as the operation's App does."""

    def __init__(self, op: str, project: str) -> None:
        self.id, self.op, self.project = fresh_key()[:16], op, project
        self.done, self.total, self.said = 0.0, 0.0, ""
        self.is_over = self.is_stopped = False
        self.result: Any = None
        self.problem: RecollectError | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None  # of the file that it makes
        self.file: Path | None = None

    @property
    def title(self) -> str:
        return "It was not finished" if self.problem else WORKS[self.op][self.is_over]

    @property
    def changes(self) -> list[str]:
        """What `undo` takes back."""
        facts = getattr(self.result, "facts", {})
        made = [change for one in facts.get("projects", ()) for change in one.get("made", ())]
        return made or [facts["change"]] if facts.get("new") else made

    def __call__(self, done: float, total: float, what: str = "") -> None:
        self.done, self.total = done, total
        counts = (f"{one:,}" if isinstance(one, int) else f"{one:,.1f}" for one in (done, total))
        self.said = f"{' of '.join(counts)} {what}"
        if self.is_stopped:
            raise Stopped(
                "You stopped it.", hint="What was finished stays. Start it again to go on."
            )

    def run(self, folder: Path, values: dict[str, Any]) -> None:
        try:
            with closing(App.open(folder, progress=self)) as app:
                try:
                    self.result = find_op(self.op).function(app, **values)
                except RecollectError as problem:
                    self.problem = problem
                except Exception as problem:  # noqa: BLE001 the edge of a thread: the page says so
                    app.log.line("work-failed", op=self.op, problem=type(problem).__name__)
                    self.problem = RecollectError(
                        f"It failed: {type(problem).__name__}.", hint="`recollect doctor`"
                    )
        except RecollectError as problem:
            self.problem = problem
        finally:
            self.is_over = True


def find(project: str, id: str) -> Work | None:
    found = _kept.get(id)
    return found if found and found.project == project else None


def find_own(page: Page) -> Work:
    if (found := find(page.project, page.args["id"])) is None:
        raise NotFound(
            "That work is not known here any more.", hint="`recollect log` shows what was done."
        )
    return found


@view("/work/{op}", method="POST")
def start(page: Page) -> Response:
    name = page.args["op"].replace("-", " ")
    if name not in WORKS:
        return page.problem(
            NotFound("The page cannot do that.", hint="Go back and try another button."), 404
        )
    work, form = Work(name, page.project), page.form
    if name == "export":
        work.folder = tempfile.TemporaryDirectory(prefix="recollect-export-")
        work.file = Path(work.folder.name, "memories.jsonl")
        form = {**form, "file": [str(work.file)]}
    values = read_values(find_op(name), form)
    if name == "import jsonl" and not Path(values.get("file", "")).is_absolute():
        return page.problem(
            BadInput(
                "Name the file with its whole path.", hint="For example /home/me/memories.jsonl."
            )
        )
    with _lock:
        same = (
            one
            for one in _kept.values()
            if not one.is_over and (one.op, one.project) == (name, page.project)
        )
        if (running := next(same, None)) is not None:
            return RedirectResponse(page.url(f"work/{running.id}"), 303)
        _kept[work.id] = work
        for old in [id for id, one in _kept.items() if one.is_over][:-30]:
            del _kept[old]
    threading.Thread(target=work.run, args=(page.folder, values), name="work", daemon=True).start()
    return RedirectResponse(page.url(f"work/{work.id}"), 303)


@view("/work/{id}")
def show(page: Page) -> Response:
    work = find_own(page)
    is_import = work.is_over and work.op == "import sessions" and work.changes
    if is_import:
        forget_count(page)
    return page.render("work.html", work=work, things=three_things(page) if is_import else ())


@view("/work/{id}/stop", method="POST")
def stop(page: Page) -> Response:
    find_own(page).is_stopped = True
    return RedirectResponse(page.url(f"work/{page.args['id']}"), 303)


@view("/work/{id}/file")
def download(page: Page) -> Response:
    work = find_own(page)
    if work.file is None or not work.file.exists():
        raise NotFound("There is no file to download.", hint="Export again.")
    return FileResponse(work.file, media_type="application/jsonl", filename=work.file.name)

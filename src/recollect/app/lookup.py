"""Which memory a person means: a whole id, part of an id or of a title, a note's file, `last`, or a number of the list
printed last.

A name that fits several memories is an error that lists them; nothing is guessed. The list printed last is kept per
project in `last-shown.json` of the home folder, written by the command line.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import note_files
from recollect.base.errors import AmbiguousName, HomeRefused, UnknownId
from recollect.base.files import read_limited, write_private
from recollect.base.text import clip, one_line, storable
from recollect.model.memory import Memory, Note
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.app.core import App

UNASKED_OPS = frozenset({"note sync", "thread", "learning", "learn", "promote", "propose", "wake"})
"""Changes in the journal that nobody asked for and nobody was told of: neither `undo` nor `last` means them."""
_FILE = "last-shown.json"
_MAX_FILE_BYTES = 1_000_000
_MAX_PROJECTS = 100
_MAX_LISTED = 200
_LOOKED_BACK = 50
_SHORTEST_PART = 3


class _Shown(NamedTuple):
    listed: tuple[str, ...] = ()
    last: str = ""
    at: int = 0


def find_memory(app: App, name: str) -> tuple[Scope, Memory]:
    name = one_line(storable(name))
    found = app.exact(name) or (_last(app) if name == "last" else _numbered(app, name))
    if found is not None:
        return found
    near: list[tuple[str, str]] = []
    fitting = [pair for id in note_files.notes_called(app, name) if (pair := app.exact(id))]
    if not fitting:
        near = [pair for _, store in app.scopes() for pair in store.near(name)]
        fitting = _fitting(app, name.casefold(), near) if len(name) >= _SHORTEST_PART else []
    if len(fitting) > 1:
        raise AmbiguousName(name, [f"{memory.id[-6:]}  {_shown_name(memory)}" for _, memory in fitting])
    if not fitting:
        raise UnknownId(name, tuple(difflib.get_close_matches(name, [id for id, _ in near], n=3, cutoff=0.6)))
    return fitting[0]


def _shown_name(memory: Memory) -> str:
    return memory.path if isinstance(memory, Note) and memory.path else clip(one_line(memory.title), 60)


def _fitting(app: App, part: str, near: list[tuple[str, str]]) -> list[tuple[Scope, Memory]]:
    """An id that was merged into another memory leads to that one, and is no second candidate."""
    fitting = [(id, title.casefold()) for id, title in near if part in id or part in title.casefold()]
    whole = [(id, title) for id, title in fitting if title == part or id.endswith(part)]
    found = [app.exact(id) for id, _ in whole or fitting]
    return list({memory.id: (scope, memory) for scope, memory in filter(None, found)}.values())


def remember_shown(app: App, listed: Sequence[str] = (), last: str = "") -> None:
    """From now on numbers stand for `listed`, and `last` for the one that was shown by itself."""
    if app.dry_run or not app.home.root.exists():
        return
    known = _every_place(app)
    before = known.pop(_place(app), _Shown())
    now = _Shown(tuple(listed)[:_MAX_LISTED] or before.listed, last or before.last, app.clock.now().micros)
    known[_place(app)] = now if last else now._replace(at=before.at)
    try:
        write_private(app.home.root / _FILE, json.dumps(dict(list(known.items())[-_MAX_PROJECTS:])) + "\n")
    except (OSError, HomeRefused):
        pass  # a convenience: the answer was printed all the same


def _numbered(app: App, name: str) -> tuple[Scope, Memory] | None:
    if not (name.isascii() and name.isdigit() and len(name) < 4):
        return None
    listed = _every_place(app).get(_place(app), _Shown()).listed
    return app.exact(listed[int(name) - 1]) if 0 < int(name) <= len(listed) else None


def _last(app: App) -> tuple[Scope, Memory] | None:
    """The one that was made, changed or shown last."""
    shown = _every_place(app).get(_place(app), _Shown())
    newest = (shown.at, shown.last)
    for _, store in app.scopes():
        for entry in store.log(limit=_LOOKED_BACK):
            if entry.memories and entry.op not in UNASKED_OPS and app.exact(entry.memories[0]):
                newest = max(newest, (entry.at.micros, entry.memories[0]))
                break
    return app.exact(newest[1])


def _every_place(app: App) -> dict[str, _Shown]:
    """By project; empty where nothing was shown, or the file says something else."""
    try:
        found = json.loads(read_limited(app.home.root / _FILE, _MAX_FILE_BYTES))
        return {place: _Shown(tuple(map(str, ids)), str(last), int(at)) for place, (ids, last, at) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _place(app: App) -> str:
    return str(app.project.root) if app.project else ""

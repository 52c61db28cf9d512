"""Finds the memory that a person means: by a whole id, part of an id or of a title, a note's file, `last`, or a number
of the list printed last (kept per project in `last-shown.json`). A name that fits several memories is an error that
lists them."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import note_files
from recollect.base.errors import AmbiguousName, HomeRefused, UnknownId
from recollect.base.files import read_limited, write_private
from recollect.base.text import clip, one_line, storable
from recollect.model.memory import Memory
from recollect.model.query import Query
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.app.core import App

UNASKED_OPS = frozenset({"note sync", "thread", "learning", "learn", "promote", "propose", "wake"})
"""Changes in the journal that nobody asked for and nobody was told of: neither `undo` nor `last` means them."""
TEAM_OP = "team: "  # before the operation of a colleague's change
TEAM_SYNC = f"{TEAM_OP}sync"  # all that a team shares, as a mirror is made
_FILE = "last-shown.json"
_MAX_FILE_BYTES = 1_000_000
_MAX_PROJECTS = 100
_MAX_LISTED = 200
_MAX_ENTRIES = 50
_MIN_PART_CHARS = 3
_LOOKALIKES = 50
_MAX_NAME_CHARS = 60
_LONGEST_NAME_CHARS = 4_096  # of a note's path; titles are shorter
_SHORT_ID = re.compile("[0-9a-f]{6}")


class _Shown(NamedTuple):
    listed: tuple[str, ...] = ()
    last: str = ""
    at: int = 0


def is_asked(op: str) -> bool:
    """Whether somebody here asked for such a change, or was told of it."""
    return op not in UNASKED_OPS and not op.startswith(TEAM_OP)


def find_memory(app: App, name: str) -> tuple[Scope, Memory]:
    if len(name) > _LONGEST_NAME_CHARS:
        raise UnknownId(clip(one_line(storable(name[:_LONGEST_NAME_CHARS])), _MAX_NAME_CHARS))
    name = one_line(storable(name))
    if found := app.exact(name) or _find_shown(app, name):
        return found
    ids, near = note_files.notes_called(app, name), find_like(app, name)
    if not ids and len(name) >= _MIN_PART_CHARS:
        part = name.casefold()
        ids = [one.id for one in near if one.title.casefold() == part or one.id.endswith(part)]
        ids = ids or [one.id for one in near if part in one.id or part in one.title.casefold()]
        ids = ids or note_files.notes_called_in_part(app, name)
    # An id that was merged into another memory leads to that one, and is no second candidate.
    fitting = list(
        {memory.id: (scope, memory) for scope, memory in filter(None, map(app.exact, ids))}.values()
    )
    if len(fitting) > 1:
        names = [
            getattr(memory, "path", "") or clip(one_line(memory.title), 60) for _, memory in fitting
        ]
        raise AmbiguousName(
            name,
            [f"{one.id[-6:]}  {shown}" for (_, one), shown in zip(fitting, names, strict=True)],
        )
    if not fitting:
        raise UnknownId(
            name,
            tuple(difflib.get_close_matches(name, [memory.id for memory in near], n=3, cutoff=0.6)),
        )
    return fitting[0]


def find_named(app: App, text: str) -> tuple[Scope, Memory] | None:
    """The memory that a text is the name of and nothing else: a number of the last list, six digits, an id. `last` is
    a word, too."""
    if len(text) > _MAX_NAME_CHARS or text == "last":
        return None
    name = one_line(storable(text)).strip()
    if found := app.exact(name) or _find_shown(app, name):
        return found
    fitting = find_by_short_id(app, name) if _SHORT_ID.fullmatch(name) else []
    return fitting[0] if fitting else None


def is_list_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 4


def find_by_short_id(app: App, part: str) -> list[tuple[Scope, Memory]]:
    """Those whose id ends or begins with this, each once; a merged id leads to the memory that it became."""
    ids = [
        one.id for one in find_like(app, part) if one.id.endswith(part) or one.id.startswith(part)
    ]
    found = filter(None, map(app.exact, ids))
    return list({memory.id: (scope, memory) for scope, memory in found}.values())


def find_like(app: App, text: str) -> list[Memory]:
    """Whose ids or titles contain this text, then some whose ids look like it."""
    return [
        memory
        for _, store in app.scopes()
        for memory in store.find(Query(like=text, limit=_LOOKALIKES))
    ]


def _find_shown(app: App, name: str) -> tuple[Scope, Memory] | None:
    """A number of the list printed last; or `last`, the one that was made, changed or shown last."""
    if name != "last" and not is_list_number(name):
        return None
    shown = _shown_by_project(app).get(_project(app), _Shown())
    if name != "last":
        return (
            app.exact(shown.listed[int(name) - 1]) if 0 < int(name) <= len(shown.listed) else None
        )
    newest = (shown.at, shown.last) if app.exact(shown.last) else (0, "")
    for _, store in app.scopes():
        for entry in store.log(limit=_MAX_ENTRIES):
            if entry.memories and is_asked(entry.op) and app.exact(entry.memories[0]):
                newest = max(newest, (entry.at.micros, entry.memories[0]))
                break
    return app.exact(newest[1])


def remember_shown(app: App, listed: Sequence[str] = (), last: str = "") -> None:
    """From now on numbers stand for `listed`, and `last` for the one that was shown alone."""
    if app.dry_run or not app.home.root.exists():
        return
    known = _shown_by_project(app)
    before = known.pop(_project(app), _Shown())
    at = app.clock.now().micros if last else before.at
    known[_project(app)] = _Shown(
        tuple(listed)[:_MAX_LISTED] or before.listed, last or before.last, at
    )
    with suppress(OSError, HomeRefused):  # a convenience: the answer was printed all the same
        write_private(
            app.home.root / _FILE, json.dumps(dict(list(known.items())[-_MAX_PROJECTS:])) + "\n"
        )


def _shown_by_project(app: App) -> dict[str, _Shown]:
    """Empty where nothing was shown, or the file says something else."""
    try:
        found = json.loads(read_limited(app.home.root / _FILE, _MAX_FILE_BYTES))
        return {
            project: _Shown(tuple(map(str, ids)), str(last), int(at))
            for project, (ids, last, at) in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _project(app: App) -> str:
    return str(app.project.root) if app.project else ""

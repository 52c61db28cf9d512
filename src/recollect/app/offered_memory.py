"""A clone, a copy or a folder that was made anew has no memory of its own yet; another folder's may be meant for it.
A person is told and decides (`recollect attach`): what a folder says of itself may be copied from anywhere."""

from __future__ import annotations

from recollect.app.core import App
from recollect.app.states import Memo
from recollect.base import project as projects
from recollect.base.project import Project
from recollect.render.inject import plain

_COMMITS_READ = 300_000  # about eight seconds, once for a project


def offer_lines(app: App) -> tuple[str, ...]:
    """For a person, never for an agent: they name other projects."""
    if app.project is None:
        return ()
    return tuple(
        f"this looks like another copy of {plain(store.name, 60)} ({plain(store.root, 200)}), which has a memory; "
        f"`recollect attach {store.folder.name}` uses it here, `recollect attach --off` declines"
        for store in projects.offers(app.home.projects, app.project)
    )


def note_first_commit(app: App, memo: Memo) -> bool:
    """Job: for repositories with a history too long to be read while a hook waits."""
    if app.project is not None and Project not in memo:
        memo[Project] = True
        projects.note_first_commit(app.home.projects, app.project, _COMMITS_READ)
    return False

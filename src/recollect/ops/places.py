"""Which projects have a memory, and giving one back to a folder that has moved."""

from __future__ import annotations

from typing import Annotated

from recollect.base import project as identity
from recollect.model.codec import Json
from recollect.model.result import Told
from recollect.ops.app import App
from recollect.ops.table import Arg


def projects(app: App) -> Told:
    known = identity.known(app.home.projects)
    facts: list[Json] = [
        {"folder": k.folder.name, "name": k.name, "root": k.root, "exists": k.exists, "attached": k.attached}
        for k in known
    ]
    lines = "\n".join(f"{k.folder.name}  {k.root}{'' if k.exists else '  (gone)'}" for k in known)
    return Told(lines or "No project has a memory yet.", {"projects": facts})


def attach(
    app: App,
    folder: Annotated[str, Arg("The store's folder, as `recollect projects` lists it.", metavar="FOLDER")],
) -> Told:
    project = app.project_here()
    if app.dry_run:
        return Told(f"Would give {project.root} the memory in {folder}.", {"folder": folder, "dry_run": True})
    target = identity.attach(app.home.projects, project, folder)
    app.log.line("attach", folder=target.name)
    return Told(f"{project.root} now has the memory in {target.name}.", {"folder": target.name, "dry_run": False})

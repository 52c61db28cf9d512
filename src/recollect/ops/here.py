"""The state of what goes on in one place: whose store keeps it, and where the project's folder shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress

from recollect.base.errors import HomeRefused
from recollect.base.files import write_view
from recollect.model.codec import Json
from recollect.model.result import Scope
from recollect.ops.app import App


def scope_here(app: App) -> Scope:
    """Whose store keeps the state of what goes on here."""
    return Scope.PROJECT if app.project is not None else Scope.USER


def show_view(app: App, name: str, shown: Mapping[str, Json]) -> None:
    """Beside the project's files, where there is a project and a place for it; else nowhere."""
    if app.project is None or app.dry_run:
        return
    with suppress(OSError, HomeRefused):
        write_view(app.project.root / ".ai" / name, json.dumps(shown, ensure_ascii=False, indent=2) + "\n")

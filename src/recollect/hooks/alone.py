"""Hooks without a daemon: an App is opened for one event and closed after it. For tests, and for who wants to see
what an agent would get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from recollect.ops.app import App


class Alone:
    @contextmanager
    def app(self, project_folder: str, cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
        app = App.here(Path(project_folder or cwd), actor="agent")
        try:
            yield app
        finally:
            app.close()

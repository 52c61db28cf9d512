"""Operations on a real home, with a clock that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from recollect.base import project
from recollect.base.clock import FixedClock
from recollect.base.paths import Home, home, user_home
from recollect.base.settings import environment, load
from recollect.embed import Embedder
from recollect.embed import load as load_model
from recollect.ops.app import App
from tests.values import MINT, NOW


class Opens(Protocol):
    def __call__(
        self, folder: Path | None = None, *, home: Path | None = None, actor: str = "user", dry_run: bool = False
    ) -> App: ...


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The shipped model, loaded once: it is a fifth of a second and holds no state."""
    return load_model("shipped")


@pytest.fixture
def open_app(embedder: Embedder) -> Iterator[Opens]:
    """An App for a folder and a home; of both the test's own where none is named."""
    opened: list[App] = []

    def make(
        folder: Path | None = None, *, home: Path | None = None, actor: str = "user", dry_run: bool = False
    ) -> App:
        environ = environment()
        place = Home(home or _home())
        found = project.find(folder or Path.cwd(), user_home(environ))
        settings = load(place.conf, found.conf if found else None, environ)
        clock = FixedClock(NOW)
        app = App(home=place, project=found, settings=settings, clock=clock, actor=actor, dry_run=dry_run)
        # One mint for all: several at one moment could draw the same id, which is test_writers' matter.
        app.mint = MINT
        app._embedder = embedder
        opened.append(app)
        return app

    yield make
    for app in opened:
        app.close()


@pytest.fixture
def app(open_app: Opens) -> App:
    return open_app()


def _home() -> Path:
    return home(environment())

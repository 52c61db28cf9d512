"""Operations on a real home, with a clock that stands still until a test moves it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from recollect.app.core import App
from recollect.base import project
from recollect.base.clock import FixedClock
from recollect.base.paths import Home, home, user_home
from recollect.base.settings import environment, load
from recollect.embed.embedder import Embedder
from recollect.embed.embedder import load as load_model
from tests.llm.standin import StandIn
from tests.ops.transcript import Transcript
from tests.values import MINT, NOW


class Opens(Protocol):
    def __call__(
        self,
        folder: Path | None = None,
        *,
        home: Path | None = None,
        actor: str = "user",
        dry_run: bool = False,
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
        folder: Path | None = None,
        *,
        home: Path | None = None,
        actor: str = "user",
        dry_run: bool = False,
    ) -> App:
        environ = environment()
        place = Home(home or _home())
        found = project.find(folder or Path.cwd(), user_home(environ))
        settings = load(place.conf, found.conf if found else None, environ)
        clock = FixedClock(NOW)
        app = App(
            home=place, project=found, settings=settings, clock=clock, actor=actor, dry_run=dry_run
        )
        # One mint for all: several at one moment could draw the same id, which `bench writers` measures.
        app.mint = MINT
        app._embedder = embedder
        opened.append(app)
        return app

    yield make
    for app in opened:
        app.close()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs of the test's own: no agent of the machine's is found or asked anything."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "OPENCODE_CONFIG_DIR",
        "PI_CODING_AGENT_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def app(request: pytest.FixtureRequest, open_app: Opens) -> App:
    if "model" in request.fixturenames:
        request.getfixturevalue("model")  # its settings are read when the App is opened
    return open_app()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A stand-in for the language model, which is switched on. Answers `[]` until it is told otherwise."""
    made = StandIn(tmp_path / "model", "[]")
    made.switch_on(monkeypatch)
    return made


@pytest.fixture
def vault(app: App) -> Path:
    app.home.prepare()
    app.home.vault.mkdir()
    return app.home.vault


@pytest.fixture
def shared() -> Path:
    """The vault in the project."""
    place = Path.cwd() / ".ai" / "memory"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def transcript(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


def _home() -> Path:
    return home(environment())

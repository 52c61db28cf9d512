"""Hooks over a real App and a real database, without a daemon."""

import pytest

from recollect.app.core import App
from tests.hooks.talk import Another, Talk
from tests.ops.conftest import Opens, embedder, open_app

__all__ = ["embedder", "open_app"]


@pytest.fixture
def app(open_app: Opens) -> App:
    return open_app(actor="agent")


@pytest.fixture
def talk(app: App) -> Talk:
    return Talk(app)


@pytest.fixture
def another(app: App) -> Another:
    """Another session in the same place."""
    return lambda session: Talk(app, session=session)

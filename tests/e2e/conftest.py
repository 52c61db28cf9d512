"""A world for each test, once for each way in which context reaches a model."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.client import MODELS, World, lacking, scratch_world

# Read when the tests are collected: they have an environment of their own later.
IN_CI = os.environ.get("CI") == "true"


def refuse(reason: str) -> None:
    """The test says why it did not run. Where it must run, that is a failure."""
    if IN_CI and sys.platform != "win32":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def client() -> None:
    """The real client is there."""
    if reason := lacking():
        refuse(reason)


@pytest.fixture(params=MODELS[:1])
def world(request: pytest.FixtureRequest, client: None) -> Iterator[World]:
    with scratch_world(request.param) as world:
        yield world


@pytest.fixture
def installed(world: World) -> World:
    world.install()
    return world

"""A world for each test, with one more real agent in it. They run by `./check --agents` alone: they take a while, and
some hundred megabytes each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents_e2e.programs import AGENT_TYPES, Agent, lacking
from tests.e2e.client import World


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """No process of a test may outlive it."""
    if request.config.getoption("--agents") is not True:
        pytest.skip("real agents other than the first: ./check --agents")
    root = Path(tempfile.mkdtemp(prefix="a")).resolve()
    world = World(root)
    yield world
    left = world.end()
    shutil.rmtree(root)
    assert not left, f"still running: {left}"


@pytest.fixture(params=AGENT_TYPES, ids=lambda one: one.name)
def other(request: pytest.FixtureRequest, world: World) -> Agent:
    return driven(request.param, world)


def driven(kind: type[Agent], world: World) -> Agent:
    if reason := lacking(kind):
        pytest.skip(reason)
    return kind(world)

"""A world for each test, with one more real agent in it. They run by `./check --agents` alone: they take a while, and
some hundred megabytes each."""

from collections.abc import Iterator

import pytest

from tests.agents_e2e.programs import AGENT_TYPES, Agent, found
from tests.e2e.client import World, scratch_world


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.config.getoption("--agents") is not True:
        pytest.skip("real agents other than the first: ./check --agents")
    with scratch_world() as world:
        yield world


@pytest.fixture(params=AGENT_TYPES, ids=lambda one: one.name)
def other(request: pytest.FixtureRequest, world: World) -> Agent:
    return driven(request.param, world)


def driven(kind: type[Agent], world: World) -> Agent:
    if found(kind) is None:
        pytest.skip(f"{kind.name} is not here: tools/get_agents {kind.name} gets it")
    return kind(world)

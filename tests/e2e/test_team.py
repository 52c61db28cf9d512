"""The real client in two homes: what a person says in one reaches the next session in the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.daemon.real import soon
from tests.e2e.client import World, scratch_world
from tests.e2e.stand_in import says
from tests.store.postgres import running_server
from tests.team.people import git, make_repository

SAID = "no, we use pnpm here, never npm"


def make_clone(world: World, repository: Path) -> None:
    """The world's project is a clone: it knows its first commit and its remote."""
    git(world.project, "clone", "--no-hardlinks", str(repository), str(world.root / "clone"))
    (world.project / ".git" / "HEAD").unlink()
    (world.project / ".git").rmdir()
    (world.root / "clone" / ".git").rename(world.project / ".git")


@contextmanager
def other_world(model: str) -> Iterator[World]:
    with scratch_world(model) as world:
        world.install()
        yield world


def test_a_rule_said_in_one_home_reaches_the_next_session_of_the_other(
    installed: World, tmp_path: Path
):
    repository = make_repository(tmp_path / "origin")
    with running_server() as server, other_world(installed.model) as colleague:
        for world, command in ((installed, "create"), (colleague, "join")):
            make_clone(world, repository)
            world.recollect("team", command, "acme", server.url, "--person", command)
        installed.recollect("config", "MEMORY_TEAM_SHARE", "rules")

        installed.run(SAID, says("Understood."))
        assert soon(
            lambda: any(
                "pnpm" in rule["body"]
                for rule in colleague.json("team", "link") and colleague.json("rules")
            )
        )

        session = colleague.run("hello, please look around", says("Hello."))
        assert session.asked[0].holds("[team]")
        assert session.asked[0].holds("pnpm")

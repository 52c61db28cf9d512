"""A colleague joins as the documents and `team create` say, and then sees what the others share, daemon or not."""

import os
from collections.abc import Callable

import pytest

from recollect.store.postgres_admin import without_password
from recollect.store.postgres_connection import parse_url
from tests.cli.run import needs_pty, with_keys
from tests.team.conftest import Team
from tests.team.people import Person

PNPM = "Use pnpm, never npm."


def test_an_address_that_ends_in_a_newline_is_an_address(meet: Callable[..., Person], team: Team):
    ben = meet("Ben", alone=True)

    ben.run("team", "join", team.name, "-", stdin=f"  {team.far_url}\r\n")

    assert ben.status()["reachable"]


@needs_pty
def test_the_line_that_colleagues_join_with_asks_for_the_password(
    meet: Callable[..., Person], team: Team, monkeypatch: pytest.MonkeyPatch
):
    ben = meet("Ben", alone=True)
    monkeypatch.chdir(ben.project)
    password = parse_url(team.far_url)["password"]
    for name in [name for name in os.environ if name not in ben.environ]:
        monkeypatch.delenv(name)

    code, shown = with_keys(
        "team", "join", team.name, without_password(team.far_url),
        keys=[password.encode() + b"\n"], env=ben.environ,
    )  # fmt: skip

    assert (code, "Password:" in shown, password in shown) == (0, True, False), shown
    assert f"Team {team.name} is joined" in shown


def test_where_nobody_can_be_asked_the_missing_password_is_named(
    meet: Callable[..., Person], team: Team
):
    ben = meet("Ben", alone=True)

    told = ben.run("team", "join", team.name, without_password(team.far_url), code=13)

    assert "asks for a password, and the address has none" in told
    assert "--password-command" in told


@pytest.mark.parametrize(
    "command", [("rules",), ("recall", "pnpm"), ("search", "pnpm")], ids=lambda one: one[0]
)
def test_what_a_colleague_has_just_shared_is_in_the_first_answer(
    ann: Person, meet: Callable[..., Person], monkeypatch: pytest.MonkeyPatch, command: tuple[str]
):
    ann.add_rule(PNPM, "--team")
    ben = meet("Ben")
    assert PNPM in ben.run(*command), "what was shared before he joined"

    monkeypatch.setattr("recollect.jobs.team_sync._FRESH_S", 0.0)
    ann.add_rule("Never commit pnpm-debug.log.", "--team")

    assert "pnpm-debug.log" in ben.run(*command), "and what was shared since"


def test_what_was_fetched_at_once_is_not_offered_for_undo(
    ann: Person, meet: Callable[..., Person], team: Team
):
    ann.add_rule(PNPM, "--team")
    ben = meet("Ben")
    ben.sync()

    said = ben.run("log")

    assert f"fetched what team {team.name} shares" in said
    assert "recollect undo" not in said
    assert {one["change"] for one in ben.json("activity")} == {""}


def test_a_copy_that_cannot_be_refreshed_answers_and_says_how_old_it_is(
    ann: Person, ben: Person, team: Team, monkeypatch: pytest.MonkeyPatch
):
    ann.add_rule(PNPM, "--team")
    ben.sync()
    monkeypatch.setattr("recollect.jobs.team_sync._FRESH_S", 0.0)
    team.hang()

    first, second = (ben.ran("rules") for _ in range(2))

    for answer in (first, second):
        assert PNPM in answer.out
        assert f"What team {team.name} shares was last fetched" in answer.err
    assert "cannot be reached" in first.err
    assert "cannot be reached" not in second.err, "it was not asked again so soon"

"""What never leaves the machine, and what a dry run shows of what would."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.team.conftest import Team, everything
from tests.team.people import Person

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ODD = "zanzibarquokka"


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (("rule", "add", f"Mind the {ODD}.", "--user"), "never leaves this machine"),
        (("pin", f"Mind the {ODD}", "--topics", "private"), "it is private"),
        (("note", "save", f"Mind the {ODD}"), "never leaves this machine"),
    ],
)
def test_the_users_own_store_and_what_is_private_are_refused(
    made: tuple[str, ...], why: str, ann: Person, team: Team
):
    id = ann.json(*made)["ids"][0]
    assert why in ann.run("share", id, code=2)
    assert ODD not in everything(team)


def test_a_secret_never_arrives(ann: Person, team: Team):
    ann.run("rule", "add", f"Deploy with {SECRET} only.", "--team")
    assert SECRET not in everything(team)
    assert "Deploy with" in everything(team)


def test_nothing_is_shared_by_default(ann: Person, team: Team):
    ann.add_rule(f"Mind the {ODD}.")
    ann.run("pin", f"Mind the {ODD}")
    ann.sync()
    assert ODD not in everything(team)


def test_a_prompt_and_a_session_leave_no_word_at_the_server(ann: Person, team: Team):
    ann.run("config", "MEMORY_TEAM_SHARE", "rules,lessons")
    ann.start_daemon()
    ann.say(f"why does the {ODD} test fail at night?")
    ann.say(f"we use pnpm here, never npm, because of the {ODD} thing we saw", session="s-9")
    ann.run("recall", f"the {ODD} test")
    ann.sync()
    assert "why does" not in everything(team)


def test_a_dry_run_shows_every_word_that_would_be_sent_and_sends_none(ann: Person, team: Team):
    id = ann.add_rule(f"Mind the {ODD}.", "--topics", "animals")
    shown = ann.run("share", id, "--dry-run")
    assert f"body: Mind the {ODD}." in shown
    assert "animals" in shown
    assert ODD not in everything(team)
    assert ann.status()["waiting"] == 0
    ann.run("share", id)
    with closing(team.store()) as store:
        [(memory, _)] = list(store.each())
    for value in (memory.title, memory.body, memory.origin, memory.group):
        assert value in shown


def test_purged_memories_are_gone_from_the_teams_tables_and_journal(
    ann: Person, ben: Person, team: Team
):
    id = ann.add_rule(f"Mind the {ODD}.", "--team")
    ben.sync()
    ben.run("edit", id, "--title", f"About the {ODD}")
    ben.sync()
    ann.sync()
    ann.run("forget", id, "--purge", "--yes")
    ann.sync()
    ben.sync()
    assert ODD not in everything(team)
    assert ben.rules() == {}


def test_no_prompt_is_asked_of_the_server(ann: Person, team: Team, tmp_path: Path):
    """Recall reads the copy here: with the server gone it finds the same."""
    ann.run("rule", "add", f"Mind the {ODD}.", "--team")
    team.proxy.refuse()
    assert ODD in ann.run("recall", f"what about the {ODD}?")


def test_what_a_colleague_purged_is_in_no_file_here(ann: Person, ben: Person, team: Team):
    """Ben has had it in his copy, its journal, a backup, and in what his session was told; Ann takes it away."""
    id = ann.add_rule(f"Mind the {ODD}.", "--team")
    other = ann.add_rule(f"The {ODD} sleeps at noon.", "--team")
    ben.sync()
    ben.run("recall", f"what about the {ODD}?")
    ben.back_up_mirror()
    assert ben.holding(ODD)

    ann.run("unshare", other)
    ann.sync()
    ben.sync()
    ann.run("forget", id, other, "--purge", "--yes")
    ann.sync()
    ben.sync()

    assert ODD not in everything(team)
    assert ben.holding(ODD) == []
    assert ann.holding(ODD) == []


def test_what_was_purged_while_a_colleague_was_away_too_long_is_in_no_file_there(
    ann: Person, ben: Person, team: Team
):
    """So long that the team's journal no longer tells what was done: all is compared."""
    id = ann.add_rule(f"Mind the {ODD}.", "--team")
    ben.sync()
    ann.run("forget", id, "--purge", "--yes")
    ann.sync()
    with closing(team.store()) as store:
        store._write("DELETE FROM journal", ())

    ben.sync()

    assert ben.rules() == {}
    assert ben.holding(ODD) == []

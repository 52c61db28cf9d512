"""The server is away, hung, killed or cut off midway, or a client is killed: nothing is lost, nothing comes twice."""

import signal
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from recollect.jobs import team_sync
from tests.daemon.real import soon
from tests.store.postgres import Server, running_server
from tests.team.conftest import Team
from tests.team.people import Person
from tests.team.test_members import PNPM, check_sound

UNRELATED = (
    "Write commit subjects in the imperative mood.", "Deploys go through staging first.", "Money is Decimal.",
    "Tests must not reach the network.", "Ask Anna before a database migration.", "Log lines are key=value.",
)  # fmt: skip


def check_arrived_once(team: Team, *people: Person) -> None:
    """Everybody has it, and the team's journal has one change for it."""
    with closing(team.store()) as store:
        assert [memory.body for memory, _ in store.each()] == [PNPM]
        assert len(store.log(limit=100)) == 1
    for person in people:
        assert [one["body"] for one in person.json("rules")] == [PNPM]
        assert person.status()["waiting"] == 0
    check_sound(team, *people)


def hang(team: Team) -> None:
    team.hang()


def refuse(team: Team) -> None:
    team.proxy.refuse()


@pytest.mark.parametrize("trouble", [hang, refuse])
def test_what_is_shared_while_the_server_is_away_waits_and_it_is_said_once(
    trouble: Callable[[Team], None], ann: Person, ben: Person, team: Team
):
    trouble(team)
    done = ann.json("rule", "add", PNPM, "--team")
    assert any("will be sent when it answers" in note for note in done["notes"])
    status = ann.status()
    assert (status["reachable"], status["waiting"]) == (False, 1)
    assert list(ann.rules()) == [PNPM], "it is in force here at once"
    said = [line for line in ann.log_lines() if " team-away " in line]
    ann.add_rule("Tabs.")
    assert [line for line in ann.log_lines() if " team-away " in line] == said
    assert len(said) == 1


def test_what_waited_arrives_when_the_server_is_back(ann: Person, ben: Person, team: Team):
    team.hang()
    ann.add_rule(PNPM, "--team")
    team.hang(on=False)
    team.proxy.cut()
    ann.sync()
    ben.sync()
    check_arrived_once(team, ann, ben)


@pytest.mark.parametrize("statement", [b"INSERT INTO", b"COMMIT\0", b"pg_notify"])
def test_a_network_that_is_cut_in_the_middle_of_a_transaction_costs_nothing(
    statement: bytes, ann: Person, ben: Person, team: Team
):
    team.proxy.cut_at = statement
    ann.add_rule(PNPM, "--team")
    assert team.proxy.cuts, "it came to that statement"
    assert ann.status()["waiting"] == 1
    team.proxy.cut_at = b""
    ann.sync()
    ben.sync()
    check_arrived_once(team, ann, ben)


def test_a_change_that_arrived_and_was_not_acknowledged_is_not_sent_again(
    ann: Person, ben: Person, team: Team
):
    team.proxy.cut_after = b"COMMIT\0"
    id = ann.add_rule(PNPM, "--team")
    assert team.proxy.cuts
    with closing(team.store()) as store:
        assert len(store.log(limit=100)) == 1, "it is there"
    team.proxy.cut_after = b""
    assert ann.status()["waiting"] == 1, "and she does not know"
    ben.sync()
    ben.run("edit", id, "--title", "Package manager")
    ann.sync()
    ben.sync()
    with closing(team.store()) as store:
        assert [memory.title for memory, _ in store.each()] == ["Package manager"], (
            "what came later was not overwritten"
        )
        assert len(store.log(limit=100)) == 2
    check_sound(team, ann, ben)


def test_a_client_that_is_killed_while_it_shares_loses_nothing(
    ann: Person, ben: Person, team: Team
):
    team.hang()
    sharing = ann.start("rule", "add", PNPM, "--team")
    assert soon(lambda: team.proxy.has_taken)  # what it sends goes nowhere
    sharing.send_signal(signal.SIGKILL)
    sharing.communicate(timeout=60)
    team.hang(on=False)
    ann.sync()
    ben.sync()
    check_arrived_once(team, ann, ben)


def test_a_server_that_is_killed_comes_back_with_all_that_it_acknowledged(
    meet: Callable[..., Person],
):
    with running_server() as server:
        ann, ben = meet("Ann", alone=True), meet("Ben", alone=True)
        ann.run("team", "create", "other", "-", "--person", "Ann", stdin=server.url)
        ben.run("team", "join", "other", "-", "--person", "Ben", stdin=server.url)
        for person in (ann, ben):
            person.start_daemon()
        ann.add_rule(PNPM, "--team")
        server.kill()
        ann.add_rule("Tabs.", "--team")
        assert ann.status()["waiting"] == 1
        server.start()
        assert soon(lambda: set(ben.rules()) == {PNPM, "Tabs."}), ben.house.log()
        assert soon(lambda: ann.status()["waiting"] == 0)
        for person in (ann, ben):
            assert person.json("verify")["clean"]


def test_a_prompt_does_not_wait_for_a_server_that_hangs_or_is_slow(ann: Person, team: Team):
    ann.add_rule(PNPM, "--team")
    ann.start_daemon()
    team.proxy.delay_s = 0.02
    assert ann.begin("s-2")
    team.hang()
    for number in range(3):
        ann.say(f"prompt number {number}")
        assert PNPM in ann.begin(f"s-hung-{number}")
    assert ann.house.status()["late"] == 0


def test_a_large_backlog_arrives_in_order_and_once(ann: Person, ben: Person, team: Team):
    team.hang()
    ann.run("config", "MEMORY_TEAM_SHARE", "rules")
    for words in UNRELATED:
        ann.run("rule", "add", words)
    assert ann.status()["waiting"] == len(UNRELATED)
    team.hang(on=False)
    ann.sync()
    ben.sync()
    assert set(ben.rules()) == set(UNRELATED)
    with closing(team.store()) as store:
        assert [one.summary for one in reversed(store.log(limit=100))] == [
            f"Rule {id} is in force." for id in sorted(one["id"] for one in ann.json("rules"))
        ]
    check_sound(team, ann, ben)


def test_a_server_that_was_restored_from_an_older_backup_gets_back_what_was_shared_since(
    ann: Person, ben: Person, team: Team, server: Server
):
    ann.add_rule(PNPM, "--team")
    ben.sync()
    with closing(team.store()) as store, psycopg.connect(server.url, autocommit=True) as db:
        for table in "vector posting term passage state journal_memory journal message memory counter".split():
            db.execute(f"DELETE FROM recollect.{table} WHERE tenant = %s", [store.tenant])
        assert store.verify() == []
    ben.sync()
    assert ben.rules() == {}, "he has what the server has"
    ann.sync()
    ann.sync()
    ben.sync()
    check_arrived_once(team, ann, ben)


def test_a_copy_that_fell_behind_what_the_journal_still_has_is_made_anew(
    ann: Person, ben: Person, team: Team, server: Server
):
    gone = ann.add_rule("Tabs.", "--team")
    ben.sync()
    ann.add_rule(PNPM, "--team")
    ann.run("unshare", gone)
    with closing(team.store()) as store, psycopg.connect(server.url, autocommit=True) as db:
        for table in ("journal_memory", "journal"):
            sql = f"DELETE FROM recollect.{table} WHERE tenant = %s AND seq < (SELECT max(seq) FROM recollect.journal)"
            db.execute(sql, [store.tenant])
    ben.sync()
    assert list(ben.rules()) == [PNPM]


def test_what_is_not_copied_is_asked_of_the_server_and_only_by_questions(
    ann: Person, ben: Person, team: Team, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(team_sync, "MOST_MIRRORED", 1)
    ann.add_rule(PNPM, "--team")
    ann.add_rule("Deploys go through staging first.", "--team")
    ben.run("team", "link", "--off")
    ben.sync()
    assert len(ben.rules()) == 1
    assert "pnpm" in ben.run("recall", "do we use pnpm or npm?")
    assert "staging" in ben.run("recall", "how do deploys go?")
    team.proxy.refuse()
    assert "only the latest" in ben.run("search", "pnpm", "--explain")

"""Members share, edit, undo, mute and leave: each has a home, a clone and, where it says so, a daemon of their own."""

import json
import stat
from collections.abc import Callable
from contextlib import closing

import pytest

from recollect.model.memory import Message
from recollect.model.passage import TURN, Record
from recollect.model.plan import Say
from recollect.model.result import Scope
from recollect.ops.table import OPS, Effect, Group
from recollect.store.postgres_admin import without_password
from recollect.store.postgres_connection import parse_url
from tests.daemon.real import soon
from tests.store.helpers import contents
from tests.store.postgres import Server
from tests.team.conftest import Team, everything
from tests.team.people import Person, git
from tests.values import NOW, plan

PNPM, BUN = "Use pnpm, never npm.", "Use bun, never npm."


def check_sound(team: Team, *people: Person) -> None:
    """Here and there."""
    for number, person in enumerate(people):
        assert person.json("verify", *([] if number else ["--team"]))["clean"], person.name


def test_a_rule_that_one_shares_is_in_force_for_the_other_and_told_as_a_colleagues(
    ann: Person, ben: Person, team: Team
):
    id = ann.add_rule(PNPM, "--team")
    ben.sync()
    theirs = ben.rules()[PNPM]
    assert (theirs["id"], theirs["lane"], theirs["scope"], theirs["origin"]) == (
        id,
        "team",
        "team",
        "team:Ann",
    )
    assert ann.rules()[PNPM]["lane"] == "user", "to herself it is her own word"
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    assert (
        f"- [team] {PNPM} ({id})"
        in json.loads(ben.run("hook", "SessionStart", stdin=json.dumps(start)))[
            "hookSpecificOutput"
        ]["additionalContext"]
    )
    assert len(ann.json("rules")) == 1, "she does not get it back as a second one"
    check_sound(team, ann, ben)


def test_what_is_not_shared_stays_and_what_is_unshared_goes(ann: Person, ben: Person):
    kept, shared = ann.add_rule("Tabs."), ann.add_rule(PNPM)
    ben.sync()
    assert ben.rules() == {}
    ann.run("share", shared)
    ben.sync()
    assert list(ben.rules()) == [PNPM]
    assert "cannot be shared" in ben.run("share", shared, code=2)
    ann.run("unshare", shared)
    ben.sync()
    assert ben.rules() == {}
    assert set(ann.rules()) == {"Tabs.", PNPM}
    assert kept in ann.run("log", "--json")


def test_share_is_undone_and_redone_like_any_change(ann: Person, ben: Person):
    id = ann.add_rule(PNPM)
    change = ann.json("share", id)["change"]
    ben.sync()
    undone = ann.json("undo")
    ann.sync()
    ben.sync()
    assert undone["ids"] == [id]
    assert ben.rules() == {}
    ann.run("undo", undone["change"])
    ann.sync()
    ben.sync()
    assert list(ben.rules()) == [PNPM]
    assert change in ann.run("log", "--json")


def test_an_edit_reaches_everyone_and_its_undo_is_a_new_change(
    ann: Person, ben: Person, team: Team
):
    id = ann.add_rule(PNPM, "--team")
    ben.sync()
    ben.run("edit", id, "--body", BUN)
    ann.sync()
    assert list(ann.rules()) == [BUN]
    [theirs] = [one for one in ann.json("log", id) if one["actor"] == "Ben"]
    assert (theirs["op"], theirs["memories"]) == ("team: edit", [id])

    ann.run("undo", theirs["change"])
    ben.sync()
    assert list(ann.rules()) == list(ben.rules()) == [PNPM]
    assert [one["op"] for one in ben.json("log", id)][:2] == ["team: undo", "edit"]
    assert ben.json("log", id)[1]["undone_by"], "and his log says by what"
    check_sound(team, ann, ben)


def test_the_last_change_that_undo_takes_back_is_never_a_colleagues(ann: Person, ben: Person):
    own = ben.add_rule("Tabs.")
    ann.add_rule(PNPM, "--team")
    ben.sync()
    assert ben.json("undo")["ids"] == [own]


def test_two_edits_of_different_parts_both_stand_and_of_the_same_part_the_later_one(
    ann: Person, ben: Person, team: Team
):
    id = ann.add_rule(PNPM, "--team")
    ben.sync()
    team.hang()  # neither can tell the other
    ann.run("edit", id, "--topics", "build")
    ben.run("edit", id, "--body", BUN)
    team.hang(on=False)
    ann.sync()
    ben.sync()
    ann.sync()
    for person in (ann, ben):
        [(words, one)] = person.rules().items()
        assert (words, one["topics"]) == (BUN, ["build"])
    check_sound(team, ann, ben)


def test_muting_archiving_and_rating_are_each_members_own(
    ann: Person, ben: Person, meet: Callable[..., Person]
):
    id, other = ann.add_rule(PNPM, "--team"), ann.add_rule("Tabs.", "--team")
    cat = meet("Cat")
    ben.sync()
    ben.run("rate", id, "never")
    ben.run("forget", other)
    ben.sync()
    cat.sync()
    ann.sync()
    assert ben.rules() == {PNPM: ben.rules()[PNPM]}
    assert ben.json("rules", "--muted")[0]["id"] == id
    assert set(ann.rules()) == set(cat.rules()) == {PNPM, "Tabs."}
    assert ben.status()["waiting"] == 0


def test_what_colleagues_remove_goes_for_all_but_stays_with_its_author(ann: Person, ben: Person):
    id = ann.add_rule(PNPM, "--team")
    ben.sync()
    ben.run("unshare", id)
    ann.sync()
    assert ben.rules() == {}
    assert list(ann.rules()) == [PNPM]
    assert "is not shared" in ann.run("unshare", id, code=2)


def test_leaving_takes_what_colleagues_shared_and_leaves_what_was_shared(
    ann: Person, ben: Person, meet: Callable[..., Person]
):
    ann.add_rule(PNPM, "--team")
    ben.add_rule("Tabs.", "--team")
    ann.sync()
    ann.run("team", "leave")
    assert list(ann.rules()) == [PNPM]
    assert "no team" in ann.run("team", "status", code=3)
    assert set(meet("Cat").rules()) == {PNPM, "Tabs."}
    gone = {one["name"]: one["left_at"] for one in ben.json("team", "members")["members"]}
    assert gone["Ann"]
    assert not gone["Ben"]


def test_memories_of_a_project_reach_only_copies_of_it_that_somebody_linked(
    ann: Person, ben: Person, team: Team
):
    ann.add_rule(PNPM, "--team")
    other = ben.root / "other"
    other.mkdir()
    assert ben.json("rules", cwd=other) == []
    git(ben.project, "remote", "set-url", "origin", "https://code.example/fork/shop")
    ben.run("team", "link")
    assert ben.rules() == {}, "a fork is another project"
    git(ben.project, "remote", "set-url", "origin", "https://someone:token@code.example/acme/shop")
    said = ben.run("team", "link")
    assert "token" not in said
    assert list(ben.rules()) == [PNPM], "the same remote in another spelling"
    ben.run("team", "link", "--off")
    assert ben.rules() == {}


def test_a_rule_added_outside_a_project_holds_in_all_that_the_team_works_on(
    ann: Person, ben: Person
):
    outside = ann.root / "home"
    ann.run("rule", "add", PNPM, "--team", cwd=outside)
    ben.sync()
    assert list(ben.rules()) == [PNPM]


def test_the_policy_of_the_team_decides_which_rules_wait(
    ann: Person, ben: Person, team: Team, server
):
    ann.run(
        "team", "create", team.name, "-", "--rules", "inbox", "--person", "Ann", stdin=server.url
    )
    id = ann.add_rule(PNPM, "--team")
    ben.sync()
    assert ben.rules() == {}
    assert [one["id"] for one in ben.json("inbox", "list")] == [id]
    ben.run("inbox", "accept", id)
    assert list(ben.rules()) == [PNPM]


def test_the_login_is_in_a_private_file_and_nowhere_else(ann: Person, team: Team):
    ann.add_rule(PNPM, "--team")
    password = team.url.partition("://")[2].partition("@")[0].partition(":")[2]
    assert len(password) > 10
    holding = [
        path
        for path in ann.root.rglob("*")
        if path.is_file() and password.encode() in path.read_bytes()
    ]
    assert holding == [ann.home / ".recollect" / "teams" / f"{team.name}.json"]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    for said in (
        ann.run("team", "status"),
        ann.run("team", "members"),
        ann.run("doctor"),
        ann.run("config"),
    ):
        assert password not in said


@pytest.mark.parametrize(
    "command", [op.name for op in OPS if op.group is Group.TEAMS and op.effect is not Effect.READ]
)
def test_a_dry_run_writes_nothing_here_or_there(
    command: str, ann: Person, team: Team, server: Server
):
    shared, own = ann.add_rule(PNPM, "--team"), ann.add_rule("Tabs.")
    given = {
        "team create": ("other", server.url),
        "team join": ("other", server.url),
        "share": (own,),
        "unshare": (shared,),
    }
    before = contents(ann.home), everything(team)
    assert ann.json(*command.split(), *given.get(command, ()), "--dry-run")["dry_run"]
    assert (contents(ann.home), everything(team)) == before


def test_a_command_can_give_the_password_which_is_then_kept_nowhere(
    ann: Person, meet: Callable[..., Person], team: Team
):
    ann.add_rule(PNPM, "--team")
    cat, params = meet("Cat", alone=True), parse_url(team.far_url)
    secret = cat.root / "secret"
    secret.write_text(params["password"])
    command = f"cat {secret}"
    cat.run(
        "team",
        "join",
        team.name,
        "-",
        "--password-command",
        command,
        stdin=without_password(team.far_url),
    )
    assert list(cat.rules()) == [PNPM]
    kept = [
        path
        for path in cat.home.rglob("*")
        if path.is_file() and params["password"].encode() in path.read_bytes()
    ]
    assert kept == []
    secret.unlink()
    assert "command for the password" in cat.status()["problem"]


def test_a_login_that_cannot_be_read_is_named_and_costs_nothing_else(ann: Person, team: Team):
    ann.add_rule(PNPM)
    (ann.home / ".recollect" / "teams" / f"{team.name}.json").write_text("{")
    assert f"{team.name}.json cannot be read" in ann.run("team", "status", code=3)
    assert list(ann.rules()) == [PNPM]
    ann.add_rule("Tabs.")
    ann.join(team.far_url, team.name)
    assert ann.status()["reachable"]


def test_changes_that_did_not_reach_the_team_keep_a_member_from_leaving(ann: Person, team: Team):
    ann.run(
        "rule", "add", PNPM, "--team", cwd=ann.home
    )  # for all projects: it is in the mirror alone
    team.hang()
    ann.run("edit", "pnpm", "--body", BUN, cwd=ann.home)
    assert "would be lost" in ann.run("team", "leave", code=2, cwd=ann.home)
    team.hang(on=False)
    ann.run("team", "leave", cwd=ann.home)
    assert BUN in everything(team)


def test_with_daemons_what_one_says_is_told_to_the_other_without_a_command(
    ann: Person, ben: Person, team: Team
):
    ann.run("config", "MEMORY_TEAM_SHARE", "rules")
    for person in (ann, ben):
        person.start_daemon()
    ann.say("no, we use pnpm here, never npm")
    assert soon(lambda: any("pnpm" in words for words in ben.rules()))
    assert "[team]" in ben.begin("s-2")
    assert soon(lambda: ann.status()["waiting"] == 0)
    check_sound(team, ann, ben)


def test_twelve_members_with_daemons_share_edit_undo_mute_and_leave(
    meet: Callable[..., Person], team: Team
):
    people = [meet(f"Member {number}") for number in range(12)]
    for person in people:
        person.start_daemon()
    rules = [f"Rule {number}: keep file {number} sorted." for number in range(12)]
    running = [
        person.start("rule", "add", words, "--team")
        for person, words in zip(people, rules, strict=True)
    ]
    for one in running:
        out, err = one.communicate(timeout=120)
        assert one.returncode == 0, (out, err)

    def all_have(expected: set[str], *others: Person) -> None:
        for person in others or people:
            assert soon(lambda person=person: set(person.rules()) == expected), person.name  # type: ignore[misc]

    all_have(set(rules))
    with closing(team.store()) as store:
        assert (len(list(store.each())), len(store.log(limit=100))) == (12, 12)

    first, second, third, fourth = people[:4]
    id = first.rules()[rules[0]]["id"]
    second.run("edit", id, "--body", BUN)
    all_have({BUN, *rules[1:]})
    [edit] = [one for one in third.json("log", id) if one["op"] == "team: edit"]
    third.run("undo", edit["change"])
    all_have(set(rules))

    third.run("rate", id, "never")
    fourth.run("team", "leave")
    assert list(fourth.rules()) == [rules[3]]
    first.run("unshare", id)
    all_have(set(rules[1:]), *(person for person in people if person not in (first, fourth)))
    assert rules[0] in first.rules()
    check_sound(team, *people[:3], *people[4:])


def test_a_shared_thread_that_goes_on_is_sent_again_only_when_it_is_shared_again(
    ann: Person, ben: Person, team: Team
):
    id = ann.json("pin", "Deploys go through staging")["ids"][0]
    ann.run("share", id)
    with closing(ann.open_app()) as app:
        said = Message(
            "message_20260201_083000_abc123",
            id,
            NOW,
            TURN,
            Record(found="Staging has no TLS.").text(),
        )
        app.commit(
            Scope.PROJECT, "thread", lambda _: plan(Say(id, (said,))), lambda _: "Continued."
        )
    ben.sync()
    assert "TLS" not in ben.run("show", id)
    ann.run("share", id)
    ben.sync()
    assert "Staging has no TLS." in ben.run("show", id)
    check_sound(team, ann, ben)

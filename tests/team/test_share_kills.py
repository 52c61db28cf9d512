"""`share`, `unshare` and `team link` that are killed: a colleague has what is on record here, once and whole, after the
next look; and the command can be given again."""

from contextlib import closing
from pathlib import Path

from tests.hostile.killed import count_calls, killed_at, moments
from tests.team.conftest import Team
from tests.team.people import Person
from tests.team.test_faults import UNRELATED
from tests.team.test_members import PNPM, check_sound


def shared_bodies(team: Team) -> list[str]:
    with closing(team.store()) as store:
        return sorted(memory.body for memory, _ in store.each())


def bodies_on_record(person: Person) -> list[str]:
    """What this person shares, as their own store says."""
    return sorted(body for body, rule in person.rules().items() if "shared" in rule["tags"])


def test_a_share_or_unshare_that_is_killed_is_done_or_not(
    ann: Person, ben: Person, team: Team, tmp_path: Path
):
    told, options = tmp_path / "calls", {"env": ann.environ, "cwd": ann.project}
    first = ann.add_rule(PNPM)
    calls = {
        verb: count_calls(told, verb, first, **options)  # type: ignore[arg-type]
        for verb in ("share", "unshare")
    }
    for verb, many in calls.items():
        for words, call in zip(UNRELATED, moments(many, len(UNRELATED), verb), strict=True):
            id = ann.rules().get(words, {}).get("id") or ann.add_rule(words)
            if verb == "unshare":
                ann.run("share", id)

            killed_at(call, told, verb, id, **options)  # type: ignore[arg-type]

            where = f"{verb} killed at call {call} of {many}"
            ann.sync()
            assert shared_bodies(team) == bodies_on_record(ann), where
            ann.run("share", id)
            ben.sync()
            assert words in shared_bodies(team), where
            assert sorted(ben.rules()) == shared_bodies(team), where
    check_sound(team, ann, ben)


def test_a_link_that_is_killed_is_done_or_not(ann: Person, ben: Person, team: Team, tmp_path: Path):
    told, options = tmp_path / "calls", {"env": ben.environ, "cwd": ben.project}
    ann.add_rule(PNPM, "--team")
    for command in (["team", "link", "--off"], ["team", "link"]):
        many = count_calls(told, *command, **options)  # type: ignore[arg-type]
        for call in moments(many, 6, " ".join(command)):
            killed_at(call, told, *command, **options)  # type: ignore[arg-type]

            assert ben.status()["linked"] in (True, False)
            ben.sync()
            assert list(ben.rules()) == [PNPM], f"{command} killed at call {call} of {many}"
            ben.run(*command)
    ben.sync()
    assert shared_bodies(team) == [PNPM]
    check_sound(team, ann, ben)

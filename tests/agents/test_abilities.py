"""Every agent can do what it says it can, as far as its file goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.agents import Ability, agent, hosts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "AGENTS.md"
every_host = pytest.mark.parametrize("host", hosts())

NEEDED = {
    None: "TITLE PROGRAM ABILITIES LEVELS folder parse render doing is_refused reported origin unapproved",
    Ability.READS: "answers",
    Ability.TRANSCRIPTS: "utterances may_speak",
    Ability.PAST: "transcripts",
    Ability.HOOKS: "SETTINGS_FORM OFF_SWITCH settings_path hooks hook_json",
    Ability.PLUGIN: "plugin",
    Ability.SERVER: "server_place server_json",
    Ability.TEACHING: "skill",
    Ability.SHELF: "shelf keepsake_name is_keepsake_name keepsake_text keepsake_line index_room",
    Ability.SKILLS: "SKILL_FILE skills_folder skill_text",
}


@every_host
@pytest.mark.parametrize("ability", NEEDED, ids=str)
def test_an_agent_has_what_its_abilities_need(host: str, ability: Ability | None):
    speaks = agent(host)

    lacking = [name for name in NEEDED[ability].split() if not hasattr(speaks, name)]

    assert not lacking or (ability is not None and ability not in speaks.ABILITIES)


@every_host
def test_an_agent_calls_us_in_one_way(host: str):
    assert len(agent(host).ABILITIES & {Ability.HOOKS, Ability.PLUGIN}) == 1


def test_those_with_an_ability_are_found():
    assert set(hosts(Ability.SHELF)) == {host for host in hosts() if Ability.SHELF in agent(host).ABILITIES}
    assert "claude-code" in hosts(Ability.SHELF)


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_the_page_of_agents_says_what_the_code_says():
    heading, _, *listed = rows()
    columns = heading[2:]

    told = {host: {row[0] for row in listed if row[2 + at] == "yes"} for at, host in enumerate(columns)}

    assert told == {host: {str(one) for one in agent(host).ABILITIES} for host in hosts()}
    assert [row[0] for row in listed] == [str(one) for one in Ability]
    assert {cell for row in listed for cell in row[2:]} == {"yes", "no"}


@every_host
def test_each_agent_has_a_chapter(host: str):
    assert f"\n## {agent(host).TITLE}\n" in PAGE.read_text(encoding="utf-8")

"""Every agent can do what it says it can, as far as its file goes."""

from __future__ import annotations

import pytest

from recollect.agents import Ability, agent, hosts

every_host = pytest.mark.parametrize("host", hosts())

NEEDED = {
    None: "TITLE PROGRAM ABILITIES LEVELS folder parse render doing is_refused reported origin unapproved",
    Ability.READS: "reads_below",
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

"""`/memory remember ...`: a rule in the person's words, in force at once; other commands of memory hold none."""

import pytest

from recollect import agents
from recollect.capture.memory_commands import NOT_A_RULE
from recollect.capture.prompt_rules import find_rules
from recollect.capture.prompt_text import Action
from tests.agents.test_prompts import command


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("/memory remember we deploy on Tuesdays", "we deploy on Tuesdays"),
        ("/memory remember: we deploy on Tuesdays", "we deploy on Tuesdays"),
        ("/Memory Remember we deploy on Tuesdays", "we deploy on Tuesdays"),
        ("/memory   remember\n  we deploy\n  on Tuesdays", "we deploy on Tuesdays"),
        ("/memory remember wir deployen dienstags", "wir deployen dienstags"),
        ("/memory remember 火曜日にデプロイします", "火曜日にデプロイします"),
        ("/memory remember is the port 5432? yes", "is the port 5432? yes"),
        ("/memory remember blue", "blue"),
    ],
)
def test_the_words_are_the_rule_as_they_stand(prompt: str, rule: str):
    [found] = find_rules(prompt).found
    assert (found.rule, found.action) == (rule, Action.STORED)
    assert found.rule_type is not None


@pytest.mark.parametrize(
    "prompt",
    [
        "/memory save Always ask Anna before a deploy",
        "/memory evolve ask-anna Always ask Ben before a deploy, never Anna",
        "/memory inspect cdd740",
        "/memory remember",
        f"/memory remember {'always use pnpm, never npm ' * 100}",
    ],
)
def test_no_rule_is_heard_in_another_command(prompt: str):
    draft = find_rules(prompt)
    assert (draft.found, draft.verdict.reason) == ((), NOT_A_RULE)


@pytest.mark.parametrize(
    "prompt",
    [
        "what does /memory remember do?",
        "/memory remembers nothing of it",
        "/memories remember we deploy on Tuesdays",
        "the docs say:\n/memory remember we deploy on Tuesdays",
    ],
)
def test_a_prompt_that_only_speaks_of_the_command_is_none(prompt: str):
    assert all(found.rule != "we deploy on Tuesdays" for found in find_rules(prompt).found)
    assert find_rules(prompt).verdict.reason != NOT_A_RULE


@pytest.mark.parametrize("name", ["memory", "recollect", "recollect:memory"])
def test_the_command_is_read_under_each_of_its_names(name: str):
    client = agents.default_agent()
    typed = client.read_prompt(f"/{name} remember we deploy").words
    written = client.read_prompt(command(name, "remember we deploy")).words
    assert typed == written == "/memory remember we deploy"
    assert client.read_prompt(typed).words == typed


def test_a_question_to_memory_is_read_without_the_command():
    assert agents.default_agent().read_prompt("/recollect why at midnight?").words == (
        "why at midnight?"
    )

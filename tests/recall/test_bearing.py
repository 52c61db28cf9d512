"""A rule bears on a call when it names its command, its tool, its file or the kind of file; else it is silent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.lesson import ORIGIN, How, Lesson
from recollect.model.memory import Rule, RuleType
from recollect.recall.bearing import bearing, call_of
from tests.values import rule

BASH = "Bash"
CASES: list[tuple[str, str, dict[str, Any], bool]] = [
    ("Use pnpm, never npm", BASH, {"command": "npm install"}, True),
    ("Use pnpm, never npm", BASH, {"command": "cd web && CI=1 sudo npm install"}, True),
    ("Use pnpm, never npm", BASH, {"command": "/usr/bin/npm ci | tee log"}, True),
    ("Use pnpm, never npm", BASH, {"command": "yarn install"}, False),
    ("Use pnpm, never npm", BASH, {"command": "echo npm"}, False),
    ("Never force git push to main", BASH, {"command": "git push --force"}, True),
    ("Make sure that tests are green", BASH, {"command": "make build"}, False),
    ("Run `make lint` before a commit", BASH, {"command": "make lint"}, True),
    ("Find out who owns a file first", BASH, {"command": "find . -name x"}, False),
    ("Node 20 is what we test with", BASH, {"command": "node index.js"}, False),
    ("docker-compose is not installed", BASH, {"command": "docker ps"}, False),
    ("docker needs sudo here", BASH, {"command": "docker ps"}, True),
    ("Read the docs before asking", "Read", {"file_path": "a.py"}, False),
    ("The Read tool gets absolute paths", "Read", {"file_path": "a.py"}, True),
    ("WebFetch is blocked by the proxy", "WebFetch", {"url": "http://x"}, True),
    ("mcp__shop__search wants an id", "mcp__shop__search", {"q": "x"}, True),
    ("Tests go in __tests__/", "Write", {"file_path": "/p/web/__tests__/a.ts", "content": ""}, True),
    ("Tests go in __tests__/", "Write", {"file_path": "/p/web/a.txt", "content": ""}, False),
    ("Never edit package-lock.json by hand", "Edit", {"file_path": "/p/package-lock.json", "old_string": "x"}, True),
    ("src/generated/ is made by a script", "Edit", {"file_path": "/p/src/generated/x.py", "old_string": ""}, True),
    ("src/generated/ is made by a script", "Edit", {"file_path": "/p/src/x.txt", "old_string": ""}, False),
    ("Keep *.sql files in lower case", "Write", {"file_path": "/p/m.sql", "content": ""}, True),
    ("In Python we use tabs", "Edit", {"file_path": "/p/a.py", "old_string": "x"}, True),
    ("In Python we use tabs", "Read", {"file_path": "/p/a.py"}, False),
    ("In Python we use tabs", "Edit", {"file_path": "/p/a.rs", "old_string": "x"}, False),
    ("Use tabs", "Edit", {}, False),
]


@pytest.mark.parametrize(("said", "tool", "given", "bears"), CASES)
def test_a_rule_bears_on_a_call_that_it_names(said: str, tool: str, given: dict[str, Any], bears: bool):
    tested = rule(said, body=said)
    assert bearing([tested], call_of(tool, given)) == ([tested] if bears else [])


def test_the_closest_comes_first():
    git, push = rule("git", body="git is configured"), rule("push", body="git push needs a ticket")

    assert bearing([git, push], call_of(BASH, {"command": "git push"})) == [push, git]


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_any_call_can_be_judged(said: str, tool: str, given: dict[str, Any]):
    bearing([rule("x", body=said)], call_of(tool, given | {"command": said, "file_path": tool}))


def test_a_very_long_command_is_judged_in_time():
    call = call_of(BASH, {"command": "a" * 1_000_000, "file_path": "/" * 100_000})
    assert bearing([rule("x", body="./" * 1_000)] * 20, call) == []


def lesson(failed: str, fix: str, how: How = How.INSTEAD) -> Rule:
    return rule("Lesson", body=Lesson(failed, fix, how).sentence(), origin=ORIGIN, rule_type=RuleType.FAILURE)


@pytest.mark.parametrize(
    ("learnt", "command", "bears"),
    [
        (lesson("npm test", "pnpm test"), "npm test", True),
        (lesson("npm test", "pnpm test"), "npm run test -- --watch", True),
        (lesson("npm test", "pnpm test"), "cd web && CI=1 npm test | tail", True),
        (lesson("npm test", "pnpm test"), "git add . && npm test", True),
        (lesson("npm test", "pnpm test"), "pnpm test", False),
        (lesson("npm test", "pnpm test"), "npm install", False),
        (lesson("pytest", "PYTHONPATH=src pytest"), "pytest -q tests/test_a.py", True),
        (lesson("pytest", "PYTHONPATH=src pytest"), "PYTHONPATH=src pytest", False),
        (lesson("pytest api", "docker compose up -d db", How.AFTER), "pytest api", True),
        (lesson("pytest api", "docker compose up -d db", How.AFTER), "docker compose up -d db", False),
        (lesson("make test", "make check"), "make build", False),
    ],
)
def test_a_lesson_bears_on_the_command_that_fails_and_not_on_the_one_that_works(
    learnt: Rule, command: str, bears: bool
):
    assert bearing([learnt], call_of(BASH, {"command": command})) == ([learnt] if bears else [])


def test_a_lesson_of_edits_bears_on_edits_of_that_file():
    learnt = lesson("src/a.py", "src/a.py", How.READ_AGAIN)

    assert bearing([learnt], call_of("Edit", {"file_path": "/p/src/a.py", "old_string": "x"})) == [learnt]
    assert bearing([learnt], call_of("Read", {"file_path": "/p/src/a.py"})) == []
    assert bearing([learnt], call_of("Edit", {"file_path": "/p/src/b.py", "old_string": "x"})) == []

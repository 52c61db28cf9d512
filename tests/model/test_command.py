"""What a command does, told apart from how it is dressed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.command import command_of, undressed_end


@pytest.mark.parametrize(
    ("text", "family", "verb", "words", "dress"),
    [
        ("npm test", "js", "test", (), ()),
        ("pnpm run test", "js", "test", (), ()),
        ("npm run build -- --watch", "js", "build", ("--", "--watch"), ()),
        ("PYTHONPATH=src pytest -q tests", "pytest", "", ("-q", "tests"), ("PYTHONPATH=src",)),
        ("uv run pytest", "pytest", "", (), ("uv run",)),
        ("python -m pytest", "pytest", "", (), ("python -m",)),
        ("cd web && npm ci", "js", "ci", (), ("cd web",)),
        ("docker-compose up -d", "docker", "compose up", ("-d",), ()),
        ("docker compose up -d db", "docker", "compose up", ("-d", "db"), ()),
        ("docker compose exec api pytest", "pytest", "", (), ("docker compose exec api",)),
        ("kubectl --context staging get pods", "kubectl", "get", ("--context", "staging", "pods"), ()),
        ("cargo +stable build", "cargo", "build", ("+stable",), ()),
        ("./gradlew test", "gradle", "test", (), ()),
        (".venv/bin/pip install -e .", "pip", "install", ("-e", "."), (".venv/bin",)),
        ("python3 manage.py migrate", "python", "manage.py migrate", (), ()),
        ("git -C api push", "git", "push", ("-C", "api"), ()),
    ],
)
def test_a_command_is_read(text: str, family: str, verb: str, words: tuple[str, ...], dress: tuple[str, ...]):
    command = command_of(text)
    assert command is not None
    assert (command.family, command.verb, command.words, command.dress) == (family, verb, words, dress)


@pytest.mark.parametrize(
    "end", ["", " 2>&1 | tail -20", " || true", "; echo done", " > out.txt", " 2>&1 | grep -i fail || true"]
)
def test_what_only_hides_the_end_is_taken_off(end: str):
    assert undressed_end(f"npm test{end}") == "npm test"


@pytest.mark.parametrize("text", ["", "   ", "$(foo)", "(((", "&&"])
def test_where_there_is_no_program_there_is_no_command(text: str):
    assert command_of(text) is None


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str):
    command = command_of(text)
    assert command is None or command.family

"""Past sessions of every agent with garbage in them: an import goes on, says what it left out, and loses nothing else,
of that session or of others."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recollect.base.moment import Moment
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.ops.past_sessions import import_past
from tests.agent_sessions import WRITERS, Said
from tests.hostile.odd_values import ODD_VALUES
from tests.hostile.test_odd_input import GARBAGE
from tests.ops.conftest import Opens
from tests.values import NOW

SPRING = NOW.plus(days=-200)
FIRST: Said = ("no, we use pnpm here, not npm", "pnpm install", "The packages come with pnpm now.")
SECOND: Said = ("From now on, put tests in tests/unit.", "make test", "They stand in tests/unit.")
THIRD: Said = ("why does the cart forget its items?", "make cart", "A stale cookie empties it.")
RULES = {FIRST: "Use pnpm, not npm.", SECOND: "Put tests in tests/unit."}
TORN = ("not JSON", "half a character", "NUL bytes", "a list")  # no object, by a look at their ends


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path.cwd() / "shop"
    (folder / ".ai").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def claude_code(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    path = home / ".claude/projects/-shop" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": said[1]}}
    done = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    spoken: list[tuple[str, Any]] = [
        ("user", said[0]),
        ("assistant", [call]),
        ("user", [done]),
        ("assistant", [{"type": "text", "text": said[2]}]),
    ]
    with path.open("a") as file:
        for number, (who, content) in enumerate(spoken):
            when = at.plus(seconds=number)
            line = {
                "type": who, "uuid": f"{session}-{when.micros}", "timestamp": when.iso(), "cwd": str(cwd),
                "sessionId": session, "message": {"content": content},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
    return path


LINE_WRITERS = {
    "claude-code": claude_code,
    **{name: WRITERS[name] for name in ("codex", "pi", "copilot")},
}


def remembered(open_app: Opens) -> tuple[list[str], str]:
    """The rules, and all that threads say."""
    store = open_app().reader(Scope.PROJECT)
    rules = store.find(Query(kinds=(Kind.RULE,), limit=100))
    threads = store.find(Query(kinds=(Kind.THREAD,), limit=100))
    said = (message.content for thread in threads for message in store.messages(thread.id))
    return sorted(rule.body for rule in rules), "\n".join(said)


def check_nothing_else_is_lost(open_app: Opens, *sessions: Said) -> None:
    rules, said = remembered(open_app)
    assert {RULES[session] for session in sessions if session in RULES} <= set(rules)
    for session in sessions:
        for words in session:
            assert words in said, words


@pytest.mark.parametrize("name", LINE_WRITERS)
def test_lines_of_garbage_cost_themselves_and_are_counted(
    project: Path, open_app: Opens, name: str
):
    write = LINE_WRITERS[name]
    path = write(Path.home(), project, "s-1", SPRING, FIRST)
    path.write_bytes(path.read_bytes() + 3 * b"".join(GARBAGE.values()))
    write(Path.home(), project, "s-2", SPRING.plus(days=1), SECOND)
    with path.open("ab") as file:  # and it goes on
        goes_on = write(Path.home() / "other", project, "s-1", SPRING.plus(days=2), THIRD)
        file.write(goes_on.read_bytes())

    told = import_past(open_app())

    check_nothing_else_is_lost(open_app, FIRST, SECOND, THIRD)
    projects: Any = told.facts["projects"]
    (of_project,) = projects
    left_out = int(of_project["damaged_lines"])
    assert left_out >= 3 * len(TORN)
    assert f"{left_out} lines could not be read and were left out." in told.notes
    assert import_past(open_app()).summary.startswith("Nothing new")


def spoil_document(path: Path) -> None:
    """A chat that is one document: odd messages, and odd values in a sound one."""
    chat = json.loads(path.read_text())
    sound = chat["messages"][1]
    odd = [*ODD_VALUES, *({**sound, name: value} for name in sound for value in ODD_VALUES)]
    chat["messages"][1:1] = odd
    path.write_text(json.dumps(chat))


def spoil_database(path: Path) -> None:
    """Parts that are no JSON, or odd values; and rows of odd types."""
    with closing(sqlite3.connect(path.parent)) as database, database:
        ((message, session),) = database.execute(
            "SELECT id, session_id FROM message ORDER BY id LIMIT 1 OFFSET 1"
        )
        texts = [json.dumps(value) for value in ODD_VALUES]
        texts += [json.dumps({"type": "text", "text": value}) for value in ODD_VALUES]
        texts += ["{not json", "\x00", "[" * 100_000]
        cells: list[Any] = [*texts, b"\xff\xfe", None, 7, 1e999]
        for number, cell in enumerate(cells):
            row = (f"prt_0odd{number:03}", message, session, cell)
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
            if number >= len(texts):
                row = (f"msg_odd{number:03}", session, 1, cell)
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)


def spoil_files(path: Path) -> None:
    """Files beside the sound ones that are no JSON, or hold odd values."""
    storage = path.parents[2]
    folders = [storage / "message" / "s-1", *sorted(storage.glob("part/*"))]
    garbage = [*GARBAGE.values(), *(json.dumps(value).encode() for value in ODD_VALUES)]
    for folder in folders:
        for number, content in enumerate(garbage):
            (folder / f"odd{number:03}.json").write_bytes(content)


SPOILERS: dict[str, Callable[[Path], None]] = {
    "gemini": spoil_document, "opencode": spoil_database, "opencode files": spoil_files,
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILERS)
def test_odd_parts_of_a_document_or_database_cost_themselves(
    project: Path, open_app: Opens, name: str
):
    write = WRITERS[name]
    path = write(Path.home(), project, "s-1", SPRING, FIRST)
    write(Path.home(), project, "s-2", SPRING.plus(days=1), SECOND)
    SPOILERS[name](path)

    told = import_past(open_app())

    assert told.facts
    check_nothing_else_is_lost(open_app, FIRST, SECOND)


@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE)
@pytest.mark.parametrize("name", ["gemini", "opencode files", "pi"])
def test_a_file_that_is_garbage_throughout_costs_that_file(
    project: Path, open_app: Opens, name: str, content: bytes
):
    write = WRITERS[name]
    write(Path.home(), project, "s-1", SPRING, FIRST).write_bytes(content)
    write(Path.home(), project, "s-2", SPRING.plus(days=1), SECOND)

    import_past(open_app())

    check_nothing_else_is_lost(open_app, SECOND)

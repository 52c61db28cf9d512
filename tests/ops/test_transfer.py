"""Memories as files: our own, and those of other programs, read, sifted, and never touched."""

import hashlib
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.app.core import App
from recollect.base.errors import (
    BadImport,
    BadInput,
    Conflict,
    NotFound,
    RecollectError,
    StoreReadOnly,
)
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.capture.prompt_rules import find_rules
from recollect.capture.prompt_text import Draft
from recollect.capture.turns import message_id
from recollect.integrations.foreign_memories import ForeignMemory, why_left_out, words_key
from recollect.model.memory import Anchor, BridgeType, Kind, Lane, Memory, Message, Rating, Status
from recollect.model.plan import Create, Link
from recollect.model.result import Scope
from recollect.model.session import Act, Speaker
from recollect.ops import imports, memories, notes, rules, transfer
from recollect.ops.transfer import Shape, checksum, export, import_jsonl
from recollect.redact.redactor import Cleaned
from tests.naughty import NAUGHTY
from tests.ops.ask import files, keep, kept, made, pinned, states
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import all_notes, put
from tests.values import NOW, act, bridge, messages, note, plan, thread

FILE = "memories.jsonl"
posix = pytest.mark.skipif(
    sys.platform == "win32", reason="modes, links, shells and pipes are another matter there"
)


def lived_in(app: App) -> None:
    """A bit of everything there is."""
    a, b = (
        pinned(app, "Dark mode is on.", topics=("ui", "日本")),
        pinned(app, "Solana validators\r\n\tvote. "),
    )
    made(rules.add(app, "Use tabs"))
    rules.capture(app, "no, we use pnpm here, not npm")
    memories.link(app, a, b, type=BridgeType.CONTRADICTS, weight=0.25)
    memories.merge(app, a, pinned(app, "Billing is monthly."))
    memories.archive(app, (b,))
    talk = thread(
        "talk", drift=("a", "b"), ratings=(Rating(True, NOW, None), Rating(False, NOW.plus(days=1), "wrong file")),
        anchors=(Anchor("src/a.py", "ff"),), group="session-1", weight=0.1 + 0.2, days_old=100,
    )  # fmt: skip
    heard = messages(talk, *(app.redact_text("message", text) for text in NAUGHTY))
    read = Act(
        id="u-1", at=NOW, speaker=Speaker.PERSON
    )  # of a session: its message has a longer id
    heard += (Message(message_id(read), talk.id, NOW, "session", "Asked: why?"),)
    path = note("note", path="vault/x.md", lane=Lane.REPOSITORY)
    app.writer(Scope.PROJECT).apply(plan(Create(talk, heard), Create(path)), act())


def test_an_export_comes_back_the_same_once_and_can_be_undone(
    app: App, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transfer, "_BATCH", 20)
    more_than_two_batches = [Create(thread(f"t{number}")) for number in range(45)]
    app.writer(Scope.PROJECT).apply(plan(*more_than_two_batches), act())
    lived_in(app)
    export(app, FILE)
    other = open_app(home=tmp_path / "other")
    before = files(Path.cwd())
    told = import_jsonl(other, FILE)
    again = import_jsonl(other, FILE)
    assert (told.facts["known"], again.facts["new"]) == (0, 0)
    assert files(Path.cwd()) == before
    assert states(other) == states(app)
    export(other, "again.jsonl")
    (first, *_) = memories.threads(other).cards
    memories.edit(other, first.memory.id, title="other words")
    import_jsonl(other, FILE)
    assert kept(other, first.memory.id).title == "other words"
    assert Path("again.jsonl").read_bytes() == Path(FILE).read_bytes()
    undone = [memories.undo(other) for _ in range(2)]
    assert all(one.summary.startswith("Undone: ") for one in undone)
    assert states(other)[Scope.PROJECT].memories == {}


def test_what_is_imported_is_found_by_its_meaning_at_once(
    app: App, open_app: Opens, tmp_path: Path
):
    keep(app, thread("Google sign-in", body="Users sign in with their Google account."))
    export(app, FILE)
    other = open_app(home=tmp_path / "other")
    import_jsonl(other, FILE)
    counts = other.reader(Scope.PROJECT).counts()
    assert counts.vectors == counts.passages > 0


def test_an_export_of_longer_texts_than_are_kept_today_comes_back(
    app: App, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    long = thread("long", body="We deploy through staging. " * 50)
    keep(app, long)
    export(app, FILE)
    monkeypatch.setenv("MEMORY_MAX_BODY_CHARS", "1000")
    other = open_app(home=tmp_path / "other")
    with pytest.raises(BadInput, match="at most 1,000"):
        memories.pin(other, long.body)
    import_jsonl(other, FILE)
    assert kept(other, long.id).body == long.body


def test_an_import_can_be_trusted_less(app: App, open_app: Opens, tmp_path: Path):
    mine, theirs = thread("mine"), thread("theirs", lane=Lane.WEB)
    keep(app, mine, theirs)
    export(app, FILE)
    other = open_app(home=tmp_path / "other")
    import_jsonl(other, FILE, lane=Lane.REPOSITORY)
    assert (kept(other, mine.id).lane, kept(other, theirs.id).lane) == (Lane.REPOSITORY, Lane.WEB)


@posix
def test_an_export_is_private_and_never_overwrites(app: App):
    pinned(app, "a")
    export(app, FILE)
    assert Path(FILE).stat().st_mode & 0o777 == 0o600
    before = Path(FILE).read_bytes()
    with pytest.raises(BadInput, match="already exists"):
        export(app, FILE)
    Path("link").symlink_to("nowhere")
    with pytest.raises(BadInput, match="already exists"):
        export(app, "link")
    assert Path(FILE).read_bytes() == before
    assert not Path("nowhere").exists()


@posix
@pytest.mark.parametrize(
    ("name", "error", "problem"),
    [
        ("no/such/folder/x", StoreReadOnly, "cannot be written"),
        ("a" * 300, StoreReadOnly, "cannot be written"),
        ("a\x00b", BadInput, "name of a file"),
        ("a\ud800b", BadInput, "name of a file"),
    ],
)
def test_a_place_that_cannot_be_written(
    app: App, name: str, error: type[RecollectError], problem: str
):
    pinned(app, "a")
    with pytest.raises(error, match=problem):
        export(app, name)


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "", "a\x00b", "a\ud800b", "a" * 300])
def test_a_file_that_is_not_there(app: App, name: str):
    with pytest.raises(NotFound, match="There is no file"):
        import_jsonl(app, name)


Lines = list[dict[str, Any]]
_whole: list[bytes] = []


def lines_of(file: str) -> Lines:
    return [json.loads(line) for line in Path(file).read_bytes().splitlines()]


@pytest.fixture
def whole(app: App) -> bytes:
    """Written once for all tests."""
    if not _whole:
        a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
        memories.link(app, a, b)
        memories.merge(app, a, c)
        export(app, "whole.jsonl")
        _whole.append(Path("whole.jsonl").read_bytes())
    types = [json.loads(line)["type"] for line in _whole[0].splitlines()]
    assert types == ["header", "memory", "memory", "memory", "bridge", "alias", "end"]
    return _whole[0]


def write(lines: Lines, *, honest: bool = True) -> None:
    """`honest` makes every checksum hold, so that only the content is wrong."""
    digest = hashlib.sha256()
    for line in lines:
        if honest and line["type"] != "end":
            line["sha256"] = checksum(line)
            digest.update(line["sha256"].encode())
        elif honest:
            line["sha256"], line["lines"] = digest.hexdigest(), len(lines) - 1
    Path(FILE).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def refused(open_app: Opens, home: Path, line: int, problem: str) -> None:
    """BadImport with the line's number, and nothing is written."""
    other = open_app(home=home)
    with pytest.raises(BadImport, match=problem) as found:
        import_jsonl(other, FILE)
    assert found.value.line == line
    assert f"{FILE}, line {line}: " in found.value.message
    assert len(found.value.message) < 400
    assert states(other) == {}


def forged(where: int, **fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [
        {**line, **(fields if at == where else {})} for at, line in enumerate(lines)
    ]


def memory_with(**fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: forged(2, memory={**lines[2]["memory"], **fields})(lines)


@pytest.mark.parametrize(
    ("change", "honest", "line", "problem"),
    [
        (lambda lines: lines[:-1], False, 7, "ends too early"),
        (forged(2, messages=[]), False, 3, "checksum does not hold"),
        (
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            False,
            7,
            "missing or were changed",
        ),
        (lambda lines: [*lines[:5], *lines[6:]], False, 6, "missing or were changed"),
        (lambda lines: [*lines, lines[1]], False, 8, "more after the end"),
        (lambda lines: lines[1:], False, 1, "not a recollect-jsonl file"),
        (
            lambda lines: forged(2, memory=lines[1]["memory"], messages=[])(lines),
            True,
            3,
            "came before",
        ),
        *(
            (change, True, line, problem)
            for change, line, problem in [
                (forged(0, version=2), 1, "version 2 is not known"),
                (forged(0, format="x"), 1, "not a recollect-jsonl file"),
                (forged(2, type="poem"), 3, "type 'poem' is not known"),
                (forged(2, type=["memory"]), 3, "is not known"),
                (forged(2, memory=[]), 3, "expected an object, not \\["),
                (forged(2, memory=None), 3, "expected an object, not None"),
                (forged(2, messages=[1]), 3, "expected an object, not 1"),
                (forged(4, bridge={}), 5, "source: missing"),
                (forged(5, new="thread_20200101_000000_000000"), 6, "no memory has the id"),
                (memory_with(kind="poem"), 3, "kind"),
                (memory_with(colour="red"), 3, "colour: no such field"),
                (memory_with(weight=float("nan")), 3, "finite"),
                (memory_with(seen=2**70), 3, "seen"),
                (memory_with(created_at="yesterday"), 3, "created_at"),
                (memory_with(topics=[[1]]), 3, "topics"),
                (memory_with(id="../../x"), 3, "not an id"),
                (memory_with(id="thread_20260201_083000_abc123\n"), 3, "not an id"),
                (memory_with(body="x" * 1_000_001), 3, "at most 1,000,000"),
                (memory_with(weight="x" * 10_000_000), 3, "weight"),
                (memory_with(weight=json.loads("[" * 300 + "]" * 300)), 3, "weight"),
            ]
        ),
    ],
)
def test_a_file_with_one_bad_line_is_refused(
    open_app: Opens, tmp_path: Path, whole: bytes, change: Callable[[Lines], Lines], honest: bool, line: int,
    problem: str,
):  # fmt: skip
    write(change([json.loads(text) for text in whole.splitlines()]), honest=honest)
    refused(open_app, tmp_path / "other", line, problem)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "ends too early"),
        (b"\n\n  \n", 1, "ends too early"),
        (b"\xff\xfe", 1, "can't decode"),
        (b"null\n", 1, "not a JSON object"),
        (b"{}\n", 1, "not a recollect-jsonl file"),
        (b"{" * 1_000 + b"\n", 1, "not JSON"),
        (b"[" * 100_000 + b"]" * 100_000 + b"\n", 1, "recursion"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n", 1, "recursion"),
        (b'{"a": "\\ud800"}\n', 1, "surrogates|not a recollect-jsonl file"),
        (b"x" * 10_000_000 + b"\n", 1, "not JSON"),
    ],
    ids=lambda value: None if isinstance(value, int) else str(value)[:20],
)
def test_a_file_of_something_else_is_refused(
    open_app: Opens, tmp_path: Path, content: bytes, line: int, problem: str
):
    Path(FILE).write_bytes(content)
    refused(open_app, tmp_path / "other", line, problem)


def test_the_number_of_a_bad_line_is_exact_among_blank_ones(
    open_app: Opens, tmp_path: Path, whole: bytes
):
    lines = whole.splitlines(keepends=True)
    Path(FILE).write_bytes(
        lines[0] + b"\n\n" + lines[1] + b'{"type": "\xff"}\n' + b"".join(lines[2:])
    )
    refused(open_app, tmp_path / "other", 5, "can't decode")


def test_a_mark_at_the_front_and_windows_line_ends_do_no_harm(
    open_app: Opens, tmp_path: Path, whole: bytes
):
    Path(FILE).write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n"))
    other = open_app(home=tmp_path / "other")
    assert import_jsonl(other, FILE).facts["new"] == 5
    assert {card.memory.body for card in memories.threads(other).cards} >= {"b"}


def test_an_import_that_clashes_with_what_is_here_says_so(
    open_app: Opens, tmp_path: Path, whole: bytes
):
    Path(FILE).write_bytes(whole)
    first = json.loads(whole.splitlines()[1])
    other = open_app(home=tmp_path / "other")
    taken = thread("here")
    (heard,) = messages(taken, "x")
    other.writer(Scope.PROJECT).apply(
        plan(Create(taken, (replace(heard, id=first["messages"][0]["id"]),))), act()
    )
    before = states(other)
    with pytest.raises(Conflict):
        import_jsonl(other, FILE)
    assert states(other) == before


OWN = "# Shop\n\n- Ours is a tea shop"


def test_every_memory_is_a_note_that_leads_to_its_neighbours(app: App, tmp_path: Path):
    one, other = thread("Login: the cookie", topics=("auth flow",)), thread("Cookie/../audit")
    app.writer(Scope.PROJECT).apply(
        plan(
            Create(one, messages(one, "It is set late.")), Create(other), Link(bridge(one, other))
        ),
        act(),
    )
    folder = tmp_path / "notes"
    transfer.export(app, str(folder), shape=Shape.MARKDOWN)
    login = (folder / "threads" / f"login-the-cookie-{one.id[-6:]}.md").read_text(encoding="utf-8")
    assert login.startswith(
        f'---\nid: "{one.id}"\nkind: "thread"\nstatus: "active"\ntags: ["auth-flow"]\n'
    )
    assert "# Login: the cookie\n\nAbout Login: the cookie." in login
    assert "It is set late." in login
    assert f"- EXTENDS [[cookie-audit-{other.id[-6:]}]]" in login
    assert len(list(folder.rglob("*.md"))) == 2
    with pytest.raises(BadInput, match="already exists"):
        transfer.export(app, str(folder), shape=Shape.MARKDOWN)


def test_rules_stand_in_a_section_and_the_rest_of_the_file_stays(
    app: App, open_app: Opens, tmp_path: Path
):
    file = tmp_path / "AGENTS.md"
    file.write_text(OWN, encoding="utf-8")
    first = made(rules.add(app, "Use pnpm, never npm"))
    told = transfer.export(open_app(dry_run=True), str(file), shape=Shape.AGENTS_MD)
    assert told.summary == f"Would write 1 rule to {file}."
    assert file.read_text(encoding="utf-8") == OWN

    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    once = file.read_text(encoding="utf-8")
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    assert file.read_text(encoding="utf-8") == once
    assert once.startswith(OWN)
    assert f"### Preferences\n\n- Use pnpm, never npm <!-- {first[-6:]} -->" in once

    memories.archive(app, (first,))
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    assert file.read_text(encoding="utf-8") == OWN
    file.write_text("<!-- recollect begin -->\n- a\n", encoding="utf-8")
    with pytest.raises(BadInput, match="half of our marks"):
        transfer.export(app, str(file), shape=Shape.AGENTS_MD)


@pytest.fixture
def folder_of_notes(tmp_path: Path) -> Path:
    folder = tmp_path / "obsidian"
    put(
        folder,
        "deploy.md",
        "---\ntags: [ops]\ntitle: Deploying\n---\nThe zebra approves. See [[work/anna]].\n",
    )
    put(
        folder,
        "work/anna.md",
        "<conditional>\nWho decides.\n</conditional>\n<memory>\nAnna.\n</memory>\n",
    )
    put(folder, ".obsidian/app.md", "not a note")
    put(folder, "bad.md", b"\xff")
    return folder


def test_a_folder_of_notes_is_one_change_and_one_undo(app: App, folder_of_notes: Path):
    notes.save(app, "Mine.", title="Deploy")
    before = files(app.home.vault)
    told = notes.import_notes(app, str(folder_of_notes))
    assert told.summary == f"Imported 2 notes from {folder_of_notes}."
    assert any("bad.md" in note for note in told.notes)
    found = all_notes(app)
    assert set(found) == {"deploy.md", "deploy-2.md", "work/anna.md"}
    assert (found["deploy-2.md"].title, found["deploy-2.md"].tags) == ("Deploying", ("ops",))
    assert found["work/anna.md"].title == "Who decides."
    assert len(app.reader(Scope.USER).bridges(found["deploy-2.md"].id)) == 1
    assert "0 notes" in notes.import_notes(app, str(folder_of_notes)).summary
    memories.undo(app, str(told.facts["change"]))
    assert (files(app.home.vault), set(all_notes(app))) == (before, {"deploy.md"})


def test_imported_notes_go_to_the_project_where_asked_and_without_secrets(
    app: App, folder_of_notes: Path
):
    put(folder_of_notes, "door.md", "password=hunter2-Xk99qLmz opens it")
    told = notes.import_notes(app, str(folder_of_notes), project=True)
    assert "hunter2" not in (Path.cwd() / ".ai/memory/door.md").read_text()
    memories.undo(app, str(told.facts["change"]))
    assert not list((Path.cwd() / ".ai/memory").rglob("*.md"))


def test_what_was_exported_as_notes_can_be_imported(app: App, tmp_path: Path):
    memories.pin(app, "Deploys go through staging")
    transfer.export(app, str(tmp_path / "out"), shape=Shape.MARKDOWN)
    notes.import_notes(app, str(tmp_path / "out"))
    assert any("Deploys go through staging" in note.body for note in all_notes(app).values())
    with pytest.raises(NotFound):
        notes.import_notes(app, str(tmp_path / "missing"))


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DAY_MS = 1_767_000_000_000


def all_kept(app: App) -> list[Memory]:
    return [memory for memory, _ in app.reader(Scope.PROJECT).each()]


@pytest.fixture
def database(app: App, tmp_path: Path) -> Iterator[Path]:
    """A database of claude-mem that is open elsewhere, with all that it holds in its log."""
    path, project = tmp_path / "theirs" / "m.db", app.require_project().root.name
    path.parent.mkdir()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = wal")
    db.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT,"
        " title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_modified TEXT,"
        " created_at_epoch INTEGER)"
    )
    db.execute(
        "CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, project TEXT, request TEXT, learned TEXT,"
        " completed TEXT, next_steps TEXT, created_at TEXT)"
    )
    login = (
        "Login uses cookies",
        "No tokens",
        '["The cookie lives a day"]',
        "The session cookie is set late.",
    )
    rows = [
        (project, *login),
        (project, "Key in the log", "", "[]", f"The deploy script prints {TOKEN} into its log."),
        ("elsewhere", "Not ours", "", "[]", "Another project's thoughts about billing."),
        (project, "", "", "", ""),
        (project, *login),
    ]
    for at, row in enumerate(rows):
        db.execute(
            "INSERT INTO observations VALUES (NULL, 's', ?, 'discovery', ?, ?, ?, ?, '[\"auth\"]', '[]', ?)",
            (*row, DAY_MS + at),
        )
    db.execute(
        "INSERT INTO session_summaries VALUES (1, ?, 'Fix the login', 'Cookies are set late', 'It works', '', ?)",
        (project, "2026-01-02T10:00:00.000Z"),
    )
    path.with_name("m.db-shm").unlink(missing_ok=True)
    yield path
    db.close()


def test_what_claude_mem_observed_becomes_threads_of_this_project_alone(app: App, database: Path):
    before = files(database.parent)
    assert before["m.db-wal"]
    told = imports.claude_mem(app, str(database)).facts
    memories = {memory.title: memory for memory in all_kept(app)}
    assert set(memories) == {"Login uses cookies", "Key in the log", "Fix the login"}
    login = memories["Login uses cookies"]
    assert login.body == "No tokens\n\nThe session cookie is set late.\n\n- The cookie lives a day"
    assert (login.lane, login.topics, login.origin) == (Lane.AGENT, ("auth",), "claude-mem")
    assert login.created_at.micros == login.last_active_at.micros == DAY_MS * 1_000
    assert login.reinforced_at == NOW, "it fades from today on"
    assert "Learned: Cookies are set late" in memories["Fix the login"].body
    assert TOKEN not in memories["Key in the log"].body
    assert (told["read"], told["new"], told["duplicates"], told["junk"]) == (6, 3, 1, {"empty": 1})
    assert told["other_projects"] == {"elsewhere": 1}
    assert isinstance(told["secrets"], dict)
    assert len(told["secrets"]) == 1
    assert files(database.parent) == before, "not a byte of theirs changes"


def test_twice_is_once_and_one_undo_takes_it_back(app: App, open_app: Opens, database: Path):
    told = imports.claude_mem(open_app(dry_run=True), str(database))
    assert (told.facts["new"], all_kept(app)) == (3, [])
    assert "Would import 3 memories of 6" in told.summary
    assert "Secrets removed" in told.summary
    imports.claude_mem(app, str(database))
    again = imports.claude_mem(app, str(database)).facts
    assert (again["new"], again["change"]) == (0, None)
    memories.undo(app)
    assert all_kept(app) == []


def claude_recall(path: Path, *rows: tuple[str, object, str, str | None]) -> None:
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, key TEXT UNIQUE, value TEXT, type TEXT, project_id TEXT,"
            " timestamp INTEGER, is_active INTEGER DEFAULT 1, something_new BLOB)"
        )
        for key, value, sort, project in rows:
            db.execute(
                "INSERT INTO memories (key, value, type, project_id, timestamp) VALUES (?, ?, ?, ?, ?)",
                (key, json.dumps(value), sort, project, DAY_MS),
            )


def test_rules_of_claude_recall_wait_in_the_inbox(app: App):
    place = user_home(environment()) / ".claude-recall"
    place.mkdir(parents=True)
    claude_recall(
        place / "claude-recall.db",
        ("pref_1", {"content": "Use pnpm, never npm"}, "preference", None),
        ("pref_2", {"content": {"value": "use pnpm, never npm."}}, "preference", None),
        (
            "corr_1",
            {"title": "Tests", "content": "Put tests into __tests__ folders"},
            "correction",
            "elsewhere",
        ),
        ("know_1", "The billing service runs on port 8443 in staging", "project-knowledge", None),
        ("tool_1", {"content": "Bash ls -la in the project"}, "tool-use", None),
        ("test_9", {"content": "A preference that a test left behind"}, "preference", None),
    )
    told = imports.claude_recall(app).facts
    (rule,) = [memory for memory in all_kept(app) if memory.kind is Kind.RULE]
    assert (rule.body, rule.status, rule.lane) == (
        "Use pnpm, never npm",
        Status.CANDIDATE,
        Lane.AGENT,
    )
    assert [card.memory.id for card in rules.list_inbox(app).cards] == [rule.id]
    assert (told["rules"], told["threads"], told["duplicates"]) == (1, 1, 1)
    assert told["junk"] == {"a record of tools, not a memory": 1, "test data": 1}
    assert told["other_projects"] == {"elsewhere": 1}


def test_entities_and_their_relations_become_threads_and_bridges(app: App, tmp_path: Path):
    entities = {
        "Checkout": ["Runs on three machines", "Go"],
        "Ledger": ["Keeps every payment for ever"],
    }
    relations = {"Ledger": "depends_on", "Nobody": "knows"}
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": name, "entityType": "service", "observations": said}
        for name, said in entities.items()
    ]
    lines += [
        {"type": "relation", "from": "Checkout", "to": to, "relationType": kind}
        for to, kind in relations.items()
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    told = imports.mcp_memory(app, str(tmp_path / "m.jsonl")).facts
    assert {one.title: one.topics for one in all_kept(app)} == {
        "Checkout": ("service",),
        "Ledger": ("service",),
    }
    (bridge,) = app.reader(Scope.PROJECT).bridges()
    assert (str(bridge.type), told["bridges"]) == ("DEPENDS", 1)


def test_entities_and_rules_that_differ_in_a_number_are_all_imported(app: App, tmp_path: Path):
    lines = [
        {
            "type": "entity",
            "name": name,
            "entityType": "database",
            "observations": [f"The database listens on port {port} behind the proxy"],
        }
        for name, port in (("orders db", 5432), ("orders db", 5433), ("Orders DB", 5433))
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    told = imports.mcp_memory(app, str(tmp_path / "m.jsonl")).facts
    assert sorted(one.body[-22:-17] for one in all_kept(app)) == [" 5432", " 5433"]
    assert told["duplicates"] == 1
    claude_recall(
        tmp_path / "recall.db",
        ("a", {"content": "Retry the upload 3 times"}, "preference", None),
        ("b", {"content": "Retry the upload 5 times"}, "preference", None),
    )
    assert imports.claude_recall(app, str(tmp_path / "recall.db")).facts["rules"] == 2


def test_a_structured_failure_of_claude_recall_keeps_what_failed_why_and_what_to_do(
    app: App, tmp_path: Path
):
    failure = {
        "title": "Deploy failed",
        "content": {
            "what_failed": "Deployed with a stale bundle",
            "why_failed": "the cache was not cleared.",
            "what_should_do": "Run make clean before make deploy",
        },
    }
    claude_recall(tmp_path / "recall.db", ("f", failure, "failure", None))
    imports.claude_recall(app, str(tmp_path / "recall.db"))
    (kept,) = all_kept(app)
    assert kept.body == (
        "What failed: Deployed with a stale bundle. Why: the cache was not cleared."
        " Instead: Run make clean before make deploy."
    )


def test_a_failure_that_says_only_what_failed_is_kept(app: App, tmp_path: Path):
    failure = {"content": {"what_failed": "helm rollback 14", "context": "staging"}}
    claude_recall(tmp_path / "recall.db", ("f", failure, "failure", None))

    imports.claude_recall(app, str(tmp_path / "recall.db"))

    assert [memory.body for memory in all_kept(app)] == ["What failed: helm rollback 14."]


def test_one_duplicate_is_a_duplicate(app: App, tmp_path: Path):
    rows = [
        (key, {"content": f"Use kebab-case in URLs{key}"}, "preference", None) for key in ("", ".")
    ]
    claude_recall(tmp_path / "recall.db", *rows)

    told = imports.claude_recall(app, str(tmp_path / "recall.db")).summary

    assert "1 is a duplicate." in told
    assert "already known" not in told


def test_an_agents_own_notes_come_in_as_the_agents(app: App, tmp_path: Path):
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- [Tests](tests.md)\n", encoding="utf-8")
    (folder / "tests.md").write_text(
        "---\nname: tests\ndescription: Run tests with make\nmetadata:\n  type: feedback\n---\n\n"
        "Run the tests with make test, not by hand.\n\n**Why:** It was asked for.\n", encoding="utf-8",
    )  # fmt: skip
    (folder / "ports.md").write_text(
        "The staging database listens on port 5433.\n", encoding="utf-8"
    )
    (folder / "recollect-use-pnpm-abc123.md").write_text("Ours.\n", encoding="utf-8")
    imports.memory_folder(app, str(folder))
    rule, thread = sorted(all_kept(app), key=lambda memory: memory.kind)
    assert (rule.body, rule.status, rule.lane) == (
        "Run the tests with make test, not by hand.", Status.CANDIDATE, Lane.AGENT,
    )  # fmt: skip
    assert thread.body == "The staging database listens on port 5433."


def test_rules_of_a_repository_wait_in_the_lowest_lane(app: App):
    root = app.require_project().root
    (root / "CLAUDE.md").write_text(
        "# Shop\n\n## Style\n- Always use **tabs**, never spaces\n- src/ holds the code\n- Run `make dev` to start\n\n"
        "```sh\n- never run this\n```\n"
        "<!-- recollect begin -->\n- Use npm, never pnpm\n<!-- recollect end -->\n", encoding="utf-8",
    )  # fmt: skip
    told = imports.rules_file(app).facts
    rule, order = all_kept(app)
    assert order.body == "Run `make dev` to start"
    assert (rule.body, rule.lane, rule.status) == (
        "Always use tabs, never spaces", Lane.REPOSITORY, Status.CANDIDATE,
    )  # fmt: skip
    assert rule.topics == ("Style",)
    assert told["junk"] == {"not an instruction": 1}


@pytest.mark.parametrize("read", [imports.claude_mem, imports.claude_recall])
@pytest.mark.parametrize(
    "text", [b"", b"no database at all", b"SQLite format 3\x00 and then nothing sound", None]
)
def test_a_file_that_is_no_such_database_is_refused(
    app: App, tmp_path: Path, read: Callable[[App, str], object], text: bytes | None
):
    if text is not None:
        (tmp_path / "x.db").write_bytes(text)
    else:
        with sqlite3.connect(tmp_path / "x.db") as db:
            db.execute("CREATE TABLE other (a)")
    with pytest.raises(BadInput):
        read(app, str(tmp_path / "x.db"))
    with pytest.raises(NotFound):
        read(app, str(tmp_path / "none.db"))
    assert all_kept(app) == []


@pytest.mark.parametrize("line", ["{", "[]", '{"type": "other"}', "[" * 100_000])
def test_a_broken_line_changes_nothing_and_is_named(app: App, tmp_path: Path, line: str):
    good = json.dumps(
        {
            "type": "entity",
            "name": "Ledger",
            "entityType": "x",
            "observations": ["Keeps every payment"],
        }
    )
    (tmp_path / "m.jsonl").write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadImport, match="line 2"):
        imports.mcp_memory(app, str(tmp_path / "m.jsonl"))
    assert all_kept(app) == []


def foreign(body: str, key: str = "k") -> ForeignMemory:
    return ForeignMemory(key, "", body)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (foreign(""), "empty"),
        (foreign("12345 !!"), "empty"),
        (foreign("ok then"), "too short"),
        (foreign('{"tool": "Bash", "input": {"command": "ls"}}'), "made by a machine"),
        (foreign("<task-notification>done</task-notification>"), "made by a machine"),
        (foreign("This is a test of the memory"), "test data"),
        (foreign("Prefer tabs over spaces", key="test_preference_1"), "test data"),
        (foreign("0x3f 0x4a 0x99 ab cd ef 1213 88 99 1029 8812 =="), "no words"),
        (ForeignMemory("k", "", "A record of all the tools", junk="raw"), "raw"),
        (foreign("Prefer tabs over spaces"), ""),
        (foreign("テストは必ず書く"), ""),
        (foreign("The latest test run takes nine minutes"), ""),
    ],
)
def test_what_is_worth_nothing_is_named(one: ForeignMemory, reason: str):
    assert why_left_out(one) == reason


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("All the tests passed!", "all the tests - passed", True),
        ("The database listens on port 5432", "The database listens on port 5433.", False),
        ("Settings are in db/a.toml", "Settings are in db/b.toml", False),
        ("Call it userId", "Call it userid", False),
        ("Run it with --force", "Run it with force", False),
    ],
)
def test_texts_that_differ_in_case_and_marks_alone_are_alike(one: str, other: str, is_same: bool):
    assert (words_key(one) == words_key(other)) is is_same
    assert words_key("Use tabs") != words_key("Use spaces")


def test_a_rule_that_a_file_repeats_is_judged_once(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    judged: list[str] = []

    def judge(text: str) -> Draft:
        judged.append(text)
        return find_rules(text)

    monkeypatch.setattr(imports, "find_rules", judge)
    file = tmp_path / "rules.md"
    file.write_text(
        "- We keep the tests beside the code.\n" * 200 + "- We deploy on Tuesdays.\n" * 200
    )
    imports.rules_file(app, str(file))
    assert sorted(judged) == ["We deploy on Tuesdays.", "We keep the tests beside the code."]


def test_a_file_of_more_rules_than_anybody_follows_is_refused(app: App, tmp_path: Path):
    file = tmp_path / "rules.md"
    file.write_text("- We deploy on Tuesdays.\n" * 2_000)
    imports.rules_file(app, str(file))
    assert len(all_kept(app)) == 1
    with file.open("a") as more:
        more.write("- We deploy on Fridays.\n" * 100_000)
    with pytest.raises(BadInput, match="more than 2,000 items") as problem:
        imports.rules_file(app, str(file))
    assert "Nothing was imported" in problem.value.hint


def test_of_a_long_note_what_is_far_beyond_the_limit_is_not_looked_at_and_no_secret_is_cut_in_two(
    open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_MAX_BODY_CHARS", "1000")
    app = open_app()
    looked_at: list[str] = []
    clean = app.redactor.clean

    def watched(text: str) -> Cleaned:
        looked_at.append(text)
        return clean(text)

    monkeypatch.setattr(app.redactor, "clean", watched)
    secret = "hunter2-" + "Zk9x" * 12
    lines = f"The password is {secret} on this host.\n" * 25_000
    (tmp_path / "note.md").write_text(f"The hosts of the shop are listed here.\n{lines}")

    imports.memory_folder(app, str(tmp_path))

    (note,) = all_kept(app)
    assert max(map(len, looked_at)) < 30_000
    assert len(note.body) <= 1_000
    assert "hunter2" not in note.body

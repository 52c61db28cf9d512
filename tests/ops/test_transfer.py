from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.app.core import App
from recollect.base.errors import BadImport, BadInput, Conflict, NotFound, RecollectError, StoreReadOnly
from recollect.model.memory import Anchor, BridgeType, Lane, Rating
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import history, memories, rules, transfer
from recollect.ops.transfer import checksum, export, import_jsonl
from tests.naughty import NAUGHTY
from tests.ops.ask import files, kept, made, pinned, states
from tests.ops.conftest import Opens
from tests.values import NOW, act, messages, note, plan, thread

FILE = "memories.jsonl"
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links, shells and pipes are another matter there")


def lived_in(app: App) -> None:
    """A bit of everything there is."""
    a, b = pinned(app, "Dark mode is on.", topics=("ui", "日本")), pinned(app, "Solana validators\r\n\tvote. ")
    made(rules.add(app, "Use tabs"))
    memories.link(app, a, b, type=BridgeType.CONTRADICTS, weight=0.25)
    memories.merge(app, a, pinned(app, "Billing is monthly."))
    memories.archive(app, (b,))
    talk = thread(
        "talk", drift=("a", "b"), ratings=(Rating(True, NOW, None), Rating(False, NOW.plus(days=1), "wrong file")),
        anchors=(Anchor("src/a.py", "ff"),), group="session-1", weight=0.1 + 0.2, days_old=100,
    )  # fmt: skip
    heard = messages(talk, *(app.redact_text("message", text) for text in NAUGHTY))
    path = note("note", path="vault/x.md", lane=Lane.REPOSITORY)
    app.writer(Scope.PROJECT).apply(plan(Create(talk, heard), Create(path)), act())


def test_an_export_comes_back_the_same_in_another_home_once(app: App, open_app: Opens, tmp_path: Path):
    lived_in(app)
    export(app, FILE)
    other = open_app(home=tmp_path / "other")

    told = import_jsonl(other, FILE)
    again = import_jsonl(other, FILE)

    assert (told.facts["known"], again.facts["new"]) == (0, 0)
    assert states(other) == states(app)
    export(other, "again.jsonl")
    assert Path("again.jsonl").read_bytes() == Path(FILE).read_bytes()


def test_a_memory_that_is_here_with_other_words_keeps_them(app: App, open_app: Opens, tmp_path: Path):
    id = pinned(app, "first")
    export(app, FILE)
    memories.edit(app, id, body="second")
    import_jsonl(app, FILE)
    assert kept(app, id).body == "second"


def test_an_import_is_one_change_that_can_be_undone(app: App, open_app: Opens, tmp_path: Path):
    more_than_two_batches = [Create(thread(f"t{number}")) for number in range(450)]
    app.writer(Scope.PROJECT).apply(plan(*more_than_two_batches), act())
    lived_in(app)
    export(app, FILE)
    other = open_app(home=tmp_path / "other")
    import_jsonl(other, FILE)
    assert len(history.log(other).entries) == 1

    history.undo(other)

    assert states(other)[Scope.PROJECT].memories == {}


def test_an_import_can_be_trusted_less(app: App, open_app: Opens, tmp_path: Path):
    mine, theirs = thread("mine"), thread("theirs", lane=Lane.WEB)
    app.writer(Scope.PROJECT).apply(plan(Create(mine), Create(theirs)), act())
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

    with pytest.raises(BadInput, match="there already"):
        export(app, FILE)
    Path("link").symlink_to("nowhere")
    with pytest.raises(BadInput, match="there already"):
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
def test_a_place_that_cannot_be_written(app: App, name: str, error: type[RecollectError], problem: str):
    pinned(app, "a")
    with pytest.raises(error, match=problem):
        export(app, name)


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "", "a\x00b", "a\ud800b", "a" * 300])
def test_a_file_that_is_not_there(app: App, name: str):
    with pytest.raises(NotFound, match="There is no file"):
        import_jsonl(app, name)


# Bad files: a whole one of seven lines, then one thing wrong with it.

Lines = list[dict[str, Any]]


def lines_of(file: str) -> Lines:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def whole(app: App) -> Lines:
    a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
    memories.link(app, a, b)
    memories.merge(app, a, c)
    export(app, "whole.jsonl")
    found = lines_of("whole.jsonl")
    assert [line["type"] for line in found] == ["header", "memory", "memory", "memory", "bridge", "alias", "end"]
    return found


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
    """BadImport with the line's number, dry or not, and nothing is written."""
    for dry_run in (True, False):
        other = open_app(home=home, dry_run=dry_run)
        with pytest.raises(BadImport, match=problem) as found:
            import_jsonl(other, FILE)
        assert found.value.line == line
        assert f"{FILE}, line {line}: " in found.value.message
        assert len(found.value.message) < 400
        assert states(other) == {}
        other.close()


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        (lambda lines: lines[:-1], 7, "ends too early"),
        (lambda lines: [*lines[:2], {**lines[2], "messages": []}, *lines[3:]], 3, "checksum does not hold"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 7, "missing or were changed"),
        (lambda lines: [*lines[:5], *lines[6:]], 6, "missing or were changed"),
        (lambda lines: [*lines, lines[1]], 8, "more after the end"),
        (lambda lines: lines[1:], 1, "not a recollect-jsonl file"),
    ],
)
def test_a_damaged_file_changes_nothing(
    app: App, open_app: Opens, tmp_path: Path, change: Callable[[Lines], Lines], line: int, problem: str
):
    write(change(whole(app)), honest=False)
    refused(open_app, tmp_path / "other", line, problem)


def forged(where: int, **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[where].update(fields)


def memory_with(**fields: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[2]["memory"].update(fields)


def same_twice(lines: Lines) -> None:
    lines[2]["memory"] = lines[1]["memory"]
    lines[2]["messages"] = []


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        (forged(0, version=2), 1, "version 2 is not known"),
        (forged(0, format="x"), 1, "not a recollect-jsonl file"),
        (forged(2, type="poem"), 3, "type 'poem' is not known"),
        (forged(2, type=None), 3, "type None is not known"),
        (forged(2, type=["memory"]), 3, "is not known"),
        (forged(2, memory=[]), 3, "an object is wanted"),
        (forged(2, memory="kind"), 3, "an object is wanted"),
        (forged(2, memory=None), 3, "NoneType"),
        (forged(2, messages=[1]), 3, "int"),
        (forged(2, messages=5), 3, "int"),
        (forged(4, bridge={}), 5, "source: missing"),
        (forged(5, new="thread_20200101_000000_000000"), 6, "no memory has the id"),
        (memory_with(kind="poem"), 3, "kind"),
        (memory_with(colour="red"), 3, "colour: no such field"),
        (memory_with(weight=float("nan")), 3, "finite"),
        (memory_with(weight=float("inf")), 3, "finite"),
        (memory_with(seen=-1), 3, "seen"),
        (memory_with(seen=2**70), 3, "seen"),
        (memory_with(created_at="yesterday"), 3, "created_at"),
        (memory_with(status="dead"), 3, "status"),
        (memory_with(topics="a"), 3, "topics: a list is wanted"),
        (memory_with(topics=[[1]]), 3, "topics"),
        (memory_with(id="../../x"), 3, "no id"),
        (memory_with(id=""), 3, "no id"),
        (memory_with(id="thread_20260201_083000_abc123\n"), 3, "no id"),
        (memory_with(body=None), 3, "body: a text is wanted"),
        (memory_with(body="x" * 1_000_001), 3, "at most 1,000,000"),
        (memory_with(weight="x" * 10_000_000), 3, "weight"),
        (memory_with(weight=json.loads("[" * 300 + "]" * 300)), 3, "weight"),
        (same_twice, 3, "came before"),
    ],
)
def test_a_line_that_says_something_else_is_refused(
    app: App, open_app: Opens, tmp_path: Path, change: Callable[[Lines], None], line: int, problem: str
):
    lines = whole(app)
    change(lines)
    write(lines)
    refused(open_app, tmp_path / "other", line, problem)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "ends too early"),
        (b"\n\n  \n", 1, "ends too early"),
        (b"\xff\xfe", 1, "not UTF-8"),
        (b"PK\x03\x04\x00\x00", 1, "not JSON"),
        (b"null\n", 1, "not a JSON object"),
        (b"{}\n", 1, "not a recollect-jsonl file"),
        (b"{" * 1_000 + b"\n", 1, "not JSON"),
        (b"[" * 1_000 + b"]" * 1_000 + b"\n", 1, "nested too deeply|not a JSON object"),
        (b"[" * 100_000 + b"]" * 100_000 + b"\n", 1, "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n", 1, "nested too deeply"),
        (b'{"a":' * 900 + b"1" + b"}" * 900 + b"\n", 1, "nested too deeply|not a recollect-jsonl file"),
        (b"1" * 5_000 + b"\n", 1, "not JSON"),
        (b'{"a": "\\ud800"}\n', 1, "surrogates|not a recollect-jsonl file"),
        (b"x" * 10_000_000 + b"\n", 1, "not JSON"),
    ],
    ids=lambda value: None if isinstance(value, int) else str(value)[:20],
)
def test_a_file_of_something_else_is_refused(open_app: Opens, tmp_path: Path, content: bytes, line: int, problem: str):
    Path(FILE).write_bytes(content)
    refused(open_app, tmp_path / "other", line, problem)


def test_the_number_of_a_bad_line_is_exact_among_blank_ones(app: App, open_app: Opens, tmp_path: Path):
    whole(app)
    lines = Path("whole.jsonl").read_bytes().splitlines(keepends=True)
    Path(FILE).write_bytes(lines[0] + b"\n\n" + lines[1] + b'{"type": "\xff"}\n' + b"".join(lines[2:]))
    refused(open_app, tmp_path / "other", 5, "not UTF-8")


def test_a_line_beyond_the_limit_is_refused(open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transfer, "MAX_LINE_BYTES", 1_000)
    Path(FILE).write_bytes(b'{"a": "' + b"x" * 2_000 + b'"}\n')
    refused(open_app, tmp_path / "other", 1, "longer than 1,000 bytes")


def test_a_mark_at_the_front_and_windows_line_ends_do_no_harm(app: App, open_app: Opens, tmp_path: Path):
    whole(app)
    Path(FILE).write_bytes(b"\xef\xbb\xbf" + Path("whole.jsonl").read_bytes().replace(b"\n", b"\r\n"))
    other = open_app(home=tmp_path / "other")
    import_jsonl(other, FILE)
    assert states(other) == states(app)


def test_an_import_that_clashes_with_what_is_here_says_so(app: App, open_app: Opens, tmp_path: Path):
    lines = whole(app)
    taken = thread("here", id=lines[1]["memory"]["id"].replace("thread_2026", "thread_2025"))
    other = open_app(home=tmp_path / "other")
    heard = messages(taken, "x")[0]
    taken_message = replace(heard, id=lines[1]["messages"][0]["id"])
    other.writer(Scope.PROJECT).apply(plan(Create(taken, (taken_message,))), act())
    before = states(other)

    with pytest.raises(Conflict):
        import_jsonl(other, "whole.jsonl")

    assert states(other) == before


def test_reading_an_import_leaves_the_file_alone(app: App, open_app: Opens, tmp_path: Path):
    whole(app)
    before = files(Path.cwd())
    import_jsonl(open_app(home=tmp_path / "other"), "whole.jsonl")
    assert files(Path.cwd()) == before

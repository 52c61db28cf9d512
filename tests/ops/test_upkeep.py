"""Damage and recovery, moved projects, several writers at once, a home that cannot be written."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import apsw
import pytest

from recollect.app.core import App, set_aside_files
from recollect.base.errors import (
    IdTaken,
    NoProject,
    StoreDamaged,
    StoreForeign,
    UnknownId,
)
from recollect.base.ids import Mint
from recollect.model.memory import Memory
from recollect.model.result import Scope
from recollect.ops import health, memories, rules, transfer, upkeep
from recollect.ops.health import doctor, status
from recollect.ops.purge import erase
from recollect.ops.upkeep import attach, projects, recover
from tests.ops.ask import files, kept, made, pinned, titles
from tests.ops.conftest import Opens

PAGE = 4096
posix = pytest.mark.skipif(
    sys.platform == "win32", reason="modes, links, shells and pipes are another matter there"
)


def path_of(app: App) -> Path:
    """The project's store, closed and folded into its one file."""
    path = app.store_path(Scope.PROJECT)
    app.close()
    assert path is not None
    return path


def lived_in(app: App) -> Path:
    """A store of some pages."""
    ids = [
        pinned(app, f"Memory {number} of the xylographer. " + f"word{number} " * 100)
        for number in range(30)
    ]
    memories.link(app, ids[0], ids[1])
    memories.delete(app, (ids[29],))
    return path_of(app)


def remembered(app: App) -> dict[str, Memory]:
    found = {memory.id: memory for memory, _ in app.reader(Scope.PROJECT).each()}
    app.close()
    return found


def overwrite(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def zero_the_header(path: Path) -> None:
    overwrite(path, 0, b"\x00" * 16)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no header": zero_the_header,
    "no first page": lambda path: overwrite(path, 0, b"\x00" * PAGE),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: PAGE * 2 + 100]),
    "garbage": lambda path: path.write_bytes(b"This is not a database at all. " * 300),
}


@posix
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_kept_aside_and_the_next_command_starts_anew(
    app: App, open_app: Opens, damage: str
):
    path = lived_in(app)
    DAMAGES[damage](path)
    damaged = path.read_bytes()
    with pytest.raises(StoreDamaged) as problem:
        _raise_findings(open_app())
    assert "recollect recover" in problem.value.hint
    told = recover(open_app())
    after = open_app()
    (aside,) = set_aside_files(after)
    assert aside.read_bytes() == damaged
    assert aside.stat().st_mode & 0o777 == 0o600
    assert aside.parent.stat().st_mode & 0o777 == 0o700
    assert "Brought back" in told.summary
    pinned(after, "Life goes on.")
    assert "Life goes on." in titles(after, "life")
    assert str(aside) in status(after).set_aside[0]
    assert upkeep.verify(after).clean


def _raise_findings(app: App) -> None:
    for _, _, findings in upkeep.verify(app).stores:
        if findings:
            raise StoreDamaged(findings[0].problem, hint="`recollect recover`")


def test_with_a_whole_header_again_everything_sound_comes_back_but_what_was_deleted(
    app: App, open_app: Opens
):
    gone = pinned(app, "gone")
    upkeep.backup(app)
    memories.delete(app, (gone,))
    memories.pin(app, "undone")
    memories.undo(app)
    path, before = lived_in(app), remembered(app)
    zero_the_header(path)
    told = recover(open_app())
    after = open_app()
    assert told.facts["project"]["readable"] == len(before) == 29  # type: ignore[index,call-overload]
    assert len(after.reader(Scope.PROJECT).bridges()) == 1
    assert len(titles(after, "xylographer")) == 10, "and it can be found"
    assert upkeep.verify(after).clean
    assert remembered(after) == before


@pytest.mark.parametrize("with_backup", [False, True])
def test_a_page_that_was_lost_takes_only_what_was_on_it_and_no_backup_has(
    app: App, open_app: Opens, with_backup: bool
):
    path, before = lived_in(app), remembered(app)
    if with_backup:
        upkeep.backup(app)
    overwrite(path_of(app), _page_of(path, "memory"), b"\x00" * PAGE)
    with pytest.raises(StoreDamaged):
        _raise_findings(open_app())
    recover(open_app())
    after = remembered(open_app())
    assert 0 < len(after) < len(before) or with_backup
    assert after.items() <= before.items(), "what came back is what was"
    assert (after == before) is with_backup


def _page_of(path: Path, table: str) -> int:
    """Where some leaf page of a table begins."""
    wanted = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        pages = [int(str(number)) for (number,) in db.execute(wanted, (table,))]
    return (pages[len(pages) // 2] - 1) * PAGE


def test_damage_of_what_is_derived_is_mended_by_reindex(app: App, open_app: Opens):
    execute(lived_in(app), "DELETE FROM term")
    assert not upkeep.verify(open_app()).clean
    upkeep.reindex(open_app())
    assert upkeep.verify(open_app()).clean


def test_where_nothing_is_damaged_nothing_comes_back_and_backups_are_told_of(app: App):
    gone = pinned(app, "gone")
    assert recover(app).summary == "Nothing is damaged. There is no backup."
    upkeep.backup(app)
    erase(app, (gone,))
    memories.delete(app, (pinned(app, "also gone"),))
    upkeep.backup(app)
    told = recover(app)
    assert told.summary == "Nothing is damaged. 2 backups are available."
    assert len(told.notes) == 2
    assert all(Path(file).is_file() for file in told.notes)
    assert remembered(app) == {}


@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["gone", "emptied"]
)
def test_a_lost_store_comes_back_from_its_backup(
    app: App, open_app: Opens, lose: Callable[[Path], object]
):
    path, before = lived_in(app), remembered(app)
    upkeep.backup(app)
    app.close()
    lose(path)
    assert recover(open_app(dry_run=True)).summary == "Would bring back 29 memories."
    assert recover(open_app()).summary == "Brought back 29 memories."
    assert remembered(open_app()) == before


def test_a_store_that_was_still_empty_at_the_first_look_is_read_once_it_is_written(app: App):
    path = lived_in(app)
    app.close()
    path.write_bytes(b"")
    assert not list(app.reader(Scope.PROJECT).each())
    memories.pin(app, "words")
    assert list(app.reader(Scope.PROJECT).each())


def test_recovering_twice_brings_nothing_twice_and_can_be_undone(app: App, open_app: Opens):
    zero_the_header(lived_in(app))
    recover(open_app())
    deleted = memories.delete(open_app(), (next(iter(remembered(open_app()))),))
    before = remembered(open_app())
    assert recover(open_app()).summary == "Brought back 0 memories."
    assert remembered(open_app()) == before
    memories.undo(open_app(), deleted.change)
    memories.undo(open_app())
    assert remembered(open_app()) == {}


def execute(path: Path, sql: str) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute(sql)


def test_the_database_of_another_program_stays_as_it_is(app: App, open_app: Opens, tmp_path: Path):
    path = lived_in(app)
    path.unlink()
    execute(path, "CREATE TABLE songs (title); INSERT INTO songs VALUES ('mine')")
    before = files(tmp_path)
    for use in (lambda app: memories.pin(app, "x"), upkeep.verify, recover, upkeep.reindex):
        with pytest.raises(StoreForeign) as problem:
            use(open_app())
        assert problem.value.hint
    assert {
        item for item in files(tmp_path).items() ^ before.items() if "logs" not in item[0]
    } == set()


def test_one_damaged_store_is_named_by_doctor_and_leaves_the_other_alone(app: App, open_app: Opens):
    pinned(app, "Everywhere.", user=True)
    zero_the_header(lived_in(app))
    assert (
        "recollect recover"
        in {check.name: check.repair for check in doctor(open_app()).checks}["project store"]
    )
    assert titles(open_app(), "everywhere") == {"Everywhere."}


def folder(*parts: str) -> Path:
    path = Path.cwd().joinpath(*parts)
    path.mkdir(parents=True)
    return path


def test_two_projects_of_one_name_do_not_see_each_other(open_app: Opens):
    one, other = open_app(folder("a", "shop")), open_app(folder("b", "shop"))
    id = pinned(one, "The till is in cents.")
    pinned(other, "Stock is counted nightly.")
    assert titles(other, "till cents") == set()
    assert [card.memory.title for card in memories.threads(other).cards] == [
        "Stock is counted nightly."
    ]
    with pytest.raises(UnknownId) as problem:
        memories.show(other, id)
    assert problem.value.near == () or id not in problem.value.near
    with pytest.raises(UnknownId):
        memories.delete(other, (id,))
    assert len(list(one.home.projects.iterdir())) == 2


def test_what_is_kept_for_the_user_is_seen_everywhere(open_app: Opens):
    one, other = open_app(folder("one")), open_app(folder("other"))
    rules.add(one, "Use tabs", user=True)
    pinned(one, "My name is Ada.", user=True)
    assert [card.memory.body for card in rules.listing(other).cards] == ["Use tabs"]
    assert titles(other, "name") == {"My name is Ada."}


@pytest.mark.parametrize("place", ["/", "~"])
def test_the_home_folder_and_the_root_are_no_project(open_app: Opens, place: str):
    app = open_app(Path(place).expanduser())
    Path("x.jsonl").write_text("{")
    with pytest.raises(NoProject):
        transfer.import_jsonl(app, "x.jsonl")
    assert not app.home.root.exists(), "nothing was read"
    for write in (
        lambda: memories.pin(app, "x"),
        lambda: rules.add(app, "x"),
        lambda: attach(app, "x-0123456789ab"),
    ):
        with pytest.raises(NoProject) as problem:
            write()
        assert problem.value.hint
    pinned(app, "Everywhere.", user=True)
    assert titles(app, "everywhere") == {"Everywhere."}
    assert health.status(app).project is None


def test_a_folder_that_moved_is_given_its_memory_back(open_app: Opens):
    before = folder("before")
    pinned(open_app(before), "Kept.")
    after = before.rename(before.with_name("after"))
    app = open_app(after)
    assert titles(app, "kept") == set()
    (lost,) = [p for p in projects(app).facts["projects"] if not p["exists"]]  # type: ignore[union-attr,index,call-overload]
    attach(app, str(lost["folder"]))  # type: ignore[index,call-overload]
    assert titles(open_app(after), "kept") == {"Kept."}
    pinned(open_app(after), "New.")
    assert titles(open_app(after), "new") == {"New."}


def test_an_id_that_another_process_took_is_drawn_again(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    one, other = open_app(), open_app()
    first = pinned(one, "one")
    taken, mint = iter([first]), Mint(other.clock)
    monkeypatch.setattr(other, "mint", Mock(draw=lambda kind: next(taken, "") or mint.draw(kind)))
    second = pinned(other, "two")
    assert first != second
    assert (kept(one, first).body, kept(one, second).body) == ("one", "two")


def test_an_id_that_is_always_taken_is_an_error_and_nothing_is_lost(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    one = open_app()
    taken = kept(one, pinned(one, "one"))
    app = open_app()
    app.mint = Mint(app.clock)
    monkeypatch.setattr(app.mint, "draw", lambda kind: taken.id)
    with pytest.raises(IdTaken):
        memories.pin(app, "two")
    assert kept(open_app(), taken.id) == taken
    assert len(memories.log(open_app()).entries) == 1


def test_two_that_say_the_same_rule_at_once_make_one_rule(open_app: Opens):
    one, other = open_app(), open_app()
    rule = made(rules.add(one, "Use tabs"))
    other.writer(Scope.PROJECT)
    rules.add(other, "Use tabs")
    rules.add(one, "Use tabs")
    assert kept(other, rule).seen == kept(one, rule).seen == 3


WRITER = """
import sys
from pathlib import Path
from recollect.ops import memories
from recollect.app.core import App
app = App.open(Path.cwd())
for number in range(25):
    memories.pin(app, f"writer {sys.argv[1]} wrote {number}")
app.close()
"""


def test_processes_that_write_at_once_lose_nothing(open_app: Opens):
    """From no home at all: they race for making it, too."""
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(n)], stderr=subprocess.PIPE)
        for n in range(3)
    ]
    assert [process.communicate(timeout=120)[1] for process in running] == [b"", b"", b""]
    app = open_app()
    bodies = {memory.body for memory, _ in app.reader(Scope.PROJECT).each()}
    assert bodies == {f"writer {n} wrote {number}" for n in range(3) for number in range(25)}
    assert len({entry.change for _, entry in memories.log(app, limit=1_000).entries}) == 75
    assert len(list(app.home.projects.iterdir())) == 1


POWERLESS = """
import ctypes, os, sys
DROP, OVERRIDE, READ_SEARCH = 24, 1, 2
for power in (OVERRIDE, READ_SEARCH) if os.geteuid() == 0 else ():
    if ctypes.CDLL(None).prctl(DROP, power, 0, 0, 0) != 0:
        sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "recollect", *sys.argv[1:]])
"""


def recollect(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", POWERLESS, *args]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
    if done.returncode == 77:
        pytest.skip("root here cannot give up its power over permissions")
    return done


@pytest.mark.skipif(
    sys.platform != "linux", reason="permissions are tried where root can be bound by them"
)
def test_a_home_that_cannot_be_written_can_be_read_and_is_left_alone(app: App):
    id = pinned(app, "Kept before.")
    everywhere = pinned(app, "Everywhere before.", user=True)
    app.close()
    root = app.home.root
    before = files(root)
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        folder.chmod(0o500)
    for file in root.rglob("*.db"):
        file.chmod(0o400)
    try:
        read = [recollect("show", id), recollect("recall", "before"), recollect("why")]
        wrote = [
            recollect(*command)
            for command in (("pin", "x"), ("delete", everywhere), ("purge", id, "--yes"))
        ]
        sick = recollect("doctor")
        for file in root.rglob("*.db"):
            file.chmod(0)
        wrote.append(recollect("show", id))
    finally:
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            folder.chmod(0o700)
        for file in root.rglob("*.db"):
            file.chmod(0o600)
    assert [ran.returncode for ran in read] == [0, 0, 0], [ran.stderr for ran in read]
    assert all("Kept before." in ran.stdout for ran in read[:2])
    assert {ran.returncode for ran in wrote} <= {9, 10}, [ran.stderr for ran in wrote]
    assert all("cannot be" in ran.stderr for ran in wrote)
    assert sick.returncode == 1
    assert "cannot be written" in sick.stdout
    assert files(root) == before


@pytest.mark.skipif(
    sys.platform != "linux", reason="permissions are tried where root can be bound by them"
)
def test_no_home_can_be_made_where_the_folder_is_shut(open_app: Opens):
    Path.home().chmod(0o500)
    try:
        looked, wrote = recollect("threads"), recollect("pin", "x")
    finally:
        Path.home().chmod(0o700)
    assert looked.returncode == 0
    assert wrote.returncode == 10
    assert "RECOLLECT_HOME" in wrote.stderr
    assert titles(open_app(), "x") == set()

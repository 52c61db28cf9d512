import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.app.core import App, set_aside_files
from recollect.base.errors import StoreDamaged, StoreError, StoreForeign, StoreTooNew
from recollect.model.memory import Memory
from recollect.model.result import Scope
from recollect.ops import forget, memories, upkeep
from recollect.ops.health import doctor, status
from recollect.ops.upkeep import recover
from tests.ops.ask import files, pinned, titles
from tests.ops.conftest import Opens

PAGE = 4096
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links, shells and pipes are another matter there")


def path_of(app: App) -> Path:
    """The project's store, closed and folded into its one file."""
    path = app.store_path(Scope.PROJECT)
    app.close()
    assert path is not None
    return path


def lived_in(app: App) -> Path:
    """A store of some pages."""
    ids = [pinned(app, f"Memory {number} of the xylographer. " + f"word{number} " * 100) for number in range(30)]
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
def test_a_damaged_file_is_kept_aside_and_the_next_command_starts_anew(app: App, open_app: Opens, damage: str):
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


def test_with_a_whole_header_again_everything_sound_comes_back_but_what_was_deleted(app: App, open_app: Opens):
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
def test_a_page_that_was_lost_takes_only_what_was_on_it_and_no_backup_has(app: App, open_app: Opens, with_backup: bool):
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
    forget.erase(app, (gone,))
    memories.delete(app, (pinned(app, "also gone"),))
    upkeep.backup(app)

    told = recover(app)

    kept = "2 backups are available."
    assert told.summary == f"Nothing is damaged. {kept}"
    assert len(told.notes) == 2
    assert all(Path(file).is_file() for file in told.notes)
    assert remembered(app) == {}


@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["gone", "emptied"])
def test_a_store_whose_file_is_gone_comes_back_from_its_backup(
    app: App, open_app: Opens, lose: Callable[[Path], object]
):
    path, before = lived_in(app), remembered(app)
    upkeep.backup(app)
    app.close()
    lose(path)

    assert recover(open_app(dry_run=True)).summary == "Would bring back 29 memories."
    assert recover(open_app()).summary == "Brought back 29 memories."

    assert remembered(open_app()) == before


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


# What is not ours to touch


def execute(path: Path, sql: str) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute(sql)


def another_program(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE songs (title); INSERT INTO songs VALUES ('mine')")


def a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))
    path.symlink_to("elsewhere.db")


NOT_OURS: list[tuple[Callable[[Path], None], type[StoreError]]] = [
    (another_program, StoreForeign), (lambda path: execute(path, "PRAGMA user_version = 99"), StoreTooNew),
    (a_link, StoreError),
]  # fmt: skip


@posix
@pytest.mark.parametrize(("change", "error"), NOT_OURS, ids=["another program", "a newer Recollect", "a link"])
def test_a_file_that_is_not_ours_stays_as_it_is(
    app: App, open_app: Opens, tmp_path: Path, change: Callable[[Path], None], error: type[StoreError]
):
    path = lived_in(app)
    change(path)
    before = files(tmp_path)

    for use in (lambda app: memories.pin(app, "x"), upkeep.verify, recover, upkeep.reindex):
        with pytest.raises(error) as problem:
            use(open_app())
        assert problem.value.hint

    assert {item for item in files(tmp_path).items() ^ before.items() if "logs" not in item[0]} == set()


def test_an_empty_file_is_a_store_whose_first_write_never_came(app: App, open_app: Opens):
    lived_in(app).write_bytes(b"")
    assert memories.threads(open_app()).cards == ()
    pinned(open_app(), "Begun again.")
    assert titles(open_app(), "begun") == {"Begun again."}


def test_doctor_names_the_damage_and_what_mends_it(app: App, open_app: Opens):
    zero_the_header(lived_in(app))
    checkup = doctor(open_app())
    assert not checkup.healthy
    (bad,) = [check for check in checkup.checks if check.name == "project store"]
    assert "recollect recover" in bad.repair


def test_one_damaged_store_leaves_the_other_alone(app: App, open_app: Opens):
    pinned(app, "Everywhere.", user=True)
    zero_the_header(lived_in(app))
    with pytest.raises(StoreDamaged):
        titles(open_app(), "everywhere")
    assert titles(open_app(), "everywhere") == {"Everywhere."}

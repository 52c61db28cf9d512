"""What an older version let through is taken out of every file of the home."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.base.errors import Conflict
from recollect.model.codec import canonical
from recollect.model.ledger import Talker, Way
from recollect.model.memory import Anchor, Message, Rating
from recollect.model.outcome import Ending, Outcome
from recollect.model.plan import Create, Link, Update
from recollect.model.result import Scope
from recollect.ops import history, links, memories, rendered, upkeep
from recollect.ops.app import App
from recollect.ops.scrub import scrub
from recollect.store import SqliteStore, Tuning, migrate
from tests.ops.ask import files, holding, kept, pinned, said, titles
from tests.ops.conftest import Opens
from tests.redact.samples import draw
from tests.values import MINT, NOW, act, bridge, messages, plan, renamed, thread

TOKEN = draw("github-token", "ghp_{a36}").secret
CANARY = TOKEN[4:]
OTHER = draw("aws-access-key", "AKIA{u16}").secret


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where rendered recalls are. A test's own folder may have too long a name for a socket, and is then not used."""
    with tempfile.TemporaryDirectory(prefix="r") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def let_through(app: App, scope: Scope = Scope.PROJECT) -> str:
    """As if the redactor had not known this kind: everything that can hold a text holds it."""
    store = app.writing(scope)
    text = f"push with {TOKEN} please"
    one = thread(
        f"Push {TOKEN}", body=text, topics=(TOKEN,), tags=(TOKEN,), origin=text, group=TOKEN,
        ratings=(Rating(True, NOW, text),), anchors=(Anchor(f"src/{TOKEN}.py", "0" * 16),),
    )  # fmt: skip
    two = thread("Beside it")
    store.apply(plan(Create(one, messages(one, "first", text)), Create(two)), act("pin", summary=text))
    store.apply(plan(Link(bridge(one, two))), act("link"))
    store.apply(plan(Update.between(one, renamed(one, f"Renamed {TOKEN}"))), act("edit", summary=text))
    gone = thread("Gone", body=text)
    store.apply(plan(Create(gone)), act("pin"))
    memories.delete(app, (gone.id,))
    store.note_recall(MINT.draw("recall"), NOW, canonical({"question": text}), (one.id,))
    store.sessions.put_state("focus", json.dumps({"text": text}))
    store.outcomes.record(Outcome(kind=Ending.FAILURE, at=NOW, session="s", act="t", action=text, next_state=text))
    store.sessions.show(Talker("session-1", "", 0), Way.TOLD, (one.id,), at=NOW)
    return one.id


def spill(app: App, text: str) -> None:
    """Into the files beside the stores."""
    app.home.logs.mkdir(parents=True, exist_ok=True)
    for name in ("recollect.log", "recollect.log.2"):
        (app.home.logs / name).write_text(f"one line\n2026 recall q={text}\nanother <private> line\nlast\n")
    assert rendered.write(rendered.folder_of(app), "session-1", f"# Recall\n{text}\n")


def test_a_canary_is_nowhere_afterwards(app: App, tmp_path: Path, runtime: Path):
    one = let_through(app)
    let_through(app, Scope.USER)
    upkeep.reindex(app)
    upkeep.backup(app)
    spill(app, TOKEN)
    before = [path.name for folder in (tmp_path, runtime) for path in holding(folder, CANARY)]

    told = scrub(app)
    app.close()

    assert {"recollect.log", "recollect.log.2"} < set(before)
    assert [name.endswith(".md") for name in before].count(True) == 1
    assert [name.startswith("memory-") for name in before].count(True) == 2, "the backups of both stores"
    assert holding(tmp_path, CANARY) == holding(tmp_path, CANARY.lower()) == holding(runtime, CANARY) == []
    assert told.facts["backups"] == 2
    assert kept(app, one).body.startswith("push with [redacted:github-token:")
    assert all(not findings for _, _, findings in upkeep.verify(app).stores)


def test_what_was_rewritten_is_found_by_its_words_and_its_meaning(app: App):
    let_through(app)
    upkeep.reindex(app)

    scrub(app)

    counts = app.reading(Scope.PROJECT).counts()
    assert counts.vectors == counts.passages
    assert any(title.startswith("Renamed [redacted:") for title in titles(app, "push"))
    assert titles(app, CANARY.lower()) == set()


def test_the_log_keeps_its_other_lines(app: App):
    pinned(app, "words")
    spill(app, TOKEN)

    scrub(app)

    lines = (app.home.logs / "recollect.log").read_text().splitlines()
    assert lines[0] == "one line"
    assert lines[1].startswith("2026 recall q=[redacted:github-token:")
    assert lines[3] == "last"
    assert " scrub " in lines[-1]


def test_what_could_be_undone_still_can_without_the_secret(app: App):
    one = let_through(app)
    edit = next(entry.change for _, entry in history.log(app, one).entries if entry.op == "edit")

    scrub(app)
    history.undo(app, edit)

    assert kept(app, one).title.startswith("Push [redacted:github-token:")


def test_the_making_of_a_memory_can_still_be_undone(app: App):
    one = thread("Push", body=f"push with {TOKEN}")
    making = act("pin")
    app.writing(Scope.PROJECT).apply(plan(Create(one)), making)

    scrub(app)
    history.undo(app, making.change)

    assert app.reading(Scope.PROJECT).get(one.id) is None


def test_it_is_one_act_in_the_journal_and_cannot_be_undone(app: App):
    one = let_through(app)

    scrub(app)

    entry = history.log(app, one).entries[0][1]
    assert (entry.op, entry.summary, entry.purged) == ("scrub", "Took secrets out of what was kept", True)
    with pytest.raises(Conflict, match="purged"):
        history.undo(app, entry.change)


def test_a_second_time_finds_nothing(app: App):
    let_through(app)
    scrub(app)
    journal = len(history.log(app).entries)

    again = scrub(app)

    assert again.summary == "Nothing was found."
    assert again.facts["found"] == {}
    assert len(history.log(app).entries) == journal


def test_a_home_without_secrets_stays_as_it_is(app: App):
    a, b = pinned(app, "Plain words."), pinned(app, "Others.")
    links.link(app, a, b)
    before = [(kept(app, id), said(app, id)) for id in (a, b)]

    told = scrub(app)

    assert told.summary == "Nothing was found."
    assert [(kept(app, id), said(app, id)) for id in (a, b)] == before


def test_a_dry_run_says_as_much_and_changes_nothing(app: App, open_app: Opens, tmp_path: Path):
    let_through(app)
    upkeep.backup(app)
    spill(app, OTHER)
    app.close()
    before = files(tmp_path)

    shown = scrub(open_app(dry_run=True))

    assert files(tmp_path) == before
    done = scrub(open_app())
    assert shown.facts["found"] == done.facts["found"]
    assert shown.facts["rows"] == done.facts["rows"]
    assert shown.summary == done.summary.replace("Took", "Would take")
    assert shown.facts["dry_run"]


def test_nothing_that_is_told_holds_the_secret(app: App):
    let_through(app)

    told = scrub(app)

    assert CANARY not in repr(told)
    assert "github-token" in str(told.facts["found"])


def test_a_backup_that_cannot_be_read_is_removed_with_a_word(app: App):
    let_through(app)
    upkeep.backup(app)
    copy = upkeep.backups_of(app.store_path(Scope.PROJECT))[0]
    copy.write_bytes(b"\x00" * 100 + copy.read_bytes()[100:])

    told = scrub(app)

    assert not copy.exists()
    assert "1 backup could not be opened and had to go." in told.notes


def test_files_of_an_older_version_leave_no_copy_of_themselves(app: App, monkeypatch: pytest.MonkeyPatch):
    let_through(app)
    upkeep.backup(app)
    app.close()
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, lambda _db, _analyse: None))

    scrub(app)

    assert holding(app.home.root, CANARY) == []
    assert len(upkeep.backups_of(app.store_path(Scope.PROJECT))) == 2, "the one that was, and the one before migrating"


def test_other_projects_of_the_home_are_scrubbed_too(open_app: Opens, tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    let_through(open_app(tmp_path / "one"))
    pinned(open_app(tmp_path / "two"), "words")

    scrub(open_app(tmp_path / "two"))

    assert holding(open_app(tmp_path / "two").home.root, CANARY) == []


def test_a_store_that_cannot_be_read_is_named_and_left(app: App):
    pinned(app, "words")
    app.close()
    path = app.store_path(Scope.PROJECT)
    assert path is not None
    path.write_bytes(b"\x00" * 100 + path.read_bytes()[100:])
    before = path.read_bytes()

    told = scrub(app)

    assert path.read_bytes() == before
    assert str(path) in told.notes[0]


def test_a_million_other_texts_do_not_matter_to_the_one(tmp_path: Path):
    """Rows without a secret keep their seals: only what changes is written."""
    with closing(SqliteStore(tmp_path / "memory.db", Tuning(synchronous="OFF"))) as store:
        store.apply(plan(*(Create(thread(f"Number {i}")) for i in range(50))), act())
        marked = thread("Marked", body="xyz")
        store.apply(plan(Create(marked, (Message(MINT.draw("message"), marked.id, NOW, "user", "say xyz"),))), act())

        found = store.scrub(lambda text: text.replace("xyz", "abc"))

        assert dict(found.rows) == {"memory": 1, "message": 1, "journal": 1}
        assert found.memories == (marked.id,)
        assert store.verify() == []

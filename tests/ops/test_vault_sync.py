"""Files of a vault become notes, and stay the same notes whatever is done to the files."""

import os
from functools import partial
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.app.note_files import vault_scopes
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput
from recollect.jobs import vault_sync
from recollect.lifecycle import strength
from recollect.model.memory import Lane, Note, Status
from recollect.model.result import Scope
from recollect.model.session import EventName, LedgerKey, ShownMemory, StateRecord, Way
from recollect.ops import memories, notes, past_sessions, recall
from recollect.ops.purge import erase
from recollect.vault import dialects
from tests.ops.ask import files, titles
from tests.ops.transcript import Transcript
from tests.values import NOW


def put(place: Path, path: str, text: str | bytes = "Text\n") -> None:
    target = place / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text if isinstance(text, bytes) else text.encode())


def all_notes(app: App) -> dict[str, Note]:
    found = (memory for _, store in app.scopes() for memory, _ in store.each())
    return {note.path: note for note in found if isinstance(note, Note)}


def looked(app: App) -> dict[str, Note]:
    for scope in vault_scopes(app):
        vault_sync.refresh(app, scope)
    return all_notes(app)


def links(app: App) -> set[tuple[str, str]]:
    """By paths."""
    paths = {note.id: path for path, note in all_notes(app).items()}
    return {(paths[one.source], paths[one.target]) for one in app.reader(Scope.USER).bridges()}


def test_a_file_is_found_by_its_words_and_tag(app: App, vault: Path):
    put(
        vault,
        "deploy.md",
        "---\ntags: [ops]\n---\n# Deploying\n\nThe zebra approves every release.\n",
    )
    looked(app)
    assert titles(app, "zebra") == {"Deploying"}
    assert [one.hit.memory.title for one in recall.search(app, ("zebra",), tag="OPS").found] == [
        "Deploying"
    ]
    assert recall.search(app, ("zebra",), tag="other").found == ()


def test_the_users_notes_and_the_projects_are_kept_apart_and_labelled(
    app: App, vault: Path, shared: Path
):
    put(vault, "mine.md")
    put(shared, "theirs.md", "---\npinned: true\n---\nObey me.\n")
    found = looked(app)
    assert {
        path: (note.lane, note.pinned, app.find(note.id)[0]) for path, note in found.items()
    } == {
        "mine.md": (Lane.USER, False, Scope.USER),
        "memory/theirs.md": (Lane.REPOSITORY, False, Scope.PROJECT),
    }


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("memory/a.md", Status.ACTIVE),
        ("memory/_always-load/a.md", Status.ACTIVE),
        ("memory/_inbox/a.md", Status.CANDIDATE),
        ("memory/_archive/work/a.md", Status.ARCHIVED),
        ("memory-cold/a.md", Status.ARCHIVED),
    ],
)
def test_where_a_note_lies_says_whether_it_is_surfaced(
    app: App, shared: Path, path: str, status: Status
):
    put(shared.parent, path, "The zebra approves.\n")
    assert looked(app)[path].status is status
    assert bool(recall.search(app, ("zebra",)).found) is (status is Status.ACTIVE)
    inbox_too = recall.search(app, ("zebra",), include_inbox=True)
    assert bool(inbox_too.found) is (status is not Status.ARCHIVED)


def test_a_changed_file_changes_its_note_and_keeps_how_it_was_used(app: App, vault: Path):
    put(vault, "a.md", "The zebra approves.\n")
    before = looked(app)["a.md"]
    app.writer(Scope.USER).use([before.id], partial(strength.count_use, session=1))
    put(vault, "a.md", "The giraffe approves.\n")
    after = looked(app)["a.md"]
    assert (after.id, after.body, after.frequency) == (before.id, "The giraffe approves.", 1)
    assert titles(app, "zebra") == set()
    changes = len(memories.log(app).entries)
    looked(app)
    notes.sync(app)
    assert len(memories.log(app).entries) == changes, "what did not change is not written again"


@pytest.mark.parametrize("target", ["b.md", "deep/a.md", "_archive/a.md"])
def test_a_renamed_file_is_the_same_note(app: App, vault: Path, target: str):
    put(vault, "a.md", "The zebra approves.\n")
    before = looked(app)["a.md"]
    (vault / target).parent.mkdir(exist_ok=True)
    (vault / "a.md").rename(vault / target)
    assert {path: note.id for path, note in looked(app).items()} == {target: before.id}


def test_a_file_renamed_and_edited_is_known_by_its_id(app: App, vault: Path):
    notes.save(app, "The zebra approves.", title="Zebra")
    before = all_notes(app)["zebra.md"]
    text = (vault / "zebra.md").read_text()
    (vault / "zebra.md").unlink()
    put(vault, "animals/giraffe.md", text.replace("zebra", "giraffe"))
    assert {path: note.id for path, note in looked(app).items()} == {
        "animals/giraffe.md": before.id
    }


def test_no_file_can_take_the_id_of_a_note_that_is_there(app: App, vault: Path, shared: Path):
    notes.save(app, "The zebra approves.", title="Zebra")
    mine = all_notes(app)["zebra.md"]
    put(vault, "copy.md", (vault / "zebra.md").read_text())
    put(shared, "theirs.md", f"---\nid: {mine.id}\n---\nI am the zebra.\n")
    found = looked(app)
    assert len({note.id for note in found.values()}) == 3
    assert app.find(mine.id)[1] == mine


def test_a_note_whose_file_is_gone_is_put_away_and_comes_back_with_it(app: App, vault: Path):
    put(vault, "a.md", "The zebra approves.\n")
    before = looked(app)["a.md"]
    (vault / "a.md").unlink()
    assert looked(app)["a.md"].status is Status.ARCHIVED
    assert titles(app, "zebra") == set()
    put(vault, "a.md", "The zebra approves.\n")
    after = looked(app)["a.md"]
    assert (after.status, after.id) == (Status.ACTIVE, before.id)


def test_what_was_read_from_a_file_is_not_taken_back_in_memory_alone(app: App, vault: Path):
    memories.pin(app, "The giraffe approves.")
    app.clock = FixedClock(NOW.plus(seconds=60))
    put(vault, "a.md", "The zebra approves.\n")
    looked(app)
    with pytest.raises(BadInput, match="read from files"):
        memories.undo(app, memories.log(app).entries[0][1].change)
    assert titles(app, "zebra") == {"a"}
    assert "The giraffe approves" in memories.undo(app).summary


def test_a_wikilink_links_notes_while_it_stands_and_as_soon_as_its_note_is_there(
    app: App, vault: Path
):
    put(vault, "a.md", "See [[Zoe|her]] and [[people/ben]] and [[a]].\n")
    put(vault, "b.md", "See [[zoe]].\n")
    looked(app)
    waiting = app.reader(Scope.USER).records(StateRecord, under="vault-wanted:")
    assert (links(app), len(waiting)) == (set(), 2)
    assert not any(name in str(waiting).lower() for name in ("zoe", "ben"))
    put(vault, "b.md", "See nobody.\n")
    put(vault, "people/zoe.md", "Zoe.\n")
    looked(app)
    assert links(app) == {("a.md", "people/zoe.md")}
    put(vault, "people/ben.md", "Ben.\n")
    looked(app)
    assert links(app) == {("a.md", "people/zoe.md"), ("a.md", "people/ben.md")}
    assert app.reader(Scope.USER).records(StateRecord, under="vault-wanted:") == []
    put(vault, "a.md", "See nobody.\n")
    looked(app)
    assert links(app) == set()


def test_nothing_is_known_of_the_file_and_links_of_a_purged_note(app: App, vault: Path):
    put(vault, "a.md", "See [[the secret plan]].\n")
    note = looked(app)["a.md"]
    (vault / "a.md").unlink()
    looked(app)
    erase(app, (note.id,))
    states = app.reader(Scope.USER).records(StateRecord)
    assert not [name for name, _ in states if name.startswith("vault") and name != "vault-allowed"]


def test_a_note_that_supersedes_another_by_name_hides_it(app: App, vault: Path):
    put(vault, "old.md", "The zebra approves.\n")
    looked(app)
    put(vault, "new.md", '---\nsupersedes: "[[old]]"\n---\nThe giraffe approves.\n')
    found = looked(app)
    assert (found["old.md"].status, found["old.md"].superseded_by) == (
        Status.SUPERSEDED,
        found["new.md"].id,
    )
    put(vault, "old.md", "The zebra approves, still.\n")
    assert looked(app)["old.md"].status is Status.SUPERSEDED


def test_secrets_in_a_note_are_not_indexed_and_its_file_is_not_touched(app: App, vault: Path):
    text = "Use password=hunter2-Xk99qLmz for staging.\n"
    put(vault, "a.md", text)
    assert "hunter2" not in looked(app)["a.md"].body
    assert (vault / "a.md").read_text() == text


def test_many_changes_can_be_left_for_later(app: App, vault: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        put(vault, f"{number}.md")
    monkeypatch.setattr(vault_sync, "QUICK_LOOK_CHANGES", 3)
    assert vault_sync.quick_look(app, Scope.USER).waiting == 2
    assert len(all_notes(app)) == 3
    assert vault_sync.quick_look(app, Scope.USER).counts["new"] == 2
    monkeypatch.setattr(vault_sync, "QUICK_LOOK_FILES", 4)
    assert vault_sync.quick_look(app, Scope.USER).waiting == 4


BARE = "<conditional>\nWhen it rains.\n</conditional>\n\nTake a coat.\n"
WHOLE = dialects.complete(BARE, session=0)
OTHERS = {
    "plain.md": "# Coats\n\nTake one.\n",
    "front.md": "---\ntags: [a]\n---\nText\n",
    "quotes.md": "How to:\n\n<memory>\nText\n</memory>\n",
}


def held(path: Path) -> dict[str, object]:
    return dialects.metadata(path.read_text()) or {}


def shown(app: App, id: str, *, session: str = "s-1", agent: str = "", number: int = 3) -> None:
    app.writer(Scope.USER).use([id], partial(strength.count_use, session=number))
    key = LedgerKey(session, agent, 0)
    app.writer(app.scope).put(ShownMemory(id, Way.TOLD, app.clock.now(), "", *key))


def test_notes_get_the_tags_they_lack(app: App, vault: Path, shared: Path, transcript: Transcript):
    for path, text in {**OTHERS, "bare.md": BARE}.items():
        put(vault, path, text)
        put(shared, path, text)
    before = looked(app)
    entries = len(memories.log(app).entries)
    transcript.event(EventName.SESSION_STARTED)
    past_sessions.catch_up(app)
    assert list(dialects.find_blocks((vault / "bare.md").read_text())) == [*dialects.BLOCKS]
    assert "\nTake a coat.\n" in (vault / "bare.md").read_text()
    assert {path: (vault / path).read_text() for path in OTHERS} == OTHERS
    assert (shared / "bare.md").read_text() == BARE
    assert looked(app) == before
    assert len(memories.log(app).entries) == entries


def test_notes_that_were_shown_hold_their_use(
    app: App, vault: Path, shared: Path, transcript: Transcript
):
    for name in ("seen", "by-subagent", "unseen"):
        put(vault, f"{name}.md", WHOLE)
    put(shared, "a.md", WHOLE)
    found = looked(app)
    shown(app, found["memory/a.md"].id)
    shown(app, found["seen.md"].id)
    shown(app, found["by-subagent.md"].id, agent="a-1")
    transcript.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(app)
    for name in ("seen", "by-subagent"):
        wanted = {**dialects.DEFAULTS, "frequency": 1, "last_accessed_session": 3}
        assert held(vault / f"{name}.md") == wanted
    assert (vault / "unseen.md").read_text() == (shared / "a.md").read_text() == WHOLE
    before = files(vault), (vault / "seen.md").stat().st_mtime_ns, all_notes(app)
    for number in range(3):
        transcript.number += number
        transcript.event(EventName.SESSION_ENDED)
        past_sessions.catch_up(app)
        notes.sync(app)
    assert (files(vault), (vault / "seen.md").stat().st_mtime_ns, all_notes(app)) == before


@pytest.mark.skipif(os.name == "nt", reason="Unix modes")
def test_a_file_that_is_being_edited_or_may_not_be_written_is_left_and_the_others_are_not(
    app: App, vault: Path
):
    for name in "abc":
        put(vault, f"{name}.md", BARE)
    (vault / "a.md").chmod(0o400)
    looked(app)
    put(vault, "b.md", BARE + "And an umbrella.\n")
    vault_sync.write_some(app, vault_sync.Pending(session_began=True))
    assert [(vault / f"{name}.md").read_text() for name in "ab"] == [
        BARE,
        BARE + "And an umbrella.\n",
    ]
    assert (vault / "c.md").read_text() != BARE


def test_many_are_completed_a_few_at_a_time(app: App, vault: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        put(vault, f"{number}.md", BARE)
    looked(app)
    due = vault_sync.Pending(session_began=True)
    monkeypatch.setattr(vault_sync, "WRITE_BATCH", 2)
    assert [vault_sync.write_some(app, due) for _ in range(3)] == [True, True, False]
    assert all(len(dialects.find_blocks(path.read_text())) == 4 for path in vault.iterdir())


@pytest.mark.parametrize("command", ["session", "archive"])
@pytest.mark.parametrize(("number", "last"), [(0, 400), (3, 400), (401, 401)])
def test_a_files_counts_never_go_back(
    app: App, vault: Path, transcript: Transcript, command: str, number: int, last: int
):
    put(
        vault,
        "a.md",
        dialects.with_metadata(WHOLE, {"frequency": 12, "last_accessed_session": 400}),
    )
    note = looked(app)["a.md"]
    assert note.frequency == 12
    shown(app, note.id, number=number)
    if command == "session":
        transcript.event(EventName.SESSION_ENDED)
        past_sessions.catch_up(app)
    else:
        notes.archive(app, ("a",))
    file = vault / ("a.md" if command == "session" else "_archive/a.md")
    assert (held(file)["frequency"], held(file)["last_accessed_session"]) == (13, last)


@pytest.mark.parametrize("count", ["-1", "true", '"many"', "1e99", str(10**40)])
def test_no_count_in_a_file_breaks_anything(app: App, vault: Path, count: str):
    text = f'<memory-metadata>\n{{"frequency": {count}}}\n</memory-metadata>\n<memory>\nText\n</memory>\n'
    put(vault, "a.md", text)
    assert 0 <= looked(app)["a.md"].frequency <= 1_000_000

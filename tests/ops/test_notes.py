"""Notes by name: every command changes file and memory together, and undo brings both back byte for byte."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recollect.app import note_files
from recollect.app.core import App
from recollect.base import files as base_files
from recollect.base.errors import BadInput, Conflict, NotFound, RecollectError, StoreBusy, UnknownId
from recollect.jobs import vault_sync
from recollect.lifecycle import strength
from recollect.model.codec import encode
from recollect.model.memory import Lane, Note, Status
from recollect.model.result import Done, Scope
from recollect.ops import memories, notes, steering
from recollect.ops.purge import erase
from recollect.vault import dialects, note_folder, page
from tests.ops.ask import files, holding, kept, made, set_to, titles
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import all_notes, links, looked, put


def read(app: App, path: str) -> str:
    return (app.home.vault / path).read_text()


def test_a_saved_note_is_a_file_that_editors_read_and_a_memory(app: App):
    id = made(
        notes.save(app, "Ask Anna first.", title="Before a deploy", tags=("ops",), group="work")
    )
    text = read(app, "before-a-deploy.md")
    note = kept(app, id)
    assert text.startswith(
        f"---\nid: {id}\ntitle: Before a deploy\nstatus: active\ncreated: 2026-02-01\ntags: [ops]\ngroup: work\n---\n"
    )
    assert text.endswith("---\nAsk Anna first.\n")
    assert isinstance(note, Note)
    assert (note.path, note.tags, note.group, note.lane) == (
        "before-a-deploy.md",
        ("ops",),
        "work",
        Lane.USER,
    )
    assert titles(app, "Anna") == {"Before a deploy"}


def test_a_note_for_the_project_is_a_strangers_text_even_if_we_wrote_it(app: App):
    id = made(notes.save(app, "Ask Anna.", title="Deploy", project=True))
    assert (Path.cwd() / ".ai/memory/deploy.md").is_file()
    assert kept(app, id).lane is Lane.REPOSITORY


def test_a_note_waits_in_the_inbox_and_an_archived_one_is_never_surfaced_and_comes_back_as_it_was(
    app: App,
):
    id = made(
        notes.save(app, "The zebra approves. password=hunter2-Xk99qLmz", title="Zebra", inbox=True)
    )
    assert kept(app, id).status is Status.CANDIDATE
    notes.restore(app, ("zebra",))
    text = read(app, "zebra.md")
    assert "hunter2" not in text
    notes.archive(app, (id,))
    assert (kept(app, id).status, read(app, "_archive/zebra.md")) == (Status.ARCHIVED, text)
    assert titles(app, "zebra") == set()
    notes.restore(app, ("zebra.md",))
    assert (kept(app, id).status, read(app, "zebra.md")) == (Status.ACTIVE, text)


def test_an_evolved_note_supersedes_the_old_one(app: App):
    old = made(notes.save(app, "The zebra approves.", title="Approval", tags=("ops",)))
    new = made(notes.evolve(app, "approval", "The giraffe approves.", title="Approval now"))
    assert (kept(app, old).status, kept(app, old).superseded_by) == (Status.SUPERSEDED, new)
    assert kept(app, new).tags == ("ops",)
    assert page.read(read(app, "approval.md"), "approval.md").superseded
    assert titles(app, "approves") == {"Approval now"}
    notes.sync(app)
    assert (kept(app, old).status, kept(app, old).superseded_by) == (Status.SUPERSEDED, new)
    notes.restore(app, ("approval",))
    assert kept(app, old).status is Status.ACTIVE


@pytest.mark.parametrize("name", ["memory/foo.md", "memory/foo", "foo.md", "foo", "FOO"])
def test_a_note_is_known_by_path_and_by_name(app: App, shared: Path, name: str):
    put(shared, "foo.md", "The zebra.\n")
    notes.sync(app)
    assert notes.show(app, name).card.memory.body == "The zebra."


def test_a_name_is_known_however_its_accents_are_spelt(app: App, vault: Path):
    put(vault, "cafe\u0301.md", "The zebra.\n")
    put(vault, "a.md", "See [[caf\u00e9]].\n")
    notes.sync(app)
    shown = notes.show(app, "Caf\u00e9")
    assert (shown.card.memory.body, len(shown.bridges)) == ("The zebra.", 1)


def test_a_name_that_fits_several_is_asked_about(app: App, vault: Path):
    put(vault, "one/foo.md")
    put(vault, "two/foo.md")
    notes.sync(app)
    with pytest.raises(NotFound, match=r"(?s)one/foo\.md.*two/foo\.md"):
        notes.show(app, "foo")
    with pytest.raises(NotFound):
        notes.show(app, "bar")


def test_notes_are_listed_by_tag_group_and_status(app: App, vault: Path):
    put(vault, "work/a.md", "---\ntags: [ops]\n---\nA\n")
    put(vault, "b.md", "B\n")
    put(vault, "_inbox/c.md", "C\n")
    notes.sync(app)

    def listed(**options: object) -> set[str]:
        return {one.memory.title for one in notes.listing(app, **options).cards}  # type: ignore[arg-type]

    assert listed() == {"a", "b"}
    assert listed(tag="ops") == {"a"}
    assert listed(group="work") == {"a"}
    assert listed(status=Status.CANDIDATE) == {"c"}


def test_what_is_empty_or_done_twice_is_refused_with_a_reason(app: App):
    notes.save(app, "The zebra approves.", title="Zebra")
    with pytest.raises(BadInput, match="empty"):
        notes.save(app, "  \n")
    with pytest.raises(BadInput, match="already in use"):
        notes.restore(app, ("zebra",))
    notes.archive(app, ("zebra",))
    with pytest.raises(BadInput, match="already archived"):
        notes.archive(app, ("zebra",))
    with pytest.raises(BadInput, match="archived"):
        notes.evolve(app, "zebra", "Text")


@pytest.mark.parametrize(
    "change",
    [
        lambda app, id: memories.archive(app, (id,)),
        lambda app, id: memories.delete(app, (id,)),
        lambda app, id: memories.edit(app, id, body="other words"),
        lambda app, id: erase(app, (id,)),
    ],
)
def test_what_would_come_back_with_the_file_is_refused(
    app: App, change: Callable[[App, str], object]
):
    id = made(notes.save(app, "The zebra approves.", title="Zebra"))
    with pytest.raises(BadInput, match=r"zebra\.md"):
        change(app, id)
    (app.home.vault / "zebra.md").unlink()
    change(app, id)


def test_only_what_a_note_says_can_be_asked_for_by_its_name(app: App):
    notes.save(app, "The zebra approves.", title="Zebra")
    shown = memories.show(app, "zebra.md", content=True)
    assert shown.said == "The zebra approves."
    assert encode(shown) == {"id": shown.card.memory.id, "content": shown.said}
    with pytest.raises(UnknownId):
        memories.show(app, "giraffe")


def test_how_a_note_was_judged_is_memorys_own_and_stays_when_its_file_is_read_again(
    app: App, vault: Path
):
    id = made(notes.save(app, "The zebra approves.", title="Zebra"))
    for _ in range(5):
        steering.rate(app, id, steering.Verdict.NOT_USEFUL)
    steering.focus(app, id)
    put(vault, "zebra.md", "The zebra approves, still.\n")
    notes.sync(app)
    assert len(kept(app, id).ratings) == 5
    notes.restore(app, (id,))
    assert kept(app, id).ratings == ()


def test_notes_are_neither_merged_nor_split(app: App):
    one, other = (made(notes.save(app, f"Note {n}.", title=f"Note {n}")) for n in (1, 2))
    with pytest.raises(BadInput, match="edit its file instead"):
        memories.merge(app, one, other)
    with pytest.raises(BadInput, match="not a thread"):
        memories.split(app, one, topics=("x",))


def test_what_was_done_is_said_though_others_look(
    app: App, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    """It looks right after each change of a file, and does not wait for a lock."""
    other = open_app(actor="daemon")
    set_to(other, "MEMORY_BUSY_TIMEOUT_MS", "100")

    def looked_at(change: Callable[..., object], *given: object) -> None:
        change(*given)
        with suppress(StoreBusy):
            vault_sync.refresh(other, Scope.USER)

    for name in ("create", "change", "move", "remove"):
        monkeypatch.setattr(note_folder, name, partial(looked_at, getattr(note_folder, name)))
    said = [
        notes.save(app, "Ask Anna first.", title="Deploy").summary,
        notes.evolve(app, "deploy", "Ask Ben first.", title="Deploy now").summary,
        notes.archive(app, ("deploy-now",)).summary,
        notes.restore(app, ("deploy-now",)).summary,
    ]
    assert said == [
        "Saved deploy.md.",
        "Saved deploy-now.md, which takes the place of deploy.md.",
        "_archive/deploy-now.md is archived.",
        "deploy-now.md is in use again.",
    ]
    assert [entry.op for _, entry in memories.log(app).entries] == [
        "note restore", "note archive", "note evolve", "note save",
    ]  # fmt: skip
    assert (
        memories.undo(app).summary == "Undone: the note \u201cDeploy now\u201d is archived again."
    )


TAGGED = "<memory>\r\nThe zebra.\r\n</memory>\r\n"
COMMANDS: dict[str, Callable[[App], Done]] = {
    "save": lambda app: notes.save(app, "Another.", title="Another"),
    "evolve": lambda app: notes.evolve(app, "zebra", "The giraffe."),
    "archive": lambda app: notes.archive(app, ("zebra",)),
    "restore": lambda app: notes.restore(app, ("later",)),
}
KINDS = {
    "front matter": "---\r\nstatus: draft # mine\r\ntags: [a]\r\n---\r\nThe zebra.\r\n",
    "tags": dialects.complete(TAGGED, session=0),
    "bare tags": TAGGED,
    "plain": "The zebra.",
    "bom": "\ufeffThe zebra.\n",
}


def standing(app: App) -> dict[str, tuple[str, str, Status, str | None]]:
    def of(note: Note) -> tuple[str, str, Status, str | None]:
        return note.id, note.body, note.status, note.superseded_by

    return {path: of(note) for path, note in all_notes(app).items()}


def put_both(app: App, vault: Path, text: str = "The zebra.") -> None:
    put(vault, "deep/zebra.md", text)
    put(vault, "_inbox/later.md", text)
    looked(app)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_undo_puts_the_file_back_byte_for_byte_and_can_itself_be_undone(
    app: App, vault: Path, command: str, kind: str
):
    put_both(app, vault, KINDS[kind])
    before = files(vault), standing(app)
    done = COMMANDS[command](app)
    assert files(vault) != before[0]
    notes.sync(app)
    after = files(vault), standing(app)
    undone = memories.undo(app, done.change)
    assert (files(vault), standing(app)) == before
    looked(app)
    notes.sync(app)
    assert standing(app) == before[1]
    memories.undo(app, undone.change)
    assert (files(vault), standing(app)) == after


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_was_edited_since_stays_and_undo_says_so(app: App, vault: Path, command: str):
    put_both(app, vault)
    done = COMMANDS[command](app)
    for path in vault.rglob("*.md"):
        path.write_text("the editor's")
    before = files(vault)
    with pytest.raises(Conflict, match="changed since"):
        memories.undo(app, done.change)
    assert files(vault) == before


def test_another_file_in_the_old_place_stays(app: App, vault: Path):
    put(vault, "zebra.md", "The zebra.")
    looked(app)
    done = notes.archive(app, ("zebra",))
    put(vault, "zebra.md", "another zebra")
    with pytest.raises(Conflict, match="another file"):
        memories.undo(app, done.change)
    assert (vault / "zebra.md").read_text() == "another zebra"
    assert (vault / "_archive/zebra.md").read_text() == "The zebra."


@pytest.mark.parametrize("command", COMMANDS)
def test_an_end_amid_a_write_loses_nothing(
    app: App, vault: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    put_both(app, vault)
    write = note_files.write

    def write_and_end(*given: Any) -> None:
        write(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(note_files, "write", write_and_end)
    with pytest.raises(KeyboardInterrupt):
        COMMANDS[command](app)
    after, texts = looked(app), files(vault)
    monkeypatch.setattr(note_files, "write", write)
    assert set(after) >= {str(path.relative_to(vault)) for path in vault.rglob("*.md")}
    notes.sync(app)
    assert (looked(app), files(vault)) == (after, texts)


def test_links_to_a_note_that_goes_go_with_it_and_wait_for_the_next(app: App, vault: Path):
    put(vault, "a.md", "See [[another]].\n")
    looked(app)
    done = COMMANDS["save"](app)
    assert links(app) == {("a.md", "another.md")}
    memories.undo(app, done.change)
    assert (set(looked(app)), links(app)) == ({"a.md"}, set())
    put(vault, "deep/another.md", "Another.\n")
    looked(app)
    assert links(app) == {("a.md", "deep/another.md")}


def test_no_agent_moves_a_persons_files_by_undo(app: App, open_app: Opens):
    done = COMMANDS["save"](app)
    with pytest.raises(BadInput, match="person"):
        memories.undo(open_app(actor="agent"), done.change)


def test_a_secret_that_stood_in_a_file_is_not_kept_for_the_way_back(app: App, vault: Path):
    secret = "hunter2-Xk99qLmz"
    put(vault, "a.md", f"---\nstatus: password={secret}\n---\nThe zebra.\n")
    looked(app)
    done = notes.evolve(app, "a", "The giraffe.")
    app.close()
    assert {path.parent.name for path in holding(app.home.root, secret)} <= {"vault"}
    with pytest.raises(Conflict, match="secret"):
        memories.undo(app, done.change)


unix = pytest.mark.skipif(os.name == "nt", reason="names and links of Unix")
# A vault of notes as they are met: every way to write front matter, every line end, names and files that are odd.
_DATA = Path(__file__).with_name("golden_vault.json")
FILES: dict[str, bytes] = {
    **{
        path: text.encode("latin-1") for path, text in json.loads(_DATA.read_text()).items()
    },  # one character per byte
    "large.md": b"A line of some words that is repeated.\n" * 55_000,
    "binary.md": bytes(range(256)) * 40,
}
REFUSED = {
    "binary.md",
    "latin1.md",
    "utf16.md",
    "large.md",
    "link in.md",
    "link out.md",
    "loop.md",
    "round",
}
"""Told, not taken in: what is not UTF-8, longer than a memory may be, or a link."""
NOT_NOTES = {"picture.png", ".obsidian/workspace.md"}


def build_golden(vault: Path, outside: Path) -> None:
    for name, content in FILES.items():
        place = vault / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (vault / "read-only.md").chmod(0o400)
    outside.mkdir()
    (outside / "secret.md").write_text("not of this vault")
    (vault / "link in.md").symlink_to(vault / "crlf.md")
    (vault / "link out.md").symlink_to(outside / "secret.md")
    (vault / "loop.md").symlink_to(vault / "loop.md")
    (vault / "round").symlink_to(vault)


def contents(vault: Path) -> dict[str, bytes]:
    """Every file and link, by what it holds or where it leads."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(vault):
        for name in [
            *names,
            *(one for one in folders if os.path.islink(os.path.join(folder, one))),
        ]:
            place = Path(folder, name)
            held = os.fsencode(os.readlink(place)) if place.is_symlink() else place.read_bytes()
            found[place.relative_to(vault).as_posix()] = held
    return found


@unix
def test_a_vault_survives_save_sync_edit_sync_byte_for_byte(app: App, vault: Path, tmp_path: Path):
    build_golden(vault, tmp_path / "outside")
    before = contents(vault)
    told = notes.sync(app)
    taken = set(all_notes(app))
    notes.save(app, "Another.", title="Another")
    put(vault, "crlf.md", b"one\r\nedited\r\n")
    notes.sync(app)
    for _ in notes.evolve(app, "another", "Yet another."), notes.archive(app, ("yet-another",)):
        looked(app)
    memories.undo(app)
    notes.sync(app)
    after = contents(vault)
    assert {name for name in before if before[name] != after.get(name)} == {"crlf.md"}
    assert set(after) - set(before) == {"another.md", "yet-another.md"}
    refused = told.facts["refused"]
    assert isinstance(refused, list)
    assert {one[0] for one in refused if isinstance(one, list)} == REFUSED
    assert any("link in.md" in note for note in told.notes)
    assert any(
        check.name == "user vault" and "link in.md" in check.detail for check in notes.checks(app)
    )
    assert taken == set(FILES) - REFUSED - NOT_NOTES


@pytest.mark.parametrize("name", sorted(set(FILES) - REFUSED - NOT_NOTES))
def test_what_is_spliced_into_a_note_leaves_every_other_byte(name: str):
    text = FILES[name].decode()
    was = page.read(text, name)
    changed = page.with_superseded(text, "newer")
    if name != "tags broken.md":  # what cannot be read cannot be changed
        assert page.read(changed, name).superseded
    assert page.read(changed, name).body == was.body
    kept = [
        line
        for line in text.removeprefix("\ufeff").splitlines(keepends=True)
        if "status" not in line and "mine" not in line
    ]
    rest = iter(changed.splitlines(keepends=True))
    assert all(any(line in other for other in rest) for line in kept)
    completed = dialects.complete(text, session=1)
    assert completed == text or dialects.begins_with_tag(text)


def _in_place(path: Path, text: str) -> None:
    with path.open("r+") as file:
        file.truncate()
        file.write(text)


def _by_rename(path: Path, text: str) -> None:
    spare = path.with_name("~editor.tmp")
    spare.write_text(text)
    os.replace(spare, path)


def _away(path: Path, _text: str) -> None:
    path.unlink()


WHOLE = dialects.complete("<memory>\nThe zebra.\n</memory>\n", session=0)
BARE = "<memory>\nThe zebra.\n</memory>\n"


@unix
@pytest.mark.parametrize("save", [_in_place, _by_rename, _away])
@pytest.mark.parametrize("moment", ["before it is written", "at the swap"])
@pytest.mark.parametrize("work", ["evolve", "archive", "tend", "undo"])
def test_a_save_while_we_write_is_never_lost(
    app: App,
    vault: Path,
    work: str,
    moment: str,
    save: type[object],
    monkeypatch: pytest.MonkeyPatch,
):
    put(vault, "zebra.md", BARE if work == "tend" else WHOLE)
    looked(app)
    done = notes.evolve(app, "zebra", "The giraffe.", title="Giraffe") if work == "undo" else None
    app.writer(Scope.USER).use(
        [all_notes(app)["zebra.md"].id],
        partial(strength.count_use, session=1),
    )
    before = set(contents(vault))
    editor = iter([save])

    def saved(place: Path) -> None:
        for each in editor:
            each(place, "the editor's")  # type: ignore[call-arg]

    change, exchanged = note_folder.change, base_files._exchange_names

    def changing(at: note_folder.Vault, path: str, old: str, new: str) -> None:
        if moment == "before it is written":
            saved(at.base / path)
        change(at, path, old, new)

    def exchanging(one: Path, other: Path) -> bool:
        saved(other)
        return exchanged(one, other)

    monkeypatch.setattr(note_folder, "change", changing)
    if moment == "at the swap":
        monkeypatch.setattr(base_files, "_exchange_names", exchanging)
    works = {
        "evolve": lambda: notes.evolve(app, "zebra", "The giraffe.", title="Giraffe"),
        "archive": lambda: notes.archive(app, ("zebra",)),
        "tend": lambda: vault_sync.write_some(app, vault_sync.Pending(session_began=True)),
        "undo": lambda: memories.undo(app, done.change if done else ""),
    }

    told = False
    try:
        works[work]()
    except RecollectError:
        told = True

    standing = contents(vault)
    assert next(editor, None) is None
    assert told is (work != "tend")
    assert not [name for name in standing if name.endswith(".tmp")]
    if save is not _away:
        assert b"the editor's" in standing.values()
        assert set(standing) == before
    looked(app)
    notes.sync(app)

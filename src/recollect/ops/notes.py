"""Notes: saves, lists, shows, changes, archives, restores and imports them. The file is the truth for what a note says:
each command is one plan that changes files and memory together, so that `undo` takes back both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from recollect.app import note_files
from recollect.app.core import App
from recollect.app.note_files import FoundNote, file_of, find_note, vault_of, vault_scopes
from recollect.base.errors import BadInput, NotFound
from recollect.base.text import counted, first_line_title, storable
from recollect.jobs import vault_sync
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Note, Status
from recollect.model.plan import FileChange
from recollect.model.result import Cards, Check, Done, Mark, Scope, Shown, Summary
from recollect.ops import memories
from recollect.ops.library import Limit, list_kind
from recollect.ops.table import Arg
from recollect.ops.upkeep import embed_imported
from recollect.vault import dialects, note_folder, page
from recollect.vault.note_folder import Refusal, Vault
from recollect.vault.page import place_of

Name = Annotated[
    str, Arg("The note: its file's path or name, with or without .md, or its id.", metavar="NAME")
]
Names = Annotated[
    tuple[str, ...],
    Arg(
        "The notes: paths or names of files, with or without .md, or ids.",
        metavar="NAME",
        many=True,
    ),
]
Text = Annotated[
    str, Arg("What it says, in Markdown; - reads standard input.", metavar="TEXT", stdin=True)
]
Title = Annotated[str | None, Arg("A title; by default made from the text.")]
Tags = Annotated[tuple[str, ...], Arg("Tags, separated by commas.", metavar="A,B")]
InProject = Annotated[
    bool,
    Arg("Save it in this project's .ai/memory/ (shared through git) instead of your own vault."),
]
_MOVED = {"note archive": "archived", "note restore": "in use again", "forget": "in cold storage"}
_MOST_LISTED = 20


def save(
    app: App,
    text: Text,
    *,
    title: Title = None,
    tags: Tags = (),
    group: Annotated[str | None, Arg("A group it belongs to.")] = None,
    inbox: Annotated[
        bool, Arg("Put it into the inbox: not shown to agents until `note restore`.")
    ] = False,
    always: Annotated[bool, Arg("Load it at the start of every session.")] = False,
    project: InProject = False,
) -> Done:
    if inbox and always:
        raise BadInput(
            "A note waits in the inbox or is always loaded, not both.",
            hint="Leave one of the two out.",
        )
    scope = memories.scope_of(not project)
    app.require_scope(scope)
    folder = page.MEMORY if project else ""
    if inbox or always:
        folder = _join(folder, page.INBOX if inbox else page.ALWAYS)
    change = _new_file(app, scope, folder, text, title, tags, group or "", "")
    return vault_sync.change_files(
        app, scope, {change: change.new}, "note save", f"Saved {change.new_path}."
    )


def listing(
    app: App,
    *,
    status: Annotated[
        Status | None, Arg("Only notes with this status; candidate is the inbox.")
    ] = None,
    tag: Annotated[str | None, Arg("Only notes with this tag.")] = None,
    group: Annotated[str | None, Arg("Only notes of this group or folder.")] = None,
    limit: Limit = 50,
) -> Cards:
    return list_kind(app, Kind.NOTE, status or Status.ACTIVE, limit, tag=tag, group=group)


def show(app: App, name: Name) -> Shown:
    return memories.show(app, find_note(app, name).id)


def evolve(
    app: App,
    name: Name,
    text: Annotated[
        str, Arg("What is true now; - reads standard input.", metavar="TEXT", stdin=True)
    ],
    *,
    title: Title = None,
) -> Done:
    (old,) = _find_now(app, (name,))
    old_name, folder = page.stem(old.path), old.path.rpartition("/")[0]
    if place_of(old.path).status is Status.ARCHIVED:
        raise BadInput(
            f"{old.path} is archived.", hint=f"`recollect note restore {old_name}` first."
        )
    before = _text(app, old)
    was = page.read(before, old.path)
    new = _new_file(app, old.scope, folder, text, title, was.tags, was.group, old_name)
    after = page.with_superseded(before, page.stem(new.new_path))
    texts = {new: new.new, FileChange.between(old.id, old.path, before, old.path, after): after}
    summary = f"Saved {new.new_path}, which takes the place of {old.path}."
    return vault_sync.change_files(app, old.scope, texts, "note evolve", summary)


def archive(app: App, names: Names) -> Done:
    return move_all(app, names, "note archive")


def forget_files(app: App, names: Names) -> Done:
    return move_all(app, names, "forget")


def restore(app: App, names: memories.Names) -> Done:
    """Files of notes return to their folders; any other memory comes back whatever put it away."""
    found = [app.find(name) for name in names]
    are_files = all(
        file_of(app, *one) is not None and not memories.is_muted_only(one[1]) for one in found
    )
    if app.actor != "agent" and are_files:  # files are a person's
        return move_all(app, names, "note restore")
    return memories.restore(app, names)


def move_all(
    app: App, names: Sequence[str], op: Literal["note archive", "note restore", "forget"]
) -> Done:
    """`forget` puts them into cold storage. How a note of the user's own was used is written into its file."""

    def move(note: FoundNote, text: str) -> tuple[str, str]:
        place, (folder, _, name) = place_of(note.path), note.path.rpartition("/")
        stored = app.reader(note.scope).get(note.id, follow=False)
        is_own = note.scope is Scope.USER
        if op == "note restore":
            if place.status is Status.ACTIVE and not (
                stored and stored.status is Status.SUPERSEDED
            ):
                raise BadInput(
                    f"{note.path} is already in use.", hint="There is nothing to restore."
                )
            top = page.MEMORY if not is_own or place.top == page.MEMORY else ""
            is_put_away = place.folders[:1] in ((page.ARCHIVE,), (page.INBOX,))
            target = _join(top, *place.folders[is_put_away:])
            text = page.with_active(text)
        else:
            if place.status is Status.ARCHIVED:
                hint = "`recollect note restore NAME` brings it back."
                raise BadInput(f"{note.path} is already archived.", hint=hint)
            # Below cold storage are the folders that the note came from, so that it can return.
            cold = _join(page.COLD, folder) if is_own else _join(page.COLD, *place.folders)
            target = cold if op == "forget" else _join(place.top, page.ARCHIVE, *place.folders)
            text = page.with_usage(text, stored) if is_own and isinstance(stored, Note) else text
        is_there = target == folder
        return note.path if is_there else note_folder.free_path(
            vault_of(app, note.scope), target, name
        ), text

    return _change_all(app, names, op, move, f"{{path}} is {_MOVED[op]}.")


def rewrite(app: App, name: str, edit: Callable[[str], str], op: str, summary: str) -> Done:
    """Change a note's file, and let memory follow."""
    return _change_all(app, (name,), op, lambda note, text: (note.path, edit(text)), summary)


def _change_all(
    app: App,
    names: Sequence[str],
    op: str,
    change: Callable[[FoundNote, str], tuple[str, str]],
    summary: str,
) -> Done:
    """`change` returns a note's new path and text; `summary` may name the path as {path}."""
    notes = _find_now(app, names)
    texts: dict[FileChange, str] = {}
    for note in notes:
        before = _text(app, note)
        path, after = change(note, before)
        texts[FileChange.between(note.id, note.path, before, path, after)] = after
    summary = " ".join(summary.replace("{path}", one.new_path) for one in texts)
    released = {note.id for note in notes} if op == "note restore" else set()
    return vault_sync.change_files(app, notes[0].scope, texts, op, summary, released)


def sync(app: App) -> Summary:
    """Compare every file with its note, whatever is known."""
    reports = [vault_sync.refresh(app, scope, thorough=True) for scope in vault_scopes(app)]
    counts = {name: sum(one.counts[name] for one in reports) for name in vault_sync.Report().counts}
    refused: list[Json] = [list(one) for report in reports for one in report.refused]
    problems: list[Json] = [list(one) for report in reports for one in report.problems]
    lead = "Would read" if app.dry_run else "Vaults"
    shown = ", ".join(
        f"{count:,} {'archived' if name == 'gone' else name}" for name, count in counts.items()
    )
    notes = [
        f"Left out: {storable(one.path)}: {one.why}."
        for report in reports
        for one in report.refused
    ]
    notes += [
        f"In {storable(one.path)}: {one.why}." for report in reports for one in report.problems
    ]
    more = (
        [f"And {len(notes) - _MOST_LISTED:,} more; --json has them all."]
        if len(notes) > _MOST_LISTED
        else []
    )
    facts: dict[str, Json] = {
        **counts,
        "refused": refused,
        "problems": problems,
        "dry_run": app.dry_run,
    }
    return Summary(f"{lead}: {shown}.", facts, (*notes[:_MOST_LISTED], *more, *app.notes()))


def import_notes(
    app: App,
    source: Annotated[str, Arg("A folder of Markdown notes; it is only read.", metavar="FOLDER")],
    *,
    project: InProject = False,
) -> Summary:
    """One change, one undo. A note whose text is in the vault already is left out, so importing twice adds nothing."""
    scope = memories.scope_of(not project)
    app.require_scope(scope)
    place = Path(source)
    if "\x00" in source or not place.is_dir():
        raise NotFound(f"There is no folder {source}.", hint="Name a folder that holds .md files.")
    seen = note_folder.scan(Vault(place))
    known = note_files.NOTE_FILES.find_all(app.reader(scope)).values()
    texts = {one.hash for one in known if one.stamp != note_files.NO_FILE}
    refused, there = list(seen.refused), 0
    added: dict[FileChange, str] = {}
    paths: dict[str, None] = {}
    ids: set[str] = set()
    for number, path in enumerate(seen.stamps, start=1):
        text = note_files.read_text(app, Vault(place), path)
        if isinstance(text, Refusal):
            refused.append(text)
            continue
        text = app.redact_text("note", text)  # it is copied to where agents read it
        folder, _, name = (f"{page.MEMORY}/{path}" if project else path).rpartition("/")
        file = note_files.parse(
            note_folder.free_path(vault_of(app, scope), folder, name, paths), text
        )
        if file.hash in texts:
            there += 1
            continue
        texts.add(file.hash)
        id = vault_sync.new_note_id(app, file, ids)
        ids.add(id)
        paths[file.path] = None
        added[FileChange.between(id, "", "", file.path, text)] = text
        app.progress(number, len(seen.stamps))
    change = None
    many = counted(len(added), "note")
    if added:
        change = vault_sync.change_files(
            app, scope, added, "import notes", f"Imported {many} from {source}"
        ).change
    facts: dict[str, Json] = {
        "folder": str(place), "imported": list(paths), "known": there, "refused": [list(one) for one in refused],
        "change": change, "dry_run": app.dry_run,
    }  # fmt: skip
    word = "Would import" if app.dry_run else "Imported"
    notes = [f"Left out: {storable(path)}: {why}." for path, why in refused[:_MOST_LISTED]]
    notes += [f"`recollect undo {change}` takes it back."] if change else []
    notes += embed_imported(app)
    known_too = f"; {there:,} were already there" if there else ""
    return Summary(f"{word} {many} from {source}{known_too}.", facts, (*notes, *app.notes()))


def checks(app: App) -> list[Check]:
    """For `doctor`: how many notes there are, and which files in the vaults are left out."""
    found = []
    for scope in vault_scopes(app):
        seen = note_folder.scan(vault_of(app, scope))
        if seen.refused:
            path, why = seen.refused[0]
            detail = f"{counted(len(seen.refused), 'file')} left out; {storable(path)}: {why}"
            found.append(Check(f"{scope} vault", Mark.WARN, detail, "recollect note sync"))
        elif seen.stamps:
            found.append(Check(f"{scope} vault", Mark.GOOD, counted(len(seen.stamps), "note")))
    return found


def has_own_tags(app: App, scope: Scope, memory: Memory) -> bool:
    """Whether it is a note in the user's own vault whose dialect has a place for its condition and its use."""
    is_own = (
        isinstance(memory, Note) and scope is Scope.USER and file_of(app, scope, memory) is not None
    )
    return is_own and dialects.begins_with_tag(_text(app, find_note(app, memory.id)))


def _find_now(app: App, names: Sequence[str]) -> list[FoundNote]:
    """All of one vault, after a look at the files: what will be changed must be known as it is now."""
    for scope in vault_scopes(app) if not app.dry_run else ():
        vault_sync.refresh(app, scope)
    found = list(dict.fromkeys(find_note(app, name) for name in names))
    memories.only_scope(note.scope for note in found)
    return found


def _new_file(
    app: App,
    scope: Scope,
    folder: str,
    text: str,
    title: str | None,
    tags: Sequence[str],
    group: str,
    supersedes: str,
) -> FileChange:
    body = app.redact_text("note", text)
    if not body.strip():
        raise BadInput(
            "There is nothing to save: the text is empty.",
            hint='`recollect note save "What to remember"`',
        )
    heading = app.redact_title(title) or first_line_title(body)
    id = app.mint.draw("note")
    written = page.new_text(
        body, id=id, title=heading, tags=app.redact_topics(tuple(tags)), group=app.redact_title(group),
        created=app.clock.now().iso()[:10], supersedes=supersedes,
    )  # fmt: skip
    path = note_folder.free_path(vault_of(app, scope), folder, note_folder.name_for(heading))
    return FileChange.between(id, "", "", path, written)


def _text(app: App, note: FoundNote) -> str:
    text = note_folder.read(vault_of(app, note.scope), note.path)
    if isinstance(text, Refusal):
        raise BadInput(f"{text.path} cannot be read: {text.why}.", hint="It was left as it is.")
    return text


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))

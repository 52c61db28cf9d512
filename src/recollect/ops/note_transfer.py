"""Notes in and out: a folder of Markdown notes becomes notes of ours, memory becomes such a folder, and the rules
become a section of a file that agents read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from recollect.app import note_files
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.app.note_files import NOTE_FILES, vault_of
from recollect.base import swap
from recollect.base.errors import BadInput, NotFound, StoreReadOnly
from recollect.base.files import create_new
from recollect.base.text import counted, storable
from recollect.integrations import text_section as section
from recollect.jobs import vault_sync
from recollect.model.codec import Json
from recollect.model.plan import FileChange
from recollect.model.result import Scope, Summary
from recollect.ops.memories import scope_of
from recollect.ops.table import Arg
from recollect.render import markdown
from recollect.vault import layout, note_folder
from recollect.vault.note_folder import Refusal, Vault

_MOST_LISTED = 20


def import_notes(
    app: App,
    source: Annotated[str, Arg("A folder of Markdown notes; it is only read.", metavar="FOLDER")],
    *,
    project: Annotated[bool, Arg("Into this project's .ai/memory/, shared through git, not your own vault.")] = False,
) -> Summary:
    """One change, one undo. A note whose text is in the vault already is left out, so importing twice adds nothing."""
    scope = scope_of(not project)
    app.require_scope(scope)
    place = Path(source)
    if "\x00" in source or not place.is_dir():
        raise NotFound(f"There is no folder {source}.", hint="Name a folder that holds .md files.")
    seen = note_folder.scan(Vault(place))
    known = NOTE_FILES.find_all(app.reader(scope)).values()
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
        folder, _, name = (f"{layout.MEMORY}/{path}" if project else path).rpartition("/")
        file = note_files.parse(note_folder.free_path(vault_of(app, scope), folder, name, paths), text)
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
        change = vault_sync.change_files(app, scope, added, "import notes", f"Imported {many} from {source}").change
    facts: dict[str, Json] = {
        "folder": str(place), "imported": list(paths), "known": there, "refused": [list(one) for one in refused],
        "change": change, "dry_run": app.dry_run,
    }  # fmt: skip
    word = "Would import" if app.dry_run else "Imported"
    notes = [f"Left out: {storable(path)}: {why}." for path, why in refused[:_MOST_LISTED]]
    notes += [f"`recollect undo {change}` takes it back."] if change else []
    known_too = f"; {there:,} are there already" if there else ""
    return Summary(f"{word} {many} from {source}{known_too}.", facts, (*notes, *app.notes()))


def export_notes(app: App, scope: Scope, target: Path) -> Summary:
    """One file per memory, in a folder for each kind; a folder that holds anything already is left alone."""
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(f"{target} is there already.", hint="Name a new folder; nothing is overwritten.")
    store = app.reader(scope)
    every = list(store.each())
    names = {memory.id: markdown.file_name(memory) for memory, _ in every}
    if not app.dry_run:
        try:
            for number, (memory, messages) in enumerate(every, start=1):
                text = markdown.page(memory, messages, store.bridges(memory.id), names)
                folder = target / f"{memory.kind}s"
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                create_new(folder / f"{names[memory.id]}.md", text, mode=0o600)
                app.progress(number, len(every))
        except OSError as problem:
            raise StoreReadOnly(f"{target} cannot be written: {problem.strerror}.", hint="Name another.") from None
        app.log.line("export", scope=scope, memories=len(every))
    word = "Would write" if app.dry_run else "Wrote"
    facts: dict[str, Json] = {"folder": str(target), "memories": len(every), "dry_run": app.dry_run}
    return Summary(f"{word} {counted(len(every), 'memory', 'memories')} as notes to {target}.", facts)


def export_rules(app: App, file: Path) -> Summary:
    """The rules in force, between two marks; a second export replaces them."""
    rules = [rule for _, rule in rules_in_force(app).values()]
    found = swap.look(file)
    try:
        parts = section.parted(found.text, markdown.is_rule_line)
    except section.Broken:
        raise BadInput(
            f"{file} has only one of our two marks.", hint="Remove the line with `recollect begin` or `end`."
        ) from None
    text = section.joined(parts, markdown.rule_lines(rules)).encode()
    is_new = text != (found.content or b"")
    if is_new and not app.dry_run:
        swap.replace(found, text, new_mode=0o644)
        app.log.line("export", rules=len(rules))
    many = counted(len(rules), "rule")
    word = "Would write" if app.dry_run else "Wrote"
    said = f"{word} {many} to {file}." if is_new or app.dry_run else f"Nothing to change: {many} in {file}."
    return Summary(said, {"file": str(file), "rules": len(rules), "changed": is_new, "dry_run": app.dry_run})

"""Memory in the shapes that others read: a folder of Markdown notes, and the rules as a section of a file of theirs."""

from __future__ import annotations

import os
from pathlib import Path

from recollect.agents import section
from recollect.base import swap
from recollect.base.errors import BadInput, StoreReadOnly
from recollect.base.files import create_new
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.memory import Memory
from recollect.model.result import Scope, Told
from recollect.ops import briefs
from recollect.ops.app import App
from recollect.render import markdown

_PAGE_MODE = 0o600


def notes(app: App, scope: Scope, folder: Path) -> Told:
    """One file a memory, in a folder for each kind; a folder that holds anything already is left alone."""
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} is there already.", hint="Name a new folder; nothing is overwritten.")
    store = app.reading(scope)
    every = list(store.each())
    names = {memory.id: markdown.file_name(memory) for memory, _ in every}
    if not app.dry_run:
        try:
            for number, (memory, messages) in enumerate(every, start=1):
                _page(folder, memory, markdown.page(memory, messages, store.bridges(memory.id), names), names)
                app.progress(number, len(every))
        except OSError as problem:
            raise StoreReadOnly(f"{folder} cannot be written: {problem.strerror}.", hint="Name another.") from None
        app.log.line("export", scope=scope, memories=len(every))
    word = "Would write" if app.dry_run else "Wrote"
    facts: dict[str, Json] = {"folder": str(folder), "memories": len(every), "dry_run": app.dry_run}
    return Told(f"{word} {counted(len(every), 'memory', 'memories')} as notes to {folder}.", facts)


def _page(folder: Path, memory: Memory, text: str, names: dict[str, str]) -> None:
    place = folder / f"{memory.kind}s"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_new(place / f"{names[memory.id]}.md", text, mode=_PAGE_MODE)


def block(app: App, file: Path) -> Told:
    """The rules in force between two marks; put there again, it takes the place of the older one."""
    rules = [rule for _, rule in briefs.rules(app).values()]
    found = swap.look(file)
    try:
        parts = section.parted(found.text, markdown.is_rule_line)
    except section.Broken:
        raise BadInput(
            f"{file} has half of our marks.", hint="Take the line with `recollect begin` or `end` out."
        ) from None
    text = section.joined(parts, markdown.rule_lines(rules)).encode()
    is_new = text != (found.content or b"")
    if is_new and not app.dry_run:
        swap.replace(found, text, new_mode=0o644)
        app.log.line("export", rules=len(rules))
    word = "Would write" if app.dry_run else "Wrote" if is_new else "Nothing to change:"
    facts: dict[str, Json] = {"file": str(file), "rules": len(rules), "changed": is_new, "dry_run": app.dry_run}
    return Told(f"{word} {counted(len(rules), 'rule')} {'in' if word[0] == 'N' else 'to'} {file}.", facts)

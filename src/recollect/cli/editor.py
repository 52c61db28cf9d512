"""Editing a memory in $EDITOR: title and topics on the first lines, the body below."""

from __future__ import annotations

import sys
from typing import Any

import click

from recollect.base.errors import BadInput
from recollect.base.files import write_private
from recollect.model.memory import Memory
from recollect.ops.app import App

_LINE = "--- the body begins below this line ---"


def edited(app: App, taken: dict[str, Any]) -> dict[str, Any]:
    """What the person wrote, where no option said anything."""
    if any(taken[name] is not None for name in ("title", "body", "topics")):
        return taken
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            "There is no terminal to edit in.",
            hint="Give --title, --body or --topics; `--body -` reads standard input.",
        )
    memory = app.find(taken["id"])[1]
    text = written_out(memory)
    try:
        written = click.edit(text, extension=".md", require_save=True)
    except click.ClickException as problem:
        raise BadInput(problem.message, hint="Set EDITOR to one that works. Nothing was changed.") from None
    if written is None:
        return taken
    # Only what the person changed: an editor may write line ends in its own way.
    before = read(text.replace("\r\n", "\n"))
    try:
        after = read(written)
    except BadInput as problem:
        kept = app.home.root / "unsaved-edit.md"
        write_private(kept, written)
        raise BadInput(problem.message, hint=f"Nothing was changed. What you wrote is kept in {kept}.") from None
    return taken | {name: value for name, value in after.items() if value != before[name]}


def written_out(memory: Memory) -> str:
    return f"Title: {memory.title}\nTopics: {', '.join(memory.topics)}\n{_LINE}\n{memory.body}\n"


def read(written: str) -> dict[str, str]:
    head, line, body = written.partition(_LINE + "\n")
    if not line:
        raise BadInput(
            "The line that divides head and body is gone.",
            hint="Nothing was changed. Edit again and keep it.",
        )
    fields = {}
    for row in head.splitlines():
        name, _, value = row.partition(":")
        fields[name.strip().lower()] = value.strip()
    if "title" not in fields or "topics" not in fields:
        raise BadInput("`Title:` or `Topics:` is missing.", hint="Nothing was changed. Edit again and keep them.")
    # The newline that ends the file is not the body's.
    return {"title": fields["title"], "topics": fields["topics"], "body": body.removesuffix("\n")}

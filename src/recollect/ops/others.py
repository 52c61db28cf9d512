"""Memories of other programs: where each keeps them, and how they are read. What becomes of them: sifting.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, agent
from recollect.base.errors import BadImport, BadInput, NotFound
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.capture.draft import Action
from recollect.capture.others import claude_mem, claude_recall, mcp_memory, memory_file, rule_lines
from recollect.model.brought import Brought, Tie
from recollect.model.result import Told
from recollect.ops import capture
from recollect.ops.app import App
from recollect.ops.install import places
from recollect.ops.memories import User
from recollect.ops.sifting import taken
from recollect.ops.table import Arg

_MAX_FILE_BYTES = 50_000_000
_MAX_LINE_CHARS = 5_000_000

File = Annotated[str | None, Arg("Its file; where it keeps it if none is named.", metavar="[FILE]")]
Called = Annotated[str | None, Arg("What this project is called there, if not by its folder.", metavar="NAME")]


def claude_mem_db(app: App, file: File = None, *, called: Called = None, user: User = False) -> Told:
    def read(path: Path) -> Iterator[Brought]:
        from recollect.store.foreign import opened

        with opened(path) as db:
            tables = ((claude_mem.OBSERVATIONS, claude_mem.observation), (claude_mem.SUMMARIES, claude_mem.summary))
            found = [(table, make) for table, make in tables if "id" in db.columns(table)]
            if not found:
                raise BadInput(f"{path} holds no observations.", hint="Is it the database of claude-mem?")
            for table, make in found:
                yield from map(make, db.rows(table))

    path = _file(file, claude_mem.FILE)
    return taken(app, "claude-mem", read(path), called=called, user=user)


def claude_recall_db(app: App, file: File = None, *, called: Called = None, user: User = False) -> Told:
    def read(path: Path) -> Iterator[Brought]:
        from recollect.store.foreign import opened

        with opened(path) as db:
            if not {"key", "value"} <= set(db.columns(claude_recall.TABLE)):
                raise BadInput(f"{path} holds no memories.", hint="Is it the database of claude-recall?")
            yield from map(claude_recall.memory, db.rows(claude_recall.TABLE))

    path = _file(file, claude_recall.FILE)
    return taken(app, "claude-recall", read(path), called=called, user=user)


def mcp_file(
    app: App,
    file: Annotated[str, Arg("The server's file of JSON lines.", metavar="FILE")],
    *,
    user: User = False,
) -> Told:
    ties: list[Tie] = []

    def read() -> Iterator[Brought]:
        for number, line in enumerate(_text(Path(file)).splitlines(), start=1):
            if not line.strip():
                continue
            match mcp_memory.item(_object(Path(file).name, number, line)):
                case Brought() as one:
                    yield one
                case Tie() as tie:
                    ties.append(tie)
                case None:
                    raise BadImport(Path(file).name, number, "it is neither an entity nor a relation", hint=_HINT)

    return taken(app, "mcp-memory", read(), user=user, ties=ties)


def memory_folder(
    app: App,
    folder: Annotated[str | None, Arg("Where it keeps its memory of this project, if elsewhere.", "[FOLDER]")] = None,
    *,
    user: User = False,
) -> Told:
    from recollect.vault import front

    speaks = agent(DEFAULT_HOST)
    shelf = None if folder else speaks.shelf(places(app))
    place = Path(folder) if folder else shelf.folder if shelf else Path()
    if not place.is_dir():
        raise NotFound(f"There is no folder {place}.", hint=f"{speaks.TITLE} has noted nothing of this project yet.")

    def read() -> Iterator[Brought]:
        for path in sorted(place.glob("*.md")):
            if speaks.is_keepsake_name(path.name) or path.name == (shelf.index_file if shelf else "MEMORY.md"):
                continue  # ours, or a list of the others
            text = _text(path)
            head = front.find(text)
            fields = (
                {name: one.value for name, one in head.fields.items() if isinstance(one.value, str)} if head else {}
            )
            sort = _nested_type(text[head.start : head.end]) if head else ""
            at = Moment(path.stat().st_mtime_ns // 1_000)
            yield memory_file.note(path.name, {"type": sort} | fields, text[head.after :] if head else text, at)

    return taken(app, "memory-folder", read(), user=user)


def rules_file(
    app: App,
    file: Annotated[str | None, Arg("A Markdown file of rules; the agent's own if none is named.", "[FILE]")] = None,
    *,
    user: User = False,
) -> Told:
    if file:
        paths: tuple[Path, ...] = (Path(file),)
    else:
        paths = tuple(path for path in agent(DEFAULT_HOST).rule_files(places(app)) if path.is_file())
        if not paths:
            raise NotFound("There is no file of rules here.", hint="Name one: `recollect import rules AGENTS.md`")

    def read() -> Iterator[Brought]:
        for path in paths:
            for one in rule_lines.items(_text(path)):
                yield one if one.junk or _tells_what_to_do(one.body) else replace(one, junk="says nothing to do")

    return taken(app, "rules", read(), user=user)


_HINT = "Nothing was imported."


def _tells_what_to_do(text: str) -> bool:
    return rule_lines.is_order(text) or capture.hear(text).action != Action.DROPPED


def _nested_type(head: str) -> str:
    """Newer files have it one level down, where the vault's reader does not look."""
    for line in head.splitlines():
        name, colon, value = line.strip().partition(":")
        if colon and name == "type":
            return value.strip().strip("\"'")
    return ""


# Files


def _file(named: str | None, usual: str) -> Path:
    path = Path(named) if named else user_home(environment()) / usual
    if not path.is_file():
        raise NotFound(f"There is no file {path}.", hint="Name it: `recollect import ... FILE`")
    return path


def _text(path: Path) -> str:
    try:
        return read_limited(path, _MAX_FILE_BYTES, follow=True).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text.", hint=_HINT) from None
    except OSError as problem:
        raise NotFound(f"{path} cannot be read: {problem.strerror or problem}.", hint=_HINT) from None


def _object(name: str, number: int, line: str) -> dict[str, object]:
    try:
        found = json.loads(line) if len(line) <= _MAX_LINE_CHARS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadImport(name, number, "it is no JSON object", hint=_HINT)
    return found

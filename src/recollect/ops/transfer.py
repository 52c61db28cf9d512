"""Memories as a file: JSONL, one value a line, each with a checksum, and a last line that counts them.

An import reads the whole file before it writes anything, so a damaged one changes nothing; ids are kept, so
reading the same file twice adds nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from recollect.app.core import IMPORT_ACTOR, App
from recollect.base.errors import BadImport, BadInput, NotFound, StoreReadOnly
from recollect.base.ids import is_id
from recollect.base.text import clip, counted, storable
from recollect.model.codec import Json, canonical, decode, decode_memory, encode
from recollect.model.memory import Bridge, Lane, Message
from recollect.model.plan import Alias, Change, Create, Link, Plan
from recollect.model.result import Scope, Summary
from recollect.ops.memories import User, scope_of
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

FORMAT = "recollect-jsonl"
VERSION = 1
MAX_LINE_BYTES = 64_000_000
_MAX_PROBLEM_CHARS = 200
_BATCH = 200


class Shape(StrEnum):
    JSONL = "jsonl"  # everything, with checksums: what `import jsonl` reads
    MARKDOWN = "markdown"  # a folder of notes, one a memory
    AGENTS_MD = "agents-md"  # the rules in force, as a section of a file that agents read


def export(
    app: App,
    file: Annotated[str, Arg("Where to write; must not exist yet, but for agents-md.", metavar="FILE")],
    *,
    shape: Annotated[Shape, Arg("jsonl: all of it; markdown: a folder of notes; agents-md: rules for agents.")] = (
        Shape.JSONL
    ),
    user: Annotated[bool, Arg("What holds everywhere, not this project's.")] = False,
) -> Summary:
    scope = scope_of(user)
    target = Path(file)
    if shape is not Shape.JSONL:
        from recollect.ops import note_transfer

        return (
            note_transfer.export_notes(app, scope, target)
            if shape is Shape.MARKDOWN
            else note_transfer.export_rules(app, target)
        )
    if os.path.lexists(target):
        raise BadInput(f"{file} is there already.", hint="Name a new file; nothing is overwritten.")
    total = sum(count for _, _, count in app.reader(scope).counts().by_kind_and_status)
    if not app.dry_run:
        try:
            _write(app, scope, target, total)
        except OSError as problem:
            raise StoreReadOnly(f"{file} cannot be written: {problem.strerror}.", hint="Name another place.") from None
        except ValueError:
            raise BadInput(f"{file!r} cannot be the name of a file.", hint="Name another one.") from None
        app.log.line("export", scope=scope, memories=total)
    word = "Would write" if app.dry_run else "Wrote"
    facts: dict[str, Json] = {"file": str(target), "memories": total, "dry_run": app.dry_run}
    return Summary(f"{word} {counted(total, 'memory', 'memories')} to {file}.", facts)


def import_jsonl(
    app: App,
    file: Annotated[str, Arg("The file to read.", metavar="FILE")],
    *,
    lane: Annotated[Lane | None, Arg("Trust all of it only this far.")] = None,
    user: User = False,
) -> Summary:
    source = Path(file)
    if not os.path.isfile(source):
        raise NotFound(f"There is no file {file}.", hint="`recollect export FILE` writes one.")
    scope = scope_of(user)
    app.require_scope(scope)
    total = _checked(app.reader(scope), _read(app, source, lane), source.name)
    if app.dry_run:
        known = sum(_is_known(app.reader(scope), change) for _, change in _read(app, source, lane))
        facts: dict[str, Json] = {"lines": total, "new": total - known, "known": known, "dry_run": True}
        return Summary(f"Would import {total - known:,} of {total:,} lines; {known:,} are there already.", facts)
    store = app.writer(scope)
    change, added, done = app.mint.draw("change"), 0, 0
    header = app.change_header("import", f"Imported {file}", change=change, actor=IMPORT_ACTOR)
    lines = (item for _, item in _read(app, source, lane))
    while batch := tuple(islice(lines, _BATCH)):
        fresh = Plan(tuple(item for item in batch if not _is_known(store, item)))
        if fresh:
            store.apply(app.redact_plan(fresh), header)
        added += len(fresh.changes)
        done += len(batch)
        app.progress(done, total, "memories")
    app.log.line("import", change=change, scope=scope, lines=total, added=added)
    facts = {"lines": total, "new": added, "known": total - added, "change": change, "dry_run": False}
    note = ("`recollect undo` takes it back.",) if added else ()
    return Summary(
        f"Imported {added:,} of {total:,} lines; {total - added:,} were there already.", facts, (*note, *app.notes())
    )


def _write(app: App, scope: Scope, target: Path, total: int) -> None:
    """A new private file, whole or not there at all."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as out:
            for number, line in enumerate(_lines(app, scope)):
                out.write(line + "\n")
                app.progress(min(number, total), total, "memories")
            out.flush()
            os.fsync(handle)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _lines(app: App, scope: Scope) -> Iterator[str]:
    store = app.reader(scope)
    digest = hashlib.sha256()
    count = 0

    def line(data: dict[str, Json]) -> str:
        nonlocal count
        mark = checksum(data)
        digest.update(mark.encode())
        count += 1
        return canonical(data | {"sha256": mark})

    at = app.clock.now().iso()
    yield line({"type": "header", "format": FORMAT, "version": VERSION, "scope": str(scope), "at": at})
    for memory, messages in store.each():
        yield line({"type": "memory", "memory": encode(memory), "messages": encode(messages)})
    for bridge in store.bridges():
        yield line({"type": "bridge", "bridge": encode(bridge)})
    for memory, _ in store.each():
        for old in store.aliases(memory.id):
            yield line({"type": "alias", "old": old, "new": memory.id})
    yield canonical({"type": "end", "lines": count, "sha256": digest.hexdigest()})


def checksum(data: dict[str, Json]) -> str:
    return hashlib.sha256(canonical({k: v for k, v in data.items() if k != "sha256"}).encode()).hexdigest()


def _checked(store: Store, lines: Iterator[tuple[int, Change]], name: str) -> int:
    """How many changes the file asks for. All of it is read before anything is written, and what a line leans
    on must be here or in an earlier one: a batch that failed would leave those before it behind."""
    total = 0
    known: set[str] = set()
    for number, change in lines:
        total += 1
        brought: list[str] = []
        needed: list[str] = []
        match change:
            case Create(memory, messages):
                brought = [memory.id, *(m.id for m in messages)]
            case Link(bridge):
                needed = [bridge.source, bridge.target]
            case Alias(_, new):
                needed = [new]
            case _:
                pass
        for id in brought:
            if id in known:
                raise BadImport(name, number, f"{id} came before", hint=_HINT)
            known.add(id)
        for id in needed:
            if id not in known and store.exact(id) is None:
                raise BadImport(name, number, f"no memory has the id {clip(id, 80)!r}", hint=_HINT)
    return total


_HINT = "Nothing was imported. `recollect export FILE` writes a whole file."


@contextmanager
def _naming_line(name: str, number: int) -> Iterator[None]:
    """Whatever is wrong is told with the line's number."""
    try:
        yield
    except RecursionError:
        raise BadImport(name, number, "it is nested too deeply", hint=_HINT) from None
    except BadInput as problem:
        raise BadImport(name, number, problem.message, hint=problem.hint) from None
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise BadImport(name, number, clip(str(problem), _MAX_PROBLEM_CHARS), hint=_HINT) from None


def _read(app: App, source: Path, lane: Lane | None) -> Iterator[tuple[int, Change]]:
    """Every line as the change it asks for; BadImport with the line's number at the first that is wrong."""
    digest, count, ended, number = hashlib.sha256(), 0, False, 0
    for number, text in _text_lines(source):
        change = None
        with _naming_line(source.name, number):
            if ended:
                raise ValueError("there is more after the end")
            data = _parsed(text)
            mark, kind = checksum(data), data.get("type")
            if not count:
                _check_header(data)
            if kind == "end":
                if data.get("lines") != count or data.get("sha256") != digest.hexdigest():
                    raise ValueError("lines are missing or were changed")
                ended = True
            else:
                if mark != data.get("sha256"):
                    raise ValueError("its checksum does not hold: the line was changed")
                digest.update(mark.encode())
                change = _change(app, data, lane) if count else None
                count += 1
        if change is not None:
            yield number, change
    if not ended:
        raise BadImport(source.name, number + 1, "the file ends too early", hint=_HINT)


def _text_lines(source: Path) -> Iterator[tuple[int, str]]:
    """Numbered from one; blank ones are left out. Decoded one at a time, so that the number is exact."""
    number = 0
    try:
        with source.open("rb") as file:
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    raise BadImport(source.name, number, f"longer than {MAX_LINE_BYTES:,} bytes", hint=_HINT)
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if line:
                    yield number, line
    except UnicodeDecodeError:
        raise BadImport(source.name, number, "it is not UTF-8 text", hint=_HINT) from None
    except OSError as problem:
        raise NotFound(f"{source} cannot be read: {problem.strerror}.") from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"it is not JSON ({problem})") from None
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    return data


def _check_header(data: dict[str, Any]) -> None:
    if data.get("type") != "header" or data.get("format") != FORMAT:
        raise ValueError(f"this is not a {FORMAT} file")
    if data.get("version") != VERSION:
        found = clip(str(data.get("version")), _MAX_PROBLEM_CHARS)
        raise BadInput(f"version {found} is not known", hint="Upgrade Recollect.")


def _change(app: App, data: dict[str, Any], lane: Lane | None) -> Change:
    match data["type"]:
        case "memory":
            memory, messages = decode_memory(data["memory"]), decode(tuple[Message, ...], data["messages"])
            for id in (memory.id, *(m.id for m in messages)):
                if not is_id(id):
                    raise ValueError(f"{clip(id, 80)!r} is no id")
            if any(m.thread_id != memory.id for m in messages):
                raise ValueError("a message belongs to another thread")
            lane = Lane.lowest(memory.lane, lane or memory.lane)
            body = app.redact_text("body", memory.body)
            said = tuple(replace(m, content=app.redact_text("message", m.content)) for m in messages)
            return Create(replace(memory, title=storable(memory.title), body=body, lane=lane), said)
        case "bridge":
            return Link(decode(Bridge, data["bridge"]))
        case "alias":
            return Alias(str(data["old"]), str(data["new"]))
        case other:
            raise ValueError(f"type {other!r} is not known")


def _is_known(store: Store, change: Change) -> bool:
    """A memory that is here with other words keeps them."""
    match change:
        case Create(memory):
            return store.exact(memory.id) is not None
        case Link(bridge):
            return bridge.key in {b.key for b in store.bridges(bridge.source)}
        case Alias(old, _):
            found = store.get(old)
            return found is not None and found.id != old
        case _:
            return False

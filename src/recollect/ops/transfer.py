"""Memories as a file: JSONL, one value a line, each with a checksum, and a last line that counts them.

An import reads the whole file before it writes anything, so a damaged one changes nothing; ids are kept, so
reading the same file twice adds nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from recollect.base.errors import BadImport, BadInput, NotFound, StoreReadOnly
from recollect.base.ids import is_id
from recollect.base.text import clip, counted, storable
from recollect.model.codec import (
    Json,
    canonical,
    decode_bridge,
    decode_memory,
    decode_message,
    encode_bridge,
    encode_memory,
    encode_message,
)
from recollect.model.memory import Lane
from recollect.model.plan import Alias, Change, Create, Link, Plan
from recollect.model.result import Scope, Told
from recollect.ops.app import IMPORT_ACTOR, App
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
    JSONL = "jsonl"
    """Everything, with checksums: what `import jsonl` reads."""
    MARKDOWN = "markdown"
    """A folder of notes, one a memory."""
    AGENTS_MD = "agents-md"
    """The rules in force, as a section of a file that agents read."""


def export(
    app: App,
    file: Annotated[str, Arg("Where to write; must not exist yet, but for agents-md.", metavar="FILE")],
    *,
    shape: Annotated[Shape, Arg("jsonl: all of it; markdown: a folder of notes; agents-md: rules for agents.")] = (
        Shape.JSONL
    ),
    user: Annotated[bool, Arg("What holds everywhere, not this project's.")] = False,
) -> Told:
    scope = scope_of(user)
    target = Path(file)
    if shape is not Shape.JSONL:
        from recollect.ops import giving

        return giving.notes(app, scope, target) if shape is Shape.MARKDOWN else giving.block(app, target)
    if os.path.lexists(target):
        raise BadInput(f"{file} is there already.", hint="Name a new file; nothing is overwritten.")
    total = sum(count for _, _, count in app.reading(scope).counts().by_kind_and_status)
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
    return Told(f"{word} {counted(total, 'memory', 'memories')} to {file}.", facts)


def import_jsonl(
    app: App,
    file: Annotated[str, Arg("The file to read.", metavar="FILE")],
    *,
    lane: Annotated[Lane | None, Arg("Trust all of it only this far.")] = None,
    user: User = False,
) -> Told:
    source = Path(file)
    if not os.path.isfile(source):
        raise NotFound(f"There is no file {file}.", hint="`recollect export FILE` writes one.")
    scope = scope_of(user)
    app.must_have_a_place(scope)
    total = _checked(app.reading(scope), _read(app, source, lane), source.name)
    if app.dry_run:
        known = _known(app.reading(scope), _read(app, source, lane))
        facts: dict[str, Json] = {"lines": total, "new": total - known, "known": known, "dry_run": True}
        return Told(f"Would import {total - known:,} of {total:,} lines; {known:,} are there already.", facts)
    store = app.writing(scope)
    change, added = app.mint.draw("change"), 0
    batch: list[Change] = []
    for number, (_, item) in enumerate(_read(app, source, lane), start=1):
        batch.append(item)
        if len(batch) == _BATCH or number == total:
            act = app.act("import", f"Imported {file}", change=change, actor=IMPORT_ACTOR)
            added += _apply(app, store, Plan(tuple(batch)), act)
            batch = []
            app.progress(number, total)
    app.log.line("import", change=change, scope=scope, lines=total, added=added)
    facts = {"lines": total, "new": added, "known": total - added, "change": change, "dry_run": False}
    note = ("`recollect undo` takes it back.",) if added else ()
    return Told(
        f"Imported {added:,} of {total:,} lines; {total - added:,} were there already.",
        facts,
        (*note, *app.notes()),
    )


def _write(app: App, scope: Scope, target: Path, total: int) -> None:
    """A new private file, whole or not there at all."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as out:
            for number, line in enumerate(_lines(app, scope)):
                out.write(line + "\n")
                app.progress(min(number, total), total)
            out.flush()
            os.fsync(handle)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _lines(app: App, scope: Scope) -> Iterator[str]:
    store = app.reading(scope)
    digest = hashlib.sha256()
    count = 0

    def line(data: dict[str, Json]) -> str:
        nonlocal count
        mark = checksum(data)
        digest.update(mark.encode())
        count += 1
        return canonical(data | {"sha256": mark})

    yield line(
        {
            "type": "header",
            "format": FORMAT,
            "version": VERSION,
            "scope": str(scope),
            "at": app.clock.now().iso(),
        }
    )
    for memory, messages in store.each():
        said: list[Json] = [encode_message(m) for m in messages]
        yield line({"type": "memory", "memory": encode_memory(memory), "messages": said})
    for bridge in store.bridges():
        yield line({"type": "bridge", "bridge": encode_bridge(bridge)})
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
    said: set[str] = set()
    for number, change in lines:
        total += 1
        for id in _brings(change):
            if id in said:
                raise BadImport(name, number, f"{id} came before", hint=_HINT)
            said.add(id)
        for id in _leans_on(change):
            if id not in said and store.exact(id) is None:
                raise BadImport(name, number, f"no memory has the id {clip(id, 80)!r}", hint=_HINT)
    return total


def _brings(change: Change) -> tuple[str, ...]:
    return (change.memory.id, *(m.id for m in change.messages)) if isinstance(change, Create) else ()


def _leans_on(change: Change) -> tuple[str, ...]:
    match change:
        case Link(bridge):
            return (bridge.source, bridge.target)
        case Alias(_, new):
            return (new,)
        case _:
            return ()


def _read(app: App, source: Path, lane: Lane | None) -> Iterator[tuple[int, Change]]:
    """Every line as the change it asks for; BadImport with the line's number at the first that is wrong."""
    name, digest, count, ended, number = source.name, hashlib.sha256(), 0, False, 0
    for number, text in _text_lines(source):
        if ended:
            raise BadImport(name, number, "there is more after the end", hint=_HINT)
        try:
            data = _parsed(text)
            mark = checksum(data)
        except RecursionError:
            raise BadImport(name, number, "it is nested too deeply", hint=_HINT) from None
        except ValueError as problem:
            raise BadImport(name, number, _short(problem), hint=_HINT) from None
        kind = data.get("type")
        if not count and (kind != "header" or data.get("format") != FORMAT):
            raise BadImport(name, number, f"this is not a {FORMAT} file", hint=_HINT)
        if not count and data.get("version") != VERSION:
            raise BadImport(
                name, number, f"version {_short(data.get('version'))} is not known", hint="Upgrade Recollect."
            )
        if kind == "end":
            if data.get("lines") != count or data.get("sha256") != digest.hexdigest():
                raise BadImport(name, number, "lines are missing or were changed", hint=_HINT)
            ended = True
            continue
        if mark != data.get("sha256"):
            raise BadImport(name, number, "its checksum does not hold: the line was changed", hint=_HINT)
        digest.update(mark.encode())
        count += 1
        if count > 1:
            try:
                yield number, _change(app, data, lane)
            except (ValueError, KeyError, TypeError, AttributeError) as problem:
                raise BadImport(name, number, _short(problem), hint=_HINT) from None
            except RecursionError:
                raise BadImport(name, number, "it is nested too deeply", hint=_HINT) from None
            except BadInput as problem:
                raise BadImport(name, number, problem.message, hint=problem.hint) from None
    if not ended:
        raise BadImport(name, number + 1, "the file ends too early", hint=_HINT)


_HINT = "Nothing was imported. `recollect export FILE` writes a whole file."


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


def _short(problem: object) -> str:
    return clip(str(problem), _MAX_PROBLEM_CHARS)


def _change(app: App, data: dict[str, Any], lane: Lane | None) -> Change:
    match data["type"]:
        case "memory":
            memory = decode_memory(data["memory"])
            messages = tuple(decode_message(m) for m in data["messages"])
            for id in (memory.id, *(m.id for m in messages)):
                if not is_id(id):
                    raise ValueError(f"{clip(id, 80)!r} is no id")
            if any(m.thread_id != memory.id for m in messages):
                raise ValueError("a message belongs to another thread")
            if lane is not None:
                memory = replace(memory, lane=Lane.lowest(memory.lane, lane))
            said = tuple(replace(m, content=app.take("message", m.content)) for m in messages)
            return Create(replace(memory, title=storable(memory.title), body=app.take("body", memory.body)), said)
        case "bridge":
            return Link(decode_bridge(data["bridge"]))
        case "alias":
            return Alias(str(data["old"]), str(data["new"]))
        case other:
            raise ValueError(f"type {other!r} is not known")


def _apply(app: App, store: Store, plan: Plan, act: Any) -> int:
    """How many of the changes were new. A memory that is here with other words keeps them."""
    fresh = Plan(tuple(change for change in plan.changes if not _is_known(store, change)))
    if fresh:
        store.apply(app.redacted(fresh), act)
    return len(fresh.changes)


def _known(store: Store, lines: Iterator[tuple[int, Change]]) -> int:
    return sum(_is_known(store, change) for _, change in lines)


def _is_known(store: Store, change: Change) -> bool:
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

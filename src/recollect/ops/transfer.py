"""Exports memories to files (JSONL, a folder of notes, or the rules in a file for agents), and imports JSONL. JSONL has
one value per line, each with a checksum, and a last line that counts them. An import reads the whole file before it
writes anything; ids are kept, so reading a file twice adds nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from recollect.app.core import IMPORT_ACTOR, App
from recollect.app.memory_search import rules_in_force
from recollect.base.errors import BadImport, BadInput, NotFound, StoreReadOnly
from recollect.base.files import create_new, read_snapshot
from recollect.base.files import replace as replace_file
from recollect.base.ids import is_id, is_message_id
from recollect.base.structs import replace
from recollect.base.text import clip, counted, one_line, storable
from recollect.integrations.pieces import LeftAlone, Section
from recollect.model.codec import Json, canonical, decode, decode_memory, encode
from recollect.model.memory import Bridge, Lane, Memory, Message
from recollect.model.plan import Alias, Create, Link, Plan
from recollect.model.result import Scope, Summary
from recollect.ops.memories import User, scope_of
from recollect.ops.table import Arg
from recollect.ops.upkeep import embed_imported
from recollect.render.inject import SECTIONS, plain

if TYPE_CHECKING:
    from recollect.store import Store

FORMAT = "recollect-jsonl"
VERSION = 1
_MAX_PROBLEM_CHARS = 200
_BATCH = 200
# What earlier versions kept of a text by default: an export of theirs comes back whole.
_MOST_EXPORTED_CHARS = 1_000_000
_NO_NAME = re.compile(r"[^\w]+")
_RULE_LINE = r"- .* <!-- [0-9a-f]{6} -->"
_HINT = "Nothing was imported. `recollect export FILE` writes a whole file."


class Shape(StrEnum):
    JSONL = "jsonl"  # everything, with checksums: what `import jsonl` reads
    MARKDOWN = "markdown"  # a folder of notes, one per memory
    AGENTS_MD = "agents-md"  # the rules in force, as a section of a file that agents read


def export(
    app: App,
    file: Annotated[
        str, Arg("Where to write; must not exist yet, except for agents-md.", metavar="FILE")
    ],
    *,
    shape: Annotated[
        Shape, Arg("jsonl: everything; markdown: a folder of notes; agents-md: rules.")
    ] = Shape.JSONL,
    user: Annotated[
        bool, Arg("Export the memories for all projects instead of this project's.")
    ] = False,
) -> Summary:
    scope, target = scope_of(user), Path(file)
    if shape is Shape.AGENTS_MD:
        return _export_rules(app, target)
    is_folder = shape is Shape.MARKDOWN
    if os.path.lexists(target) and not (
        is_folder and target.is_dir() and not any(target.iterdir())
    ):
        raise BadInput(f"{file} already exists.", hint="Choose a new name; nothing is overwritten.")
    total = sum(count for _, _, count in app.reader(scope).counts().by_kind_and_status)
    if not app.dry_run:
        try:
            (_write_notes if is_folder else _write_lines)(app, scope, target, total)
        except OSError as problem:
            raise StoreReadOnly(
                f"{file} cannot be written: {problem.strerror}.", hint="Name another place."
            ) from None
        except ValueError:
            raise BadInput(
                f"{file!r} cannot be the name of a file.", hint="Name another one."
            ) from None
        app.log.line("export", scope=scope, memories=total)
    done, how = "Would write" if app.dry_run else "Wrote", " as notes" if is_folder else ""
    summary = f"{done} {counted(total, 'memory', 'memories')}{how} to {file}."
    return Summary(
        summary,
        {"folder" if is_folder else "file": file, "memories": total, "dry_run": app.dry_run},
    )


def _export_rules(app: App, file: Path) -> Summary:
    """The rules in force, one list per type, between two marks; a second export replaces them."""
    rules = [rule for _, rule in rules_in_force(app).values()]
    lines = list[str]()
    for kind, heading in SECTIONS:
        said = [
            f"- {plain(rule.body, 500)} <!-- {rule.id[-6:]} -->"
            for rule in rules
            if rule.rule_type is kind
        ]
        lines += ["", f"### {heading}", "", *said] if said else []
    is_ours = re.compile(
        "|".join(("", *(f"### {heading}" for _, heading in SECTIONS), _RULE_LINE))
    ).fullmatch
    section = Section(
        kind="export",
        path=file,
        entries=lambda _: lines,
        is_entry=lambda line: bool(is_ours(line.rstrip())),
    )
    found = read_snapshot(file)
    try:
        text = section.edit(found, None, wanted=True).content or b""
    except LeftAlone as problem:
        hint = "Remove a lone line with `recollect begin` or `end`, or name another file."
        raise BadInput(f"{problem}.", hint=hint) from None
    is_new = text != (found.content or b"")
    if is_new and not app.dry_run:
        replace_file(found, text, new_mode=0o644)
        app.log.line("export", rules=len(rules))
    many, done = counted(len(rules), "rule"), "Would write" if app.dry_run else "Wrote"
    summary = (
        f"{done} {many} to {file}."
        if is_new or app.dry_run
        else f"Nothing to change: {many} in {file}."
    )
    return Summary(
        summary, {"file": str(file), "rules": len(rules), "changed": is_new, "dry_run": app.dry_run}
    )


def _write_notes(app: App, scope: Scope, target: Path, total: int) -> None:
    """One file per memory, in a folder for each kind."""
    store = app.reader(scope)
    names = {}  # made from the title, and from the id so that no two are the same
    for memory, _ in store.each():
        slug = clip(_NO_NAME.sub("-", one_line(memory.title).lower()).strip("-"), 60).rstrip("…-")
        names[memory.id] = f"{slug or memory.kind}-{memory.id[-6:]}"
    for number, (memory, messages) in enumerate(store.each(), start=1):
        text = _page(memory, messages, store.bridges(memory.id), names)
        folder = target / f"{memory.kind}s"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_new(folder / f"{names[memory.id]}.md", text, mode=0o600)
        app.progress(number, total, "memories")


def _page(
    memory: Memory, messages: Sequence[Message], bridges: Sequence[Bridge], names: Mapping[str, str]
) -> str:
    """`names`: the files of the memories that it is linked to, by id."""
    tags = dict.fromkeys(
        _NO_NAME.sub("-", word).strip("-") for word in (*memory.topics, *memory.tags)
    )
    fields: dict[str, object] = {
        "id": memory.id, "kind": str(memory.kind), "status": str(memory.status), "tags": [tag for tag in tags if tag],
        "group": memory.group, "lane": str(memory.lane), "origin": memory.origin, "pinned": memory.pinned,
        "created": memory.created_at.iso(), "last_active": memory.last_active_at.iso(),
        "superseded_by": memory.superseded_by or "",
    }  # fmt: skip
    head = [
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if value
    ]
    parts = ["\n".join(("---", *head, "---")), f"# {one_line(memory.title)}", memory.body.strip()]
    said = [
        f"> {one.at.iso()} {one.source}\n\n{one.content.strip()}"
        for one in messages
        if one.content != memory.body
    ]
    if said:
        parts += ["## Messages", *said]
    ends = [(one.type, one.target if one.source == memory.id else one.source) for one in bridges]
    links = [f"- {type} [[{names[other]}]]" for type, other in ends if other in names]
    if links:
        parts += ["## Related", "\n".join(links)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _write_lines(app: App, scope: Scope, target: Path, total: int) -> None:
    """A new private file, whole or not there at all."""
    store, at = app.reader(scope), app.clock.now().iso()
    values: Iterator[dict[str, Json]] = chain(
        [{"type": "header", "format": FORMAT, "version": VERSION, "scope": str(scope), "at": at}],
        (
            {"type": "memory", "memory": encode(memory), "messages": encode(said)}
            for memory, said in store.each()
        ),
        ({"type": "bridge", "bridge": encode(bridge)} for bridge in store.bridges()),
        ({"type": "alias", "old": alias.old, "new": alias.new} for alias in store.records(Alias)),
    )
    handle = os.open(
        target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600
    )
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as out:
            digest, count = hashlib.sha256(), 0
            for count, data in enumerate(values, start=1):
                mark = checksum(data)
                digest.update(mark.encode())
                out.write(canonical(data | {"sha256": mark}) + "\n")
                app.progress(min(count - 1, total), total, "memories")
            out.write(
                canonical({"type": "end", "lines": count, "sha256": digest.hexdigest()}) + "\n"
            )
            out.flush()
            os.fsync(handle)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def checksum(data: dict[str, Json]) -> str:
    return hashlib.sha256(
        canonical({k: v for k, v in data.items() if k != "sha256"}).encode()
    ).hexdigest()


def import_jsonl(
    app: App,
    file: Annotated[str, Arg("The file to read.", metavar="FILE")],
    *,
    lane: Annotated[
        Lane | None, Arg("Lower the source of every imported memory to this one, at most.")
    ] = None,
    user: User = False,
) -> Summary:
    source = Path(file)
    if not os.path.isfile(source):
        raise NotFound(f"There is no file {file}.", hint="`recollect export FILE` writes one.")
    scope = scope_of(user)
    app.require_scope(scope)
    new, total = _read(app, app.reader(scope), source, lane)
    known = total - len(new)
    facts: dict[str, Json] = {
        "lines": total,
        "new": len(new),
        "known": known,
        "dry_run": app.dry_run,
    }
    if app.dry_run:
        return Summary(
            f"Would import {len(new):,} of {total:,} lines; {known:,} were already known.", facts
        )
    store, change = app.writer(scope), app.mint.draw("change")
    header = app.change_header("import", f"Imported {file}", change=change, actor=IMPORT_ACTOR)
    for start in range(0, len(new), _BATCH):
        store.apply(app.redact_plan(Plan(tuple(new[start : start + _BATCH]))), header)
        app.progress(min(total, known + start + _BATCH), total, "memories")
    app.log.line("import", change=change, scope=scope, lines=total, added=len(new))
    notes: tuple[str, ...] = ("`recollect undo` takes it back.",) if new else ()
    summary = f"Imported {len(new):,} of {total:,} lines; {known:,} were there already."
    notes += embed_imported(app)
    return Summary(summary, facts | {"change": change}, (*notes, *app.notes()))


def _read(
    app: App, store: Store, source: Path, lane: Lane | None
) -> tuple[list[Create | Link | Alias], int]:
    """What the lines ask for that is not here yet, and how many lines there are; BadImport at the first line that is
    wrong, or that needs an id not seen so far."""
    digest, count, ended, number = hashlib.sha256(), 0, False, 0
    new: list[Create | Link | Alias] = []
    ids: set[str] = set()
    try:
        for at, raw in enumerate(source.read_bytes().split(b"\n"), start=1):
            if not raw.strip():
                continue
            number = at
            if ended:
                raise ValueError("there is more after the end")
            try:
                data = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except json.JSONDecodeError as problem:
                raise ValueError(f"it is not JSON ({problem})") from None
            if not isinstance(data, dict):
                raise ValueError("it is not a JSON object")
            if not count and (data.get("type"), data.get("format")) != ("header", FORMAT):
                raise ValueError(f"this is not a {FORMAT} file")
            if not count and data.get("version") != VERSION:
                found = clip(str(data.get("version")), _MAX_PROBLEM_CHARS)
                raise BadInput(f"version {found} is not known", hint="Upgrade Recollect.")
            if data.get("type") == "end":
                ended = True
                if data.get("lines") != count or data.get("sha256") != digest.hexdigest():
                    raise ValueError("lines are missing or were changed")
                continue
            mark = checksum(data)
            if mark != data.get("sha256"):
                raise ValueError("its checksum does not hold: the line was changed")
            digest.update(mark.encode())
            new += _read_change(app, store, data, lane, ids) if count else ()
            count += 1
        number += 1
        if not ended:
            raise ValueError("the file ends too early")
    except BadInput as problem:
        raise BadImport(source.name, number, problem.message, hint=problem.hint) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise BadImport(
            source.name, number, clip(str(problem), _MAX_PROBLEM_CHARS), hint=_HINT
        ) from None
    except OSError as problem:
        raise NotFound(f"{source} cannot be read: {problem.strerror}.") from None
    return new, count - 1


def _read_change(
    app: App, store: Store, data: dict[str, Any], lane: Lane | None, ids: set[str]
) -> Iterator[Create | Link | Alias]:
    """What one line asks for, unless it is here; a memory that is here with other words keeps them. `ids`: those of the
    memories and messages in earlier lines."""

    def require(*needed: str) -> None:
        for id in needed:
            if id not in ids and store.get(id, follow=False) is None:
                raise ValueError(f"no memory has the id {clip(id, 80)!r}")

    match data["type"]:
        case "memory":
            memory, messages = (
                decode_memory(data["memory"]),
                decode(tuple[Message, ...], data["messages"]),
            )
            for id in (memory.id, *(m.id for m in messages)):
                if not (is_id if id == memory.id else is_message_id)(id):
                    raise ValueError(f"{clip(id, 80)!r} is not an id")
                if id in ids:
                    raise ValueError(f"{id} came before")
                ids.add(id)
            if any(m.thread_id != memory.id for m in messages):
                raise ValueError("a message belongs to another thread")
            lane = Lane.lowest(memory.lane, lane or memory.lane)
            most = max(_MOST_EXPORTED_CHARS, app.settings.count("MEMORY_MAX_BODY_CHARS"))
            body = app.redact_text("body", memory.body, max_chars=most)
            said = tuple(
                replace(m, content=app.redact_text("message", m.content, max_chars=most))
                for m in messages
            )
            if store.get(memory.id, follow=False) is None:
                yield Create(
                    replace(memory, title=storable(memory.title), body=body, lane=lane), said
                )
        case "bridge":
            bridge = decode(Bridge, data["bridge"])
            require(bridge.source, bridge.target)
            if bridge.key not in {b.key for b in store.bridges(bridge.source)}:
                yield Link(bridge)
        case "alias":
            old, new = str(data["old"]), str(data["new"])
            require(new)
            found = store.get(old)
            if found is None or found.id == old:
                yield Alias(old, new)
        case other:
            raise ValueError(f"type {other!r} is not known")

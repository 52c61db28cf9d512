"""Imports the memories of other programs: one change, one undo.

What comes in twice is one memory; what another program marked as a rule waits in the inbox, because nobody can tell any
more who said it. How each program's memories are read: integrations/foreign_memories.py.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.agents import default_agent
from recollect.app.agent_places import places
from recollect.app.core import IMPORT_ACTOR, MAX_TITLE_CHARS, MAX_TOPIC_CHARS, MAX_TOPICS, App
from recollect.base.errors import BadImport, BadInput, NotFound
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.text import clip, counted, one_line, storable, title_from
from recollect.capture import rule_relations
from recollect.capture.prompt_rules import find_rules
from recollect.capture.prompt_text import Action
from recollect.integrations import foreign_memories as foreign
from recollect.integrations.foreign_memories import ForeignLink, ForeignMemory
from recollect.model.codec import Json
from recollect.model.memory import Bridge, Kind, Message, Rule, Status, Thread
from recollect.model.plan import Create, Link, Plan
from recollect.model.result import Summary
from recollect.ops.memories import User, scope_of
from recollect.ops.table import Arg
from recollect.render.inject import without_ours

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_FILE_BYTES = 50_000_000
_MAX_LINE_CHARS = 5_000_000
_LINK_WEIGHT = 0.5
_MAX_SHOWN = 3
_NOTHING = "Nothing was imported."
_NESTED_TYPE = re.compile(r"^\s+type:\s*[\"']?([^\"'\s]+)", re.MULTILINE)

File = Annotated[str | None, Arg("Its file; the usual one if none is named.", metavar="[FILE]")]
Called = Annotated[str | None, Arg("What this project is called there, if not by its folder.", metavar="NAME")]


# From where


def claude_mem(app: App, file: File = None, *, called: Called = None, user: User = False) -> Summary:
    return _import_database(app, "claude-mem", file, called, user)


def claude_recall(app: App, file: File = None, *, called: Called = None, user: User = False) -> Summary:
    return _import_database(app, "claude-recall", file, called, user)


def _import_database(app: App, program: str, file: str | None, called: str | None, user: bool) -> Summary:
    from recollect.store.foreign import read_tables

    known = foreign.DATABASES[program]
    path = Path(file) if file else user_home(environment()) / known.file
    rows = read_tables(path, tuple(known.tables))
    if not rows:
        raise BadInput(f"{path} holds no {known.holds}.", hint=f"Is it the database of {program}?")
    found = [known.tables[table](row) for table, listed in rows.items() for row in listed]
    return _import(app, program, found, called=called, user=user)


def mcp_memory(
    app: App, file: Annotated[str, Arg("The server's file of JSON lines.", metavar="FILE")], *, user: User = False
) -> Summary:
    found: list[ForeignMemory | ForeignLink] = []
    for number, line in enumerate(_read_text(Path(file)).splitlines(), start=1):
        if line.strip():
            try:
                read = foreign.entity_or_relation(json.loads(line) if len(line) <= _MAX_LINE_CHARS else None)
            except (ValueError, RecursionError):
                read = None
            if read is None:
                raise BadImport(Path(file).name, number, "it is neither an entity nor a relation", hint=_NOTHING)
            found.append(read)
    return _import(app, "mcp-memory", found, user=user)


def memory_folder(
    app: App,
    folder: Annotated[str | None, Arg("Where it keeps its memory of this project, if elsewhere.", "[FOLDER]")] = None,
    *,
    user: User = False,
) -> Summary:
    from recollect.vault import front

    owner = default_agent()
    memory = None if folder else owner.own_memory(places(app))
    place = Path(folder) if folder else memory.folder if memory else Path()
    if not place.is_dir():
        raise NotFound(f"There is no folder {place}.", hint=f"{owner.TITLE} has noted nothing of this project yet.")
    found = []
    for path in sorted(place.glob("*.md")):
        if owner.is_rule_file_name(path.name) or path.name == (memory.index_file if memory else "MEMORY.md"):
            continue  # ours, or a list of the others
        text = _read_text(path)
        head, fields = front.find(text), dict[str, str]()
        if head:
            nested = _NESTED_TYPE.search(text[: head.end])  # newer files have it one level down
            fields = {"type": nested[1]} if nested else {}
            fields |= {name: one.value for name, one in head.fields.items() if isinstance(one.value, str)}
        at = Moment(path.stat().st_mtime_ns // 1_000)
        found.append(foreign.agent_note(path.name, fields, text[head.after :] if head else text, at))
    return _import(app, "memory-folder", found, user=user)


def rules_file(
    app: App,
    file: Annotated[str | None, Arg("A Markdown file of rules; the agent's own if none is named.", "[FILE]")] = None,
    *,
    user: User = False,
) -> Summary:
    paths = [Path(file)] if file else [path for path in default_agent().rule_files(places(app)) if path.is_file()]
    if not paths:
        raise NotFound("There is no file of rules here.", hint="Name one: `recollect import rules AGENTS.md`")
    items = [one for path in paths for one in foreign.rule_items(_read_text(path))]
    found = [one if one.junk or _is_instruction(one.body) else replace(one, junk="says nothing to do") for one in items]
    return _import(app, "rules", found, user=user)


def _is_instruction(text: str) -> bool:
    return foreign.is_order(text) or find_rules(without_ours(text)).verdict.action is not Action.DROPPED


def _read_text(path: Path) -> str:
    try:
        return read_limited(path, _MAX_FILE_BYTES, follow=True).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text.", hint=_NOTHING) from None
    except OSError as problem:
        raise NotFound(f"{path} cannot be read: {problem.strerror or problem}.", hint=_NOTHING) from None


# What is kept of it


@dataclass(slots=True)
class _Report:
    read: int = 0
    new: list[Create] = field(default_factory=list)
    junk: Counter[str] = field(default_factory=Counter)
    other_projects: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0  # they say what another one says
    known: int = 0
    secrets: Counter[str] = field(default_factory=Counter)

    @property
    def rules(self) -> int:
        return sum(one.memory.kind is Kind.RULE for one in self.new)


def _import(
    app: App,
    source: str,
    found: Sequence[ForeignMemory | ForeignLink],
    *,
    called: str | None = None,
    user: bool = False,
) -> Summary:
    scope = scope_of(user)
    app.require_scope(scope)
    every = [one for one in found if isinstance(one, ForeignMemory)]
    report, present, names = _Report(), _Present(app.reader(scope)), _project_names(app, called)
    ids: dict[str, str] = {}
    for report.read, one in enumerate(every, start=1):
        if one.project and one.project.casefold() not in names:
            report.other_projects[clip(one_line(one.project), 60)] += 1
        elif reason := foreign.why_left_out(one):
            report.junk[reason] += 1
        else:
            clean = _clean(app, one, report.secrets)
            ids.setdefault(clean.key, _keep(app, source, clean, present, report))
        app.progress(report.read, len(every), "memories")
    now = app.clock.now()
    links: dict[object, Bridge] = {}
    for tie in (one for one in found if isinstance(one, ForeignLink)):
        source_id, target_id = ids.get(tie.source), ids.get(tie.target)
        if source_id and target_id and source_id != target_id:
            bridge = Bridge(source_id, target_id, tie.type, _LINK_WEIGHT, now, "import")
            links.setdefault(bridge.key, bridge)

    def make(store: Store) -> Plan:
        fresh = [create for create in report.new if store.exact(create.memory.id) is None]
        new = {create.memory.id for create in fresh}
        return Plan.of([*fresh, *(Link(one) for one in links.values() if new & {one.source, one.target})])

    say = f"Imported {counted(len(report.new), 'memory', 'memories')} from {source}"
    done = app.commit(scope, "import", make, lambda _: say, actor=IMPORT_ACTOR)
    new, rules = len(report.new), report.rules
    facts: dict[str, Json] = {
        "source": source, "read": report.read, "new": new, "threads": new - rules, "rules": rules,
        "bridges": sum(isinstance(change, Link) for change in done.plan.changes), "known": report.known,
        "duplicates": report.duplicates, "junk": dict(report.junk), "secrets": dict(report.secrets),
        "other_projects": dict(report.other_projects), "change": done.change, "dry_run": app.dry_run,
    }  # fmt: skip
    return Summary("\n".join(_lines(app, source, report)), facts, tuple(_notes(report, bool(done.change))))


def _project_names(app: App, called: str | None) -> set[str]:
    root = app.project.root if app.project else None
    return {called.casefold()} if called else {root.name.casefold(), str(root).casefold()} if root else set()


def _clean(app: App, one: ForeignMemory, secrets: Counter[str]) -> ForeignMemory:
    def clean(text: str, max_chars: int) -> str:
        cleaned = app.redactor.clean(storable(text))
        secrets.update(dict(cleaned.found))
        return clip(cleaned.text, max_chars)

    body = clean(one.body, app.settings.count("MEMORY_MAX_BODY_CHARS"))
    title = one_line(clean(one.title, MAX_TITLE_CHARS)) or title_from(body)
    topics = (one_line(clean(topic, MAX_TOPIC_CHARS)) for topic in one.topics[:MAX_TOPICS])
    return replace(one, title=title, body=body or title, topics=tuple(dict.fromkeys(filter(None, topics))))


def _keep(app: App, source: str, one: ForeignMemory, present: _Present, report: _Report) -> str:
    """The id of what says this now: a new memory, or one that is here already."""
    now = app.clock.now()
    at = min(one.at or now, now)
    # The same id each time the same thing is read, where its day is known.
    mark = hashlib.sha256(f"{source}\n{one.key}".encode()).hexdigest()[:6]
    id = f"{one.kind}_{at.stamp()}_{mark}"
    known = present.find(one, id)
    if known is not None:
        if known in present.before:
            report.known += 1
        else:
            report.duplicates += 1
        return known
    present.add(one.kind, one.title, one.body, id)
    if one.kind is Kind.RULE:
        report.new.append(Create(Rule(
            id=id, title=title_from(one.body), body=one.body, topics=one.topics, tags=one.tags, rule_type=one.rule_type,
            status=Status.CANDIDATE, origin=source, lane=one.lane, created_at=at, reinforced_at=at, last_active_at=at,
        )))  # fmt: skip
    else:
        thread = Thread(
            id=id, title=one.title, body=one.body, topics=one.topics, tags=one.tags, origin=source, lane=one.lane,
            created_at=at, reinforced_at=now, last_active_at=at,  # imported history begins to fade when it is imported
        )  # fmt: skip
        message = Message(id.replace("thread", "message", 1), id, at, source, one.body)
        report.new.append(Create(thread, (message,)))
    return id


class _Present:
    """The ids of what is here, by what it says."""

    def __init__(self, store: Store) -> None:
        self._by_words: dict[tuple[Kind, str], str] = {}
        self._rules: list[tuple[str, str]] = []
        self.before: set[str] = set()  # what was here before this import
        for memory, _ in store.each():
            self.add(memory.kind, memory.title, memory.body, memory.id)
            self.before.add(memory.id)

    def add(self, kind: Kind, title: str, body: str, id: str) -> None:
        self._by_words.setdefault((kind, _words(kind, title, body)), id)
        if kind is Kind.RULE:
            self._rules.append((body, id))

    def find(self, one: ForeignMemory, id: str) -> str | None:
        if id in self.before:
            return id
        known = self._by_words.get((one.kind, _words(one.kind, one.title, one.body)))
        if known is None and one.kind is Kind.RULE:
            return next((known for body, known in self._rules if rule_relations.says_same(one.body, body)), None)
        return known


def _words(kind: Kind, title: str, body: str) -> str:
    """Rules are their words; threads of one text may still be two if they have two names."""
    return foreign.words_key(body if kind is Kind.RULE else f"{title}\n{body}")


# In words


def _lines(app: App, source: str, report: _Report) -> Iterator[str]:
    verb, new, rules = "Would import" if app.dry_run else "Imported", len(report.new), report.rules
    kinds = f"{counted(new - rules, 'thread')}, {counted(rules, 'rule')}"
    yield f"{verb} {counted(new, 'memory', 'memories')} of {report.read:,} from {source}: {kinds}."
    if report.known or report.duplicates:
        yield f"{report.known:,} are here already, {report.duplicates:,} say what another one says."
    if report.junk:
        yield "Not worth keeping: " + ", ".join(f"{many:,} {why}" for why, many in report.junk.most_common()) + "."
    if report.secrets:
        yield f"Secrets taken out: {', '.join(f'{kind} ({many})' for kind, many in report.secrets.most_common())}."
    for one in report.new[:_MAX_SHOWN] if app.dry_run else ():
        yield f"  {one.memory.kind}: {clip(one.memory.title, 100)}"


def _notes(report: _Report, has_written: bool) -> Iterator[str]:
    if report.other_projects:
        most = ", ".join(f"{name} ({many:,})" for name, many in report.other_projects.most_common(_MAX_SHOWN))
        yield (
            f"{report.other_projects.total():,} belong to other projects and were left: {most}. "
            "--called NAME says what this one is called there."
        )
    if report.rules:
        yield "The rules wait in the inbox: `recollect inbox`."
    if has_written:
        yield "`recollect undo` takes it back."

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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.agents import default_agent
from recollect.app.core import IMPORT_ACTOR, MAX_TITLE_CHARS, MAX_TOPIC_CHARS, MAX_TOPICS, App
from recollect.base.errors import BadImport, BadInput, NotFound
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.text import clip, counted, first_line_title, one_line, storable
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

File = Annotated[str | None, Arg("Its file; by default the usual one.", metavar="[FILE]")]
Called = Annotated[str | None, Arg("What this project is called there, if not by its folder.", metavar="NAME")]


# From where


def claude_mem(app: App, file: File = None, *, called: Called = None, user: User = False) -> Summary:
    return _import_database(app, "claude-mem", file, called, user)


def claude_recall(app: App, file: File = None, *, called: Called = None, user: User = False) -> Summary:
    return _import_database(app, "claude-recall", file, called, user)


def _import_database(app: App, program: str, file: str | None, called: str | None, user: bool) -> Summary:
    from recollect.store import read_tables

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
    place = Path(folder) if folder else owner.own_memory(app.places)[1]
    if not place.is_dir():
        raise NotFound(f"There is no folder {place}.", hint=f"{owner.TITLE} has no notes on this project yet.")
    found = []
    for path in sorted(place.glob("*.md")):
        if owner.is_rule_file_name(path.name) or path.name == owner.INDEX_FILE:
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
    file: Annotated[str | None, Arg("A Markdown file of rules; by default the agent's own.", "[FILE]")] = None,
    *,
    user: User = False,
) -> Summary:
    paths = [Path(file)] if file else [path for path in default_agent().rule_files(app.places) if path.is_file()]
    if not paths:
        raise NotFound("There is no file of rules here.", hint="Name one: `recollect import rules AGENTS.md`")
    items = [one for path in paths for one in foreign.rule_items(_read_text(path))]
    found = [one if one.junk or _is_instruction(one.body) else replace(one, junk="not an instruction") for one in items]
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
    root = app.project.root if app.project else None
    names = {called} if called else {root.name, str(root)} if root else set()
    work = _Import(app, source, app.reader(scope))
    every = [one for one in found if isinstance(one, ForeignMemory)]
    for work.read, one in enumerate(every, start=1):
        work.add(one, {name.casefold() for name in names})
        app.progress(work.read, len(every), "memories")
    links = work.make_links([one for one in found if isinstance(one, ForeignLink)])

    def make(store: Store) -> Plan:
        fresh = [create for create in work.new if store.get(create.memory.id, follow=False) is None]
        new = {create.memory.id for create in fresh}
        return Plan.of([*fresh, *(Link(one) for one in links if new & {one.source, one.target})])

    say = f"Imported {counted(len(work.new), 'memory', 'memories')} from {source}"
    done = app.commit(scope, "import", make, lambda _: say, actor=IMPORT_ACTOR)
    facts: dict[str, Json] = {
        "source": source, "read": work.read, "new": len(work.new), "threads": len(work.new) - work.rules,
        "rules": work.rules, "bridges": sum(isinstance(change, Link) for change in done.plan.changes),
        "known": work.known, "duplicates": work.duplicates, "junk": dict(work.junk), "secrets": dict(work.secrets),
        "other_projects": dict(work.other_projects), "change": done.change, "dry_run": app.dry_run,
    }  # fmt: skip
    undo = ("`recollect undo` takes it back.",) if done.change else ()
    return Summary("\n".join(work.lines()), facts, (*work.notes(), *undo))


class _Import:
    """One import: what is new, what is here already by what it says, and what is left out."""

    def __init__(self, app: App, source: str, store: Store) -> None:
        self._app, self._source, self._now = app, source, app.clock.now()
        self.new: list[Create] = []
        self.read = self.known = self.duplicates = 0
        self.junk: Counter[str] = Counter()
        self.other_projects: Counter[str] = Counter()
        self.secrets: Counter[str] = Counter()
        self._ids: dict[str, str] = {}  # by the keys of the other program
        self._by_words: dict[tuple[Kind, str], str] = {}
        self._rules: list[tuple[str, str]] = []
        for memory, _ in store.each():
            self._remember(memory.kind, memory.title, memory.body, memory.id)
        self._before = set(self._by_words.values())

    @property
    def rules(self) -> int:
        return sum(one.memory.kind is Kind.RULE for one in self.new)

    def add(self, one: ForeignMemory, project_names: set[str]) -> None:
        if one.project and one.project.casefold() not in project_names:
            self.other_projects[clip(one_line(one.project), 60)] += 1
            return
        if reason := foreign.why_left_out(one):
            self.junk[reason] += 1
            return
        one = self._clean(one)
        at = min(one.at or self._now, self._now)
        # The same id each time the same thing is read, where its day is known.
        mark = hashlib.sha256(f"{self._source}\n{one.key}".encode()).hexdigest()[:6]
        id = f"{one.kind}_{at.stamp()}_{mark}"
        known = self._find(one, id)
        self._ids.setdefault(one.key, known or id)
        if known is None:
            self._remember(one.kind, one.title, one.body, id)
            self.new.append(self._create(one, id, at))
        elif known in self._before:
            self.known += 1
        else:
            self.duplicates += 1

    def _clean(self, one: ForeignMemory) -> ForeignMemory:
        def clean(text: str, max_chars: int) -> str:
            cleaned = self._app.redactor.clean(storable(text))
            self.secrets.update(dict(cleaned.found))
            return clip(cleaned.text, max_chars)

        body = clean(one.body, self._app.settings.count("MEMORY_MAX_BODY_CHARS"))
        title = one_line(clean(one.title, MAX_TITLE_CHARS)) or first_line_title(body)
        topics = (one_line(clean(topic, MAX_TOPIC_CHARS)) for topic in one.topics[:MAX_TOPICS])
        return replace(one, title=title, body=body or title, topics=tuple(dict.fromkeys(filter(None, topics))))

    def _remember(self, kind: Kind, title: str, body: str, id: str) -> None:
        self._by_words.setdefault((kind, _words(kind, title, body)), id)
        if kind is Kind.RULE:
            self._rules.append((body, id))

    def _find(self, one: ForeignMemory, id: str) -> str | None:
        if id in self._before:
            return id
        known = self._by_words.get((one.kind, _words(one.kind, one.title, one.body)))
        if known is None and one.kind is Kind.RULE:
            return next((known for body, known in self._rules if rule_relations.says_same(one.body, body)), None)
        return known

    def _create(self, one: ForeignMemory, id: str, at: Moment) -> Create:
        if one.kind is Kind.RULE:
            return Create(Rule(
                id=id, title=first_line_title(one.body), body=one.body, topics=one.topics, tags=one.tags,
                rule_type=one.rule_type, status=Status.CANDIDATE, origin=self._source, lane=one.lane,
                created_at=at, reinforced_at=at, last_active_at=at,
            ))  # fmt: skip
        thread = Thread(
            id=id, title=one.title, body=one.body, topics=one.topics, tags=one.tags, origin=self._source, lane=one.lane,
            created_at=at, last_active_at=at, reinforced_at=self._now,  # it begins to fade when it is imported
        )  # fmt: skip
        return Create(thread, (Message(id.replace("thread", "message", 1), id, at, self._source, one.body),))

    def make_links(self, found: Sequence[ForeignLink]) -> list[Bridge]:
        links: dict[object, Bridge] = {}
        for one in found:
            source, target = self._ids.get(one.source), self._ids.get(one.target)
            if source and target and source != target:
                bridge = Bridge(source, target, one.type, _LINK_WEIGHT, self._now, "import")
                links.setdefault(bridge.key, bridge)
        return list(links.values())

    def lines(self) -> Iterator[str]:
        verb, new = "Would import" if self._app.dry_run else "Imported", len(self.new)
        kinds = f"{counted(new - self.rules, 'thread')}, {counted(self.rules, 'rule')}"
        yield f"{verb} {counted(new, 'memory', 'memories')} of {self.read:,} from {self._source}: {kinds}."
        if self.known or self.duplicates:
            yield f"{self.known:,} were already known; {self.duplicates:,} are duplicates."
        if self.junk:
            yield f"Not worth keeping: {', '.join(f'{many:,} {why}' for why, many in self.junk.most_common())}."
        if self.secrets:
            yield f"Secrets removed: {', '.join(f'{kind} ({many})' for kind, many in self.secrets.most_common())}."
        for one in self.new[:_MAX_SHOWN] if self._app.dry_run else ():
            yield f"  {one.memory.kind}: {clip(one.memory.title, 100)}"

    def notes(self) -> Iterator[str]:
        if self.other_projects:
            most = ", ".join(f"{name} ({many:,})" for name, many in self.other_projects.most_common(_MAX_SHOWN))
            others = f"Skipped {self.other_projects.total():,} from other projects: {most}."
            yield f"{others} If this project has another name there, pass --called NAME."
        if self.rules:
            yield "The rules wait in the inbox: `recollect inbox`."


def _words(kind: Kind, title: str, body: str) -> str:
    """Rules are their words; threads of one text may still be two if they have two names."""
    return foreign.words_key(body if kind is Kind.RULE else f"{title}\n{body}")

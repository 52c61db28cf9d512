"""Imports the memories of other programs: one change, one undo.

What comes in twice is one memory; what another program marked as a rule waits in the inbox, because nobody can tell any
more who said it. How each program's memories are read: integrations/foreign_memories.py.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from recollect.capture.draft import Action
from recollect.capture.import_filter import import_key, why_left_out
from recollect.capture.prompt_rules import find_rules
from recollect.integrations import foreign_memories as foreign
from recollect.model.codec import Json
from recollect.model.foreign_memory import ForeignLink, ForeignMemory
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

File = Annotated[str | None, Arg("Its file; the usual one if none is named.", metavar="[FILE]")]
Called = Annotated[str | None, Arg("What this project is called there, if not by its folder.", metavar="NAME")]


# From where


def claude_mem(app: App, file: File = None, *, called: Called = None, user: User = False) -> Summary:
    return _keep(app, "claude-mem", _database_rows("claude-mem", file), called=called, user=user)


def claude_recall(app: App, file: File = None, *, called: Called = None, user: User = False) -> Summary:
    return _keep(app, "claude-recall", _database_rows("claude-recall", file), called=called, user=user)


def _database_rows(program: str, file: str | None) -> Iterator[ForeignMemory]:
    from recollect.store.foreign import opened

    known = foreign.DATABASES[program]
    path = Path(file) if file else user_home(environment()) / known.file
    if not path.is_file():
        raise NotFound(f"There is no file {path}.", hint="Name it: `recollect import ... FILE`")
    with opened(path) as db:
        found = [(table, make) for table, make in known.tables if known.needs <= set(db.columns(table))]
        if not found:
            raise BadInput(f"{path} holds no {known.holds}.", hint=f"Is it the database of {program}?")
        for table, make in found:
            yield from map(make, db.rows(table))


def mcp_memory(
    app: App, file: Annotated[str, Arg("The server's file of JSON lines.", metavar="FILE")], *, user: User = False
) -> Summary:
    name = Path(file).name
    ties: list[ForeignLink] = []

    def read() -> Iterator[ForeignMemory]:
        for number, line in enumerate(_read_text(Path(file)).splitlines(), start=1):
            if not line.strip():
                continue
            match foreign.entity_or_relation(_parse_line(name, number, line)):
                case ForeignMemory() as one:
                    yield one
                case ForeignLink() as tie:
                    ties.append(tie)
                case None:
                    raise BadImport(name, number, "it is neither an entity nor a relation", hint=_NOTHING)

    return _keep(app, "mcp-memory", read(), user=user, ties=ties)


def memory_folder(
    app: App,
    folder: Annotated[str | None, Arg("Where it keeps its memory of this project, if elsewhere.", "[FOLDER]")] = None,
    *,
    user: User = False,
) -> Summary:
    from recollect.vault import front

    speaks = default_agent()
    memory = None if folder else speaks.own_memory(places(app))
    place = Path(folder) if folder else memory.folder if memory else Path()
    if not place.is_dir():
        raise NotFound(f"There is no folder {place}.", hint=f"{speaks.TITLE} has noted nothing of this project yet.")

    def read() -> Iterator[ForeignMemory]:
        for path in sorted(place.glob("*.md")):
            if speaks.is_rule_file_name(path.name) or path.name == (memory.index_file if memory else "MEMORY.md"):
                continue  # ours, or a list of the others
            text = _read_text(path)
            head = front.find(text)
            fields = (
                {name: one.value for name, one in head.fields.items() if isinstance(one.value, str)} if head else {}
            )
            sort = _nested_type(text[: head.end]) if head else ""
            at = Moment(path.stat().st_mtime_ns // 1_000)
            yield foreign.agent_note(path.name, {"type": sort} | fields, text[head.after :] if head else text, at)

    return _keep(app, "memory-folder", read(), user=user)


def rules_file(
    app: App,
    file: Annotated[str | None, Arg("A Markdown file of rules; the agent's own if none is named.", "[FILE]")] = None,
    *,
    user: User = False,
) -> Summary:
    if file:
        paths: tuple[Path, ...] = (Path(file),)
    else:
        paths = tuple(path for path in default_agent().rule_files(places(app)) if path.is_file())
        if not paths:
            raise NotFound("There is no file of rules here.", hint="Name one: `recollect import rules AGENTS.md`")

    def read() -> Iterator[ForeignMemory]:
        for path in paths:
            for one in foreign.rule_items(_read_text(path)):
                yield one if one.junk or _tells_what_to_do(one.body) else replace(one, junk="says nothing to do")

    return _keep(app, "rules", read(), user=user)


def _tells_what_to_do(text: str) -> bool:
    return foreign.is_order(text) or find_rules(without_ours(text)).verdict.action is not Action.DROPPED


def _nested_type(head: str) -> str:
    """Newer files have it one level down, where the vault's reader does not look."""
    for line in head.splitlines():
        name, colon, value = line.strip().partition(":")
        if colon and name == "type":
            return value.strip().strip("\"'")
    return ""


def _read_text(path: Path) -> str:
    try:
        return read_limited(path, _MAX_FILE_BYTES, follow=True).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text.", hint=_NOTHING) from None
    except OSError as problem:
        raise NotFound(f"{path} cannot be read: {problem.strerror or problem}.", hint=_NOTHING) from None


def _parse_line(name: str, number: int, line: str) -> dict[str, object]:
    try:
        found = json.loads(line) if len(line) <= _MAX_LINE_CHARS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadImport(name, number, "it is no JSON object", hint=_NOTHING)
    return found


# What is kept of it


@dataclass(slots=True)
class _Report:
    read: int = 0
    wanted: list[ForeignMemory] = field(default_factory=list)
    junk: Counter[str] = field(default_factory=Counter)
    other_projects: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0  # they say what another one says
    known: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    ids: dict[str, str] = field(default_factory=dict)
    """By key: of those that come in, and of those that are here already."""

    @property
    def rules(self) -> int:
        return sum(one.kind is Kind.RULE for one in self.wanted)


def _keep(
    app: App, source: str, found: Iterable[ForeignMemory], *, called: str | None = None, user: bool = False,
    ties: Sequence[ForeignLink] = (),
) -> Summary:  # fmt: skip
    scope = scope_of(user)
    app.require_scope(scope)
    report, names = _Report(), _project_names(app, called)
    every = list(found)  # all of it is read before anything is written
    present = _Present(app.reader(scope))
    for number, one in enumerate(every, start=1):
        _sort(app, source, one, names, present, report)
        app.progress(number, len(every), "memories")
    now = app.clock.now()

    def make(store: Store) -> Plan:
        made = [_create(source, one, report.ids[one.key], now) for one in report.wanted]
        fresh = [create for create in made if store.exact(create.memory.id) is None]
        new = {create.memory.id for create in fresh}
        links = [bridge for bridge in _links(ties, report.ids, now) if new & {bridge.source, bridge.target}]
        return Plan.of([*fresh, *map(Link, links)])

    say = f"Imported {counted(len(report.wanted), 'memory', 'memories')} from {source}"
    done = app.commit(scope, "import", make, lambda _: say, actor=IMPORT_ACTOR)
    new, rules = len(report.wanted), report.rules
    facts: dict[str, Json] = {
        "source": source, "read": report.read, "new": new, "threads": new - rules, "rules": rules,
        "bridges": sum(isinstance(change, Link) for change in done.plan.changes), "known": report.known,
        "duplicates": report.duplicates, "junk": dict(report.junk), "secrets": dict(report.secrets),
        "other_projects": dict(report.other_projects), "change": done.change, "dry_run": app.dry_run,
    }  # fmt: skip
    return Summary("\n".join(_lines(app, source, report)), facts, tuple(_notes(report, bool(done.change))))


def _project_names(app: App, called: str | None) -> frozenset[str]:
    if called:
        return frozenset({called.casefold()})
    root = app.project.root if app.project else None
    return frozenset({root.name.casefold(), str(root).casefold()}) if root else frozenset()


def _sort(app: App, source: str, one: ForeignMemory, names: frozenset[str], present: _Present, report: _Report) -> None:
    report.read += 1
    if one.project and one.project.casefold() not in names:
        report.other_projects[clip(one_line(one.project), 60)] += 1
        return
    if reason := why_left_out(one):
        report.junk[reason] += 1
        return
    clean = _clean(app, one, report.secrets)
    # The same each time the same thing is read, where its day is known.
    mark = hashlib.sha256(f"{source}\n{clean.key}".encode()).hexdigest()[:6]
    id = f"{clean.kind}_{min(clean.at or app.clock.now(), app.clock.now()).stamp()}_{mark}"
    known = present.find(clean, id)
    report.ids.setdefault(clean.key, known or id)
    if known is None:
        present.add(clean.kind, clean.title, clean.body, id)
        report.wanted.append(clean)
    elif known in present.before:
        report.known += 1
    else:
        report.duplicates += 1


def _clean(app: App, one: ForeignMemory, secrets: Counter[str]) -> ForeignMemory:
    def clean(text: str, most: int) -> str:
        cleaned = app.redactor.clean(storable(text))
        secrets.update(dict(cleaned.found))
        return clip(cleaned.text, most)

    body = clean(one.body, app.settings.count("MEMORY_MAX_BODY_CHARS"))
    title = one_line(clean(one.title, MAX_TITLE_CHARS)) or title_from(body)
    topics = (one_line(clean(topic, MAX_TOPIC_CHARS)) for topic in one.topics[:MAX_TOPICS])
    return replace(
        one, title=title, body=body or title, topics=tuple(dict.fromkeys(topic for topic in topics if topic))
    )


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
    return import_key(body) if kind is Kind.RULE else import_key(f"{title}\n{body}")


def _create(source: str, one: ForeignMemory, id: str, now: Moment) -> Create:
    at = min(one.at or now, now)
    if one.kind is Kind.RULE:
        return Create(Rule(
            id=id, title=title_from(one.body), body=one.body, topics=one.topics, tags=one.tags, rule_type=one.rule_type,
            status=Status.CANDIDATE, origin=source, lane=one.lane, created_at=at, reinforced_at=at, last_active_at=at,
        ))  # fmt: skip
    thread = Thread(
        id=id, title=one.title, body=one.body, topics=one.topics, tags=one.tags, origin=source, lane=one.lane,
        created_at=at, reinforced_at=now, last_active_at=at,  # imported history begins to fade when it is imported
    )  # fmt: skip
    return Create(thread, (Message(id.replace("thread", "message", 1), id, at, source, one.body),))


def _links(ties: Sequence[ForeignLink], ids: dict[str, str], now: Moment) -> list[Bridge]:
    found: dict[object, Bridge] = {}
    for tie in ties:
        source, target = ids.get(tie.source), ids.get(tie.target)
        if source and target and source != target:
            bridge = Bridge(source, target, foreign.link_type(tie.word), _LINK_WEIGHT, now, "import")
            found.setdefault(bridge.key, bridge)
    return list(found.values())


# In words


def _lines(app: App, source: str, report: _Report) -> Iterator[str]:
    verb, new, rules = "Would import" if app.dry_run else "Imported", len(report.wanted), report.rules
    yield f"{verb} {counted(new, 'memory', 'memories')} of {report.read:,} from {source}: " + (
        f"{counted(new - rules, 'thread')}, {counted(rules, 'rule')}."
    )
    if report.known or report.duplicates:
        yield f"{report.known:,} are here already, {report.duplicates:,} say what another one says."
    if report.junk:
        yield "Not worth keeping: " + ", ".join(f"{many:,} {why}" for why, many in report.junk.most_common()) + "."
    if report.secrets:
        kinds = ", ".join(f"{kind} ({many})" for kind, many in report.secrets.most_common())
        yield f"Secrets taken out: {kinds}."
    for one in report.wanted[:_MAX_SHOWN] if app.dry_run else ():
        yield f"  {one.kind}: {clip(one.title, 100)}"


def _notes(report: _Report, has_written: bool) -> Iterator[str]:
    if report.other_projects:
        most = ", ".join(f"{name} ({many:,})" for name, many in report.other_projects.most_common(_MAX_SHOWN))
        yield (
            f"{sum(report.other_projects.values()):,} belong to other projects and were left: {most}. "
            "--called NAME says what this one is called there."
        )
    if report.rules:
        yield "The rules wait in the inbox: `recollect inbox`."
    if has_written:
        yield "`recollect undo` takes it back."

"""Imports the memories of other programs (integrations/foreign_memories.py reads them): one change, one undo. What
comes in twice is one memory; what was a rule there waits in the inbox, because nobody can tell any more who said it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.agents import default_agent
from recollect.app.core import IMPORT_ACTOR, MAX_TITLE_CHARS, MAX_TOPIC_CHARS, MAX_TOPICS, App
from recollect.base.errors import BadImport, BadInput, NotFound
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.structs import replace
from recollect.base.text import clip, counted, first_line_title, one_line, storable
from recollect.capture import rule_relations
from recollect.capture.prompt_rules import find_rules
from recollect.capture.prompt_text import Action
from recollect.capture.rule_facts import rule_key
from recollect.integrations import foreign_memories as foreign
from recollect.integrations.foreign_memories import ForeignLink, ForeignMemory
from recollect.model.codec import Json
from recollect.model.memory import Bridge, Kind, Memory, Message, Rule, Status, Thread
from recollect.model.plan import Create, Link, Plan
from recollect.model.result import Summary
from recollect.ops.memories import User, scope_of
from recollect.ops.table import Arg
from recollect.ops.upkeep import embed_imported
from recollect.render.inject import without_ours

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_SHOWN = 3
_MOST_RULES = 2_000  # of one file: each is judged
_CUT_MARGIN_CHARS = 20_000  # redaction makes a text shorter
_NO_RULE = "not an instruction"
_NOTHING = "Nothing was imported."
_NESTED_TYPE = re.compile(r"^\s+type:\s*[\"']?([^\"'\s]+)", re.MULTILINE)

File = Annotated[str | None, Arg("Its file; by default the usual one.", metavar="[FILE]")]
Called = Annotated[
    str | None, Arg("What this project is called there, if not by its folder.", metavar="NAME")
]


def claude_mem(
    app: App, file: File = None, *, called: Called = None, user: User = False
) -> Summary:
    return _import_database(app, "claude-mem", file, called, user)


def claude_recall(
    app: App, file: File = None, *, called: Called = None, user: User = False
) -> Summary:
    return _import_database(app, "claude-recall", file, called, user)


def _import_database(
    app: App, program: str, file: str | None, called: str | None, user: bool
) -> Summary:
    from recollect.store import read_tables

    usual, tables = foreign.DATABASES[program]
    path = Path(file) if file else user_home(environment()) / usual
    rows = read_tables(path, tuple(tables))
    if not rows:
        raise BadInput(f"{path} holds no memories.", hint=f"Is it the database of {program}?")
    found = [tables[table](row) for table, listed in rows.items() for row in listed]
    return _import(app, program, found, called=called, user=user)


def mcp_memory(
    app: App,
    file: Annotated[str, Arg("The server's file of JSON lines.", metavar="FILE")],
    *,
    user: User = False,
) -> Summary:
    found: list[ForeignMemory | ForeignLink] = []
    for number, line in enumerate(_read_text(app, Path(file)).splitlines(), start=1):
        if line.strip():
            try:
                read = foreign.entity_or_relation(
                    json.loads(line) if len(line) <= 5_000_000 else None
                )
            except (ValueError, RecursionError):
                read = None
            if read is None:
                raise BadImport(
                    Path(file).name, number, "it is neither an entity nor a relation", hint=_NOTHING
                )
            found.append(read)
    return _import(app, "mcp-memory", found, user=user)


def memory_folder(
    app: App,
    folder: Annotated[
        str | None, Arg("Where it keeps its memory of this project, if elsewhere.", "[FOLDER]")
    ] = None,
    *,
    user: User = False,
) -> Summary:
    from recollect.vault import dialects

    owner = default_agent()
    place = Path(folder) if folder else owner.own_memory(app.places)[1]
    if not place.is_dir():
        raise NotFound(
            f"There is no folder {place}.", hint=f"{owner.TITLE} has no notes on this project yet."
        )
    found = []
    for path in sorted(place.glob("*.md")):
        if owner.is_rule_file_name(path.name) or path.name == owner.INDEX_FILE:
            continue  # ours, or a list of the others
        text = _read_text(app, path)
        head, fields = dialects.find_front(text), dict[str, str]()
        if head:
            nested = _NESTED_TYPE.search(text[: head.end])  # newer files have it one level down
            fields = {"type": nested[1]} if nested else {}
            fields |= {
                name: one.value for name, one in head.fields.items() if isinstance(one.value, str)
            }
        at = Moment(path.stat().st_mtime_ns // 1_000)
        found.append(
            foreign.agent_note(path.name, fields, text[head.after :] if head else text, at)
        )
    return _import(app, "memory-folder", found, user=user)


def rules_file(
    app: App,
    file: Annotated[
        str | None, Arg("A Markdown file of rules; by default the agent's own.", "[FILE]")
    ] = None,
    *,
    user: User = False,
) -> Summary:
    paths = (
        [Path(file)]
        if file
        else [path for path in default_agent().rule_files(app.places) if path.is_file()]
    )
    if not paths:
        raise NotFound(
            "There is no file of rules here.", hint="Name one: `recollect import rules AGENTS.md`"
        )
    found = []
    # The same words are judged once, however often a file repeats them.
    is_rule: dict[str, bool] = {}
    for one in (item for path in paths for item in _rule_items(app, path)):
        if one.body not in is_rule:
            is_rule[one.body] = _is_rule(one.body)
        found.append(one if one.junk or is_rule[one.body] else replace(one, junk=_NO_RULE))
    return _import(app, "rules", found, user=user)


def _rule_items(app: App, path: Path) -> list[foreign.ForeignMemory]:
    items = foreign.rule_items(_read_text(app, path), at_most=_MOST_RULES + 1)
    if len(items) > _MOST_RULES:
        raise BadInput(
            f"{path} lists more than {_MOST_RULES:,} items.",
            hint=f"{_NOTHING} Name one with at most that many: nobody follows more rules.",
        )
    return items


def _is_rule(words: str) -> bool:
    if foreign.ORDER.match(words):
        return True
    return find_rules(without_ours(words)).verdict.action is not Action.DROPPED


def _read_text(app: App, path: Path) -> str:
    """A file in the project may be a stranger's link to a private one, so it is followed within the project alone."""
    root = app.project.root if app.project else None
    target = Path(os.path.realpath(path))
    is_inside = root is not None and Path(os.path.abspath(path)).is_relative_to(root)
    if root is not None and is_inside and not target.is_relative_to(root):
        raise BadInput(
            f"{path} leads out of the project, to {target}.", hint="Name that file itself."
        )
    try:
        return read_limited(path, 50_000_000, follow=True).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text.", hint=_NOTHING) from None
    except OSError as problem:
        raise NotFound(
            f"{path} cannot be read: {problem.strerror or problem}.", hint=_NOTHING
        ) from None


def _import(
    app: App,
    source: str,
    found: Sequence[ForeignMemory | ForeignLink],
    *,
    called: str | None = None,
    user: bool,
) -> Summary:
    scope = scope_of(user)
    app.require_scope(scope)
    root = app.project.root if app.project else None
    names = {called} if called else {root.name, str(root)} if root else set()
    work = _Import(app, source, app.reader(scope), {name.casefold() for name in names})
    every = [one for one in found if isinstance(one, ForeignMemory)]
    for number, one in enumerate(every, start=1):
        work.add(one)
        app.progress(number, len(every), "memories")
    links: dict[object, Bridge] = {}
    for link in (one for one in found if isinstance(one, ForeignLink)):
        a, b = work.ids.get(link.source), work.ids.get(link.target)
        if a and b and a != b:
            links[a, b, link.type] = Bridge(a, b, link.type, 0.5, work.now, "import")

    def make(store: Store) -> Plan:
        fresh = [create for create in work.new if store.get(create.memory.id, follow=False) is None]
        new = {create.memory.id for create in fresh}
        return Plan.of(
            [*fresh, *(Link(one) for one in links.values() if new & {one.source, one.target})]
        )

    many = counted(len(work.new), "memory", "memories")
    done = app.commit(
        scope, "import", make, lambda _: f"Imported {many} from {source}", actor=IMPORT_ACTOR
    )
    rules = sum(one.memory.kind is Kind.RULE for one in work.new)
    facts: dict[str, Json] = {
        "source": source, "read": len(every), "new": len(work.new), "threads": len(work.new) - rules, "rules": rules,
        "bridges": sum(isinstance(change, Link) for change in done.plan.changes), "known": work.known,
        "duplicates": work.duplicates, "junk": dict(work.junk), "secrets": dict(work.secrets),
        "other_projects": dict(work.other_projects), "change": done.change, "dry_run": app.dry_run,
    }  # fmt: skip
    verb = "Would import" if app.dry_run else "Imported"
    kinds = f"{counted(len(work.new) - rules, 'thread')}, {counted(rules, 'rule')}"
    lines = [f"{verb} {many} of {len(every):,} from {source}: {kinds}."]
    known, twice = work.known, work.duplicates
    if known:
        lines.append(f"{known:,} {'was' if known == 1 else 'were'} already known.")
    if twice:
        lines.append(f"{twice:,} {'is a duplicate' if twice == 1 else 'are duplicates'}.")
    if work.junk:
        lines.append(
            f"Not worth keeping: {', '.join(f'{many:,} {why}' for why, many in work.junk.most_common())}."
        )
    if work.secrets:
        lines.append(
            f"Secrets removed: {', '.join(f'{kind} ({many})' for kind, many in work.secrets.most_common())}."
        )
    if app.dry_run:
        lines += [
            f"  {one.memory.kind}: {clip(one.memory.title, 100)}" for one in work.new[:_MAX_SHOWN]
        ]
    notes = ["The rules wait in the inbox: `recollect inbox`."] if rules else []
    notes += ["`recollect undo` takes it back."] if done.change else []
    if work.other_projects:
        most = ", ".join(
            f"{name} ({many:,})" for name, many in work.other_projects.most_common(_MAX_SHOWN)
        )
        others = f"Skipped {work.other_projects.total():,} from other projects: {most}."
        notes.insert(0, f"{others} If this project has another name there, pass --called NAME.")
    notes += embed_imported(app)
    return Summary("\n".join(lines), facts, tuple(notes))


class _Import:
    """One import: what is new, what is here already by what it says, and what is left out."""

    def __init__(self, app: App, source: str, store: Store, project_names: set[str]) -> None:
        self._app, self._source, self._project_names = app, source, project_names
        self.now = app.clock.now()
        self.new: list[Create] = []
        self.known = self.duplicates = 0
        self.junk, self.other_projects, self.secrets = (
            Counter[str](),
            Counter[str](),
            Counter[str](),
        )
        self.ids: dict[str, str] = {}  # by the keys of the other program
        self._by_words: dict[tuple[Kind, str], str] = {}
        self._rules: list[tuple[str, str]] = []
        self._new_ids: set[str] = set()
        for memory, _ in store.each():
            self._remember(memory, memory.id)
        self._before = set(self._by_words.values())

    def add(self, one: ForeignMemory) -> None:
        if one.project and one.project.casefold() not in self._project_names:
            self.other_projects[clip(one_line(one.project), 60)] += 1
            return
        if reason := foreign.why_left_out(one):
            self.junk[reason] += 1
            return
        body = self._clean(one.body, self._app.settings.count("MEMORY_MAX_BODY_CHARS"))
        title = one_line(self._clean(one.title, MAX_TITLE_CHARS)) or first_line_title(body)
        topics = (
            one_line(self._clean(topic, MAX_TOPIC_CHARS)) for topic in one.topics[:MAX_TOPICS]
        )
        one = replace(
            one, title=title, body=body or title, topics=tuple(dict.fromkeys(filter(None, topics)))
        )
        at = min(one.at or self.now, self.now)
        # The same id each time the same thing is read, where its day is known.
        id = self._id(one, at, one.key)
        if id in self._new_ids:  # that program has two of one name
            id = self._id(one, at, f"{one.key}\n{one.body}")
        known = id if id in self._before else self._by_words.get(_words(one))
        if known is None and one.kind is Kind.RULE:
            known = next((id for body, id in self._rules if _says_same(one.body, body)), None)
        self.ids.setdefault(one.key, known or id)
        if known is None:
            self._remember(one, id)
            self._new_ids.add(id)
            self.new.append(self._create(one, id, at))
        elif known in self._before:
            self.known += 1
        else:
            self.duplicates += 1

    def _id(self, one: ForeignMemory, at: Moment, key: str) -> str:
        mark = hashlib.sha256(f"{self._source}\n{key}".encode()).hexdigest()[:6]
        return f"{one.kind}_{at.stamp()}_{mark}"

    def _clean(self, text: str, max_chars: int) -> str:
        """Redacted, and cut. What is far beyond the cut is not looked at, because none of it is kept."""
        if len(text) > max_chars + _CUT_MARGIN_CHARS:
            text = self._app.redactor.without_private(text)[: max_chars + _CUT_MARGIN_CHARS]
            text = text.rpartition("\n" if "\n" in text else " ")[
                0
            ]  # a secret is left whole or out
        cleaned = self._app.redactor.clean(storable(text))
        self.secrets.update(dict(cleaned.found))
        return clip(cleaned.text, max_chars)

    def _remember(self, one: Memory | ForeignMemory, id: str) -> None:
        self._by_words.setdefault(_words(one), id)
        if one.kind is Kind.RULE:
            self._rules.append((one.body, id))

    def _create(self, one: ForeignMemory, id: str, at: Moment) -> Create:
        if one.kind is Kind.RULE:
            return Create(Rule(
                id=id, title=first_line_title(one.body), body=one.body, topics=one.topics, tags=one.tags,
                rule_type=one.rule_type, status=Status.CANDIDATE, origin=self._source, lane=one.lane,
                created_at=at, reinforced_at=at, last_active_at=at,
            ))  # fmt: skip
        thread = Thread(
            id=id, title=one.title, body=one.body, topics=one.topics, tags=one.tags, origin=self._source, lane=one.lane,
            created_at=at, last_active_at=at, reinforced_at=self.now,  # it begins to fade when it is imported
        )  # fmt: skip
        return Create(
            thread, (Message(id.replace("thread", "message", 1), id, at, self._source, one.body),)
        )


def _says_same(new: str, known: str) -> bool:
    is_same = foreign.exact_names(new) == foreign.exact_names(known)
    return is_same and rule_relations.says_same(new, known)


def _words(one: Memory | ForeignMemory) -> tuple[Kind, str]:
    """Rules are their words; threads of one text may still be two if they have two names."""
    if one.kind is Kind.RULE:
        return one.kind, rule_key(one.body)
    return one.kind, foreign.words_key(f"{one.title}\n{one.body}")

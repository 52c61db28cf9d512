"""Sifts what other programs remembered, and makes memories of what is worth it: one change, one undo.

What comes in twice is one memory; what another program marked as a rule waits in the inbox, because nobody can tell any
more who said it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.base.text import clip, counted, one_line, storable, title_from
from recollect.capture import contrast
from recollect.capture.others import mcp_memory
from recollect.capture.sift import junk, likeness
from recollect.model.bridge import Bridge
from recollect.model.brought import Brought, Tie
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Message, Rule, Status, Thread
from recollect.model.plan import Create, Link, Plan
from recollect.model.result import Told
from recollect.ops.app import IMPORT_ACTOR, MAX_TITLE_CHARS, MAX_TOPIC_CHARS, MAX_TOPICS, App
from recollect.ops.memories import scope_of

if TYPE_CHECKING:
    from recollect.store import Store

_TIE_WEIGHT = 0.5
_SHOWN = 3


@dataclass(slots=True)
class _Sifted:
    read: int = 0
    wanted: list[Brought] = field(default_factory=list)
    junk: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    """Of other projects, by name."""
    copies: int = 0
    known: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    ids: dict[str, str] = field(default_factory=dict)
    """Of each key: those that come in, and those that are here already."""


def taken(
    app: App, source: str, found: Iterable[Brought], *, called: str | None = None, user: bool = False,
    ties: Sequence[Tie] = (),
) -> Told:  # fmt: skip
    scope = scope_of(user)
    app.must_have_a_place(scope)
    sifted = _Sifted()
    names = _names(app, called)
    every = list(found)  # all of it is read before anything is written
    standing = _Standing(app.reading(scope))
    for number, one in enumerate(every, start=1):
        _sift(app, source, one, names, standing, sifted)
        app.progress(number, len(every))
    now = app.clock.now()

    def make(store: Store) -> Plan:
        made = [_memory(source, one, sifted.ids[one.key], now) for one in sifted.wanted]
        fresh = [create for create in made if store.exact(create.memory.id) is None]
        here = {create.memory.id for create in fresh}
        links = [bridge for bridge in _bridges(ties, sifted.ids, now) if here & {bridge.source, bridge.target}]
        return Plan.of([*fresh, *map(Link, links)])

    rules = sum(one.kind is Kind.RULE for one in sifted.wanted)
    say = f"Imported {counted(len(sifted.wanted), 'memory', 'memories')} from {source}"
    done = app.commit(scope, "import", make, lambda _: say, actor=IMPORT_ACTOR)
    facts: dict[str, Json] = {
        "source": source, "read": sifted.read, "new": len(sifted.wanted), "threads": len(sifted.wanted) - rules,
        "rules": rules, "bridges": sum(isinstance(change, Link) for change in done.plan.changes),
        "known": sifted.known, "duplicates": sifted.copies, "junk": dict(sifted.junk), "secrets": dict(sifted.secrets),
        "other_projects": dict(sifted.elsewhere), "change": done.change, "dry_run": app.dry_run,
    }  # fmt: skip
    return Told("\n".join(_lines(app, source, sifted, rules)), facts, tuple(_notes(sifted, rules, bool(done.change))))


def _names(app: App, called: str | None) -> frozenset[str]:
    if called:
        return frozenset({called.casefold()})
    root = app.project.root if app.project else None
    return frozenset({root.name.casefold(), str(root).casefold()}) if root else frozenset()


def _sift(app: App, source: str, one: Brought, names: frozenset[str], standing: _Standing, into: _Sifted) -> None:
    into.read += 1
    if one.project and one.project.casefold() not in names:
        into.elsewhere[clip(one_line(one.project), 60)] += 1
        return
    if reason := junk(one):
        into.junk[reason] += 1
        return
    clean = _cleaned(app, one, into.secrets)
    id = _id(source, clean, app.clock.now())
    known = standing.has(clean, id)
    if known is not None:
        into.ids.setdefault(clean.key, known.id)
        into.known += known.is_old
        into.copies += not known.is_old
        return
    standing.add(clean, id)
    into.ids[clean.key] = id
    into.wanted.append(clean)


def _cleaned(app: App, one: Brought, secrets: Counter[str]) -> Brought:
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


def _id(source: str, one: Brought, now: Moment) -> str:
    """The same each time the same thing is read, where its day is known."""
    mark = hashlib.sha256(f"{source}\n{one.key}".encode()).hexdigest()[:6]
    return f"{one.kind}_{min(one.at or now, now).stamp()}_{mark}"


@dataclass(frozen=True, slots=True)
class _Known:
    id: str
    is_old: bool
    """It was here before this import."""


class _Standing:
    """What is here, by id and by what it says."""

    def __init__(self, store: Store) -> None:
        self._ids: set[str] = set()
        self._said: dict[tuple[Kind, str], _Known] = {}
        self._rules: list[tuple[str, _Known]] = []
        for memory, _ in store.each():
            self._put(memory.kind, memory.title, memory.body, _Known(memory.id, is_old=True))

    def _put(self, kind: Kind, title: str, body: str, known: _Known) -> None:
        self._ids.add(known.id)
        self._said.setdefault((kind, _words(kind, title, body)), known)
        if kind is Kind.RULE:
            self._rules.append((body, known))

    def add(self, one: Brought, id: str) -> None:
        self._put(one.kind, one.title, one.body, _Known(id, is_old=False))

    def has(self, one: Brought, id: str) -> _Known | None:
        if id in self._ids:
            return _Known(id, is_old=True)
        if said := self._said.get((one.kind, _words(one.kind, one.title, one.body))):
            return said
        if one.kind is not Kind.RULE:
            return None
        return next((known for body, known in self._rules if contrast.same(one.body, body)), None)


def _words(kind: Kind, title: str, body: str) -> str:
    """Rules are their words; threads of one text may still be two if they have two names."""
    return likeness(body) if kind is Kind.RULE else likeness(f"{title}\n{body}")


# Making


def _memory(source: str, one: Brought, id: str, now: Moment) -> Create:
    at = min(one.at or now, now)
    memory: Memory
    if one.kind is Kind.RULE:
        memory = Rule(
            id=id, title=title_from(one.body), body=one.body, topics=one.topics, tags=one.tags, rule_type=one.rule_type,
            status=Status.CANDIDATE, origin=source, lane=one.lane, created_at=at, reinforced_at=at, last_active_at=at,
        )  # fmt: skip
        return Create(memory)
    memory = Thread(
        id=id, title=one.title, body=one.body, topics=one.topics, tags=one.tags, origin=source, lane=one.lane,
        created_at=at, reinforced_at=now, last_active_at=at,  # imported history begins to fade when it is imported
    )  # fmt: skip
    return Create(memory, (Message(id.replace("thread", "message", 1), id, at, source, one.body),))


def _bridges(ties: Sequence[Tie], ids: dict[str, str], now: Moment) -> Iterator[Bridge]:
    said: set[tuple[str, str, str]] = set()
    for tie in ties:
        source, target = ids.get(tie.source), ids.get(tie.target)
        if source and target and source != target:
            bridge = Bridge(source, target, mcp_memory.bridge_type(tie.word), _TIE_WEIGHT, now, "import")
            if bridge.key not in said:
                said.add(bridge.key)
                yield bridge


# Saying


def _lines(app: App, source: str, sifted: _Sifted, rules: int) -> Iterator[str]:
    word = "Would import" if app.dry_run else "Imported"
    new = len(sifted.wanted)
    yield f"{word} {counted(new, 'memory', 'memories')} of {sifted.read:,} from {source}: " + (
        f"{counted(new - rules, 'thread')}, {counted(rules, 'rule')}."
    )
    if sifted.known or sifted.copies:
        yield f"{sifted.known:,} are here already, {sifted.copies:,} say what another one says."
    if sifted.junk:
        yield "Junk: " + ", ".join(f"{many:,} {why}" for why, many in sifted.junk.most_common()) + "."
    if sifted.secrets:
        kinds = ", ".join(f"{kind} ({many})" for kind, many in sifted.secrets.most_common())
        yield f"Secrets taken out: {kinds}."
    for one in sifted.wanted[:_SHOWN] if app.dry_run else ():
        yield f"  {one.kind}: {clip(one.title, 100)}"


def _notes(sifted: _Sifted, rules: int, wrote: bool) -> Iterator[str]:
    if sifted.elsewhere:
        most = ", ".join(f"{name} ({many:,})" for name, many in sifted.elsewhere.most_common(_SHOWN))
        yield (
            f"{sum(sifted.elsewhere.values()):,} belong to other projects and were left: {most}. "
            "--called NAME says what this one is called there."
        )
    if rules:
        yield "The rules wait in the inbox: `recollect inbox`."
    if wrote:
        yield "`recollect undo` takes it back."

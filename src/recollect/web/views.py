"""The views, in the order of the bar at the top: Now, Sessions, Inbox, Library with a memory's own page, Try a prompt,
and Health. Each asks operations and fills a template."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from recollect.base.errors import BadInput, RecollectError, UnknownId
from recollect.base.text import clip, one_line
from recollect.model.memory import Condition, Kind, Lane, RuleType, Status
from recollect.model.result import Card, OtherRule, Scope
from recollect.model.timeline import Sessions, Timeline
from recollect.render import report_blocks
from recollect.web import drawing
from recollect.web.acts import SETTINGS
from recollect.web.pages import NOWHERE, Page, view
from recollect.web.words import SCOPES, SOURCES, day

FEED_LINES = 30
_MAX_RULES = 100
_SESSIONS, _TURNS = 50, 10
_MAX_WAITING = 200
_PAGE, _MOST_FOUND, _SNIPPET_CHARS = 50, 200, 220
[FLOOR] = SETTINGS
_CHARTS = (
    ("Prompts", "prompts", "answered"),
    ("Tokens added", "tokens", ""),
    ("Memories kept", "kept", ""),
)
_counted: dict[
    str, tuple[float, PastSessions]
] = {}  # by project: until when it holds, and what was counted


# Now: the rules of this project, what memory does at this moment, and, at first, the past sessions that it could learn
# from.


class PastSessions(NamedTuple):
    here: int = 0
    everywhere: int = 0


@view("/now", nav="Now")
def show_now(page: Page) -> Response:
    rules = page.op("rules", limit=_MAX_RULES).cards
    feed = page.op("activity", limit=FEED_LINES).items
    # What happened a moment before may be written a moment later.
    since = (feed[0].at if feed else page.app.clock.now()).plus(seconds=-10).iso()
    waiting = page.op("list", status=Condition.WAITING, limit=1).total
    past = count_past(page)
    if not past.here and (
        feed or len(page.site.projects()) > 2
    ):  # those of other projects only at the very first
        past = PastSessions()
    return page.render(
        "now.html", rules=rules, max_rules=_MAX_RULES, feed=feed, since=since, waiting=waiting, past=past
    )  # fmt: skip


def count_past(page: Page) -> PastSessions:
    """Past sessions that could be imported here, of those that were not read; none where some were imported."""
    until_s, found = _counted.get(page.project, (0.0, PastSessions()))
    if time.monotonic() > until_s and page.project != NOWHERE:
        with suppress(RecollectError):  # a folder that cannot be read: the page goes on without
            facts = page.op("import sessions", count=True).facts
            found = (
                PastSessions()
                if facts["imported"]
                else PastSessions(facts["unread_here"], facts["unread"])
            )
        _counted[page.project] = (
            time.monotonic() + 60.0,
            found,
        )  # counting looks into every transcript there is
    return found


def forget_count(page: Page) -> None:
    _counted.pop(page.project, None)


def three_things(page: Page) -> list[Card]:
    """The most telling of what is known: rules, then lessons, then the threads that were active last."""
    rules = [
        card for card in page.op("rules", limit=_MAX_RULES).cards if card.scope is page.app.scope
    ]
    rules = sorted(
        rules, key=lambda card: (card.memory.rule_type is RuleType.FAILURE, -card.memory.seen)
    )
    return [*rules, *page.op("threads", limit=3).cards][:3]


# Sessions: the list, and one session as a timeline, a few turns at a time.


@view("/sessions", nav="Sessions")
def show_sessions(page: Page) -> Response:
    found: Sessions = page.op("sessions", limit=_SESSIONS, offset=page.number("offset") or 0)
    until = found.offset + len(found.sessions)
    newer = None if found.offset == 0 else max(0, found.offset - _SESSIONS)
    older = until if until < found.total else None
    return page.render(
        "sessions.html", found=found, newer=newer, older=older, until=until, words=report_blocks
    )


@view("/sessions/{id:path}")
def show_session(page: Page) -> Response:
    found: Timeline = page.op("session", page.args["id"], turn=page.number("turn"), limit=_TURNS)
    shown = [turn.number for turn in found.turns if turn.number]
    first, last = (shown[0], shown[-1]) if shown else (0, 0)
    return page.render(
        "session.html", found=found, session=found.session, first=first, last=last, per_page=_TURNS,
        earlier=max(1, first - _TURNS) if first > 1 else None, later=last + 1 if last < found.all_turns else None,
        words=report_blocks,
    )  # fmt: skip


# Inbox: what waits for a decision, by the session that it was heard in, the latest first.


class Waiting(NamedTuple):
    card: Card
    replaces: list[Card]  # the rules in force whose place it may take


class Pair(NamedTuple):  # two rules in force that may contradict each other
    newer: OtherRule
    older: OtherRule


def _read_pairs(card: Card) -> Iterator[Pair]:
    rule = OtherRule(id=card.memory.id, body=card.memory.body)
    for other in card.contradicts:
        yield Pair(other, rule) if other.is_newer else Pair(rule, other)


@view("/inbox", nav="Inbox")
def show_inbox(page: Page) -> Response:
    sessions: dict[str, list[Waiting]] = {}
    pairs: list[Pair] = []
    for card in page.op("inbox list", limit=_MAX_WAITING).cards:
        if card.memory.status is not Status.CANDIDATE:
            pairs += _read_pairs(card)
            continue
        replaces = [page.op("show", id).card for id in card.replaces]
        sessions.setdefault(card.memory.group, []).append(Waiting(card, replaces))
    known = {one.id: one for one in page.op("sessions", limit=_MAX_WAITING).sessions}
    notes = page.op("notes", status=Status.CANDIDATE, limit=_MAX_WAITING).cards
    return page.render("inbox.html", sessions=sessions, known=known, notes=notes, pairs=pairs)


# Library: every memory, found by one search box or by filters; and a memory's own page.

KINDS = {Kind.THREAD: "threads", Kind.RULE: "rules and lessons", Kind.NOTE: "notes"}
CONDITIONS = {
    Condition.ACTIVE: "active", Condition.WAITING: "waiting in the inbox", Condition.ASLEEP: "asleep by age",
    Condition.ARCHIVED: "archived", Condition.REPLACED: "replaced", Condition.MUTED: "muted",
}  # fmt: skip
_CHOICES: dict[str, type] = {"kind": Kind, "status": Condition, "scope": Scope, "source": Lane}
_AGO = {"day": 1, "week": 7, "month": 30, "year": 365}
_TEXTS = ("topic", "tag", "group", "since", "until")


class Row(NamedTuple):
    id: str
    title: str
    kind: str
    condition: str
    scope: str
    lane: str
    topics: list[str]
    at: str
    snippet: str


@view("/library", nav="Library")
def show_library(page: Page) -> Response:
    filters = _read_filters(page)
    words, shown = page.query.get("q", "").strip(), page.number("shown") or _PAGE
    how, of, offset = "", "", page.number("offset") or 0
    nearest: list[dict[str, Any]] = []
    if words:
        renamed = {
            ("condition" if name == "status" else name): str(value)
            for name, value in filters.items()
        }
        limit = min(max(shown, _PAGE), _MOST_FOUND)
        found = page.ask(
            "search", query=[words], archived=True, include_inbox=True, limit=limit, **renamed
        )
        rows, how = [_row_of_hit(hit) for hit in found["hits"]], found["how"]
        nearest = found.get("nearest", [])
        more = page.here(shown=limit + _PAGE) if len(found["hits"]) == limit < _MOST_FOUND else ""
    else:
        cards = page.op("list", limit=_PAGE, offset=offset, **filters)
        rows, total, of, offset = (
            [_row_of_card(card) for card in cards.cards],
            cards.total,
            cards.of,
            cards.offset,
        )
        more = page.here(offset=offset + _PAGE) if offset + len(rows) < total else ""
    edited = None
    with suppress(UnknownId):
        edited = page.op("show", page.query["edit"]) if page.query.get("edit") else None
    return page.render(
        "library.html", rows=rows, words=words, filters=filters, how=how, of=of, offset=offset, more=more,
        newer=page.here(offset=max(0, offset - _PAGE)) if offset else "", edited=edited, kinds=KINDS,
        conditions=CONDITIONS, scopes=SCOPES, sources=SOURCES, days=_days(page), nearest=nearest,
    )  # fmt: skip


@view("/memory/{id}")
def show_memory(page: Page) -> Response:
    id = page.args["id"]
    history = page.op("log", id, diff=True, limit=50).entries
    try:
        shown = page.op("show", id)
    except UnknownId:  # its history is all that is left
        return page.render("memory_gone.html", 410, id=id, history=history)
    facts = page.op("links", shown.card.memory.id).facts
    placed, lines = drawing.place(facts["nodes"], facts["edges"])
    return page.render(
        "memory.html", shown=shown, card=shown.card, memory=shown.card.memory, history=history, nodes=facts["nodes"],
        placed=placed, lines=lines, box=drawing.frame(placed), conditions=CONDITIONS,
    )  # fmt: skip


def _read_filters(page: Page) -> dict[str, Any]:
    """By the names of the operation's parameters; those that are empty are left out."""
    given = {
        name: page.query[name].strip()
        for name in (*_CHOICES, *_TEXTS)
        if page.query.get(name, "").strip()
    }
    try:
        return {name: _CHOICES.get(name, str)(value) for name, value in given.items()}
    except ValueError as problem:
        raise BadInput(
            f"There is no such filter: {problem}.", hint="Choose one from the list."
        ) from None


def _days(page: Page) -> dict[str, str]:
    now, given = page.app.clock.now(), page.query.get("since", "").strip()
    named = {day(now.plus(days=-ago)): f"in the last {words}" for words, ago in _AGO.items()}
    return named | ({given: f"since {given}"} if given and given not in named else {})


def _row_of_card(card: Card) -> Row:
    memory = card.memory
    body = memory.body[: 4 * _SNIPPET_CHARS]
    return Row(
        memory.id, memory.title, memory.kind, card.condition, card.scope, memory.lane, list(memory.topics),
        memory.last_active_at.iso(), _snippet(body, memory.title),
    )  # fmt: skip


def _row_of_hit(hit: dict[str, Any]) -> Row:
    named = {
        name: hit[name] for name in ("id", "title", "kind", "condition", "scope", "lane", "topics")
    }
    return Row(
        **named,
        at=hit["last_active_at"],
        snippet=_snippet(" ".join(hit["passages"][:1]), hit["title"]),
    )


def _snippet(text: str, title: str) -> str:
    """Nothing, where the title says it all."""
    line = one_line(text.removeprefix(f"# {title}"))
    return "" if line == one_line(title) else clip(line, _SNIPPET_CHARS)


# Try a prompt: what an agent would be told now, what came near it, and the floor between the two.


@view("/try", nav="Try a prompt")
def show_try(page: Page) -> Response:
    prompt, saved = page.query.get("prompt", "").strip(), page.app.settings.figure(FLOOR)
    try:
        floor = min(1.0, max(0.0, float(page.query["floor"])))
    except (KeyError, ValueError):
        floor = saved
    trial, problem = None, None
    if prompt:
        try:
            trial = page.ask("try", prompt=[prompt], floor=floor)
        except RecollectError as found:
            problem = found
    return page.render(
        "try.html", prompt=prompt, floor=floor, saved=saved, setting=FLOOR, trial=trial, problem=problem
    )  # fmt: skip


# Health: what happened day by day, how quick hooks are, what memory holds and costs, what is wrong.


@view("/health", nav="Health")
def show_health(page: Page) -> Response:
    figures = page.op("figures")
    days, names = figures.days, [day.day for day in figures.days]

    def values(of: str) -> list[int]:
        return [getattr(day, of) for day in days] if of else []

    charts = []
    for title, of, part in _CHARTS:
        drawn = drawing.days_chart(f"{title} by day", names, values(of), values(part))
        charts.append((title, of, max(values(of)), drawn))
    sources = {SOURCES.get(Lane(lane), lane): many for lane, many in figures.sources.items()}
    try:
        checks = page.ask("doctor")["checks"]  # the daemon holds the model, which is checked, too
    except RecollectError as problem:
        checks = [
            {"name": "doctor", "mark": "bad", "detail": problem.message, "repair": problem.hint}
        ]
    return page.render(
        "health.html", figures=figures, charts=charts, sources=_bars(sources),
        kinds=_bars({f"{kind}s": many for kind, many in figures.kinds.items()}),
        checks=sorted(checks, key=lambda one: ("bad", "warn", "good").index(one["mark"])),
    )  # fmt: skip


def _bars(counts: dict[str, int]) -> list[tuple[str, int, Markup]]:
    """The largest first."""
    most = max(counts.values(), default=1)
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return [(name, many, drawing.share_bar(name, many, most)) for name, many in ordered]

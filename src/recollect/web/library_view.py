"""Library: every memory, found by one search box or by filters; and a memory's own page."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from starlette.responses import Response

from recollect.base.errors import BadInput, UnknownId
from recollect.base.text import clip, one_line
from recollect.model.memory import Condition, Kind, Lane
from recollect.model.result import Card, Scope
from recollect.web import drawing
from recollect.web.pages import Page, view
from recollect.web.words import SOURCES, day

_PAGE = 50
_MOST_FOUND = 200
_SNIPPET_CHARS = 220
KINDS = {Kind.THREAD: "threads", Kind.RULE: "rules and lessons", Kind.NOTE: "notes"}
CONDITIONS = {
    Condition.ACTIVE: "active", Condition.WAITING: "waiting in the inbox", Condition.ASLEEP: "asleep by age",
    Condition.ARCHIVED: "archived", Condition.REPLACED: "replaced", Condition.MUTED: "muted",
}  # fmt: skip
SCOPES = {Scope.PROJECT: "this project", Scope.USER: "all projects"}
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
def show(page: Page) -> Response:
    filters = _read_filters(page)
    words, shown = page.query.get("q", "").strip(), page.number("shown") or _PAGE
    how, of, offset = "", "", page.number("offset") or 0
    if words:
        renamed = {("condition" if name == "status" else name): str(value) for name, value in filters.items()}
        limit = min(max(shown, _PAGE), _MOST_FOUND)
        found = page.ask("search", query=[words], archived=True, include_inbox=True, limit=limit, **renamed)
        rows, how = [_row_of_hit(hit) for hit in found["hits"]], found["how"]
        more = page.here(shown=limit + _PAGE) if len(found["hits"]) == limit < _MOST_FOUND else ""
    else:
        cards = page.op("list", limit=_PAGE, offset=offset, **filters)
        rows, total, of, offset = [_row_of_card(card) for card in cards.cards], cards.total, cards.of, cards.offset
        more = page.here(offset=offset + _PAGE) if offset + len(rows) < total else ""
    edited = None
    with suppress(UnknownId):
        edited = page.op("show", page.query["edit"]) if page.query.get("edit") else None
    return page.render(
        "library.html", rows=rows, words=words, filters=filters, how=how, of=of, offset=offset, more=more,
        newer=page.here(offset=max(0, offset - _PAGE)) if offset else "", edited=edited, kinds=KINDS,
        conditions=CONDITIONS, scopes=SCOPES, sources=SOURCES, days=_days(page),
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
    given = {name: page.query[name].strip() for name in (*_CHOICES, *_TEXTS) if page.query.get(name, "").strip()}
    try:
        return {name: _CHOICES.get(name, str)(value) for name, value in given.items()}
    except ValueError as problem:
        raise BadInput(f"There is no such filter: {problem}.", hint="Choose one from the list.") from None


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
    named = {name: hit[name] for name in ("id", "title", "kind", "condition", "scope", "lane", "topics")}
    return Row(**named, at=hit["last_active_at"], snippet=_snippet(" ".join(hit["passages"][:1]), hit["title"]))


def _snippet(text: str, title: str) -> str:
    """Nothing, where the title says it all."""
    line = one_line(text.removeprefix(f"# {title}"))
    return "" if line == one_line(title) else clip(line, _SNIPPET_CHARS)

"""`activity`: what memory did lately, as sentences: from the journal, and from what agents were told. Cheap: a page
asks again after every change. Recalls that somebody asked for are left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from recollect import agents
from recollect.app.core import App
from recollect.app.note_files import SYNC
from recollect.base.ids import ID_SHAPE
from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.text import clip, counted, estimate_tokens, one_line, without_full_stop
from recollect.model.report import Activity, Happening
from recollect.model.result import Entry
from recollect.model.session import RecallRecord, Session
from recollect.ops.library import Limit, parse_limit, read_day
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

_TITLE_CHARS = 80
_MAX_NAMED = 3
_RECALLS = 3  # looked at for each that is shown: most prompts are told nothing
_ID = re.compile(rf"\b{ID_SHAPE}\b")
# Of changes: operation, words of its summary, kind, sentence. The first that fits; else the summary is the sentence.
_CHANGES, _EVENTS = (
    load_table("recollect.ops", "activity.json")[name] for name in ("changes", "events")
)


def activity(
    app: App,
    *,
    limit: Limit = 20,
    since: Annotated[
        str | None, Arg("Only what happened after this time.", metavar="2026-01-31T09:00")
    ] = None,
) -> Activity:
    most, after = parse_limit(limit), read_day("since", since) or Moment(0)
    found: list[Happening] = []
    for _, store in app.scopes():
        entries = [entry for entry in store.log(limit=most) if entry.at > after]
        recalls = [
            one for one in store.records(RecallRecord, limit=_RECALLS * most) if one.at > after
        ]
        told = [
            answer
            for one in recalls
            if (answer := json.loads(one.answer)).get("delivered") and answer["hits"]
        ]
        hosts = {
            one.id: one.host
            for one in store.records(Session, id=[answer["session"] for answer in told])
        }
        found += [_change(store, entry) for entry in entries]
        found += [_told(answer, hosts.get(answer["session"], "")) for answer in told]
    return Activity(tuple(sorted(found, key=lambda one: one.at, reverse=True)[:most]))


def _change(store: Store, entry: Entry) -> Happening:
    kind, text = _sentence(
        partial(_find_title, store, entry.change), entry.op, entry.summary, entry.memories
    )
    can_undo = not (entry.undone_by or entry.purged or entry.op == SYNC)
    text += ", and undone since" if entry.undone_by else ""
    return Happening(
        entry.change,
        entry.at,
        kind,
        text,
        entry.memories,
        change=entry.change if can_undo else "",
        memory_count=entry.memory_count,
    )


def _find_title(store: Store, change: str, id: str) -> str:
    """Of a memory; of one that the change deleted, as the journal has it."""
    memory = store.get(id) if id else None
    gone = (
        [one.get("memory") for one in store.journalled(change, memory=id)]
        if id and memory is None
        else []
    )
    titles = [str(one["title"]) for one in gone if isinstance(one, dict) and "title" in one]
    return clip(
        one_line(memory.title if memory else next(iter(titles), "")).rstrip("."), _TITLE_CHARS
    )


def _sentence(
    title_of: Callable[[str], str], op: str, summary: str, memories: tuple[str, ...]
) -> tuple[str, str]:
    if op == "undo" and summary.startswith("Undid "):
        undone, _, rest = summary.removeprefix("Undid ").partition(": ")
        return "changed", f"undid \u201c{_sentence(title_of, undone, rest, memories)[1]}\u201d"
    row = next((row for row in _CHANGES if row[0] == op and row[1] in summary), None)
    if row is None or (op.startswith("inbox") and not _ID.search(summary)):  # of several at once
        said = summary.partition(" `")[0].rstrip(".;")
        named = _ID.sub(
            lambda id: f"\u201c{title}\u201d" if (title := title_of(id[0])) else "a memory", said
        )
        return "changed", named[:1].lower() + named[1:]
    ids = [*_ID.findall(summary), *memories, "", ""][:2]
    return row[2], row[3].format(*(title_of(id) or "something that is gone since" for id in ids))


def _told(answer: Mapping[str, Any], host: str) -> Happening:
    titles = {hit["id"]: hit["title"] for hit in answer["hits"]}
    many, reader = counted(len(titles), "memory", "memories"), agents.title_of(host) or "the agent"
    named = "; ".join(map(without_full_stop, list(titles.values())[:_MAX_NAMED])) + (
        "; \u2026" if len(titles) > _MAX_NAMED else ""
    )
    text = _EVENTS.get(answer["event"], _EVENTS["prompt"]).format(
        reader=reader, many=many, named=named
    )
    return Happening(
        answer["id"], Moment.parse(answer["at"]), "told", text, tuple(titles), answer["session"],
        tokens=estimate_tokens(answer.get("chars", 0)),
    )  # fmt: skip

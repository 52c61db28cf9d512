"""`activity`: what memory did lately, as sentences: from the journal, and from what agents were told. Cheap: a page
asks again after every change. Recalls that somebody asked for are left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from recollect import agents
from recollect.app.core import App
from recollect.app.note_files import SYNC
from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.text import counted, estimate_tokens, without_full_stop
from recollect.model.report import Activity, Happening
from recollect.model.result import Entry
from recollect.model.session import RecallRecord, Session
from recollect.ops.change_words import change_words
from recollect.ops.library import Limit, parse_limit, read_day
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_NAMED = 3
_RECALLS = 3  # looked at for each that is shown: most prompts are told nothing
_EVENTS = load_table("recollect.ops", "activity.json")["events"]


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
        entries = [entry for entry in store.log(limit=most + 1) if entry.at > after]
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
    newest = sorted(found, key=lambda one: one.at, reverse=True)
    return Activity(tuple(newest[:most]), is_cut=len(newest) > most)


def _change(store: Store, entry: Entry) -> Happening:
    kind, text = change_words(store, entry)
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

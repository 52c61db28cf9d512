"""`activity`: what memory did lately, as sentences: from the journal, and from what agents were told. Cheap: a page
asks again after every change. Recalls that somebody asked for are left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from recollect import agents
from recollect.app.core import App
from recollect.app.lookup import TEAM_SYNC
from recollect.app.note_files import SYNC
from recollect.base.ids import ID_SHAPE
from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.text import clip, counted, estimate_tokens, one_line, without_full_stop
from recollect.model.query import ABOUT_CALL
from recollect.model.report import Activity, Happening
from recollect.model.result import Entry
from recollect.model.session import EventName, RecallRecord, Session
from recollect.ops.library import Limit, parse_limit, read_day
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_NAMED = 3
_RECALLS = 3  # looked at for each that is shown: most prompts are told nothing
_TITLE_CHARS = 80
_ID = re.compile(rf"\b{ID_SHAPE}\b")
_TABLE = load_table("recollect.ops", "activity.json")
_EVENTS = _TABLE["events"]
# Operation, words of its summary, kind, sentence. The first that fits; otherwise the summary is the sentence.
_CHANGES = _TABLE["changes"]


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
    text += " (undone since)" if entry.undone_by else ""
    return Happening(
        entry.change,
        entry.at,
        kind,
        text,
        entry.memories,
        change=entry.change if can_undo(entry) else "",
        memory_count=entry.memory_count,
    )


def can_undo(entry: Entry) -> bool:
    """What was read from files, or from the team's server, would come back at the next look."""
    is_gone = entry.undone_by or entry.purged
    return not is_gone and entry.op not in (SYNC, TEAM_SYNC)


def _told(answer: Mapping[str, Any], host: str) -> Happening:
    titles = {hit["id"]: hit["title"] for hit in answer["hits"]}
    many, reader = counted(len(titles), "memory", "memories"), agents.title_of(host) or "the agent"
    named = "; ".join(map(without_full_stop, list(titles.values())[:_MAX_NAMED])) + (
        "; \u2026" if len(titles) > _MAX_NAMED else ""
    )
    event = answer["event"]
    if event == EventName.TOOL_CALLED and answer["how"] != ABOUT_CALL:
        event = "looked-up"  # it read a virtual file
    text = _EVENTS.get(event, _EVENTS["prompt"]).format(reader=reader, many=many, named=named)
    return Happening(
        answer["id"], Moment.parse(answer["at"]), "told", text, tuple(titles), answer["session"],
        tokens=estimate_tokens(answer.get("chars", 0)),
    )  # fmt: skip


def change_words(store: Store, entry: Entry) -> tuple[str, str]:
    """What kind of change it was, and what it did, for a person: `noted: Use pnpm, not npm`. The journal keeps ids;
    titles are those of now. The title of a memory that is gone is the one that the journal has.
    """
    title_of = partial(_find_title, store, (entry.change, entry.undone_by))
    return _sentence(title_of, entry.op, entry.summary, entry.memories)


def _find_title(store: Store, changes: Sequence[str | None], id: str) -> str:
    """Of a memory; of one that one of these changes deleted, as the journal has it."""
    memory = store.get(id) if id else None
    title = memory.title if memory else ""
    for change in changes if id and memory is None else ():
        for journalled in store.journalled(change, memory=id) if change else ():
            gone = journalled.get("memory")
            if isinstance(gone, dict) and not title:
                title = str(gone.get("title", ""))
    return clip(one_line(title).rstrip("."), _TITLE_CHARS)


def _sentence(
    title_of: Callable[[str], str], op: str, summary: str, memories: tuple[str, ...]
) -> tuple[str, str]:
    if op == "undo" and summary.startswith("Undid "):
        undone, _, rest = summary.removeprefix("Undid ").partition(": ")
        return "changed", f"undid \u201c{_sentence(title_of, undone, rest, memories)[1]}\u201d"
    decides_on_several = op.startswith("inbox") and not _ID.search(summary)
    for listed_op, words, kind, sentence in _CHANGES:
        if listed_op == op and words in summary and not decides_on_several:
            ids = [*_ID.findall(summary), *memories, "", ""][:2]
            titles = [title_of(id) or "something that is gone now" for id in ids]
            return kind, sentence.format(*titles)
    return "changed", _name_memories(title_of, summary)


def _name_memories(title_of: Callable[[str], str], summary: str) -> str:
    """The summary with titles in place of ids, and without the commands that it offers."""

    def name(id: re.Match[str]) -> str:
        title = title_of(id[0])
        return f"\u201c{title}\u201d" if title else "a memory"

    named = _ID.sub(name, summary.partition(" `")[0].rstrip(".;"))
    return named[:1].lower() + named[1:]

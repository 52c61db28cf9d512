"""What a journalled change did, as a sentence for a person: `noted: Use pnpm, not npm`. The journal keeps ids; titles
are those of now. The title of a memory that is gone is the one that the journal has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from recollect.base.ids import ID_SHAPE
from recollect.base.shipped import load_table
from recollect.base.text import clip, one_line
from recollect.model.result import Entry

if TYPE_CHECKING:
    from recollect.store import Store

_TITLE_CHARS = 80
_ID = re.compile(rf"\b{ID_SHAPE}\b")
# Operation, words of its summary, kind, sentence. The first that fits; otherwise the summary is the sentence.
_CHANGES = load_table("recollect.ops", "activity.json")["changes"]


def change_words(store: Store, entry: Entry) -> tuple[str, str]:
    """What kind of change it was, and the sentence."""
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
    row = next((row for row in _CHANGES if row[0] == op and row[1] in summary), None)
    if row is None or (op.startswith("inbox") and not _ID.search(summary)):  # of several at once
        said = summary.partition(" `")[0].rstrip(".;")
        named = _ID.sub(
            lambda id: f"\u201c{title}\u201d" if (title := title_of(id[0])) else "a memory", said
        )
        return "changed", named[:1].lower() + named[1:]
    ids = [*_ID.findall(summary), *memories, "", ""][:2]
    return row[2], row[3].format(*(title_of(id) or "something that is gone since" for id in ids))

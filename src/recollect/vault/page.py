"""What a note's file says, whichever dialect it is written in, and what it means to memory: its status by the folder it
is in, its trust by whose vault it is. A note of the tag dialect is titled by its condition, else by its first line; any
other by its title or heading; a file without these by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, composed, one_line
from recollect.model.memory import OFFERED_TAG, SHARED_TAG, Lane, Note, Status
from recollect.vault import dialects

ALWAYS, INBOX, ARCHIVE, COLD = "_always-load", "_inbox", "_archive", "memory-cold"
MEMORY = "memory"  # the folder of a project's notes; the user's vault needs none
MAX_TITLE_CHARS = 200
_HEAD_CHARS = 10_000  # where a title is looked for
_HEADING = re.compile(r"^#{1,6}[ \t]++([^\n]+)$", re.MULTILINE)
_LINK = re.compile(r"!?\[\[([^\[\]\r\n|#^]+)(?:[#^][^\[\]\r\n|]*)?(?:\|[^\[\]\r\n]*)?\]\]")
_TAG_LINE = re.compile(r"\s*</?[a-z][a-z-]*>\s*$")


class Page(NamedTuple):
    title: str
    body: str  # what it says, without metadata
    id: str = ""
    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # by which it should be found
    group: str = ""
    superseded: bool = False
    supersedes: tuple[str, ...] = ()  # names of other notes
    pinned: bool = False
    appreciation: float | None = None  # None: its file has no such figure
    frequency: int = 0  # how often it was surfaced, according to the file
    last_session: int = 0  # the session of its last access, according to the file
    problems: tuple[str, ...] = ()


def read(text: str, path: str) -> Page:
    """Nothing in a file can make this fail."""
    if blocks := dialects.find_blocks(text):
        return _read_tags(text, path, blocks)
    head = dialects.find_front(text) or dialects.Front(0, dialects.head_start(text), {}, [])
    body = text[head.after :].strip("\r\n")
    heading = _HEADING.search(body[:_HEAD_CHARS])
    heading_text = heading[1].rstrip(" \t").rstrip("#") if heading else ""
    title = one_line(head.one("title")) or one_line(heading_text) or stem(path)
    return Page(
        clip(title, MAX_TITLE_CHARS), body, id=one_line(head.one("id")),
        tags=_limited(tag.lstrip("#") for tag in head.many("tags") or head.many("tag")),
        words=_limited(head.many("aliases") or head.many("alias")),
        group=clip(one_line(head.one("group")), MAX_TITLE_CHARS),
        superseded=head.one("status").lower() == "superseded", supersedes=_names(head.many("supersedes")),
        pinned=head.one("pinned").lower() == "true",
        problems=tuple(f"front matter that is not a field: {clip(one_line(line), 60)}" for line in head.broken),
    )  # fmt: skip


def _read_tags(text: str, path: str, blocks: dict[str, dialects.Block]) -> Page:
    metadata = dialects.metadata(text)
    values = metadata or {}
    memory = blocks.get(dialects.MEMORY)
    body = (
        dialects.inner(text, memory)
        if memory
        else text[max(block.end for block in blocks.values()) :]
    )
    condition = one_line(dialects.inner(text, blocks.get(dialects.CONDITION)))
    title = condition or _first_line(body) or _first_line(text) or stem(path)
    figure = values.get("appreciation")
    is_figure = (
        isinstance(figure, int | float) and not isinstance(figure, bool) and 0 <= figure <= 1_000
    )
    return Page(
        clip(title, MAX_TITLE_CHARS), body.strip("\r\n"),
        words=_limited(dialects.inner(text, blocks.get(dialects.FUZZY)).split(",")),
        superseded=values.get("status") == "superseded", supersedes=_names((str(values.get("supersedes") or ""),)),
        pinned=values.get("pinned") is True, appreciation=float(str(figure)) if is_figure else None,
        frequency=_count(values.get("frequency")), last_session=_count(values.get("last_accessed_session")),
        problems=() if metadata is not None else ("its metadata is not JSON",),
    )  # fmt: skip


def stem(path: str) -> str:
    return PurePosixPath(path).stem


def normal_name(name: str) -> str:
    """Equal for names that a person takes for the same: systems and links spell accents differently."""
    return composed(name).casefold().removesuffix(".md")


def with_superseded(text: str, by: str) -> str:
    if dialects.find_blocks(text):
        return dialects.with_metadata(text, {"status": "superseded", "superseded_by": by})
    return dialects.with_field(
        dialects.with_field(text, "status", "superseded"), "superseded_by", f"[[{by}]]"
    )


def with_active(text: str) -> str:
    """The same note, active again. A note that never said otherwise stays as it is."""
    if not read(text, "").superseded:
        return text
    if dialects.find_blocks(text):
        return dialects.with_metadata(text, {"status": "active"})
    return dialects.with_field(text, "status", "active")


def new_text(
    body: str,
    *,
    id: str,
    title: str,
    tags: tuple[str, ...],
    group: str,
    created: str,
    supersedes: str = "",
) -> str:
    """A new note's file: YAML front matter, as editors of notes read and write it, and the text word for word."""
    fields: dict[str, dialects.Value] = {
        "id": id, "title": title, "status": "active", "tags": tags, "group": group,
        "supersedes": supersedes and f"[[{supersedes}]]",
    }  # fmt: skip
    lines = [f"{name}: {dialects.to_yaml(value)}" for name, value in fields.items() if value]
    lines.insert(3, f"created: {created}")
    return "\n".join(["---", *lines, "---", body.replace("\r\n", "\n").strip("\n") + "\n"])


def links_in(text: str) -> tuple[str, ...]:
    """The names in `[[…]]`, each once."""
    names = (one_line(found[1]) for found in islice(_LINK.finditer(text), 1_000))
    return tuple(dict.fromkeys(filter(None, names)))


def _count(value: object) -> int:
    return (
        min(1_000_000, max(0, value))
        if isinstance(value, int) and not isinstance(value, bool)
        else 0
    )


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Names given with or without `[[…]]`, with or without `.md`."""
    found = (one_line((links_in(name) or (name,))[0]).removesuffix(".md") for name in given)
    return tuple(dict.fromkeys(filter(None, found)))


def _limited(given: Iterable[str]) -> tuple[str, ...]:
    kept = (clip(one_line(part), 80) for part in given)
    return tuple(dict.fromkeys(filter(None, kept)))[:50]


def _first_line(text: str) -> str:
    for line in text[:_HEAD_CHARS].splitlines():
        if (
            line.strip(dialects.BOM + " \t#-*>`")
            and not _TAG_LINE.match(line)
            and line.strip() != "---"
        ):
            return one_line(line.lstrip(dialects.BOM + "# \t"))
    return ""


class Place(NamedTuple):
    top: str  # `memory` or `memory-cold`; empty: neither
    folders: tuple[str, ...]
    status: Status


def place_of(path: str) -> Place:
    *folders, _name = PurePosixPath(path).parts
    top = folders.pop(0) if folders and folders[0] in (MEMORY, COLD) else ""
    first = folders[0] if folders else ""
    is_archived = top == COLD or first == ARCHIVE
    status = Status.ACTIVE
    if is_archived:
        status = Status.ARCHIVED
    elif first == INBOX:
        status = Status.CANDIDATE
    return Place(top, tuple(folders), status)


def is_always_loaded(path: str) -> bool:
    place = place_of(path)
    return place.folders[:1] == (ALWAYS,) and place.status is Status.ACTIVE


def new_note(page: Page, path: str, *, id: str, lane: Lane, written: Moment) -> Note:
    blank = Note(
        id=id, title="", body="", lane=lane, origin="vault", created_at=written, reinforced_at=written,
        last_active_at=written,
    )  # fmt: skip
    return update_note(blank, page, path, written=written)


def update_note(note: Note, page: Page, path: str, *, written: Moment) -> Note:
    """The note as its file says now; how it was used stays."""
    place = place_of(path)
    status = place.status
    if status is Status.ACTIVE and (page.superseded or note.superseded_by is not None):
        status = (
            Status.SUPERSEDED
        )  # what a newer note supersedes stays so, even if its own file does not say it
    folder = "/".join(folder for folder in place.folders if folder not in (ALWAYS, INBOX, ARCHIVE))
    is_own = note.lane is Lane.USER  # a stranger's file does not put itself above others
    ours = (SHARED_TAG, OFFERED_TAG)  # no file says what is shared
    tags = (
        *(tag for tag in page.tags if tag not in ours),
        *(tag for tag in note.tags if tag in ours),
    )
    figure = page.appreciation if is_own and page.appreciation is not None else note.appreciation
    return replace(
        note,
        title=page.title, body=page.body, topics=page.words, tags=tags, group=page.group or folder, path=path,
        status=status, superseded_by=note.superseded_by if status is Status.SUPERSEDED else None,
        pinned=is_own and page.pinned, appreciation=figure,
        frequency=max(note.frequency, page.frequency) if is_own else note.frequency,
        last_active_at=note.last_active_at if page.body == note.body and note.title else written,
    )  # fmt: skip


def with_usage(text: str, note: Note) -> str:
    """With how the note was used, where it has metadata. The session of the last access never goes back."""
    if dialects.METADATA not in dialects.find_blocks(text):
        return text
    figures: dict[str, object] = {
        "frequency": note.frequency,
        "appreciation": note.appreciation,
        "pinned": note.pinned,
    }
    if note.last_session > read(text, "").last_session:
        figures["last_accessed_session"] = note.last_session
    return dialects.with_metadata(text, figures)

"""What a note's file says, whichever dialect it is written in.

The text is kept whole. Changes are splices (front.py, tags.py) that return another text. The description is the
condition, else the first line of the memory, else the first line that is not a tag, else the file's name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import PurePosixPath

from recollect.base.text import clip, one_line
from recollect.vault import front, tags

MAX_TITLE_CHARS = 200
MAX_TAGS = 50
MAX_TAG_CHARS = 80
MAX_FIGURE = 1_000
MAX_COUNT = 1_000_000
MAX_LINKS = 1_000
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_LINK = re.compile(r"!?\[\[([^\[\]\r\n|#^]+)(?:[#^][^\[\]\r\n|]*)?(?:\|[^\[\]\r\n]*)?\]\]")
_TAG_LINE = re.compile(r"\s*</?[a-z][a-z-]*>\s*$")


class Dialect(StrEnum):
    FRONT = "front matter"
    TAGS = "tags"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Page:
    text: str  # the whole file, as it was read
    dialect: Dialect
    title: str
    description: str
    body: str  # what it says, without metadata
    id: str = ""
    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # by which it should be found
    group: str = ""
    superseded: bool = False
    supersedes: tuple[str, ...] = ()  # names of other notes
    links: tuple[str, ...] = ()  # names of other notes that it speaks of
    pinned: bool = False
    appreciation: float | None = None  # None: its file has no such figure
    frequency: int = 0  # how often it was surfaced, as far as the file says
    last_session: int = 0  # the session of its last access, as far as the file says
    problems: tuple[str, ...] = ()


def read(text: str, path: str) -> Page:
    """Nothing in a file can make this fail."""
    blocks = tags.find(text)
    if blocks:
        return _from_tags(text, path, blocks)
    found = front.find(text)
    if found is not None:
        return _from_front_matter(text, path, found)
    return _completed(Page(text, Dialect.PLAIN, title="", description="", body=text.removeprefix(front.BOM)), path)


def stem(path: str) -> str:
    return PurePosixPath(path).stem


def normal_name(name: str) -> str:
    """Equal for names that a person takes for the same: as some systems spell them in files, and others in links."""
    return unicodedata.normalize("NFC", name).casefold().removesuffix(".md")


def with_superseded(text: str, by: str) -> str:
    """The same note, superseded by another."""
    if tags.find(text):
        return tags.with_metadata(text, {"status": "superseded", "superseded_by": by})
    return front.with_field(front.with_field(text, "status", "superseded"), "superseded_by", f"[[{by}]]")


def with_active(text: str) -> str:
    """The same note, active again. A note that never said otherwise stays as it is."""
    if not read(text, "").superseded:
        return text
    if tags.find(text):
        return tags.with_metadata(text, {"status": "active"})
    return front.with_field(text, "status", "active")


def new_text(
    said: str, *, id: str, title: str, tags: tuple[str, ...], group: str, created: str, supersedes: str = ""
) -> str:
    """A new note's file: YAML front matter, as editors of notes read and write it, and the text word for word."""
    lines = [f"id: {front.shown(id)}", f"title: {front.shown(title)}", "status: active", f"created: {created}"]
    if tags:
        lines.append(f"tags: {front.shown(tags)}")
    if group:
        lines.append(f"group: {front.shown(group)}")
    if supersedes:
        lines.append(f"supersedes: {front.shown(f'[[{supersedes}]]')}")
    body = said.replace("\r\n", "\n").strip("\n")
    return "\n".join(["---", *lines, "---", f"{body}\n"])


def links_in(text: str) -> tuple[str, ...]:
    """The names in `[[…]]`, each once."""
    names = (one_line(found[1]) for found in islice(_LINK.finditer(text), MAX_LINKS))
    return tuple(dict.fromkeys(name for name in names if name))


def _from_front_matter(text: str, path: str, found: front.Front) -> Page:
    def one(name: str) -> str:
        return _single(found, name)

    def many(name: str) -> tuple[str, ...]:
        return _many(found, name)

    page = Page(
        text=text, dialect=Dialect.FRONT, title=one("title"), description=one("description"), body=text[found.after :],
        id=one_line(one("id")), tags=many("tags") or many("tag"), words=many("aliases") or many("alias"),
        group=one("group"), superseded=one("status").lower() == "superseded", supersedes=_names(many("supersedes")),
        pinned=one("pinned").lower() == "true",
        problems=tuple(f"front matter that is not a field: {clip(one_line(line), 60)}" for line in found.broken),
    )  # fmt: skip
    return _completed(page, path)


def _from_tags(text: str, path: str, blocks: dict[str, tags.Block]) -> Page:
    metadata = tags.metadata(text, blocks.get(tags.METADATA))
    memory = blocks.get(tags.MEMORY)
    fuzzy = tags.inner(text, blocks.get(tags.FUZZY))
    values = metadata or {}
    page = Page(
        text=text, dialect=Dialect.TAGS, title="", description=tags.inner(text, blocks.get(tags.CONDITION)),
        body=tags.inner(text, memory) if memory else text[max(block.end for block in blocks.values()) :],
        words=tuple(fuzzy.split(",")), superseded=values.get("status") == "superseded",
        supersedes=_names((str(values.get("supersedes") or ""),)), pinned=values.get("pinned") is True,
        appreciation=_figure(values.get("appreciation")), frequency=_count(values.get("frequency")),
        last_session=_count(values.get("last_accessed_session")),
        problems=() if metadata is not None else ("its metadata is not JSON",),
    )  # fmt: skip
    return _completed(page, path)


def _completed(page: Page, path: str) -> Page:
    """With the title and description that follow from its text, every field within its limits."""
    heading = _HEADING.search(page.body[:10_000])
    described = one_line(page.description) or _first_line(page.body) or _first_line(page.text) or stem(path)
    named = one_line(page.title) or (one_line(heading[1]) if heading else "") or stem(path)
    return replace(
        page,
        title=clip(described if page.dialect is Dialect.TAGS else named, MAX_TITLE_CHARS),
        description=described,
        body=page.body.strip("\r\n"),
        tags=_few(tag.lstrip("#") for tag in page.tags),
        words=_few(page.words),
        group=clip(one_line(page.group), MAX_TITLE_CHARS),
        links=links_in(page.body),
    )


def without_point(figure: float) -> int | float:
    """As people write it: whole numbers without a point."""
    return int(figure) if figure == int(figure) else figure


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(MAX_COUNT, max(0, value))


def _figure(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_FIGURE:
        return None
    return float(value)


def _many(found: front.Front, name: str) -> tuple[str, ...]:
    """A list, or one value divided by commas."""
    field = found.fields.get(name)
    if field is None:
        return ()
    value = field.value
    return value if isinstance(value, tuple) else tuple(part.strip() for part in value.split(",") if part.strip())


def _single(found: front.Front, name: str) -> str:
    field = found.fields.get(name)
    if field is None:
        return ""
    return field.value if isinstance(field.value, str) else ", ".join(field.value)


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """With or without `[[…]]`, with or without `.md`."""
    found = (one_line((links_in(name) or (name,))[0]).removesuffix(".md") for name in given)
    return tuple(dict.fromkeys(name for name in found if name))


def _few(given: Iterable[str]) -> tuple[str, ...]:
    kept = (clip(one_line(part), MAX_TAG_CHARS) for part in given)
    return tuple(dict.fromkeys(part for part in kept if part))[:MAX_TAGS]


def _first_line(text: str) -> str:
    for line in text[:10_000].splitlines():
        if line.strip(front.BOM + " \t#-*>`") and not _TAG_LINE.match(line) and line.strip() != "---":
            return one_line(line.lstrip(front.BOM + "# \t"))
    return ""

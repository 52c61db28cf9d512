"""A recall as an agent reads it: text in a fixed shape and within a fixed size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from recollect.base.local_time import local_day, local_minute, local_second
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, counted, one_line
from recollect.model.memory import Kind, Note, Status
from recollect.model.result import Found, Recalled, Recollection, Scope, Shown

MAX_CHARS = 8_000


class Door(NamedTuple):
    """How the reader of a recall asks for more."""

    ask: str  # with {} for the question
    left_out: Mapping[Status, str]  # how to get at what is kept out because of its status
    rest: str = "a narrower question brings up others"


COMMAND_LINE = Door(
    "recollect recall {}",
    {Status.ARCHIVED: "--archived", Status.CANDIDATE: "`recollect inbox`"}
    | {
        status: f"`recollect search WORDS --status {status}`"
        for status in (Status.SUPERSEDED, Status.SUSPENDED)
    },
    rest="`recollect search WORDS` lists all",
)
_FOR_AGENTS = {
    Status.CANDIDATE: "it waits in the inbox until the person decides",
    Status.SUPERSEDED: "a newer one replaces it",
}
TOOL = Door(
    'ai_recall(query="{}")',
    {
        **_FOR_AGENTS,
        Status.ARCHIVED: "archived=true",
        Status.SUSPENDED: "include_suspended=true",
    },
)


def virtual_file(program: str = "recollect") -> Door:
    """For an agent without tools of ours. `program`: how its shell calls the command line."""
    archived = {Status.ARCHIVED: f"`{program} recall --archived`"}
    return Door("Read .ai/recall/{}", {**_FOR_AGENTS, **archived})


_MAX_THREADS = 5
_MAX_BRIDGES = 5
_TITLE_CHARS = 120
_END_CHARS = 40
_CUT = "(cut here: more was found than fits)"


def ago(then: Moment, now: Moment) -> str:
    """`2 days ago`; `just now` too where another machine's clock was ahead."""
    spent = time_span(int(now.days_since(then) * 1_440))
    return f"{spent} ago" if spent else "just now"


def time_span(minutes: int) -> str:
    """The age in the largest unit that fits; empty for less than a minute."""
    units = ((1_440, "day"), (60, "hour"), (1, "minute"))
    return next((counted(minutes // size, unit) for size, unit in units if minutes >= size), "")


def short_span(minutes: int) -> str:
    """The same for a column: `5 min`, `3 h`, `12 d`."""
    count, _, unit = time_span(minutes).partition(" ")
    if not unit:
        return ""
    return f"{count} min" if unit.startswith("min") else f"{count} {unit[0]}"


def recall_text(
    recalled: Recalled,
    *,
    now: Moment,
    door: Door = COMMAND_LINE,
    max_chars: int = MAX_CHARS,
) -> str:
    """Whole blocks only: from the first that does not fit on, all are left out, and the text says so. A memory that was
    asked for by its id comes whole, or as far as it fits, and its links if there is still room."""
    if (shown := recalled.whole) is not None:
        (one,) = recalled.found.found  # as it was before this recall, which may have woken it
        before = replace(
            shown, card=replace(shown.card, memory=one.hit.memory, strength=one.strength)
        )
        head, links = _heading(recalled), _links(recalled)
        room = max_chars - len(head) - 2
        text = memory_text(
            before, now=now, ask=door.ask, max_chars=room, offset=recalled.offset, marks=_marks(one)
        )
        whole = "\n\n".join((text, *links))
        return f"{head}\n\n{whole if len(whole) <= room else text}"
    kept: list[str] = []
    room = max_chars - len(_CUT) - 2
    for block in _blocks(recalled, now, door):
        room -= len(block) + 2
        if room < 0:
            return "\n\n".join((*kept, _CUT))
        kept.append(block)
    return "\n\n".join(kept)


def memory_text(
    shown: Shown, *, now: Moment, ask: str, max_chars: int, offset: int = 0, marks: str = ""
) -> str:
    """One memory from `offset` on. What does not fit is cut after a line, a sentence or a word, and can be read on."""
    memory = shown.card.memory
    about = [str(memory.kind), f"from {memory.lane}", *(["pinned"] if memory.pinned else [])]
    lines = [
        f"### [{memory.status.upper()}] {clip(one_line(memory.title), _TITLE_CHARS)}",
        f"Id: {memory.id} ({', '.join(about)})",
        f"Weight: {shown.card.strength:.2f}{_topics(memory.topics)}",
        f"Last active: {ago(memory.last_active_at, now)}",
    ]
    if isinstance(memory, Note) and memory.path:
        lines.append(f"File: {clip(one_line(memory.path), _TITLE_CHARS)}")
    if shown.asked != memory.id:
        lines.append(f"-> {shown.asked} was merged into it")
    if memory.superseded_by:
        lines.append(f"-> Superseded by {memory.superseded_by}")
    head, text = "\n".join(lines) + marks, memory.body
    if shown.later:  # the messages that the body does not hold, oldest first
        said = [f"[{local_minute(m.at)} {one_line(m.source)}] {m.content}" for m in shown.later]
        text = "\n\n".join(
            (*((f"Summary: {text}",) if text else ()), f"Messages ({len(said)}):", *said)
        )
    cut = "(cut at character {:,} of {:,}; to read on: {})"
    begin = min(offset, len(text))
    # Room for the longest form of the last line, and at least 100 characters of text.
    room = max(100, max_chars - len(head) - len(cut) - len(ask) - len(memory.id) - 30)
    end = len(text)
    if end > begin + room:
        ends = [
            (text.rfind(mark, begin + room // 2, begin + room), mark)
            for mark in ("\n", ". ", "\u3002", " ")
        ]
        end = next((found + len(mark) for found, mark in ends if found >= 0), begin + room)
    parts = [head, text[begin:end].rstrip("\n")]
    if end < len(text):
        parts.append(cut.format(end, len(text), ask.format(f"{memory.id}+{end}")))
    elif begin:
        parts.append(f"(characters {begin:,} to {end:,}, the end)")
    return "\n\n".join(parts)


def _heading(recalled: Recalled) -> str:
    found = recalled.found
    question = clip(one_line(found.query), 300)
    return f"# Memory Recall: {question}\nQuery executed at: {local_second(found.at)}"


def _links(recalled: Recalled) -> list[str]:
    shown = recalled.bridges[:_MAX_BRIDGES]
    rows = [
        f"- {clip(one_line(a), _END_CHARS)} -> {clip(one_line(z), _END_CHARS)} ({link.type}, weight: {link.weight:.2f})"
        for link, a, z in shown
    ]
    return (
        [f"## Related Bridges ({len(shown)} of {recalled.all_bridges})", "\n".join(rows)]
        if shown
        else []
    )


def _blocks(recalled: Recalled, now: Moment, door: Door) -> Iterator[str]:
    found = recalled.found
    yield _heading(recalled)
    for kind, name in ((Kind.THREAD, "Threads"), (Kind.RULE, "Rules"), (Kind.NOTE, "Notes")):
        memories: dict[tuple[Scope, str], list[Recollection]] = {}
        for one in found.found:
            if one.hit.memory.kind is kind:
                memories.setdefault((one.scope, one.hit.memory.id), []).append(one)
        if memories or kind is Kind.THREAD:
            yield f"## Matching {name} ({len(memories)} found)"
        shown = list(memories.values())[: _MAX_THREADS if kind is Kind.THREAD else None]
        for turns in shown:
            yield from _block(turns, now)
        if len(shown) < len(memories):
            yield f"({len(shown)} of {len(memories)} shown; {door.rest})"
        if kind is Kind.THREAD:
            yield from _links(recalled)
    if not found.found:
        yield nothing_matches(found)
    yield from left_out_lines(found, door)
    if found.how.startswith("words alone"):
        yield f"(searched by {found.how})"


def nothing_matches(found: Found) -> str:
    """With what came nearest, which is not an answer."""
    if not found.nearest:
        return "Nothing matches."
    memories = (one.hit.memory for one in found.nearest)
    named = [f"\u201c{clip(one_line(one.title), 60)}\u201d ({one.id})" for one in memories]
    return f"Nothing matches; nearest, though not about it: {', '.join(named)}"


def left_out_lines(found: Found, door: Door = COMMAND_LINE) -> Iterator[str]:
    for status, count in found.left_out:
        match = "memory also matches" if count == 1 else "memories also match"
        least = "at least " if found.is_full else ""
        yield f"{least}{count} {status} {match}: {door.left_out.get(status, f'status {status}')}"


def list_stale(files: tuple[str, ...]) -> str:
    more = f" (+{len(files) - 1})" if len(files) > 1 else ""
    return f"{clip(one_line(files[0]), 80)}{more}"


def _topics(topics: tuple[str, ...]) -> str:
    return f" | Topics: {clip(one_line(', '.join(topics)), 80)}" if topics else ""


def _marks(one: Recollection) -> str:
    changed = f"\n-> Stale: changed since: {list_stale(one.hit.stale)}" if one.hit.stale else ""
    return f"{changed}\n-> Reactivated by this recall" if one.reactivated else changed


def _block(turns: Sequence[Recollection], now: Moment) -> Iterator[str]:
    """One memory: what it is, its best answer, then the passages of each turn."""
    one = turns[0]
    memory = one.hit.memory
    # A turn that is a question alone answers nothing, and another may.
    best = next((turn.hit for turn in turns if turn.hit.summary or turn.hit.shown), one.hit)
    summary = clip(one_line(best.passage or memory.title), 100)
    lines = (
        f"### [{memory.status.upper()}] {clip(one_line(memory.title), _TITLE_CHARS)}",
        f"Weight: {one.strength:.2f}{_topics(memory.topics)}",
        f"Summary: {summary}",
        f"Last active: {ago(memory.last_active_at, now)}",
        f"Match score: {one.hit.score:.2f}",
        f"Id: {memory.id}",
    )
    yield "\n".join(lines) + _marks(one)
    for hit in (turn.hit for turn in turns):
        if any(hit.shown) and hit.shown != (summary,):
            # Nothing in a quoted line can pass for a line of ours.
            quoted = [line for passage in hit.shown for line in (*passage.splitlines(), "")][:-1]
            day = f"{local_day(hit.turn.at)}:\n" if hit.turn is not None else ""
            yield day + "\n".join(f"> {line}".rstrip() for line in quoted)

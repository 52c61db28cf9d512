"""What an agent reads: a recall as text, in a fixed shape and within a fixed size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.base.text import clip, counted, one_line
from recollect.model.memory import Kind, Note, Status
from recollect.model.query import Hit
from recollect.model.result import Found, Recalled, Recollection, Scope, Shown

MAX_CHARS = 8_000
READ = "Read .ai/recall/{}"  # how an agent asks without tools of ours
ARCHIVED_OPTION = "--archived"
_MAX_THREADS = 5
_MAX_BRIDGES = 5
_SUMMARY_CHARS = 100
_TITLE_CHARS = 120
_FILE_CHARS = 80
_TOPICS_CHARS = 80  # the passages say more
_END_CHARS = 40
_CUT = "(cut here: more was found than fits)"
_SENTENCE_END = re.compile(r"[.!?\u2026]\s|[\u3002\uff01\uff1f]")


def ago(then: Moment, now: Moment) -> str:
    """`2 days ago`: the largest unit that fits."""
    seconds = max(0, int(now.days_since(then) * 86_400))  # another machine's clock may be ahead
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(seconds // size, unit)} ago"
    return "just now"


def recall_text(
    recalled: Recalled, *, now: Moment, ask: str = READ, max_chars: int = MAX_CHARS, archived: str = ARCHIVED_OPTION
) -> str:
    """Whole blocks and whole turns only: one that does not fit is left out with all that follow, and that is said. A
    memory that was asked for by its id comes whole, or as far as it fits. `ask`: how the reader asks, with {} for the
    question. `archived`: how to ask for what was archived on purpose."""
    if recalled.whole is not None:
        return _one_memory(recalled, recalled.whole, now, ask, max_chars)
    kept: list[str] = []
    room = max_chars - len(_CUT) - 2
    for block in _blocks(recalled, now, archived):
        room -= len(block) + 2
        if room < 0:
            return "\n\n".join((*kept, _CUT))
        kept.append(block)
    return "\n\n".join(kept)


def memory_text(shown: Shown, *, now: Moment, ask: str, max_chars: int, offset: int = 0, marks: str = "") -> str:
    """What is kept of one memory, from `offset` on. What does not fit is cut after a line or a sentence, and how to
    read on is said."""
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
    head, text = "\n".join(lines) + marks, _text_of(shown)

    def cut_at(end: int) -> str:
        return f"(cut at character {end:,} of {len(text):,}; to read on: {ask.format(f'{memory.id}+{end}')})"

    begin = min(offset, len(text))
    end = _end_of_page(text, begin, max_chars - len(head) - len(cut_at(len(text))) - 4)
    parts = [head, text[begin:end].rstrip("\n")]
    if end < len(text):
        parts.append(cut_at(end))
    elif begin:
        parts.append(f"(characters {begin:,} to {end:,}, the end)")
    return "\n\n".join(parts)


def _text_of(shown: Shown) -> str:
    """The body, then the messages that it does not hold, oldest first."""
    body = shown.card.memory.body
    if not shown.later:
        return body
    said = [f"[{m.at.iso()[:16]} {one_line(m.source)}] {m.content}" for m in shown.later]
    return "\n\n".join((*((f"Summary: {body}",) if body else ()), f"Messages ({len(said)}):", *said))


def _end_of_page(text: str, begin: int, room: int) -> int:
    """After the last line that fits, else after the last sentence, else the last word; but at least half of the room
    is used."""
    last = begin + max(100, room)
    if last >= len(text):
        return len(text)
    middle = begin + (last - begin) // 2
    line = text.rfind("\n", middle, last)
    if line >= 0:
        return line + 1
    sentences = [found.end() for found in _SENTENCE_END.finditer(text, middle, last)]
    word = text.rfind(" ", middle, last)
    return sentences[-1] if sentences else word + 1 if word >= 0 else last


def _one_memory(recalled: Recalled, shown: Shown, now: Moment, ask: str, max_chars: int) -> str:
    """Its links follow where there is still room."""
    (one,) = recalled.found.found  # as it is now: a recall may have woken it
    awake = replace(shown, card=replace(shown.card, memory=one.hit.memory, strength=one.strength))
    head, offset = _heading(recalled), recalled.offset
    room = max_chars - len(head) - 2
    text = memory_text(awake, now=now, ask=ask, max_chars=room, offset=offset, marks=_marks(one))
    links = "\n\n".join(_links(recalled))
    fits = links and len(head) + len(text) + len(links) + 4 <= max_chars
    return "\n\n".join((head, text, links) if fits else (head, text))


def _heading(recalled: Recalled) -> str:
    found = recalled.found
    when = found.at.datetime().strftime("%Y-%m-%d %H:%M:%S")
    return f"# Memory Recall: {clip(one_line(found.query), 300)}\nQuery executed at: {when}"


def _links(recalled: Recalled) -> Iterator[str]:
    bridges = recalled.bridges[:_MAX_BRIDGES]
    if bridges:
        yield f"## Related Bridges ({len(bridges)} of {recalled.all_bridges})"
        yield "\n".join(
            f"- {clip(one_line(a), _END_CHARS)} -> {clip(one_line(z), _END_CHARS)}"
            f" ({bridge.type}, weight: {bridge.weight:.2f})"
            for bridge, a, z in bridges
        )


def _blocks(recalled: Recalled, now: Moment, archived: str) -> Iterator[str]:
    found = recalled.found
    yield _heading(recalled)
    for kind, name in ((Kind.THREAD, "Threads"), (Kind.RULE, "Rules"), (Kind.NOTE, "Notes")):
        memories = _by_memory(found, kind)
        if memories or kind is Kind.THREAD:
            yield f"## Matching {name} ({len(memories)} found)"
        for turns in memories[: _MAX_THREADS if kind is Kind.THREAD else None]:
            yield from _block(turns, now)
        if kind is Kind.THREAD:
            yield from _links(recalled)
    yield from left_out_lines(found, archived)
    if found.how.startswith("words alone"):
        yield f"(searched by {found.how})"


def left_out_lines(found: Found, archived: str = ARCHIVED_OPTION) -> Iterator[str]:
    """One line for each status that was left out."""
    for status, count in found.left_out:
        match = "memory also matches" if count == 1 else "memories also match"
        how = archived if status is Status.ARCHIVED else f"search --status {status}"
        yield f"{count} {status} {match}: {how}"


def list_stale(files: tuple[str, ...]) -> str:
    more = f" (+{len(files) - 1})" if len(files) > 1 else ""
    return f"{clip(one_line(files[0]), _FILE_CHARS)}{more}"


def _topics(topics: tuple[str, ...]) -> str:
    return f" | Topics: {clip(one_line(', '.join(topics)), _TOPICS_CHARS)}" if topics else ""


def _marks(one: Recollection) -> str:
    changed = f"\n-> Stale: changed since: {list_stale(one.hit.stale)}" if one.hit.stale else ""
    return f"{changed}\n-> Reactivated by this recall" if one.reactivated else changed


def _by_memory(found: Found, kind: Kind) -> list[list[Recollection]]:
    """The turns of one memory together, in the order of the best of each."""
    blocks: dict[tuple[Scope, str], list[Recollection]] = {}
    for one in found.found:
        if one.hit.memory.kind is kind:
            blocks.setdefault((one.scope, one.hit.memory.id), []).append(one)
    return list(blocks.values())


def _block(turns: Sequence[Recollection], now: Moment) -> Iterator[str]:
    """What it is and what answers, then the passages of each turn."""
    one = turns[0]
    memory = one.hit.memory
    summary = clip(one_line(one.hit.passage or memory.title), _SUMMARY_CHARS)
    lines = (
        f"### [{memory.status.upper()}] {clip(one_line(memory.title), _TITLE_CHARS)}",
        f"Weight: {one.strength:.2f}{_topics(memory.topics)}",
        f"Summary: {summary}",
        f"Last active: {ago(memory.last_active_at, now)}",
        f"Match score: {one.hit.score:.2f}",
        f"Id: {memory.id}",
    )
    yield "\n".join(lines) + _marks(one)
    yield from (_quote(turn.hit) for turn in turns if any(turn.hit.shown) and turn.hit.shown != (summary,))


def _quote(hit: Hit) -> str:
    """Nothing in a quoted line can pass for a line of ours."""
    lines = [line.rstrip() for passage in hit.shown for line in (*passage.splitlines(), "")][:-1]
    day = f"{hit.turn.at.iso()[:10]}:\n" if hit.turn is not None else ""
    return day + "\n".join(f"> {line}".rstrip() for line in lines)

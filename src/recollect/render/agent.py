"""What an agent reads: a recall as text, in a fixed shape and within a fixed size."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line
from recollect.model.memory import Kind, Status
from recollect.model.result import Found, Recalled, Recollection

MAX_CHARS = 8_000
SUMMARY_CHARS = 100
MAX_THREADS = 5
MAX_BRIDGES = 5
_TITLE_CHARS = 120
_FILE_CHARS = 80
_TOPICS_CHARS = 200  # fifty long topics would leave no room for the next thread
ARCHIVED_OPTION = "--archived"
_SECTIONS = ((Kind.RULE, "Rules"), (Kind.NOTE, "Notes"))


def ago(then: Moment, now: Moment) -> str:
    """`2 days ago`: the largest unit that fits."""
    seconds = max(0, int(now.days_since(then) * 86_400))  # another machine's clock may be ahead
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        count = seconds // size
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def recall_text(
    recalled: Recalled, *, now: Moment, max_chars: int = MAX_CHARS, ids: bool = False, archived: str = ARCHIVED_OPTION
) -> str:
    """Whole blocks only: one that does not fit is left out with all that follow, and that is said. `ids`: each block
    names its memory, for who may want to rate or merge it. `archived`: how to ask for what was archived on purpose."""
    kept: list[str] = []
    used = 0
    note = "(cut here: more was found than fits)"
    for block in _blocks(recalled, now, ids, archived):
        if used + len(block) + 2 > max_chars - len(note) - 2:
            kept.append(note)
            break
        kept.append(block)
        used += len(block) + 2
    return "\n\n".join(kept)


def _blocks(recalled: Recalled, now: Moment, ids: bool, archived: str) -> Iterator[str]:
    found = recalled.found
    when = found.at.datetime().strftime("%Y-%m-%d %H:%M:%S")
    yield f"# Memory Recall: {clip(one_line(found.query), 300)}\nQuery executed at: {when}"
    threads = [one for one in found.found if one.hit.memory.kind is Kind.THREAD]
    yield f"## Matching Threads ({len(threads)} found)"
    yield from (_block(one, now, ids) for one in threads[:MAX_THREADS])
    bridges = recalled.bridges[:MAX_BRIDGES]
    if bridges:
        yield f"## Related Bridges ({len(bridges)} of {recalled.all_bridges})"
        yield "\n".join(
            f"- {clip(one_line(a), _TITLE_CHARS)} -> {clip(one_line(z), _TITLE_CHARS)}"
            f" ({bridge.type}, weight: {bridge.weight:.2f})"
            for bridge, a, z in bridges
        )
    for kind, name in _SECTIONS:
        of_kind = [one for one in found.found if one.hit.memory.kind is kind]
        if of_kind:
            yield f"## Matching {name} ({len(of_kind)} found)"
            yield from (_block(one, now, ids) for one in of_kind)
    yield from left_out_lines(found, archived)
    if found.how.startswith("words alone"):
        yield f"(searched by {found.how})"


def left_out_lines(found: Found, archived: str = ARCHIVED_OPTION) -> Iterator[str]:
    """One line for each status that was left out."""
    for status, count in found.left_out:
        match = "memory also matches" if count == 1 else "memories also match"
        how = archived if status is Status.ARCHIVED else f"search --status {status}"
        yield f"{count} {status} {match}: {how}"


def stale(files: tuple[str, ...]) -> str:
    more = f" (+{len(files) - 1})" if len(files) > 1 else ""
    return f"{clip(one_line(files[0]), _FILE_CHARS)}{more}"


def _block(one: Recollection, now: Moment, ids: bool) -> str:
    memory = one.hit.memory
    topics = f" | Topics: {clip(one_line(', '.join(memory.topics)), _TOPICS_CHARS)}" if memory.topics else ""
    lines = [
        f"### [{memory.status.upper()}] {clip(one_line(memory.title), _TITLE_CHARS)}",
        f"Weight: {one.strength:.2f}{topics}",
        f"Summary: {clip(one_line(one.hit.passage or memory.body), SUMMARY_CHARS)}",
        f"Last active: {ago(memory.last_active_at, now)}",
        f"Match score: {one.hit.score:.2f}",
    ]
    if ids:
        lines.append(f"Id: {memory.id}")
    if one.hit.stale:
        lines.append(f"-> Stale: changed since: {stale(one.hit.stale)}")
    if one.reactivated:
        lines.append("-> Reactivated by this recall")
    return "\n".join(lines)

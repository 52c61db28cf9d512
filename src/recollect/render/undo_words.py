"""What is true after a change was undone, in words: `the rule “Use pnpm, not npm” is no longer in force`.

Decides from the plan that was applied alone. Memories that came to the same end are named together, and counted where
there are too many to name. Does not look anything up: whoever calls says what memories are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from recollect.base.text import clip, counted, one_line
from recollect.model import plan as plans
from recollect.model.memory import SHARED_TAG, Kind, Memory, Status
from recollect.model.plan import Plan

MemoryOf = Callable[[str], Memory | None]

_TITLE_CHARS = 80
_MOST_NAMED = 3
_MOST_LOOKED_UP = 200  # to learn their kinds: a compaction changes a hundred thousand threads
_MOST_SENTENCES = 4
_RULE_STATES = {
    Status.ACTIVE: "in force again",
    Status.CANDIDATE: "waiting in the inbox again",
    Status.ARCHIVED: "archived again",
    Status.SUPERSEDED: "replaced again",
    Status.SUSPENDED: "asleep again",
}
_OTHER_STATES = _RULE_STATES | {Status.ACTIVE: "active again"}
# Fields that a person would name, the most telling first, with what is true of the memory once they are back.
_FIELD_ENDS = (
    (("body", "title"), "worded as before"),
    (("path",), "back in its old file"),
    (("topics", "drift"), "under its old topics"),
    (("ratings", "outcomes"), "rated as before"),
    (("appreciation",), "protected as much as before"),
    (("seen",), "counted as before"),
    (("weight", "boost", "reinforced_at"), "as strong as before"),
)


class _End(NamedTuple):
    """What is true of one memory now: its name, and words that follow `is`."""

    kind: str
    title: str
    state: str


def undone_words(plan: Plan, memory_of: MemoryOf) -> str:
    """Sentences about the memories that the plan of an undo has changed, without a full stop at the end."""
    ends = list(_merge_ends(plan, memory_of))
    ends += _memory_ends(plan, memory_of)
    if not ends:
        ends = list(_link_ends(plan, memory_of))
    if not ends:
        return "everything is as before"
    groups: dict[tuple[str, str], list[str]] = {}
    for end in ends:
        groups.setdefault((end.kind, end.state), []).append(end.title)
    sentences = [_sentence(kind, state, titles) for (kind, state), titles in groups.items()]
    if len(sentences) > _MOST_SENTENCES:
        sentences = [*sentences[: _MOST_SENTENCES - 1], "other memories are as before"]
    return "; ".join(sentences)


def _sentence(kind: str, state: str, titles: list[str]) -> str:
    if len(titles) == 1:
        name = f" \u201c{titles[0]}\u201d" if titles[0] else ""
        return f"the {kind}{name} is {state}"
    plural = "memories" if kind == "memory" else f"{kind}s"
    states = state.replace("a thread of its own", "threads of their own")
    states = states.replace("a rule of its own", "rules of their own").replace(
        "its old", "their old"
    )
    if len(titles) > _MOST_NAMED or not all(titles):
        return f"{len(titles):,} {plural} are {states}"
    named = [f"\u201c{title}\u201d" for title in titles]
    return f"the {plural} {', '.join(named[:-1])} and {named[-1]} are {states}"


def _merge_ends(plan: Plan, memory_of: MemoryOf) -> Iterator[_End]:
    """Memories that leave another one they were merged into, or become part of it again."""
    for change in plan.changes:
        match change:
            case plans.Unalias(old, _) if memory := memory_of(old):
                yield _end(memory, f"a {memory.kind} of its own again")
            case plans.Alias(old, new) if memory := memory_of(old):
                whole = memory_of(new)
                into = f"\u201c{_title(whole)}\u201d" if whole else "another"
                yield _end(memory, f"part of {into} again")


def _memory_ends(plan: Plan, memory_of: MemoryOf) -> Iterator[_End]:
    told = _told_by_others(plan)
    # Messages that come back say more than the topics that come with them.
    for id in dict.fromkeys(_completed(plan)):
        if id not in told:
            told.add(id)
            yield _end_of(id, "complete again", memory_of)
    for change in plan.changes:
        match change:
            case plans.Remove(memory):
                yield _end(memory, _removed_state(memory))
            case plans.Create(memory):
                yield _end(memory, _created_state(memory))
            case plans.UpdateAll(ids, before, after):
                yield from _updated_alike(ids, before, after, memory_of)
            case plans.Update(id) | plans.Unsay(id) if id not in told:
                told.add(id)
                yield _changed(change, memory_of)


def _told_by_others(plan: Plan) -> set[str]:
    """Memories that were merged or taken apart, came or went: that is said, and the rest follows from it."""
    ids: set[str] = set()
    for change in plan.changes:
        match change:
            case plans.Alias(old, new) | plans.Unalias(old, new):
                ids |= {old, new}
            case plans.Create(memory) | plans.Remove(memory):
                ids.add(memory.id)
            case _:
                pass
    return ids


def _completed(plan: Plan) -> Iterator[str]:
    """Threads that get messages back."""
    for change in plan.changes:
        match change:
            case plans.Say(id, _) | plans.Move(_, _, id):
                yield id
            case _:
                pass


def _changed(change: plans.Update | plans.Unsay, memory_of: MemoryOf) -> _End:
    if isinstance(change, plans.Update):
        return _updated(change.id, change.before, change.after, memory_of)
    many = counted(len(change.messages), "message")
    return _end_of(change.id, f"without the {many.removeprefix('1 ')} it got", memory_of)


def _link_ends(plan: Plan, memory_of: MemoryOf) -> Iterator[_End]:
    for change in plan.changes:
        if isinstance(change, plans.Link | plans.Unlink):
            other = memory_of(change.bridge.target)
            name = f"\u201c{_title(other)}\u201d" if other else "another memory"
            is_linked = isinstance(change, plans.Link)
            state = f"linked to {name} again" if is_linked else f"no longer linked to {name}"
            yield _end_of(change.bridge.source, state, memory_of)


def _removed_state(memory: Memory) -> str:
    if memory.kind is Kind.RULE and memory.status is Status.ACTIVE:
        return "no longer in force"
    if memory.kind is Kind.RULE and memory.status is Status.CANDIDATE:
        return "no longer in the inbox"
    if memory.kind is Kind.NOTE:
        return "gone, and so is its file"
    return "no longer remembered"


def _created_state(memory: Memory) -> str:
    if memory.kind is Kind.NOTE:
        return "back, and so is its file"
    if memory.status is Status.ACTIVE:
        return "in force again" if memory.kind is Kind.RULE else "remembered again"
    return _RULE_STATES[memory.status]


def _updated(id: str, before: plans.Fields, after: plans.Fields, memory_of: MemoryOf) -> _End:
    memory = memory_of(id)
    kind = memory.kind if memory else None
    title = after.get("title")
    name = _short(str(title)) if title else _title(memory)
    return _End(str(kind or "memory"), name, _updated_state(kind, before, after))


def _updated_alike(
    ids: tuple[str, ...], before: plans.Fields, after: plans.Fields, memory_of: MemoryOf
) -> Iterator[_End]:
    """Of very many only the first are looked up; the others are taken for the same kind."""
    kinds: list[Kind] = []
    for id in islice(ids, _MOST_LOOKED_UP):
        if memory := memory_of(id):
            kinds.append(memory.kind)
            yield _end(memory, _updated_state(memory.kind, before, after))
    usual = kinds[0] if kinds else None
    state = _updated_state(usual, before, after)
    for _ in ids[_MOST_LOOKED_UP:]:
        yield _End(str(usual or "memory"), "", state)


def _updated_state(kind: Kind | None, before: plans.Fields, after: plans.Fields) -> str:
    if "status" in after:
        states = _RULE_STATES if kind is Kind.RULE else _OTHER_STATES
        return states[Status(str(after["status"]))]
    if "tags" in after:
        is_shared, was_shared = _has_tag(after["tags"]), _has_tag(before.get("tags"))
        if is_shared != was_shared:
            return "shared with the team again" if is_shared else "no longer shared with the team"
    if "pinned" in after:
        return "pinned again" if after["pinned"] else "no longer pinned"
    for names, state in _FIELD_ENDS:
        if not after.keys().isdisjoint(names):
            return state
    return "as before"


def _has_tag(tags: Any) -> bool:
    return isinstance(tags, Iterable) and SHARED_TAG in tags


def _end_of(id: str, state: str, memory_of: MemoryOf) -> _End:
    memory = memory_of(id)
    return _end(memory, state) if memory else _End("memory", "", state)


def _end(memory: Memory, state: str) -> _End:
    return _End(str(memory.kind), _title(memory), state)


def _title(memory: Memory | None) -> str:
    return _short(memory.title) if memory else ""


def _short(title: str) -> str:
    return clip(one_line(title).rstrip("."), _TITLE_CHARS)

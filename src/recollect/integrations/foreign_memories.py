"""Memories of other programs, from what each keeps to values of ours. A format is a row of `DATABASES`, or a function.

Reads nothing itself, and does not judge what is worth having.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.text import one_line
from recollect.model.foreign_memory import ForeignLink, ForeignMemory
from recollect.model.memory import BridgeType, Kind, Lane, RuleType

Row = Mapping[str, object]


class Database(NamedTuple):
    file: str  # where the program keeps it, in the home folder
    holds: str
    tables: tuple[tuple[str, Callable[[Row], ForeignMemory]], ...]
    needs: frozenset[str]  # columns without which a table is not theirs


# claude-mem: observations and summaries of sessions

_SUMMARY_PARTS = {
    "request": "Asked for", "investigated": "Looked at", "learned": "Learned", "completed": "Done",
    "next_steps": "Next", "notes": "Notes",
}  # fmt: skip


def _observation(row: Row) -> ForeignMemory:
    facts = "\n".join(f"- {fact}" for fact in _texts(row, "facts"))
    parts = (_text(row, "subtitle"), _text(row, "narrative", "text", "content"), facts)
    return ForeignMemory(
        f"observation {row.get('id')}", _text(row, "title", "subtitle"), "\n\n".join(part for part in parts if part),
        topics=_texts(row, "concepts"), tags=(kind,) if (kind := _text(row, "type", "kind")) else (),
        at=_moment(row, "created_at_epoch", "created_at"), project=_text(row, "project"),
    )  # fmt: skip


def _summary(row: Row) -> ForeignMemory:
    body = "\n".join(f"{name}: {said}" for column, name in _SUMMARY_PARTS.items() if (said := _text(row, column)))
    return ForeignMemory(
        f"summary {row.get('id')}", _text(row, "request", "completed"), body, tags=("summary",),
        at=_moment(row, "created_at_epoch", "created_at"), project=_text(row, "project"),
    )  # fmt: skip


# claude-recall: keys with values of JSON, most of them rules

_RULE_TYPES = {
    "preference": RuleType.PREFERENCE, "correction": RuleType.CORRECTION, "correction-pattern": RuleType.CORRECTION,
    "failure": RuleType.FAILURE, "devops": RuleType.DEVOPS,
}  # fmt: skip
_TOOL_RECORDS = frozenset({"tool-use", "tool_use", "hook_event", "search", "rule_injection_event", "outcome_event"})
_WORD_FIELDS = ("content", "description", "value", "text", "message", "title", "what_should_do", "raw")
_MAX_DEPTH = 4


def _keyed_value(row: Row) -> ForeignMemory:
    sort = _text(row, "type")
    is_over = row.get("is_active") == 0 or bool(_text(row, "superseded_by"))
    junk = "a record of tools, not a memory" if sort in _TOOL_RECORDS else "put out of force there" if is_over else ""
    value = row.get("value")
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        pass  # plain text
    title = value.get("title") if isinstance(value, dict) else ""
    return ForeignMemory(
        _text(row, "key") or f"memory {row.get('id')}", title.strip() if isinstance(title, str) else "",
        _words(value, _MAX_DEPTH), kind=Kind.RULE if sort in _RULE_TYPES else Kind.THREAD,
        rule_type=_RULE_TYPES.get(sort, RuleType.PREFERENCE), tags=(sort,) if sort and sort not in _RULE_TYPES else (),
        at=_moment(row, "timestamp"), project="" if _text(row, "scope") == "universal" else _text(row, "project_id"),
        junk=junk,
    )  # fmt: skip


def _words(value: object, depth: int) -> str:
    if isinstance(value, str):
        return value.strip()
    fields = _WORD_FIELDS if isinstance(value, dict) and depth else ()
    return next((said for name in fields if (said := _words(value.get(name), depth - 1))), "")  # type: ignore[attr-defined]


DATABASES = {
    "claude-mem": Database(
        ".claude-mem/claude-mem.db", "observations",
        (("observations", _observation), ("session_summaries", _summary)), frozenset({"id"}),
    ),
    "claude-recall": Database(
        ".claude-recall/claude-recall.db", "memories", (("memories", _keyed_value),), frozenset({"key", "value"})
    ),
}  # fmt: skip


# The reference memory server of the Model Context Protocol: entities with observations, and relations, one per line

_LINK_TYPES = (
    (re.compile(r"depend|requires?|needs|uses", re.I), BridgeType.DEPENDS),
    (re.compile(r"replac|supersed|succe", re.I), BridgeType.REPLACES),
    (re.compile(r"part|child|belong|member|contain|inside|\bin\b", re.I), BridgeType.CHILD_OF),
    (re.compile(r"contradict|conflict|oppos", re.I), BridgeType.CONTRADICTS),
    (re.compile(r"exten|build|refin|follow", re.I), BridgeType.EXTENDS),
)


def entity_or_relation(line: Row) -> ForeignMemory | ForeignLink | None:
    """None for what is neither."""
    match line.get("type"):
        case "entity":
            seen = line.get("observations")
            said = [one.strip() for one in seen if isinstance(one, str)] if isinstance(seen, list) else []
            name, sort = _text(line, "name"), _text(line, "entityType")
            return ForeignMemory(name, name, "\n".join(filter(None, said)), topics=(sort,) if sort else ())
        case "relation":
            return ForeignLink(_text(line, "from"), _text(line, "to"), _text(line, "relationType"))
        case _:
            return None


def link_type(word: str) -> BridgeType:
    return next((kind for pattern, kind in _LINK_TYPES if pattern.search(word)), BridgeType.SIBLING)


# A file of an agent's own memory: a few fields, and what it noted. Such words are the agent's, not the user's

_RULE_SORTS = frozenset({"feedback", "user"})
_MAX_RULE_CHARS = 600
_AFTERWORD = re.compile(r"^\*\*(?:why|how to apply):?\*\*", re.I | re.M)


def agent_note(name: str, fields: Mapping[str, str], body: str, at: Moment | None) -> ForeignMemory:
    title = fields.get("description") or fields.get("name") or name.removesuffix(".md")
    sort = fields.get("type", "")
    lead = one_line(_AFTERWORD.split(body, maxsplit=1)[0].strip().split("\n\n")[0])
    if sort in _RULE_SORTS and lead and len(lead) <= _MAX_RULE_CHARS:
        return ForeignMemory(name, title, lead, kind=Kind.RULE, at=at)
    return ForeignMemory(name, title, body.strip(), topics=(sort,) if sort else (), at=at)


# A file of rules for agents, in Markdown: each item of a list is one, under the heading it stands below

_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d{1,3}[.)])\s+(?P<said>\S.*)")
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.+?)\s*#*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_OURS = re.compile(r"<!-- recollect (begin|end)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
# In a prompt such an order is meant once; in a file of rules it is a rule.
_ORDER = re.compile(
    r"(?:please\s+)?(?:add|always|ask|avoid|build|check|commit|do|don't|ensure|follow|format|keep|lint|make|must|name|never"
    r"|no|only|prefer|put|read|run|should|start|test|update|use|write)\b(?!\s*[:=])",
    re.I,
)


def rule_items(markdown: str) -> list[ForeignMemory]:
    """In their order; without code and what Recollect itself wrote there."""
    found: list[tuple[str, list[str]]] = []
    heading, is_open, fence, ours = "", False, "", False
    for line in markdown.splitlines():
        mark = _OURS.search(line)
        ours = mark[1] == "begin" if mark else ours
        fenced = _FENCE.match(line)
        if fenced and (not fence or fenced[1].startswith(fence)):
            fence, is_open = ("" if fence else fenced[1]), False
        if fence or fenced or ours or mark:
            continue
        if title := _HEADING.match(line):
            heading, is_open = one_line(title["title"]), False
        elif item := _ITEM.match(line):
            found.append((heading, [item["said"]]))
            is_open = True
        elif is_open and line.strip() and line[0].isspace():
            found[-1][1].append(line.strip())
        else:
            is_open = False
    return [_rule(topic, one_line(" ".join(said))) for topic, said in found]


def is_order(said: str) -> bool:
    return _ORDER.match(said.lstrip("`*_ ")) is not None


def _rule(topic: str, said: str) -> ForeignMemory:
    words = _EMPHASIS.sub(r"\2", said)
    junk = "too long for a rule" if len(words) > _MAX_RULE_CHARS else ""
    topics = (topic,) if topic else ()
    return ForeignMemory(words, "", words, kind=Kind.RULE, lane=Lane.REPOSITORY, topics=topics, junk=junk)


# Cells of a table of others, whatever a program put there

_MILLIS_FROM = 100_000_000_000  # from here on a number of seconds would be in the year 5138: it counts milliseconds


def _text(row: Row, *names: str) -> str:
    """The first of these columns that is there and holds any."""
    values = (row.get(name) for name in names)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _texts(row: Row, name: str) -> tuple[str, ...]:
    """A JSON list of texts; a text that is none counts as a list of one."""
    written = _text(row, name)
    try:
        found = json.loads(written) if written else []
    except (ValueError, RecursionError):
        found = written
    listed = found if isinstance(found, list) else [found]
    return tuple(one.strip() for one in listed if isinstance(one, str) and one.strip())


def _moment(row: Row, *names: str) -> Moment | None:
    for name in names:
        value = row.get(name)
        try:
            if isinstance(value, int | float) and value > 0:
                found = Moment(int(value * (1_000 if value >= _MILLIS_FROM else 1_000_000)))
                found.iso()  # refuses what no calendar holds
                return found
            if isinstance(value, str) and value.strip():
                return Moment.parse(value.strip())
        except (ValueError, OverflowError):
            continue
    return None

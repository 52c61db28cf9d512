"""Converts what other programs remember into values of ours, and says which of it is not worth importing. A format is a
row of `DATABASES`, or a function. Reads no file itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.structs import Struct
from recollect.base.text import one_line
from recollect.model.memory import BridgeType, Kind, Lane, RuleType

Row = Mapping[Any, object]
_TABLES = load_table("recollect.integrations", "foreign_memories.json")
_RULE_TYPES = {name: RuleType(value) for name, value in _TABLES["rule_types"].items()}
_MAX_RULE_CHARS = 600


class ForeignMemory(Struct):
    key: str  # its name in the other program; the same each time it is read
    title: str
    body: str
    kind: Kind = Kind.THREAD
    lane: Lane = Lane.AGENT
    rule_type: RuleType = RuleType.PREFERENCE
    topics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    at: Moment | None = None
    project: str = ""  # whose it is there, as that program spells it; empty: everybody's
    junk: str = ""  # why it is not worth having, where its own program says so


class ForeignLink(NamedTuple):
    """How two of them are connected, by their keys."""

    source: str
    target: str
    type: BridgeType


# claude-mem: observations and summaries of sessions


def _observation(row: Row) -> ForeignMemory:
    facts = "\n".join(f"- {fact}" for fact in _texts(row.get("facts")))
    parts = (_text(row, "subtitle"), _text(row, "narrative", "text", "content"), facts)
    return ForeignMemory(
        f"observation {row.get('id')}", _text(row, "title", "subtitle"), "\n\n".join(filter(None, parts)),
        topics=_texts(row.get("concepts")), tags=tuple(filter(None, [_text(row, "type", "kind")])),
        at=_moment(row, "created_at_epoch", "created_at"), project=_text(row, "project"),
    )  # fmt: skip


def _summary(row: Row) -> ForeignMemory:
    parts = ((name, _text(row, column)) for column, name in _TABLES["summary_parts"].items())
    body = "\n".join(f"{name}: {text}" for name, text in parts if text)
    return ForeignMemory(
        f"summary {row.get('id')}", _text(row, "request", "completed"), body, tags=("summary",),
        at=_moment(row, "created_at_epoch", "created_at"), project=_text(row, "project"),
    )  # fmt: skip


# claude-recall: keys with values of JSON, most of them rules

_MAX_DEPTH = 4


def _keyed_value(row: Row) -> ForeignMemory:
    sort, value, junk = _text(row, "type"), _loaded(row.get("value")), ""
    if sort in _TABLES["tool_records"]:
        junk = "a record of tools, not a memory"
    elif row.get("is_active") == 0 or _text(row, "superseded_by"):
        junk = "no longer in force there"
    return ForeignMemory(
        _text(row, "key") or f"memory {row.get('id')}", _text(value, "title") if isinstance(value, dict) else "",
        _words(value, _MAX_DEPTH), kind=Kind.RULE if sort in _RULE_TYPES else Kind.THREAD,
        rule_type=_RULE_TYPES.get(sort, RuleType.PREFERENCE), tags=(sort,) if sort and sort not in _RULE_TYPES else (),
        at=_moment(row, "timestamp"), project="" if _text(row, "scope") == "universal" else _text(row, "project_id"),
        junk=junk,
    )  # fmt: skip


def _words(value: object, depth: int) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict) and (failure := _failure_words(value, depth)):
        return failure
    fields = (
        [value.get(name) for name in _TABLES["word_fields"]]
        if isinstance(value, dict) and depth
        else []
    )
    return next((words for field in fields if (words := _words(field, depth - 1))), "")


def _failure_words(value: Mapping[str, object], depth: int) -> str:
    """What failed, why, and what to do instead, as one text; empty where it does not say what failed, or where it says
    nothing else of it and has other words."""
    parts: dict[str, str] = {}
    for name, fields in _TABLES["failure_parts"].items() if depth else ():
        words = (_words(value.get(field), depth - 1) for field in fields)
        parts[name] = one_line(next(filter(None, words), "")).rstrip(".")
    said = {name: words for name, words in parts.items() if words}
    has_other_words = any(_words(value.get(field), depth - 1) for field in _TABLES["word_fields"])
    if "What failed" not in said or (len(said) == 1 and has_other_words):
        return ""
    return " ".join(f"{name}: {words}." for name, words in said.items())


# Where each program keeps its database, in the home folder, and how a row of each table is read
DATABASES: dict[str, tuple[str, dict[str, Callable[[Row], ForeignMemory]]]] = {
    "claude-mem": (
        ".claude-mem/claude-mem.db",
        {"observations": _observation, "session_summaries": _summary},
    ),
    "claude-recall": (".claude-recall/claude-recall.db", {"memories": _keyed_value}),
}


# The reference memory server of the Model Context Protocol: entities with observations, and relations, one per line


def entity_or_relation(line: Any) -> ForeignMemory | ForeignLink | None:
    """None for anything else."""
    match line:
        case {"type": "entity", **fields}:
            name, sort = _text(fields, "name"), _text(fields, "entityType")
            body = "\n".join(_texts(fields.get("observations")))
            return ForeignMemory(name, name, body, topics=(sort,) if sort else ())
        case {"type": "relation", **fields}:
            word, links = _text(fields, "relationType"), _TABLES["link_words"].items()
            type = next(
                (name for name, pattern in links if re.search(pattern, word, re.I)), "SIBLING"
            )
            return ForeignLink(_text(fields, "from"), _text(fields, "to"), BridgeType(type))
        case _:
            return None


# A file of an agent's own memory: a few fields, and what it noted. Such words are the agent's, not the user's

_RULE_SORTS = frozenset({"feedback", "user"})
_AFTERWORD = re.compile(r"^\*\*(?:why|how to apply):?\*\*", re.I | re.M)


def agent_note(name: str, fields: Mapping[str, str], body: str, at: Moment | None) -> ForeignMemory:
    title = fields.get("description") or fields.get("name") or name.removesuffix(".md")
    sort = fields.get("type", "")
    lead = one_line(_AFTERWORD.split(body, maxsplit=1)[0].strip().split("\n\n")[0])
    if sort in _RULE_SORTS and lead and len(lead) <= _MAX_RULE_CHARS:
        return ForeignMemory(name, title, lead, kind=Kind.RULE, at=at)
    return ForeignMemory(name, title, body.strip(), topics=(sort,) if sort else (), at=at)


# A file of rules for agents, in Markdown: each item of a list is one, under the heading it stands below

_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d{1,3}[.)])\s+(?P<text>\S.*)")
_HEADING = re.compile(r"#{1,6}\s++(?P<title>.+)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_OURS = re.compile(r"<!-- recollect (begin|end)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1")
# In a prompt such an order is meant once; in a file of rules it is a rule.
ORDER = re.compile(rf"[`*_ ]*(?:please\s+)?(?:{'|'.join(_TABLES['orders'])})\b(?!\s*[:=])", re.I)


def rule_items(markdown: str, *, at_most: int) -> list[ForeignMemory]:
    """The first so many, in their order; without code and what Recollect itself wrote there."""
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
            heading, is_open = one_line(title["title"].rstrip().rstrip("#")), False
        elif item := _ITEM.match(line):
            if len(found) == at_most:
                break
            found.append((heading, [item["text"]]))
            is_open = True
        elif is_open and line.strip() and line[0].isspace():
            found[-1][1].append(line.strip())
        else:
            is_open = False
    rules = []
    for topic, lines in found:
        words, topics = _EMPHASIS.sub(r"\2", one_line(" ".join(lines))), (topic,) if topic else ()
        junk = "too long for a rule" if len(words) > _MAX_RULE_CHARS else ""
        rules.append(
            ForeignMemory(words, "", words, Kind.RULE, Lane.REPOSITORY, topics=topics, junk=junk)
        )
    return rules


# Cells of a table, whatever a program put there

_MILLIS_FROM = 100_000_000_000  # from here on a number of seconds would be in the year 5138: it counts milliseconds


def _text(row: Row, *names: str) -> str:
    """The first of these columns that is there and holds any."""
    values = (row.get(name) for name in names)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _texts(value: object) -> tuple[str, ...]:
    """A list of texts, as it is or as JSON; a text that is none counts as a list of one."""
    loaded = _loaded(value)
    listed = loaded if isinstance(loaded, list) else [loaded]
    return tuple(one.strip() for one in listed if isinstance(one, str) and one.strip())


def _loaded(value: object) -> object:
    """What JSON text holds; anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


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


# What is not worth importing, and what says the same

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MIN_WORDS, _MIN_LETTERS = 3, 10
_MIN_LETTER_SHARE = 0.5  # a text with a smaller share of letters is a dump
_TAGS = "|".join(_TABLES["machine_tags"])
_MARKUP = re.compile(rf"\s*(?:[{{\[]\s*[\"{{\[]|<(?:{_TAGS}|[a-z]+-mem\b)|\[?\d{{4}}-\d\d-\d\dT)")
_TEST = re.compile(rf"\b(?:{'|'.join(_TABLES['test_phrases'])})\b", re.I)
_TEST_KEY = re.compile(r"(?:^|[_-])test(?:[_-]|$)", re.I)


def why_left_out(one: ForeignMemory) -> str:
    """Empty where it is worth having."""
    text = one.body or one.title
    letters = len(_LETTER.findall(text))
    # Scripts without spaces say much in few characters.
    is_short = text.isascii() and (letters < _MIN_LETTERS or len(_WORD.findall(text)) < _MIN_WORDS)
    reasons = {
        "empty": not letters,
        "test data": _TEST_KEY.search(one.key) or _TEST.search(text),
        "made by a machine": _MARKUP.match(text),
        "too short": is_short,
        "no words": letters < _MIN_LETTER_SHARE * len(re.sub(r"\s", "", text)),
    }
    return one.junk or next((reason for reason, is_true in reasons.items() if is_true), "")


# Numbers, paths, options and names as code spells them: texts that differ in one of these speak of different things.
_EXACT = re.compile(r"\d|\w[_/.:@-]\w|[a-z][A-Z]|--\w")


def words_key(text: str) -> str:
    """Equal for texts that differ only in case and punctuation, not in numbers or names."""
    words = re.sub(r"[\W_]+", " ", text.casefold()).strip()
    return "\n".join((words, *exact_names(text)))


def exact_names(text: str) -> tuple[str, ...]:
    """Port 5433 is not port 5432, and `db/a.py` is not `db/b.py`."""
    exact = (word for word in text.split() if _EXACT.search(word))
    found = (name.strip("\"'`,;:!?()[]{}<>").rstrip(".") for name in exact)
    return tuple(sorted(set(found)))

"""Files of rules for agents, in Markdown: each item of a list is one, under the heading it stands below."""

from __future__ import annotations

import re

from recollect.base.text import one_line
from recollect.model.brought import Brought
from recollect.model.memory import Kind, Lane

_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d{1,3}[.)])\s+(?P<said>\S.*)")
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.+?)\s*#*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_OURS = re.compile(r"<!-- recollect (begin|end)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_MOST_CHARS = 600
# In a prompt such an order is for once; in a file of rules it is one.
_ORDER = re.compile(
    r"(?:please\s+)?(?:add|always|ask|avoid|build|check|commit|do|don't|ensure|follow|format|keep|lint|make|must|name|never"
    r"|no|only|prefer|put|read|run|should|start|test|update|use|write)\b(?!\s*[:=])",
    re.I,
)


def items(markdown: str, *, lane: Lane = Lane.REPOSITORY) -> list[Brought]:
    """In the order they stand; code and what Recollect itself wrote there left out."""
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
    return [_rule(topic, one_line(" ".join(said)), lane) for topic, said in found]


def is_order(said: str) -> bool:
    return _ORDER.match(said.lstrip("`*_ ")) is not None


def _rule(topic: str, said: str, lane: Lane) -> Brought:
    words = _EMPHASIS.sub(r"\2", said)
    return Brought(
        words, "", words, kind=Kind.RULE, lane=lane, topics=(topic,) if topic else (),
        junk="too long for a rule" if len(words) > _MOST_CHARS else "",
    )  # fmt: skip

"""claude-recall: keys with values of JSON, most of them rules, in a database of its own."""

from __future__ import annotations

import json

from recollect.capture.others.fields import Row, moment, text
from recollect.model.brought import Brought
from recollect.model.memory import Kind, RuleType

FILE = ".claude-recall/claude-recall.db"
"""In the user's home folder."""
TABLE = "memories"
_RULES = {
    "preference": RuleType.PREFERENCE, "correction": RuleType.CORRECTION, "correction-pattern": RuleType.CORRECTION,
    "failure": RuleType.FAILURE, "devops": RuleType.DEVOPS,
}  # fmt: skip
_RAW = frozenset({"tool-use", "tool_use", "hook_event", "search", "rule_injection_event", "outcome_event"})
_SAYS = ("content", "description", "value", "text", "message", "title", "what_should_do", "raw")
_DEPTH = 4


def memory(row: Row) -> Brought:
    sort = text(row, "type")
    said, title = _said(row.get("value"))
    return Brought(
        text(row, "key") or f"memory {row.get('id')}", title, said,
        kind=Kind.RULE if sort in _RULES else Kind.THREAD, rule_type=_RULES.get(sort, RuleType.PREFERENCE),
        tags=(sort,) if sort and sort not in _RULES else (), at=moment(row, "timestamp"),
        project="" if text(row, "scope") == "universal" else text(row, "project_id"), junk=_worthless(row, sort),
    )  # fmt: skip


def _worthless(row: Row, sort: str) -> str:
    if sort in _RAW:
        return "a record of tools, not a memory"
    is_over = row.get("is_active") == 0 or bool(text(row, "superseded_by"))
    return "put out of force there" if is_over else ""


def _said(value: object) -> tuple[str, str]:
    """The words of a value and its title, if it has one."""
    found = value
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value.strip(), ""
    title = found.get("title") if isinstance(found, dict) else ""
    return _words(found, _DEPTH), title.strip() if isinstance(title, str) else ""


def _words(value: object, depth: int) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict) and depth:
        for name in _SAYS:
            if said := _words(value.get(name), depth - 1):
                return said
    return ""

"""One file of an agent's own memory: a few fields, and what it noted. Such words are the agent's, not the user's."""

from __future__ import annotations

import re
from collections.abc import Mapping

from recollect.base.moment import Moment
from recollect.base.text import one_line
from recollect.model.brought import Brought
from recollect.model.memory import Kind

_RULES = frozenset({"feedback", "user"})
_MOST_RULE_CHARS = 600
_AFTERWORD = re.compile(r"^\*\*(?:why|how to apply):?\*\*", re.I | re.M)


def note(name: str, fields: Mapping[str, str], body: str, at: Moment | None) -> Brought:
    title = fields.get("description") or fields.get("name") or name.removesuffix(".md")
    sort = fields.get("type", "")
    lead = one_line(_AFTERWORD.split(body, maxsplit=1)[0].strip().split("\n\n")[0])
    if sort in _RULES and lead and len(lead) <= _MOST_RULE_CHARS:
        return Brought(name, title, lead, kind=Kind.RULE, at=at)
    return Brought(name, title, body.strip(), topics=(sort,) if sort else (), at=at)

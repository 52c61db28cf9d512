"""The reference memory server of the Model Context Protocol: entities with observations, and relations, one a line."""

from __future__ import annotations

import re

from recollect.capture.others.fields import Row, text
from recollect.model.bridge import BridgeType
from recollect.model.brought import Brought, Tie

_TYPES = (
    (re.compile(r"depend|requires?|needs|uses", re.I), BridgeType.DEPENDS),
    (re.compile(r"replac|supersed|succe", re.I), BridgeType.REPLACES),
    (re.compile(r"part|child|belong|member|contain|inside|\bin\b", re.I), BridgeType.CHILD_OF),
    (re.compile(r"contradict|conflict|oppos", re.I), BridgeType.CONTRADICTS),
    (re.compile(r"exten|build|refin|follow", re.I), BridgeType.EXTENDS),
)


def item(line: Row) -> Brought | Tie | None:
    """None for what is neither."""
    match line.get("type"):
        case "entity":
            return _entity(line)
        case "relation":
            return Tie(text(line, "from"), text(line, "to"), text(line, "relationType"))
        case _:
            return None


def bridge_type(word: str) -> BridgeType:
    return next((kind for pattern, kind in _TYPES if pattern.search(word)), BridgeType.SIBLING)


def _entity(line: Row) -> Brought:
    seen = line.get("observations")
    said = [one.strip() for one in seen if isinstance(one, str) and one.strip()] if isinstance(seen, list) else []
    name, sort = text(line, "name"), text(line, "entityType")
    return Brought(name, name, "\n".join(said), topics=(sort,) if sort else ())

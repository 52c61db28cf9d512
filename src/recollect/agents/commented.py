"""The same as splice.py in JSON with comments and trailing commas: what some agents read, and people write.

Comments and commas before a closing bracket are looked past: in a copy of the same length they are spaces, places are
found in the copy, and what is put in or cut out is put into and cut out of the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from recollect.agents import splice
from recollect.agents.splice import Insertion, Ours, Standing

inserted = splice.inserted
taken_back = splice.taken_back

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
_NOT_SPACE = re.compile(r"[^\s]")


def insertions(text: str, hooks: Sequence[tuple[str, Mapping[str, object]]]) -> tuple[Insertion, ...]:
    return splice.insertions(_plain(text), hooks)


def containers(text: str) -> frozenset[str]:
    return splice.containers(_plain(text))


def standing(text: str, ours: Ours) -> tuple[Standing, ...]:
    return splice.standing(_plain(text), ours)


def without(text: str, ours: Ours, *, keep: frozenset[str] = frozenset()) -> str:
    return splice.cut(text, splice.hook_cuts(_plain(text), ours, keep=keep))


def is_on(text: str, key: str) -> bool:
    return splice.is_on(_plain(text), key)


def member(text: str, keys: Sequence[str], name: str) -> object:
    return splice.member(_plain(text), keys, name)


def member_insertion(text: str, keys: Sequence[str], name: str, value: object) -> Insertion:
    return splice.member_insertion(_plain(text), keys, name, value)


def standing_keys(text: str, keys: Sequence[str]) -> int:
    return splice.standing_keys(_plain(text), keys)


def without_member(text: str, keys: Sequence[str], name: str, *, keep: int = 0) -> str:
    return splice.cut(text, splice.member_cuts(_plain(text), keys, name, keep=keep))


def _plain(text: str) -> str:
    """As long as the text, every place in it the same, and plain JSON if it was JSON with comments."""
    bare = _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else _NOT_SPACE.sub(" ", found[0]), text)
    return _TRAILING.sub(lambda found: found[1] or " ", bare)

"""What a person tells memory outright, inside an agent: `/memory remember we deploy on Tuesdays`.

The words after `remember` are a rule as they stand: nothing is judged, since the person has. The other commands of ours
say what to do with memory (`/memory save ...`), and no rule is heard in them. Which names a command has in an agent
is agents/prompts.py's to know; here it is always `/memory`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMAND = re.compile(
    r"/memory\s+(remember|save|evolve|inspect)\b[\s:]*(.*)", re.DOTALL | re.IGNORECASE
)
_REMEMBER = "remember"
_MAX_CHARS = 2_000  # of a rule
ASKED = "you asked to remember it"
NOT_A_RULE = "a command for memory"


class MemoryCommand(NamedTuple):
    verb: str
    words: str

    @property
    def is_rule(self) -> bool:
        return self.verb == _REMEMBER and 0 < len(self.words) <= _MAX_CHARS


def read_memory_command(text: str) -> MemoryCommand | None:
    """The command that a prompt is; None where it is none."""
    found = _COMMAND.fullmatch(text.strip())
    return MemoryCommand(found[1].lower(), found[2].strip()) if found else None

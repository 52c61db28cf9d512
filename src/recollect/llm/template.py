"""Prompts: the shipped ones, each replaced by the user's own of the same name.

A prompt is a template with `{{name}}` where a field goes. It is filled in one pass, so a field's text is never read as
a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from recollect.base.errors import NotFound
from recollect.base.files import read_limited

_SHIPPED = Path(__file__).parent / "prompts"
_MAX_BYTES = 100_000
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
_PLACE = r"\{\{\s*([a-z_]+)\s*\}\}"


def load(name: str, own: Path) -> str:
    """`own` is the user's folder of prompts, which need not exist."""
    if not re.fullmatch(_NAME, name):
        raise NotFound(f"{name!r} is not the name of a prompt.", hint="Letters, digits, dots and dashes.")
    for folder in (own, _SHIPPED):
        path = folder / f"{name}.md"
        try:
            return read_limited(path, _MAX_BYTES, follow=folder is own).decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as problem:
            raise NotFound(f"{path} cannot be read.", hint="Repair it, or move it away.") from problem
    raise NotFound(f"There is no prompt {name}.", hint=f"Make {own / name}.md, or name another.")


def fill(template: str, fields: Iterable[tuple[str, str]]) -> str:
    """A template without any place (instructions alone) gets the fields at its end."""
    known = dict(fields)
    if not re.search(_PLACE, template):
        return "\n\n".join([template.rstrip(), *known.values()])
    return re.sub(_PLACE, lambda place: known.get(place[1], ""), template)

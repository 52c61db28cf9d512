"""A memory as it is pointed at: a name and a line that says what it is about. What a chooser reads before it asks for
more.

Words arrive harmless and on one line; does not choose (choose.py, presearch.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pointer:
    id: str
    name: str
    """A note's path, else the memory's id."""
    description: str
    words: tuple[str, ...] = ()
    """By which a note asks to be found."""
    content: str = ""

    @property
    def line(self) -> str:
        return f"{self.name}: {self.description}" if self.description else self.name

    @property
    def stem(self) -> str:
        return self.name.rpartition("/")[2].removesuffix(".md")


def by_name(pointers: Sequence[Pointer]) -> dict[str, str]:
    """Ids by every way in which a name can be written: whole, without its folder, without `.md`, the id itself. What
    could mean two memories means none."""
    found: dict[str, set[str]] = {}
    for pointer in pointers:
        base = pointer.name.rpartition("/")[2]
        for way in {pointer.name, pointer.name.removesuffix(".md"), base, pointer.stem, pointer.id}:
            found.setdefault(way.casefold(), set()).add(pointer.id)
    whole = {pointer.name.casefold(): pointer.id for pointer in pointers}
    return {way: next(iter(ids)) for way, ids in found.items() if len(ids) == 1} | whole

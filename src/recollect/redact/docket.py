"""What was judged in one text so far. A text is read more than once, and nothing in it is judged twice."""

from __future__ import annotations

from typing import Any


class Docket:
    def __init__(self) -> None:
        self._verdicts: dict[str, dict[Any, Any]] = {}

    @property
    def judged(self) -> int:
        return sum(map(len, self._verdicts.values()))

    def of(self, regex: str) -> dict[Any, Any]:
        """The verdicts on what this pattern found, by whatever they depend on."""
        return self._verdicts.setdefault(regex, {})

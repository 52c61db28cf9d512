"""What every benchmark returns: figures, a verdict, and the same as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    @property
    def passed(self) -> bool:
        """Whether what must hold did hold; a report of figures alone always passes."""
        return True

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def digits(value: float) -> float:
    """Three that count: a small figure is small and never nothing, on whatever machine."""
    return float(f"{value:.3g}")


def percentile(values: list[float], percent: int) -> float:
    """The nearest rank: a value that was really measured."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]

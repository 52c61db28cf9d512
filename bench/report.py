"""What every benchmark returns: figures, a verdict, the same as JSON, and the one way to print them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from recollect.render.blocks import Block, Line, Table, Tone

_MOST_COLUMNS = 8


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


def blocks(figures: Any, title: str = "") -> Iterator[Block]:
    """A name and a value per line; rows of the same fields as a table, on its side where it has too many columns."""
    if isinstance(figures, Mapping):
        for name, value in figures.items():
            label = f"{title} {name}".strip().replace("_", " ")
            if isinstance(value, Mapping) or _has_rows(value):
                yield from blocks(value, label)
            elif value not in (None, (), []):
                yield Line(f"{label:<34} {spell(value)}")
        return
    if any(_has_rows(value) for row in figures for value in row.values()):
        for number, row in enumerate(figures):
            yield Line(f"{title} {number + 1}".strip(), Tone.TITLE)
            yield from blocks(row)
        return
    rows = [dict(_flat(row)) for row in figures]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[spell(row.get(name, "")) for name in names] for row in rows]
    yield Line(title, Tone.TITLE)
    if len(names) <= _MOST_COLUMNS or len(rows) > _MOST_COLUMNS:
        yield Table(tuple(names), tuple(tuple(row) for row in cells))
    else:
        by_figure = zip(*cells, strict=True)
        named = [(name, *row) for name, row in zip(names, by_figure, strict=True)]
        yield Table(named[0], tuple(named[1:]))


def _has_rows(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        label = f"{before} {name}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, label)
        else:
            yield label, value


def spell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.2f}"
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)

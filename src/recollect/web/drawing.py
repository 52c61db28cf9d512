"""What is drawn: the memories around one, placed on circles (the template draws them); and charts as SVG, bars that
stretch with the page, with presentation attributes alone. Labels and numbers stand beside them (health.html)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

_RINGS = (0.0, 130.0, 210.0)  # how far from the middle, by how many links away
_MOST_LABELS = 8  # more would lie on each other; the list beside names them all
_BESIDE, _ABOVE, _BELOW = 65.0, 30.0, 32.0  # what a label needs
_HEIGHT = 100
_SVG = Markup(
    '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
)
_BAR = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')


class Placed(NamedTuple):
    node: Mapping[str, Any]
    x: float
    y: float
    label: bool


class Line(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float
    width: float


def place(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]
) -> tuple[list[Placed], list[Line]]:
    """As `links` gives them. Each stands near the one that leads to it."""
    angles: dict[str, float] = {}
    placed: dict[str, Placed] = {}
    for away in range(len(_RINGS)):
        ring = [node for node in nodes if node["away"] == away]
        ring.sort(key=lambda node: _inner_angle(node["id"], edges, angles))
        for number, node in enumerate(ring):
            angle = angles[node["id"]] = 2 * math.pi * number / len(ring)
            x, y = (round(_RINGS[away] * side, 1) for side in (math.cos(angle), math.sin(angle)))
            placed[node["id"]] = Placed(node, x, y, label=len(ring) <= _MOST_LABELS)
    known = [one for one in edges if one["source"] in placed and one["target"] in placed]
    lines = [
        Line(
            *placed[one["source"]][1:3],
            *placed[one["target"]][1:3],
            width=round(1 + 3 * one["weight"], 1),
        )
        for one in known
    ]
    return list(placed.values()), lines


def frame(placed: Sequence[Placed]) -> tuple[float, float, float, float]:
    """The part of the plane to show: left, top, width, height."""
    xs, ys = [one.x for one in placed], [one.y for one in placed]
    width, height = max(xs) - min(xs) + 2 * _BESIDE, max(ys) - min(ys) + _ABOVE + _BELOW
    spare = max(0.0, 360.0 - width)  # a few memories are not drawn larger than many
    return min(xs) - _BESIDE - spare / 2, min(ys) - _ABOVE, width + spare, height


def _inner_angle(id: str, edges: Sequence[Mapping[str, Any]], angles: Mapping[str, float]) -> float:
    """Of the first memory further in that it is linked to."""
    own = (one for one in edges if id in (one["source"], one["target"]))
    ends = (one["source"] if one["target"] == id else one["target"] for one in own)
    return next((angles[end] for end in ends if end in angles), 0.0)


def days_chart(
    label: str, days: Sequence[str], values: Sequence[int], part: Sequence[int] = ()
) -> Markup:
    """A bar for each day; `part` is drawn into it, darker."""
    most, drawn = max((*values, 1)), []
    for name, of in (("all", values), ("fill", part)) if part else (("fill", values),):
        for place, (day, value) in enumerate(zip(days, of, strict=True)):
            height = value * _HEIGHT / most
            drawn.append(
                _BAR.format(name, place * 10 + 1, _HEIGHT - height, 8, height, f"{day}: {value:,}")
            )
    return _SVG.format("days", 10 * len(days), _HEIGHT, label, Markup("").join(drawn))


def share_bar(label: str, value: int, most: int) -> Markup:
    return _SVG.format(
        "share", max(1, most), 1, f"{label}: {value:,}", _BAR.format("fill", 0, 0, value, 1, label)
    )

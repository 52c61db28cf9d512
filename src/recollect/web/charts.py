"""Charts as SVG: bars that stretch with the page, with presentation attributes alone. Labels and numbers stand beside
them (health.html)."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

_HEIGHT = 100
_SVG = Markup('<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>')
_BAR = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')


def days_chart(label: str, days: Sequence[str], values: Sequence[int], part: Sequence[int] = ()) -> Markup:
    """A bar for each day; `part` is drawn into it, darker."""
    most, drawn = max((*values, 1)), []
    for name, of in (("all", values), ("fill", part)) if part else (("fill", values),):
        for place, (day, value) in enumerate(zip(days, of, strict=True)):
            height = value * _HEIGHT / most
            drawn.append(_BAR.format(name, place * 10 + 1, _HEIGHT - height, 8, height, f"{day}: {value:,}"))
    return _SVG.format("days", 10 * len(days), _HEIGHT, label, Markup("").join(drawn))


def share_bar(label: str, value: int, most: int) -> Markup:
    return _SVG.format("share", max(1, most), 1, f"{label}: {value:,}", _BAR.format("fill", 0, 0, value, 1, label))

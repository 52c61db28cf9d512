"""Makes docs/demo.svg, the README's picture: a terminal that shows what `recollect demo` prints now.

`python tools/make_picture.py`. Ids and times differ from run to run, so the picture has fixed ones of the same length.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from recollect.app.core import App
from recollect.cli.demo import demo
from recollect.cli.output import lines
from recollect.render.blocks import Tone
from recollect.render.terminal import blocks

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
_WIDTH = 80
_FIXED = (
    (r"\d{8}_\d{6}_[0-9a-f]{6}", "20260302_090010_cdd740"),
    (r"(\[/?recollect )[0-9a-f]{8}", r"\g<1>1f2e3d4c"),
    (r"(Rule )[0-9a-f]{6}( is in force)", r"\g<1>cdd740\g<2>"),
    (r"(recollect undo )[0-9a-f]{6}", r"\g<1>cdd740"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d \S+", "2026-03-02 09:00 CET"),
    (r"\b[0-9a-f]{6}$", "cdd740"),
)


def demo_lines() -> list[tuple[str, Tone]]:
    """What the demo prints at 80 columns, with fixed ids and times."""
    app = App.open(Path.cwd())
    try:
        shown = list(lines(blocks(demo(app), now=app.clock.now()), width=_WIDTH))
    finally:
        app.close()
    return [(_fixed(text), tone) for text, tone in shown]


def _fixed(text: str) -> str:
    for pattern, replacement in _FIXED:
        text = re.sub(pattern, replacement, text)
    return text


def picture(shown: list[tuple[str, Tone]]) -> str:
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), highlight=False, force_terminal=True
    )
    for text, tone in [("$ recollect demo", Tone.COMMAND), *shown]:
        console.print(Text(text, style=tone.value))
    svg = console.export_svg(title="recollect demo", theme=MONOKAI, unique_id="demo")
    # No picture of ours loads a font from elsewhere.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(picture(demo_lines()), encoding="utf-8")

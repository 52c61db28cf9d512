"""Prints results: coloured on a terminal, plain in a pipe, JSON when asked; and the progress bar.

Every character passes `visible` first: stored text cannot move the cursor, set the clipboard or hide itself. Tables
and boxes fit the terminal: the widest columns are shortened, and no cell takes a second line.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from unicodedata import east_asian_width

import click

from recollect.app.core import App
from recollect.base.settings import environment
from recollect.base.text import json_visible, one_line, visible
from recollect.model.codec import encode
from recollect.model.plan import Create
from recollect.model.result import Cards, Done, Found, Recalled, Result, Shown
from recollect.render.blocks import Block, Box, Line, Table, Tone
from recollect.render.terminal import blocks

STYLES = {
    Tone.PLAIN: "",
    Tone.TITLE: "bold",
    Tone.DIM: "dim",
    Tone.GOOD: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "bold red",
    Tone.COMMAND: "cyan",
}
_MAX_WIDTH = 110
_NARROWEST = 8
_GAP = "  "


def print_result(app: App, result: Result, *, as_json: bool) -> None:
    if as_json:
        print_json(encode(result))
    else:
        print_blocks(blocks(result, now=app.clock.now()))
        _remember(app, result)


def print_json(value: object) -> None:
    click.echo(json_visible(json.dumps(value, ensure_ascii=False, indent=2)))


def print_blocks(shown: Iterable[Block]) -> None:
    # `isatty` first: in a pipe there is nothing to colour, and rich takes its time to load.
    write = _rich_writer() if sys.stdout.isatty() and not environment().get("NO_COLOR") else None
    for text, tone in lines(shown, width=min(_MAX_WIDTH, shutil.get_terminal_size().columns)):
        if write is None:
            click.echo(text)
        else:
            write(text, tone)


def lines(shown: Iterable[Block], *, width: int) -> Iterator[tuple[str, Tone]]:
    for block in shown:
        match block:
            case Line(text, tone):
                yield visible(text), tone
            case Table():
                yield from _table_lines(block, width)
            case Box(title, text):
                yield from _box_lines(title, text, width)


def _table_lines(table: Table, width: int) -> Iterator[tuple[str, Tone]]:
    rows = [[visible(one_line(cell)) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(_cells(row[i]) for row in rows) for i in range(len(rows[0]))]
    room = max(width, _NARROWEST * len(widths)) - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    for number, row in enumerate(rows):
        cells = [_fit(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        yield _GAP.join(cells).rstrip(), Tone.PLAIN if number else Tone.DIM


def _box_lines(title: str, text: str, width: int) -> Iterator[tuple[str, Tone]]:
    import textwrap

    inner = width - 4
    yield f"╭─ {_cut(visible(title), inner - 1)} ".ljust(width - 1, "─") + "╮", Tone.DIM
    for line in visible(text).splitlines():
        for part in textwrap.wrap(line, inner, subsequent_indent="  ", break_long_words=True) or [""]:
            yield f"│ {_fit(part, inner)} │", Tone.PLAIN
    yield "╰" + "─" * (width - 2) + "╯", Tone.DIM


def _cells(text: str) -> int:
    """How many columns of a terminal it takes."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _cut(text: str, width: int) -> str:
    if _cells(text) <= width:
        return text
    while _cells(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def _fit(text: str, width: int) -> str:
    cut = _cut(text, width)
    return cut + " " * (width - _cells(cut))


def _rich_writer() -> Callable[[str, Tone], None]:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    return lambda text, tone: console.print(Text(text, style=STYLES[tone]), soft_wrap=True)


def _remember(app: App, result: Result) -> None:
    """What numbers and `last` stand for in the next command."""
    from recollect.app.lookup import remember_shown

    match result:
        case Cards(cards):
            remember_shown(app, [card.memory.id for card in cards])
        case Found(found=found) | Recalled(found=Found(found=found)):
            remember_shown(app, [one.hit.memory.id for one in found])
        case Shown(card):
            remember_shown(app, last=card.memory.id)
        case Done(plan=plan, dry_run=False) if any(isinstance(change, Create) for change in plan.changes):
            remember_shown(app, last=next(c.memory.id for c in plan.changes if isinstance(c, Create)))


class Bar:
    """A progress bar on standard error, only where a person looks and only for work that takes a while.

    It names what it counts, how fast that goes, and how long it will still take."""

    _QUIET_S = 0.5
    _STEP_S = 0.1
    _WIDTH = 20

    def __init__(self) -> None:
        self._begun = self._drawn = time.monotonic()
        self._what = ""
        self._first = 0.0

    def __call__(self, done: float, total: float, what: str = "") -> None:
        now = time.monotonic()
        if what.partition(" ")[0] != self._what.partition(" ")[0]:
            self._begun, self._first = now, done
        self._what = what
        finished = done >= total
        if now - self._begun < self._QUIET_S or (now - self._drawn < self._STEP_S and not finished):
            return
        if not sys.stderr.isatty():
            return
        self._drawn = now
        filled = int(self._WIDTH * done / max(1, total))
        bar = "█" * filled + "░" * (self._WIDTH - filled)
        text = f"{bar} {_figure(done)} of {_figure(total)} {what}{self._rate(done, total, now)}"
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\033[K" if finished else f"\r\033[K{_cut(text, width)}")
        sys.stderr.flush()

    def _rate(self, done: float, total: float, now: float) -> str:
        per_second = (done - self._first) / (now - self._begun)
        if per_second <= 0:
            return ""
        left = (total - done) / per_second
        unit = self._what.partition(" ")[0]
        return f", {_figure(per_second)} {unit}/s, {f'{left / 60:.0f} min' if left > 90 else f'{left:.0f} s'} left"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"

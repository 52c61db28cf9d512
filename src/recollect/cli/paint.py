"""Prints results: rich on a terminal, plain aligned text in a pipe, JSON when asked.

Every character passes `visible` first: stored text cannot move the cursor, set the clipboard or hide itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import click

from recollect.base.moment import Moment
from recollect.base.settings import environment
from recollect.base.text import json_visible, visible
from recollect.model.result import Result
from recollect.render.blocks import Block, Line, Table, Tone
from recollect.render.data import as_json as to_json
from recollect.render.terminal import blocks

_STYLES = {
    Tone.PLAIN: "",
    Tone.TITLE: "bold",
    Tone.DIM: "dim",
    Tone.GOOD: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "bold red",
    Tone.COMMAND: "cyan",
}


def show(result: Result, *, as_json: bool, now: Moment) -> None:
    if as_json:
        print_json(to_json(result))
    else:
        paint(blocks(result, now=now))


def print_json(value: object) -> None:
    click.echo(json_visible(json.dumps(value, ensure_ascii=False, indent=2)))


def paint(shown: Iterable[Block]) -> None:
    if sys.stdout.isatty() and not environment().get("NO_COLOR"):
        _rich(shown)
        return
    for block in shown:
        match block:
            case Line(text, _):
                click.echo(visible(text))
            case Table(columns, rows):
                _plain_table([columns, *rows])


def _plain_table(rows: list[tuple[str, ...]]) -> None:
    safe = [[visible(cell.replace("\n", " ")) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in safe) for i in range(len(safe[0]))]
    for row in safe:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _rich(shown: Iterable[Block]) -> None:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    for block in shown:
        match block:
            case Line(text, tone):
                console.print(Text(visible(text), style=_STYLES[tone]), soft_wrap=True)
            case Table(columns, rows):
                grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
                for number, column in enumerate(columns):
                    grid.add_column(column, overflow="fold", no_wrap=number == 0)
                for row in rows:
                    grid.add_row(*(Text(visible(cell)) for cell in row))
                console.print(grid)

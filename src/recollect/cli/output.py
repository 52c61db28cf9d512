"""Prints results: coloured on a terminal, plain in a pipe, JSON when asked; and the progress bar. Every character
passes `visible` first: stored text cannot move the cursor, set the clipboard or hide itself."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from recollect.app.core import App
from recollect.base.settings import environment
from recollect.base.text import json_visible, one_line, visible
from recollect.cli.wrapping import terminal_width, text_width, wrap_width, wrapped
from recollect.model.codec import encode
from recollect.model.plan import Create
from recollect.model.result import Cards, Done, Found, Recalled, Result, Shown
from recollect.render.blocks import Block, Line, Tone
from recollect.render.terminal import blocks, cut_note

_GAP = "  "
_MAX_WHOLE_CELL = 26  # a time with its zone: "2026-11-20 09:16 UTC+10:30"
_LEAST_TEXT = 12


def print_result(app: App, result: Result, *, as_json: bool) -> None:
    if as_json:
        print_json(encode(result))
        if said := cut_note(result):
            click.echo(f"recollect: {said}", err=True)
    else:
        print_blocks(blocks(result, now=app.clock.now()))
        _remember(app, result)


def print_json(value: object) -> None:
    click.echo(json_visible(json.dumps(value, ensure_ascii=False, indent=2)))


def print_blocks(shown: Iterable[Block]) -> None:
    environ = environment()
    coloured = sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    width = terminal_width()
    for text, tone in lines(shown, width=width, wrap=wrap_width(sys.stdout)):
        style: dict[str, Any] = (
            {tone.value: True} if tone in (Tone.TITLE, Tone.DIM) else {"fg": tone.value}
        )
        click.echo(click.style(text, **style) if coloured and tone else text)


def lines(shown: Iterable[Block], *, width: int, wrap: int = 0) -> Iterator[tuple[str, Tone]]:
    """Tables fit into `width`: where their columns do not, each row takes some lines of its own. Text is broken
    between words at `wrap`, if that is not 0."""
    for block in shown:
        if isinstance(block, Line):
            text = visible(block.text)
            yield wrapped(text, wrap) if wrap and not block.is_verbatim else text, block.tone
            continue
        rows = [[visible(one_line(cell)) for cell in row] for row in (block.columns, *block.rows)]
        widths = _column_widths(rows, width)
        if not widths:
            yield from _stacked(rows, width)
            continue
        for number, row in enumerate(rows):
            cells = [_fit(cell, wide) for cell, wide in zip(row, widths, strict=True)]
            yield _GAP.join(cells).rstrip(), Tone.PLAIN if number else Tone.DIM


def _column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Only columns of text give way; a time, an id or a figure is whole. Empty where that is not enough."""
    widths = [max(map(text_width, column)) for column in zip(*rows, strict=True)]
    texts = [column for column, wide in enumerate(widths) if wide > _MAX_WHOLE_CELL]
    too_much = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    for _ in range(too_much):
        widest = max(texts, key=lambda column: widths[column], default=None)
        if widest is None or widths[widest] <= _LEAST_TEXT:
            return []
        widths[widest] -= 1
    return widths


def _stacked(rows: Sequence[Sequence[str]], width: int) -> Iterator[tuple[str, Tone]]:
    """Of each row what comes first, and below it the rest by name."""
    names, *cells = rows
    leading = 1 if names[0] else 2  # a number stands for its row, and says nothing by itself
    for row in cells:
        yield wrapped(_GAP.join(row[:leading]), width), Tone.PLAIN
        pairs = zip(names[leading:], row[leading:], strict=True)
        rest = ", ".join(f"{_as_word(name)} {cell}" for name, cell in pairs if cell)
        if rest:
            yield wrapped(f"{_GAP}{rest}", width), Tone.DIM


def _as_word(head: str) -> str:
    """`BEGAN (CET)` within a sentence."""
    name, gap, zone = head.partition(" ")
    return f"{name.lower()}{gap}{zone}"


def _fit(text: str, width: int) -> str:
    if text_width(text) > width:
        while text_width(text) > width - 1:
            text = text[:-1]
        text = text.rstrip() + "…"
    return text + " " * (width - text_width(text))


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
        case Done(plan=plan, dry_run=False):
            if created := [
                change.memory.id for change in plan.changes if isinstance(change, Create)
            ]:
                remember_shown(app, last=created[0])
        case _:
            pass


class Bar:
    """A progress bar on standard error, only where a person looks and only for work that takes a while."""

    def __init__(self) -> None:
        self._begun = self._drawn = time.monotonic()
        self._unit = ""

    def __call__(self, done: float, total: float, what: str = "") -> None:
        """`what`: what is counted, beginning with the unit (`MB of 3 sessions`)."""
        now, unit = time.monotonic(), what.partition(" ")[0]
        if unit != self._unit:
            self._begun, self._unit = now, unit
        is_early = now - self._begun < 0.5 or (now - self._drawn < 0.1 and done < total)
        if is_early or not sys.stderr.isatty():
            return
        self._drawn = now
        bar = "█" * int(20 * done / max(1, total))
        rate = max(done, 1e-9) / (now - self._begun)
        left_s = (total - done) / rate
        left = f"{left_s / 60:,.0f} min" if left_s > 90 else f"{left_s:.0f} s"
        speed = f"{rate:,.{0 if rate >= 10 else 1}f} {unit}/s"
        text = f"{bar:░<20} {done:,.0f} of {total:,.0f} {what}, {speed}, {left} left"
        line = _fit(text, terminal_width() - 1) if done < total else ""
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()

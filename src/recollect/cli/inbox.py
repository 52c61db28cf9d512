"""`recollect inbox`: what waits, one after the other, one key each. Without a terminal, the list."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from recollect.base.errors import RecollectError
from recollect.base.text import visible
from recollect.cli.paint import paint, show
from recollect.model.memory import Memory
from recollect.model.result import Cards, Done
from recollect.ops import history, inbox
from recollect.ops.app import App
from recollect.render.blocks import Line, Tone

_KEYS = "[a]ccept  [e]dit  [r]eject  [s]kip  [u]ndo  [q]uit"
_ENDS = frozenset("q\x03\x04\x1b")


def as_command(group: click.Group) -> None:
    """The group itself is a command, too, where no other follows."""

    @click.pass_context
    def run(ctx: click.Context, as_json: bool) -> int | None:
        return review(as_json) if ctx.invoked_subcommand is None else None

    group.invoke_without_command = True
    group.no_args_is_help = False
    group.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print what waits as JSON."))
    group.callback = run
    group.help = f"Go through what waits, one key each; without a terminal, list it. {group.help}"


def review(as_json: bool) -> int:
    app = App.here(Path.cwd())
    try:
        waiting = inbox.listing(app)
        if as_json or not waiting.cards or not (sys.stdin.isatty() and sys.stdout.isatty()):
            show(waiting, as_json=as_json, now=app.clock.now())
        else:
            _go_through(app, waiting)
    finally:
        app.close()
    return 0


def _go_through(app: App, waiting: Cards) -> None:
    cards, memories = waiting.cards, [card.memory for card in waiting.cards]
    done: list[Done] = []
    number = 0
    paint([Line(_KEYS, Tone.DIM)])
    while number < len(memories):
        memory = memories[number]
        paint([Line(f"{number + 1} of {len(memories)}  {memory.body}", Tone.TITLE), Line(_whence(memory), Tone.DIM)])
        for id in cards[number].replaces:
            paint([Line(f"   replaces {id}?  {app.find(id)[1].body}", Tone.WARN)])
        key = click.getchar().lower()
        if key in _ENDS:
            break
        if key == "u":
            number = _taken_back(app, done, number)
        elif key == "s":
            number += 1
        elif key in "aer" and (one := _decided(app, key, memory)) is not None:
            done.append(one)
            paint([Line(one.summary, Tone.GOOD)])
            number += 1
        else:
            paint([Line(_KEYS, Tone.WARN)])
    left = len(inbox.listing(app).cards)
    paint([Line(f"{len(done)} decided, {left} left." if left else f"{len(done)} decided. The inbox is empty.")])


def _decided(app: App, key: str, memory: Memory) -> Done | None:
    try:
        if key == "e":
            words = click.prompt("as it should read", default=visible(memory.body), show_default=False)
            return inbox.edit(app, memory.id, words)
        return inbox.accept(app, memory.id) if key == "a" else inbox.reject(app, memory.id)
    except click.Abort:
        return None
    except RecollectError as problem:
        paint([Line(f"{problem.message} {problem.hint}".strip(), Tone.BAD)])
        return None


def _taken_back(app: App, done: list[Done], number: int) -> int:
    if not done or done[-1].change is None:
        paint([Line("There is nothing to take back.", Tone.WARN)])
        return number
    paint([Line(history.undo(app, done.pop().change).summary)])
    return number - 1


def _whence(memory: Memory) -> str:
    return f"   {memory.id}, from {memory.origin or 'somewhere'} [{memory.lane}]"

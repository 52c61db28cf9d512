"""What needs a person at a terminal: going through the inbox, editing in $EDITOR, choosing agents.

Without a terminal nobody is asked: the inbox is listed, an edit wants options, `install` takes what is found.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from recollect.app.core import App
from recollect.base.errors import BadInput, RecollectError
from recollect.base.files import write_private
from recollect.base.text import visible
from recollect.cli.output import print_blocks, print_result
from recollect.model.memory import Memory
from recollect.model.result import Cards, Done
from recollect.render.blocks import Line, Tone

_KEYS = "[a]ccept  [e]dit  [r]eject  [s]kip  [u]ndo  [q]uit"
_END_KEYS = frozenset("q\x03\x04\x1b")
_DIVIDER = "--- the text begins below this line ---"


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


# The inbox


def add_review(parent: click.Group) -> None:
    """`recollect inbox` with nothing after it is a command, too."""

    @click.pass_context
    def run(ctx: click.Context, as_json: bool) -> int | None:
        return review_inbox(as_json) if ctx.invoked_subcommand is None else None

    parent.invoke_without_command = True
    parent.no_args_is_help = False
    parent.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print what waits as JSON."))
    parent.callback = run
    parent.help = f"{parent.help} One key for each; without a terminal, list them."


def review_inbox(as_json: bool) -> int:
    from recollect.ops import inbox

    app = App.open(Path.cwd())
    try:
        waiting = inbox.listing(app)
        if as_json or not waiting.cards or not has_terminal():
            print_result(app, waiting, as_json=as_json)
        else:
            _go_through(app, waiting)
    finally:
        app.close()
    return 0


def _go_through(app: App, waiting: Cards) -> None:
    from recollect.ops import inbox

    done: list[Done] = []
    number = 0
    print_blocks([Line(_KEYS, Tone.DIM)])
    while number < len(waiting.cards):
        card = waiting.cards[number]
        memory = card.memory
        print_blocks([
            Line(f"{number + 1} of {len(waiting.cards)}  {memory.body}", Tone.TITLE),
            Line(f"   {memory.id[-6:]}, source: {memory.lane}, {memory.origin or 'unknown'}", Tone.DIM),
            *(Line(f"   replaces {id[-6:]}?  {app.find(id)[1].body}", Tone.WARN) for id in card.replaces),
        ])  # fmt: skip
        key = click.getchar().lower()
        if key in _END_KEYS:
            break
        if key == "u":
            number = _undo_last(app, done, number)
        elif key == "s":
            number += 1
        elif key in "aer" and (decided := _decide(app, key, memory)) is not None:
            done.append(decided)
            print_blocks([Line(decided.summary, Tone.GOOD)])
            number += 1
        else:
            print_blocks([Line(_KEYS, Tone.WARN)])
    left = len(inbox.listing(app).cards)
    print_blocks([Line(f"{len(done)} decided, {left} left." if left else f"{len(done)} decided. The inbox is empty.")])


def _decide(app: App, key: str, memory: Memory) -> Done | None:
    from recollect.ops import inbox

    try:
        if key == "e":
            words = click.prompt("as it should read", default=visible(memory.body), show_default=False)
            return inbox.edit(app, memory.id, words)
        return inbox.accept(app, memory.id) if key == "a" else inbox.reject(app, memory.id)
    except click.Abort:
        return None
    except RecollectError as problem:
        print_blocks([Line(f"{problem.message} {problem.hint}".strip(), Tone.BAD)])
        return None


def _undo_last(app: App, done: list[Done], number: int) -> int:
    from recollect.ops import history

    if not done or done[-1].change is None:
        print_blocks([Line("There is nothing to take back.", Tone.WARN)])
        return number
    print_blocks([Line(history.undo(app, done.pop().change).summary)])
    return number - 1


# Editing


def edit_in_editor(app: App, values: dict[str, Any]) -> dict[str, Any]:
    """The values of `edit`, with what the person wrote in $EDITOR where no option said anything."""
    if any(values[name] is not None for name in ("title", "body", "topics")):
        return values
    if not has_terminal():
        raise BadInput(
            "There is no terminal to edit in.",
            hint="Give --title, --body or --topics; `--body -` reads standard input.",
        )
    text = editable_text(app.find(values["id"])[1])
    try:
        written = click.edit(text, extension=".md", require_save=True)
    except click.ClickException as problem:
        raise BadInput(problem.message, hint="Set EDITOR to one that works. Nothing was changed.") from None
    if written is None:
        return values
    # Only what the person changed: an editor may write line ends in its own way.
    before = read_edited(text.replace("\r\n", "\n"))
    try:
        after = read_edited(written)
    except BadInput as problem:
        kept = app.home.root / "unsaved-edit.md"
        write_private(kept, written)
        raise BadInput(problem.message, hint=f"Nothing was changed. What you wrote is kept in {kept}.") from None
    return values | {name: value for name, value in after.items() if value != before[name]}


def editable_text(memory: Memory) -> str:
    return f"Title: {memory.title}\nTopics: {', '.join(memory.topics)}\n{_DIVIDER}\n{memory.body}\n"


def read_edited(written: str) -> dict[str, str]:
    head, divider, body = written.partition(_DIVIDER + "\n")
    if not divider:
        raise BadInput(
            "The line that divides head and text is gone.", hint="Nothing was changed. Edit again and keep it."
        )
    fields = {}
    for row in head.splitlines():
        name, _, value = row.partition(":")
        fields[name.strip().lower()] = value.strip()
    if "title" not in fields or "topics" not in fields:
        raise BadInput("`Title:` or `Topics:` is missing.", hint="Nothing was changed. Edit again and keep them.")
    # The newline that ends the file does not belong to the body.
    return {"title": fields["title"], "topics": fields["topics"], "body": body.removesuffix("\n")}


# Choosing agents


def choose_agents(app: App, values: dict[str, Any]) -> dict[str, Any]:
    """The values of `install`, with the agents the person chose where none was named."""
    if values["agent"] or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return values
    from recollect.agents import DEFAULT_HOST, agent
    from recollect.integrations import agent_pieces

    found = agent_pieces.agents_here(app)
    if not set(found) - {DEFAULT_HOST}:
        return values
    wanted = [
        host for host in found
        if click.confirm(f"{agent(host).TITLE} was found. Connect it to Recollect?", default=True, err=True)
    ]  # fmt: skip
    if not wanted:
        raise click.Abort
    return {**values, "agent": tuple(wanted)}

"""What needs a person at a terminal: going through the inbox, editing in $EDITOR, choosing agents.

Without a terminal nobody is asked: the inbox is listed, an edit needs options, `install` takes the usual agent.
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
from recollect.model.result import Cards
from recollect.render.blocks import Line, Tone

_KEYS = "[a]ccept  [e]dit  [r]eject  [s]kip  [q]uit"
_END_KEYS = frozenset("q\x03\x04\x1b")


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


# The inbox


def add_review(parent: click.Group) -> None:
    """`recollect inbox` with nothing after it is a command, too."""

    @click.pass_context
    def run(ctx: click.Context, as_json: bool) -> int | None:
        return _review_inbox(as_json) if ctx.invoked_subcommand is None else None

    parent.invoke_without_command = True
    parent.no_args_is_help = False
    parent.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print what waits as JSON."))
    parent.callback = run
    parent.help = f"{parent.help} One key for each; without a terminal, list them."


def _review_inbox(as_json: bool) -> int:
    from recollect.ops import rules

    app = App.open(Path.cwd())
    try:
        waiting = rules.list_inbox(app)
        if as_json or not waiting.cards or not _has_terminal():
            print_result(app, waiting, as_json=as_json)
        else:
            _go_through(app, waiting)
    finally:
        app.close()
    return 0


def _go_through(app: App, waiting: Cards) -> None:
    print_blocks([Line(_KEYS, Tone.DIM)])
    decided = 0
    for number, card in enumerate(waiting.cards, start=1):
        memory = card.memory
        print_blocks([
            Line(f"{number} of {len(waiting.cards)}  {memory.body}", Tone.TITLE),
            Line(f"   {memory.id[-6:]}, source: {memory.lane}, {memory.origin or 'unknown'}", Tone.DIM),
            *(Line(f"   replaces {id[-6:]}?  {app.find(id)[1].body}", Tone.WARN) for id in card.replaces),
        ])  # fmt: skip
        while (key := click.getchar().lower()) not in _END_KEYS | {"s"} and not _decide(app, key, memory):
            print_blocks([Line(_KEYS, Tone.WARN)])
        if key in _END_KEYS:
            break
        decided += key != "s"
    print_blocks([Line(f"{decided} decided, {len(waiting.cards) - decided} left.")])


def _decide(app: App, key: str, memory: Memory) -> bool:
    from recollect.ops import rules

    try:
        if key == "a":
            done = rules.accept(app, memory.id)
        elif key == "r":
            done = rules.reject(app, memory.id)
        elif key == "e":
            text = click.prompt("as it should read", default=visible(memory.body), show_default=False)
            done = rules.edit(app, memory.id, text)
        else:
            return False
    except click.Abort:
        return False
    except RecollectError as problem:
        print_blocks([Line(f"{problem.message} {problem.hint}".strip(), Tone.BAD)])
        return False
    print_blocks([Line(done.summary, Tone.GOOD)])
    return True


# Editing


def edit_in_editor(app: App, values: dict[str, Any]) -> dict[str, Any]:
    """The values of `edit`, with what the person wrote in $EDITOR where no option was given."""
    if any(values[name] is not None for name in ("title", "body", "topics")):
        return values
    if not _has_terminal():
        raise BadInput(
            "There is no terminal to edit in.",
            hint="Give --title, --body or --topics; `--body -` reads standard input.",
        )
    memory = app.find(values["id"])[1]
    text = f"Title: {memory.title}\nTopics: {', '.join(memory.topics)}\n\n{memory.body}\n"
    try:
        written = click.edit(text, extension=".md", require_save=True)
    except click.ClickException as problem:
        raise BadInput(problem.message, hint="Set EDITOR to one that works. Nothing was changed.") from None
    if written is None:
        return values
    after = read_edited(written)
    if after is None:
        kept = app.home.root / "unsaved-edit.md"
        write_private(kept, written)
        hint = f"Nothing was changed. What you wrote is kept in {kept}."
        raise BadInput("The text must begin with the lines `Title:` and `Topics:` and an empty one.", hint=hint)
    # Only what the person changed: an editor may write line ends in its own way.
    before = read_edited(text.replace("\r\n", "\n")) or {}
    return values | {name: value for name, value in after.items() if value != before.get(name)}


def read_edited(written: str) -> dict[str, str] | None:
    title, topics, blank, body = [*written.split("\n", 3), "", "", ""][:4]
    if not title.startswith("Title:") or not topics.startswith("Topics:") or blank.strip():
        return None
    # The newline that ends the file does not belong to the body.
    return {"title": title[6:].strip(), "topics": topics[7:].strip(), "body": body.removesuffix("\n")}


# Choosing agents


def choose_agents(app: App, values: dict[str, Any]) -> dict[str, Any]:
    """The values of `install`, with the agents that the person chose where none was named."""
    if values["agent"] or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return values
    from recollect.agents import DEFAULT_HOST, agent
    from recollect.integrations import agent_pieces

    found = agent_pieces.agents_here(app)
    if not set(found) - {DEFAULT_HOST}:
        return values
    question = "{} was found. Connect it to Recollect?"
    chosen = tuple(host for host in found if click.confirm(question.format(agent(host).TITLE), default=True, err=True))
    if not chosen:
        raise click.Abort
    return {**values, "agent": chosen}

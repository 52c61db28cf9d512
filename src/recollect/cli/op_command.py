"""One operation as one command: its parameters from the function's signature, its help from the table; and what a
person does at a terminal: go through the inbox, edit in $EDITOR, choose agents. Without a terminal nobody is asked."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from recollect.app.core import App
from recollect.app.lookup import find_like
from recollect.base.errors import BadInput, NotFound, PasswordMissing, RecollectError
from recollect.base.files import write_private
from recollect.base.text import one_line, visible
from recollect.cli import free_text
from recollect.cli.output import Bar, print_blocks, print_result
from recollect.cli.wrapping import tell
from recollect.model.memory import Status
from recollect.model.result import Card, Checkup, Done, OtherRule, Verified
from recollect.ops.table import Effect, Op, Parameter
from recollect.render.blocks import Line, Tone

_MAX_STDIN_BYTES = 20_000_000
_FREE_TEXT = frozenset(
    {"WORDS", "[WORDS]", "PROMPT", "TEXT", "[TEXT]", "TOPIC", "[TOPIC]", "[CONTEXT]"}
)
_ALL = 100_000  # what `--all` means for a limit
_NAMES_A_MEMORY = frozenset({"ID", "[ID]", "NAME", "FROM", "TO", "KEPT", "OTHER"})
_FREE_TEXT_HELP = (
    "Words need no quotes. Options come before or after them; after -- everything is a word."
)
_KEYS = "[a]ccept  [e]dit  [r]eject  [s]kip  [q]uit"
_PAIR_KEYS = "keep [b]oth  the [n]ewer  the [o]lder  [s]kip  [q]uit"
_KEPT = {"b": "both", "n": "newer", "o": "older"}
_END_KEYS = frozenset("q\x03\x04\x1b")


def command_of(op: Op, name: str = "") -> click.Command:
    """`name`: how it was called, where that is an alias."""
    wanted = op.parameters
    inputs: list[click.Parameter] = [_argument(p) if p.positional else _option(p) for p in wanted]
    has_limit = any(p.name == "limit" for p in wanted)
    if has_limit:
        inputs.append(click.Option(["--all", "no_limit"], is_flag=True, help="Show all of them."))
    inputs.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
    if op.effect is not Effect.READ:
        inputs.append(
            click.Option(
                ["--dry-run"], is_flag=True, help="Show what would be done; write nothing."
            )
        )
    if op.erases:
        inputs.append(click.Option(["--yes", "-y"], is_flag=True, help="Do not ask."))

    def run(
        as_json: bool,
        dry_run: bool = False,
        yes: bool = False,
        no_limit: bool = False,
        **given: Any,
    ) -> int:
        if no_limit:
            given["limit"] = _ALL
        return _run(op, values_from(wanted, given), as_json=as_json, dry_run=dry_run, yes=yes)

    # \b keeps click from wrapping: an example can be copied.
    epilog = f"\b\nExample: recollect {op.example}"
    command = OpCommand(
        name or op.name.split()[-1], callback=run, params=inputs, help=op.summary, epilog=epilog
    )
    command.arguments = [(p.arg.metavar, p.arg.help) for p in wanted if p.positional]
    command.is_question = op.effect is Effect.READ
    return command


class OpCommand(click.Command):
    """Its help explains the arguments, too; and where the last one is free text, words need no quotes."""

    arguments: Sequence[tuple[str, str]] = ()
    is_question = (
        False  # a wrong value is a mistake in what is written, and a word in what is asked
    )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        if self.arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(list(self.arguments))
        if self._has_free_text():
            formatter.write_paragraph()
            formatter.write_text(_FREE_TEXT_HELP)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._has_free_text():
            args = self._separate(ctx, args)
        return super().parse_args(ctx, args)

    def _has_free_text(self) -> bool:
        return bool(self.arguments) and self.arguments[-1][0] in _FREE_TEXT

    def _separate(self, ctx: click.Context, args: list[str]) -> list[str]:
        flags = _flags_of_command(self, ctx, checks_values=self.is_question)
        try:
            separated = free_text.separate(args, flags, named=len(self.arguments) - 1)
        except free_text.Misspelt as problem:
            raise click.UsageError(
                f"No such option: {problem.given}. Did you mean {problem.meant}? Put -- before the words"
                " to take it as one.",
                ctx,
            ) from None
        if separated.between:
            said = f"{' '.join(separated.between)} was taken as words: options come before or after them."
            tell(f"recollect: {said}")
        for option in separated.misfits:
            said = f"{option} was taken as a word, as what follows is no value for it: `{ctx.command_path} --help`."
            tell(f"recollect: {said}")
        return [*separated.options, "--", *separated.words] if separated.words else args


def _flags_of_command(
    command: click.Command, ctx: click.Context, *, checks_values: bool
) -> dict[str, free_text.Flag]:
    flags: dict[str, free_text.Flag] = {}
    for option in command.get_params(ctx):
        if not isinstance(option, click.Option):
            continue
        takes_value = not option.is_flag and not option.count
        flag = free_text.Flag(takes_value)
        if checks_values:
            flag = flag._replace(fits=partial(_fits, option, ctx))
        for name in (*option.opts, *option.secondary_opts):
            flags[name] = flag
    return flags


def _fits(option: click.Option, ctx: click.Context, value: str) -> bool:
    """Whether a value could be meant for the option."""
    try:
        option.type.convert(value, option, ctx)
    except click.UsageError:
        return False
    return True


def _run(op: Op, values: dict[str, Any], *, as_json: bool, dry_run: bool, yes: bool) -> int:
    with closing(App.open(current_folder(), dry_run=dry_run, progress=Bar())) as app:
        if op.name == "edit":
            values = edit_in_editor(app, values)
        if op.name == "install" and not as_json:
            values = choose_agents(app, values)
        if not (yes or dry_run):
            confirm(app, op, values)
        if not dry_run and op.name != "doctor":  # which tells of them itself
            for line in finish_erasures(app):
                tell(line)
        if op.effect is Effect.READ and op.reads_memories and app.home.teams.is_dir():
            _refresh_team_copy(app)
        try:
            result = op.function(app, **values)
        except PasswordMissing:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            result = op.function(app, **_ask_password(values))
        print_result(app, result, as_json=as_json)
        if app.is_unsent:
            from recollect.ops.team import send_changes

            send_changes(app)
    if isinstance(result, Verified) and not result.clean:
        return 5
    return 1 if isinstance(result, Checkup) and not result.healthy else 0


def _refresh_team_copy(app: App) -> None:
    from recollect.ops.team import refresh_copy

    if remark := refresh_copy(app):
        tell(remark)


def _ask_password(values: dict[str, Any]) -> dict[str, Any]:
    """The values of `team join` or `team create`, with the password that the person typed in the address."""
    from recollect.ops.team import add_password

    password = click.prompt("Password", hide_input=True, err=True)
    return {**values, "url": add_password(values["url"], password)}


def confirm(app: App, op: Op, values: dict[str, Any]) -> None:
    """Asks before what cannot be undone, or does much at once."""
    is_final = any(values[name] for name in op.erases)
    given = [name for name in (*op.erases, *op.asks) if values[name]]
    if not given:
        return
    if not sys.stdin.isatty():
        why = "cannot be undone" if is_final else "changes much at once"
        message = f"`{op.name} --{given[0]}` {why}, and nobody is there to ask."
        raise BadInput(message, hint="Add --yes, or --dry-run to look.")
    for found in (app.find(name)[1] for name in values["names"]):
        tell(f"  {found.id[-6:]}  {one_line(found.title)}")
    if any(values[name] for name in op.asks):
        with closing(App.open(current_folder(), dry_run=True)) as looking:
            foretold = op.function(looking, **values)
        tell(getattr(foretold, "summary", ""))
    question = "This cannot be undone. Go on?" if is_final else "Go on?"
    click.confirm(question, abort=True, err=True)


def values_from(wanted: list[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    return {p.name: _value(p, given[p.name]) for p in wanted}


def current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound(
            "The current folder no longer exists.", hint="Go to one that does."
        ) from None


def _argument(p: Parameter) -> click.Argument:
    shown = p.arg.metavar or p.name.upper()
    is_repeated = p.arg.many or shown in _FREE_TEXT
    metavar = shown
    if is_repeated:
        metavar = f"{shown}..." if p.required or shown.startswith("[") else f"[{shown}]..."
    return click.Argument(
        [p.name], required=p.required, nargs=-1 if is_repeated else 1, metavar=metavar,
        shell_complete=_complete_ids if shown in _NAMES_A_MEMORY else None,
    )  # fmt: skip


def flags_of(p: Parameter) -> str:
    """How an option is spelt. A switch that is on by default has a second name that turns it off."""
    flag = p.name.replace("_", "-")
    return f"--{flag}/--no-{flag}" if p.default is True else f"--{flag}"


def _option(p: Parameter) -> click.Option:
    names = [flags_of(p), p.name]
    if p.type is bool:
        return click.Option(
            names, is_flag=True, default=p.default, help=p.arg.help, show_default=p.default
        )
    if p.arg.many:
        return click.Option(
            names, multiple=True, default=p.default, help=p.arg.help, metavar=p.arg.metavar or None
        )
    choices = [str(member) for member in _members(p.type)]
    kind: Any = (
        click.Choice(choices, case_sensitive=False)
        if choices
        else p.type
        if p.type in (int, float)
        else str
    )
    default = ",".join(p.default) if isinstance(p.default, tuple) else p.default
    return click.Option(
        names, type=kind, default=str(default) if isinstance(default, Enum) else default, required=p.required,
        help=p.arg.help, metavar=p.arg.metavar or None, show_default=default not in (None, ""),
    )  # fmt: skip


def _value(p: Parameter, given: Any) -> Any:
    if isinstance(given, tuple) and p.type is str:  # free text: its words, or none
        given = " ".join(given) if given else None
    given = p.default if given is None else given
    if p.arg.stdin and given == "-":
        return _from_stdin()
    if _members(p.type) and given is not p.default:
        return _member(p, given)
    if typing.get_origin(p.type) is tuple and isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    return given


def _member(p: Parameter, given: Any) -> Any:
    """The choice that was meant, however it is spelled."""
    by_name = {str(member).lower(): member for member in _members(p.type)}
    if str(given).lower() in by_name:
        return by_name[str(given).lower()]
    context = click.get_current_context(silent=True)
    command = context.command_path if context else "recollect COMMAND"
    hint = f"`{command} --help` explains them."
    raise BadInput(f"{given!r} is none of: {', '.join(by_name)}.", hint=hint)


def _from_stdin() -> str:
    raw = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(raw) > _MAX_STDIN_BYTES:
        raise BadInput(
            f"Standard input has more than {_MAX_STDIN_BYTES:,} bytes.",
            hint="Keep the part that matters.",
        )
    return raw.decode("utf-8", errors="replace")


def _members(kind: Any) -> list[Any]:
    return list(kind) if isinstance(kind, type) and issubclass(kind, Enum) else []


def _complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    try:
        with closing(App.open(Path.cwd(), dry_run=True)) as app:
            known = [memory.id for memory in find_like(app, incomplete)]
    except (RecollectError, OSError):
        return []
    short = [id[-6:] for id in known if incomplete]
    return [id for id in (*known, *short) if id.startswith(incomplete)]


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def add_review(parent: click.Group) -> None:
    """`recollect inbox` with nothing after it is a command, too."""

    @click.pass_context
    def run(ctx: click.Context, as_json: bool) -> None:
        if ctx.invoked_subcommand is None:
            _review_inbox(as_json)

    parent.invoke_without_command = True
    parent.no_args_is_help = False
    parent.params.append(
        click.Option(["--json", "as_json"], is_flag=True, help="Print what waits as JSON.")
    )
    parent.callback = run
    parent.help = f"{parent.help} One key for each; without a terminal, list them."


def _review_inbox(as_json: bool) -> None:
    from recollect.ops import rules

    with closing(App.open(Path.cwd())) as app:
        waiting = rules.list_inbox(app, limit=_ALL)
        if as_json or not waiting.cards or not _has_terminal():
            print_result(app, waiting, as_json=as_json)
            return
        decided = 0
        questions = [question for card in waiting.cards for question in _questions(app, card)]
        keys = ""
        for number, question in enumerate(questions, start=1):
            if question.keys != keys:
                keys = question.keys
                print_blocks([Line(keys, Tone.DIM)])
            print_blocks(question.lines(f"{number} of {len(questions)}"))
            key = _ask(question)
            if key in _END_KEYS:
                break
            decided += key != "s"
        print_blocks([Line(f"{decided} decided, {len(questions) - decided} left.")])


class _Question(NamedTuple):  # something in the inbox that one key decides
    keys: str
    lines: Callable[[str], list[Line]]  # given how far a person is
    decide: Callable[[str], bool]  # whether the key decided it


def _questions(app: App, card: Card) -> Iterator[_Question]:
    """A waiting rule is one; a rule in force is one with each rule that it may contradict."""
    if card.memory.status is Status.CANDIDATE:
        yield _Question(_KEYS, partial(_rule_lines, app, card), partial(_decide_key, app, card))
        return
    for other in card.contradicts:
        yield _Question(
            _PAIR_KEYS, partial(_pair_lines, card, other), partial(_settle_key, app, card, other)
        )


def _ask(question: _Question) -> str:
    """The key that decided, skipped or ended it."""
    while True:
        key = click.getchar().lower()
        if key in _END_KEYS or key == "s" or question.decide(key):
            return key
        print_blocks([Line(question.keys, Tone.WARN)])


def _rule_lines(app: App, card: Card, place: str) -> list[Line]:
    memory = card.memory
    lines = [
        Line(f"{place}  {memory.body}", Tone.TITLE),
        Line(f"   {memory.id[-6:]}, source: {memory.lane}, {memory.origin or 'unknown'}", Tone.DIM),
    ]
    for id in card.replaces:
        lines.append(Line(f"   replaces {id[-6:]}?  {app.find(id)[1].body}", Tone.WARN))
    for other in card.contradicts:
        lines.append(Line(f"   may contradict {other.id[-6:]}:  {other.body}", Tone.WARN))
    return lines


def _pair_lines(card: Card, other: OtherRule, place: str) -> list[Line]:
    older, newer = (card.memory.body, other.body)
    if not other.is_newer:
        older, newer = newer, older
    return [
        Line(f"{place}  These two may contradict each other:", Tone.TITLE),
        Line(f"   newer  {newer}"),
        Line(f"   older  {older}"),
    ]


def _settle_key(app: App, card: Card, other: OtherRule, key: str) -> bool:
    from recollect.ops import rules

    if key not in _KEPT:
        return False
    return _try(lambda: rules.settle(app, card.memory.id, other.id, keep=rules.Keep(_KEPT[key])))


def _decide_key(app: App, card: Card, key: str) -> bool:
    from recollect.ops import rules

    id = card.memory.id
    if key == "a":
        return _try(lambda: rules.accept(app, (id,)))
    if key == "r":
        return _try(lambda: rules.reject(app, (id,)))
    if key == "e":
        return _try(lambda: rules.edit(app, id, _ask_words(card)))
    return False


def _ask_words(card: Card) -> str:
    words: str = click.prompt(
        "as it should read", default=visible(card.memory.body), show_default=False
    )
    return words


def _try(act: Callable[[], Done]) -> bool:
    """Whether it was done; says what came of it."""
    try:
        done = act()
    except click.Abort:
        return False
    except RecollectError as problem:
        print_blocks([Line(f"{problem.message} {problem.hint}".strip(), Tone.BAD)])
        return False
    print_blocks([Line(done.summary, Tone.GOOD), *(Line(note) for note in done.notes)])
    return True


def finish_erasures(app: App) -> list[str]:
    """Those that were cut off. Nothing is loaded for it where there are none."""
    if not app.home.erasures.is_dir():
        return []
    from recollect.ops import purge

    return purge.finish(app)


def edit_in_editor(app: App, values: dict[str, Any]) -> dict[str, Any]:
    """The values of `edit`, with what the person wrote in $EDITOR where no option was given."""
    if any(values[name] is not None for name in ("title", "body", "topics")):
        return values
    if not _has_terminal():
        hint = "Give --title, --body or --topics; `--body -` reads standard input."
        raise BadInput("There is no terminal to edit in.", hint=hint)
    memory = app.find(values["id"])[1]
    text = f"Title: {memory.title}\nTopics: {', '.join(memory.topics)}\n\n{memory.body}\n"
    try:
        written = click.edit(text, extension=".md", require_save=True)
    except click.ClickException as problem:
        raise BadInput(
            problem.message, hint="Set EDITOR to one that works. Nothing was changed."
        ) from None
    if written is None:
        return values
    title, topics, blank, body = [*written.split("\n", 3), "", "", ""][:4]
    if not title.startswith("Title:") or not topics.startswith("Topics:") or blank.strip():
        kept = app.home.root / "unsaved-edit.md"
        write_private(kept, written)
        hint = f"Nothing was changed. What you wrote is kept in {kept}."
        raise BadInput(
            "The text must begin with the lines `Title:` and `Topics:` and an empty one.", hint=hint
        )
    # The newline that ends the file does not belong to the body; an editor may write line ends in its own way.
    after = {
        "title": title[6:].strip(),
        "topics": topics[7:].strip(),
        "body": body.removesuffix("\n"),
    }
    was = memory.body.replace("\r\n", "\n")
    before = {"title": memory.title.strip(), "topics": ", ".join(memory.topics), "body": was}
    return values | {name: value for name, value in after.items() if value != before[name]}


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
    chosen = tuple(
        host
        for host in found
        if click.confirm(question.format(agent(host).TITLE), default=True, err=True)
    )
    if not chosen:
        raise click.Abort
    return {**values, "agent": chosen}

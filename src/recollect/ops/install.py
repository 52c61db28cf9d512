"""Connects agents: `install` makes them call Recollect, `uninstall` undoes it (integrations/agent_pieces.py says what
is added to which file). The script is written before anything calls it, and removed when nothing does any more. `sync`,
`skills` and a job for both keep copies of the rules where an agent reads by itself (integrations/rule_copies.py)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from recollect import __version__
from recollect.agents import DEFAULT_HOST, Level, callers, default_agent
from recollect.agents import agent as agent_of
from recollect.app.core import App
from recollect.app.states import Memo
from recollect.base import project as projects
from recollect.base.errors import BadInput, Conflict, RecollectError
from recollect.base.files import stamp
from recollect.base.local_time import local_minute
from recollect.base.moment import Moment
from recollect.base.settings import environment
from recollect.base.text import counted
from recollect.integrations import agent_pieces, rule_copies
from recollect.integrations.agent_pieces import CALLING, COMMAND, HOOKS, PLUGIN, SERVER, SKILL
from recollect.integrations.pieces import (
    UNSETTLED,
    Change,
    Entries,
    Outcome,
    Receipt,
    Receipts,
    Work,
    changes,
    preview,
)
from recollect.integrations.rule_copies import KINDS, RULES_SYNC, SKILLS, Copies
from recollect.model.codec import Json
from recollect.model.result import Scope, Summary
from recollect.ops.table import Arg
from recollect.wire import client, place, stub

_STOP_S = 2.5  # a daemon that ends takes two seconds at most
_REQUIRED = (HOOKS, PLUGIN)
_IMPORT = "recollect import sessions"
_Agents = Annotated[
    tuple[str, ...], Arg("Which agent; repeat it for several.", metavar="NAME", many=True)
]
_User = Annotated[bool, Arg("In your own settings, for every project (the default).")]
_Project = Annotated[bool, Arg("In this project's settings, which its repository shares.")]
_Local = Annotated[bool, Arg("In this project's settings on this machine alone.")]
_Off = Annotated[
    bool, Arg("Remove what was written here, and write nothing more until this is called again.")
]


def install(
    app: App,
    *,
    agent: _Agents = (),
    user: _User = False,
    project: _Project = False,
    local: _Local = False,
) -> Summary:
    level, chosen = _choice(agent or (DEFAULT_HOST,), user, project, local)
    here = agent_pieces.agents_here(app)  # before our files make folders that look like an agent's
    pieces = [piece for host in chosen for piece in agent_pieces.pieces(app, host, level)]
    if not app.dry_run:
        app.home.prepare()
    with changes(app) as work:
        for piece in pieces:  # if one of them cannot be added, nothing is written at all
            _require(preview(piece, work.receipts))
        has_scripts = stub.is_current(str(app.home.root), sys.executable)
        if not has_scripts and not app.dry_run:
            # First: a daemon that just started would put its own version's scripts back.
            client.retire_older(place.find_place(str(app.home.root), environment()), __version__)
            stub.write_hook(str(app.home.root), sys.executable)
        command = agent_pieces.short_command(work.receipts)
        for piece in (*pieces, *([command] if command else [])):
            _require(work.change(piece, wanted=True))
    if app.dry_run:
        return _plan(
            work,
            []
            if has_scripts
            else [("add", f"{app.home.root}/bin/", "the scripts that agents call")],
        )
    if work.changed:
        app.log.line("install", hosts=",".join(chosen), level=level)
    steps = (
        *_not_here(chosen, here),
        *_next_steps(work, level, chosen, is_named=bool(agent), here=here),
    )
    return _summary(work, steps, missing=[host for host in chosen if host not in here])


def _not_here(chosen: Sequence[str], here: Sequence[str]) -> Iterator[str]:
    """Agents that were connected, and are not on this machine as far as can be seen: what was looked for."""
    missing = [agent_of(host).TITLE for host in chosen if host not in here]
    if not missing:
        return
    looked = "neither the program on the PATH nor its folder in the home folder"
    yield (
        f"{' and '.join(missing)} was not found on this machine ({looked}): its settings are ready for when it is"
        " installed. `recollect doctor` checks the connection, `recollect uninstall` takes the settings away."
    )
    if not here:
        known = ", ".join(agent_of(host).TITLE for host in callers())
        yield f"No agent was found at all. Recollect works with {known}: install one of them."


def uninstall(
    app: App,
    *,
    agent: _Agents = (),
    user: _User = False,
    project: _Project = False,
    local: _Local = False,
) -> Summary:
    level, chosen = _choice(agent, user, project, local)
    for host in chosen:
        agent_pieces.check_level(host, level)
    with changes(app) as work:
        if (
            not chosen
        ):  # all that call us at this level, or did when we last looked; without any, the usual one
            recorded = {one.host for one in work.receipts.of(*CALLING) if one.level == level}
            found = [
                host
                for host in callers()
                if host in recorded or agent_pieces.calls_us(app, host, level)
            ]
            chosen = tuple(found) or (DEFAULT_HOST,)
        for host in chosen:
            # Of two pieces in one file the later one goes first, so that each finds the file as it left it.
            for piece in reversed([*agent_pieces.pieces(app, host, level)]):
                taken = work.change(piece, wanted=False)
                if piece.kind == HOOKS:
                    _require(taken)
            for folder in () if app.dry_run else agent_of(host).answer_folders(app.places):
                shutil.rmtree(folder, ignore_errors=True)
        gone = {one.piece.receipt.key for one in work.outcomes}
        still = sorted({one.path for one in work.receipts.of(*CALLING) if one.key not in gone})
        for command in (Path(one.path) for one in work.receipts.of(COMMAND) if not still):
            if command.is_symlink() and os.readlink(command) == "recollect" and not app.dry_run:
                command.unlink()  # as older versions made it
            work.change(agent_pieces.short_command_at(command), wanted=False)
    if app.dry_run:
        return _plan(work, [])
    plugin = default_agent().addon(app.places)
    if still:
        return _summary(work, [f"Still called from {', '.join(still)}."])
    if plugin:
        return _summary(
            work, [f"The plugin {plugin.name} still calls Recollect: `{plugin.remove}` removes it."]
        )
    notes = rule_copies.withdraw_all(app)
    stub.remove_hook(str(app.home.root))
    at = place.follow(place.find_place(str(app.home.root), environment()))
    with suppress(client.Unanswered):
        client.ask(at, {"op": "stop"}, b"", _STOP_S)
    client.remove_runtime(
        at, time.monotonic() + _STOP_S
    )  # a daemon that does not end in time keeps its files
    return _summary(work, [*notes, *_what_stays(app)])


def _what_stays(app: App) -> Iterator[str]:
    """Where memories and files of ours still are, and how to remove them."""
    home = app.home.root
    if not home.exists():
        return
    yield f"Memories stay in {home}. To delete all of them: `rm -r {shlex.quote(str(home))}`."
    folders = [Path(known.root, ".ai") for known in projects.known(app.home.projects)]
    left = [folder for folder in folders if folder.is_dir()]
    if not left:
        return
    named = ", ".join(map(str, left[:_MOST_NAMED]))
    more = f" and {len(left) - _MOST_NAMED:,} more" if len(left) > _MOST_NAMED else ""
    yield (
        f"The folder .ai stays in {counted(len(left), 'project')}: {named}{more}. It holds the project's notes"
        f" (.ai/memory) and copies for agents. To delete one: `rm -r {shlex.quote(str(left[0]))}`."
    )


def _choice(
    named: tuple[str, ...], user: bool, project: bool, local: bool
) -> tuple[Level, tuple[str, ...]]:
    asked = [
        level
        for level, on in ((Level.USER, user), (Level.PROJECT, project), (Level.LOCAL, local))
        if on
    ]
    if len(asked) > 1:
        raise BadInput(
            f"--{asked[0]} and --{asked[1]} cannot be combined.",
            hint="Run the command once for each.",
        )
    unknown = [name for name in named if name not in callers()]
    if unknown:
        raise BadInput(
            f"No agent is known as {unknown[0]!r}.", hint=f"Known: {', '.join(callers())}."
        )
    return asked[0] if asked else Level.USER, tuple(dict.fromkeys(named))


def _require(outcome: Outcome) -> None:
    """BadInput or Conflict where a piece was left alone without which the agent does not call us."""
    piece, change, reason, _ = outcome
    if change is not Change.LEFT or piece.kind not in _REQUIRED:
        return
    if reason.endswith(UNSETTLED):
        raise Conflict(
            f"{reason}.", hint="Nothing was written. Close what writes it, and try again."
        )
    hint = "Move it away, and try again."
    if isinstance(piece, Entries):
        hint = f"Correct it, or make the change yourself. These are the hooks:\n{json.dumps(piece.tree, indent=2)}"
    raise BadInput(f"{reason}. It was left as it is.", hint=hint)


_MOST_NAMED = 5  # projects
_ABLE = {HOOKS: 0, PLUGIN: 0, SERVER: 1}
_ONCE_IT_IS_HERE = ("will call Recollect", "will have Recollect's tools")
_DONE = {
    Change.ADDED: ("now calls Recollect", "can now use Recollect's tools"),
    Change.RENEWED: ("now calls Recollect", "can now use Recollect's tools"),
    Change.SAME: ("already calls Recollect", "can already use Recollect's tools"),
    Change.REMOVED: ("no longer calls Recollect", "can no longer use Recollect's tools"),
    Change.ABSENT: ("does not call Recollect", "cannot use Recollect's tools"),
}


def _summary(work: Work, more: Iterable[str], *, missing: Collection[str] = ()) -> Summary:
    """`missing`: agents that were connected and are not on this machine."""
    lines, notes = [], []
    for piece, change, reason, _ in work.outcomes:
        if piece.kind in _ABLE:
            able = _ABLE[piece.kind]
            if change is Change.LEFT:
                done = f": {reason}. It was left as it is."
            elif piece.host in missing:
                done = f" {_ONCE_IT_IS_HERE[able]} once it is installed ({piece.path})."
            else:
                done = f" {_DONE[change][able]} ({piece.path})."
            lines.append(agent_of(piece.host).TITLE + done)
        elif change is Change.LEFT:
            notes.append(f"Left alone: {reason}.")
        elif piece.kind == COMMAND and change is Change.ADDED:
            notes.append(f"`{agent_pieces.SHORT_NAME}` now means `recollect`.")
        elif piece.kind == SKILL and change is Change.ADDED:
            notes.append(agent_of(piece.host).SKILLS_NOTE)
    notes = [*filter(None, dict.fromkeys(notes))]
    return Summary("\n".join(lines), _facts(work), (*notes, *more))


def _facts(work: Work) -> dict[str, Json]:
    files: list[Json] = [
        {"path": str(piece.path), "agent": piece.host, "level": piece.level, "kind": piece.kind,
         "change": str(change), **({"reason": reason} if reason else {}), **({"diff": diff} if diff else {})}
        for piece, change, reason, diff in work.outcomes
    ]  # fmt: skip
    return {"changed": work.changed, "dry_run": work.app.dry_run, "files": files}


def _plan(work: Work, rows: list[tuple[str, str, str]]) -> Summary:
    """A dry run: every file that would change, then the differences in files of others."""
    rows += [
        (str(one.change), str(one.piece.path), one.piece.what)
        for one in work.outcomes
        if one.is_change
    ]
    rows += [
        (str(one.change), str(one.piece.path), one.reason)
        for one in work.outcomes
        if one.change is Change.LEFT
    ]
    if not rows:
        return Summary("Nothing would change.", _facts(work))
    wide, wider = (max(len(row[column]) for row in rows) for column in (0, 1))
    table = "".join(f"\n  {verb:<{wide}}  {path:<{wider}}  {what}" for verb, path, what in rows)
    diffs = [one.diff for one in work.outcomes if one.diff]
    return Summary(
        "\n\n".join((f"{counted(len(rows), 'change')} would be made:{table}", *diffs)),
        _facts(work),
        is_verbatim=True,
    )


def _next_steps(
    work: Work, level: Level, chosen: tuple[str, ...], *, is_named: bool, here: tuple[str, ...]
) -> Iterator[str]:
    app = work.app
    yield from filter(None, (agent_of(host).unapproved(level, app.places) for host in chosen))
    plugin = default_agent().addon(app.places)
    if plugin and DEFAULT_HOST in chosen:
        yield f"The plugin {plugin.name} calls Recollect, too; each event is answered once."
    yield "Takes effect in new sessions; running ones are unchanged."
    if level is Level.PROJECT:
        private = "so they do nothing for others who share these settings; use --local to keep them private."
        yield f"The hooks point to {app.home.root}, {private}"
    others = [host for host in here if host != DEFAULT_HOST and not is_named]
    found = [
        host
        for host in others
        if not any(agent_pieces.calls_us(app, host, level) for level in Level)
    ]
    if found:
        names, titles = (
            " ".join(f"--agent {host}" for host in found),
            ", ".join(agent_of(host).TITLE for host in found),
        )
        if DEFAULT_HOST in here:
            yield f"Also on this machine: {titles}. `recollect install {names}` connects them, too."
        else:
            yield f"On this machine: {titles}. `recollect install {names}` connects what is here."
    if work.changed:
        from recollect.ops import past_sessions

        counts = past_sessions.count_past(app).values()
        everywhere, past = sum(many for many, _ in counts), sum(here for _, here in counts)
        if past:
            yield f"{counted(past, 'past session')} of {app.require_project().name} found: `{_IMPORT}` reads them."
        elif everywhere:
            yield f"{counted(everywhere, 'past session')} found: `{_IMPORT} --all` reads them."


def sync(app: App, *, off: _Off = False) -> Summary:
    is_on = app.settings.switch(RULES_SYNC.setting) and not off
    return rule_copies.update(app, rule_copies.receipt_for(app, RULES_SYNC), is_on=is_on, off=off)


def skills(app: App, *, off: _Off = False) -> Summary:
    is_on = app.settings.switch(SKILLS.setting) and not off
    return rule_copies.update(app, rule_copies.receipt_for(app, SKILLS), is_on=is_on, off=off)


def connected_agents(app: App) -> tuple[str, ...]:
    """The agents that were made to call us, by the names that people know."""
    hosts = dict.fromkeys(receipt.host for receipt in Receipts(app).of(*CALLING))
    return tuple(agent_of(host).TITLE for host in hosts if host in callers())


def copies_status(app: App) -> dict[str, str]:
    """Whether each is on, and when it was last written here."""
    root = app.project.root if app.project else Path()
    found = {}
    for copies in KINDS.values():
        kept = Receipts(app).of(copies.kind, root=root)
        last = max((one.at for one in kept), default="")
        written = f", last written {local_minute(Moment.parse(last))}" if last else ""
        state = "on" if app.settings.switch(copies.setting) else "off"
        state = (
            "on, but taken away here"
            if state == "on" and kept and all(one.off for one in kept)
            else state
        )
        found[copies.title.lower()] = f"{state}{written}"
    return found


def update_copies(app: App, memo: Memo) -> bool:
    """Keeps the copies current. While nothing has changed, that costs a few looks at files."""
    if _stamp(app) == memo.get(tuple, ()):
        return False
    for copies in KINDS.values():
        is_on = app.settings.switch(copies.setting)
        for receipt in _folders(app, copies, is_on):
            try:
                rule_copies.update(app, receipt, is_on=is_on)
            except RecollectError as problem:  # tried again when something changed
                app.log.line("rule-copies-failed", problem=problem.message)
    memo[tuple] = _stamp(app)  # our own writing is no reason to look again
    return False


def _stamp(app: App) -> tuple[object, ...]:
    """Changes when a store, a setting or the index was written to. Empty where there is nothing to do."""
    is_on = any(app.settings.switch(copies.setting) for copies in KINDS.values())
    if app.project is None or not (is_on or Receipts(app).of(*KINDS, root=app.project.root)):
        return ()
    stores = [path for scope in Scope if (path := app.store_path(scope)) is not None]
    logs = [path.with_name(path.name + "-wal") for path in stores]
    index = default_agent().own_memory(app.places)[1] / default_agent().INDEX_FILE
    return tuple(map(stamp, [*stores, *logs, app.home.conf, app.project.conf, index]))


def _folders(app: App, copies: Copies, is_on: bool) -> list[Receipt]:
    """Every folder of this project that was written to before, or the usual one if the agent was ever used here."""
    known = Receipts(app).of(copies.kind, root=app.project.root) if app.project else []
    if app.project is None or known or not is_on:
        return [one for one in known if not one.off]
    usual = rule_copies.receipt_for(app, copies)
    return [usual] if copies is SKILLS or rule_copies.memory_base(app, usual).is_dir() else []

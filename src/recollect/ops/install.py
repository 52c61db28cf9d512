"""Makes agents call Recollect, and undoes it. What is added to which file: integrations/agent_pieces.py.

Order matters: the script is there before anything calls it, and goes after nothing does.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Ability, Form, Level, callers, is_able
from recollect.agents import agent as agent_of
from recollect.app.agent_places import places
from recollect.app.core import App
from recollect.base.errors import BadInput, Conflict
from recollect.base.settings import environment
from recollect.base.text import counted
from recollect.integrations import agent_pieces, managed, rule_copies, settings_text
from recollect.integrations.agent_pieces import CALLING, COMMAND, HOOKS, PLUGIN, SERVER
from recollect.integrations.managed import Change, Outcome, Work
from recollect.integrations.pieces import Entries, LeftAlone, Piece
from recollect.model.codec import Json
from recollect.model.result import Summary
from recollect.ops.table import Arg
from recollect.wire import client, place, stub

_STOP_S = 2.5  # one that ends takes two seconds at most
_REQUIRED = (HOOKS, PLUGIN)
_IMPORT = "recollect import sessions"
_Agents = Annotated[tuple[str, ...], Arg("Which agent; repeat it for several.", metavar="NAME", many=True)]
_User = Annotated[bool, Arg("In your own settings, for every project (the default).")]
_Project = Annotated[bool, Arg("In this project's settings, which its repository shares.")]
_Local = Annotated[bool, Arg("In this project's settings on this machine alone.")]


def install(
    app: App, *, agent: _Agents = (), user: _User = False, project: _Project = False, local: _Local = False
) -> Summary:
    level = _level(user, project, local)
    chosen = _known(agent) or (DEFAULT_HOST,)
    for host in chosen:  # before anything is written
        agent_pieces.check_level(host, level)
    pieces = [piece for host in chosen for piece in agent_pieces.pieces(app, host, level)]
    if not app.dry_run:
        app.home.prepare()
    with managed.changes(app) as work:
        for piece in pieces:
            _refuse_unusable(work, piece)
        has_scripts = stub.is_current(str(app.home.root), sys.executable)
        if not has_scripts and not app.dry_run:
            stub.write_hook(str(app.home.root), sys.executable)
        link = agent_pieces.short_command(work.receipts)
        for piece in (*pieces, *([link] if link else [])):
            _require(work.put(piece))
        if app.dry_run:
            scripts = () if has_scripts else ((f"{app.home.root}/bin/", "the scripts that agents call"),)
            return _plan(work, scripts)
    if work.changed:
        app.log.line("install", hosts=",".join(chosen), level=level)
    notes = [*_notes_about(work), *_next_steps(app, work, level, chosen)]
    if not agent:
        notes += _other_agents(app, work)
    if work.changed:
        notes += _past_sessions(app)
    return Summary(_sentences(work), _facts(work), tuple(notes))


def uninstall(
    app: App, *, agent: _Agents = (), user: _User = False, project: _Project = False, local: _Local = False
) -> Summary:
    level = _level(user, project, local)
    for host in _known(agent):
        agent_pieces.check_level(host, level)
    with managed.changes(app) as work:
        for host in _known(agent) or _calling(app, work, level):
            # Of two pieces in one file the later one goes first, so that each finds the file as it left it.
            for piece in reversed(agent_pieces.pieces(app, host, level)):
                taken = work.take(piece)
                if piece.kind == HOOKS:
                    _require(taken)
            if is_able(host, Ability.READS) and not app.dry_run:
                for folder in agent_of(host).answer_folders(places(app)):
                    shutil.rmtree(folder, ignore_errors=True)
        gone = {one.piece.receipt.key for one in work.outcomes}
        still = sorted({one.path for one in work.receipts.of(*CALLING) if one.key not in gone})
        for link in agent_pieces.installed_commands(work.receipts) if not still else ():
            work.take(link)
        if app.dry_run:
            return _plan(work, ())
    told = Summary(_sentences(work), _facts(work), tuple(_notes_about(work)))
    if still:
        return replace(told, notes=(*told.notes, f"Still called from {', '.join(still)}."))
    if calling := agent_pieces.plugins_here(app):
        notes = (f"The plugin {one.name} still calls Recollect: `{one.remove}` removes it." for one in calling)
        return replace(told, notes=(*told.notes, *notes))
    copies = rule_copies.withdraw_all(app)
    stub.remove_hook(str(app.home.root))
    _end_daemon(app)
    return replace(told, notes=(*told.notes, *copies, f"Memories stay in {app.home.root}."))


def _level(user: bool, project: bool, local: bool) -> Level:
    asked = [level for level, on in ((Level.USER, user), (Level.PROJECT, project), (Level.LOCAL, local)) if on]
    if len(asked) > 1:
        raise BadInput(f"--{asked[0]} and --{asked[1]} are two places.", hint="Name one; call it again for the other.")
    return asked[0] if asked else Level.USER


def _known(named: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in named if name not in callers()]
    if unknown:
        raise BadInput(f"No agent is known as {unknown[0]!r}.", hint=f"Known: {', '.join(callers())}.")
    return tuple(dict.fromkeys(named))


def _calling(app: App, work: Work, level: Level) -> tuple[str, ...]:
    """All that call us at this level, or did when we last looked; the usual one where none does: it says so."""
    recorded = {one.host for one in work.receipts.of(*CALLING) if one.level == level}
    found = [host for host in callers() if host in recorded or agent_pieces.calls_us(app, host, level, work.receipts)]
    return tuple(found) or (DEFAULT_HOST,)


def _refuse_unusable(work: Work, piece: Piece) -> None:
    """Where an agent could not be made to call us, nothing is written at all."""
    if piece.kind not in _REQUIRED:
        return
    try:
        piece.edit(piece.look(), work.receipts, wanted=True)
    except LeftAlone as problem:
        _require(Outcome(piece, Change.LEFT, str(problem)))


def _require(outcome: Outcome) -> None:
    """BadInput where a piece that cannot be missing was left alone."""
    piece = outcome.piece
    if outcome.change is not Change.LEFT or piece.kind not in _REQUIRED:
        return
    if outcome.reason.endswith(managed.UNSETTLED):
        raise Conflict(f"{outcome.reason}.", hint="Nothing was written. Close what writes it, and try again.")
    if isinstance(piece, Entries):
        snippet = settings_text.insert("", settings_text.insertions(Form.JSON, "", piece.additions))
        raise BadInput(
            f"{outcome.reason}. It was left as it is.",
            hint=f"Correct it, or make the change yourself. These are the hooks:\n{snippet}",
        )
    raise BadInput(
        f"{piece.path} is not what Recollect wrote. It was left as it is.", hint="Move it away, and try again."
    )


# What was done, in words

_VERBS = {
    HOOKS: {
        Change.ADDED: "now calls Recollect at {}", Change.RENEWED: "now calls Recollect at {}",
        Change.SAME: "already calls Recollect", Change.REMOVED: "no longer calls Recollect",
        Change.ABSENT: "does not call Recollect",
    },
    SERVER: {
        Change.ADDED: "can now use Recollect's tools", Change.RENEWED: "can now use Recollect's tools",
        Change.SAME: "can already use Recollect's tools", Change.REMOVED: "can no longer use Recollect's tools",
        Change.ABSENT: "cannot use Recollect's tools",
    },
}  # fmt: skip
_VERBS[PLUGIN] = {change: verb.partition(" at {}")[0] for change, verb in _VERBS[HOOKS].items()}


def _sentences(work: Work) -> str:
    found = []
    for piece, change, reason, _ in work.outcomes:
        if piece.kind not in _VERBS:
            continue
        title = agent_of(piece.host).TITLE
        if change is Change.LEFT:
            found.append(f"{title}: {reason}. It was left as it is.")
        else:
            events = counted(len(piece.additions), "event") if isinstance(piece, Entries) else ""
            found.append(f"{title} {_VERBS[piece.kind][change].format(events)} ({piece.path}).")
    return "\n".join(found)


def _facts(work: Work) -> dict[str, Json]:
    return {
        "changed": work.changed,
        "dry_run": work.app.dry_run,
        "files": [
            {
                "path": str(piece.path), "agent": piece.host, "level": piece.level, "kind": piece.kind,
                "change": str(change), **({"reason": reason} if reason else {}), **({"diff": diff} if diff else {}),
            }
            for piece, change, reason, diff in work.outcomes
        ],
    }  # fmt: skip


def _plan(work: Work, more: tuple[tuple[str, str], ...]) -> Summary:
    """A dry run: every file that would change, then the differences in files of others."""
    rows = [(str(Change.ADDED), path, what) for path, what in more]
    rows += [(str(one.change), str(one.piece.path), one.piece.what) for one in work.outcomes if one.is_change]
    rows += [(str(one.change), str(one.piece.path), one.reason) for one in work.outcomes if one.change is Change.LEFT]
    if not rows:
        return Summary("Nothing would change.", _facts(work))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    table = [f"  {verb:<{widths[0]}}  {path:<{widths[1]}}  {what}" for verb, path, what in rows]
    diffs = [one.diff for one in work.outcomes if one.diff]
    parts = ["\n".join((f"{counted(len(rows), 'change')} would be made:", *table)), *diffs]
    return Summary("\n\n".join(parts), _facts(work))


def _notes_about(work: Work) -> Iterator[str]:
    for piece, change, reason, _ in work.outcomes:
        if piece.kind == COMMAND and change is Change.ADDED:
            yield f"`{agent_pieces.SHORT_NAME}` now means `recollect`."
        elif change is Change.LEFT and piece.kind not in _VERBS:
            yield f"Left alone: {reason}."


def _next_steps(app: App, work: Work, level: Level, chosen: tuple[str, ...]) -> Iterator[str]:
    for host in chosen:
        if to_allow := agent_of(host).unapproved(level, places(app)):
            yield to_allow
    for one in agent_pieces.plugins_here(app):
        if one.host in chosen:
            yield f"The plugin {one.name} calls too; an event is answered once."
    yield "Sessions that are running now are not affected; new ones are."
    if level is Level.PROJECT:
        yield f"It names {app.home.root}: for others who share these settings it does nothing. See --local."


def _other_agents(app: App, work: Work) -> Iterator[str]:
    """Agents that are here and do not call us, where nobody said which ones should."""
    found = [
        host
        for host in agent_pieces.agents_here(app)
        if host != DEFAULT_HOST
        and not any(agent_pieces.calls_us(app, host, level, work.receipts) for level in agent_of(host).LEVELS)
    ]
    if found:
        names, titles = " ".join(f"--agent {host}" for host in found), ", ".join(agent_of(host).TITLE for host in found)
        yield f"Also on this machine: {titles}. `recollect install {names}` makes them call Recollect, too."


def _past_sessions(app: App) -> Iterator[str]:
    from recollect.ops import past_sessions

    everywhere, here = past_sessions.left_behind(app)
    if here:
        yield f"{counted(here, 'past session')} of {app.require_project().name} found: `{_IMPORT}` reads them."
    elif everywhere:
        yield f"{counted(everywhere, 'past session')} found: `{_IMPORT} --all` reads them."


def _end_daemon(app: App) -> None:
    """And what it left. One that does not end in time keeps what it needs; nothing calls it any more."""
    at = place.follow(place.find_place(str(app.home.root), environment()))
    with suppress(client.Unanswered):
        client.ask(at, {"op": "stop"}, b"", _STOP_S)
    client.remove_runtime(at, time.monotonic() + _STOP_S)

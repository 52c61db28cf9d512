"""`purge`: erases memories with every trace: stores, backups, what is queued for the team, logs, rendered recalls and
copies of rules. Cut off at any point, it is finished by the daemon or by the next command (app/erasure.py)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from recollect.agents import agent as agent_of
from recollect.agents import callers
from recollect.app import erasure, note_files, teams
from recollect.app.core import App, set_aside_files
from recollect.app.erasure import Erased, Erasure
from recollect.app.memory_search import load_focus
from recollect.app.states import Memo
from recollect.base.errors import BadInput, HomeRefused, NotFound, RecollectError
from recollect.base.files import write_private
from recollect.base.settings import environment
from recollect.base.text import counted, storable
from recollect.model.codec import Json
from recollect.model.plan import Alias
from recollect.model.query import Query
from recollect.model.result import Check, Mark, Scope, Summary
from recollect.ops import memories, steering, validate
from recollect.wire.place import find_place, follow

_NO_LIMIT = 1_000_000
_FINISH = "recollect doctor"

Wanted = dict[Scope, tuple[str, ...]]  # ids, by the store that they are in


def erase(
    app: App, names: tuple[str, ...] = (), *, group: str | None = None, project: bool = False
) -> Summary:
    """These memories, or everything that came from one session or import, or of this project, with every trace."""
    if bool(names) + bool(group) + project != 1:
        raise BadInput("Name memories by id, or a group, not both.", hint="`recollect purge ID`")
    named, kept_files = _find_in_project(app) if project else (_find_named(app, names, group), [])
    if not named:
        problem = f"No memory came from {group!r}." if group else "There is nothing to erase."
        raise NotFound(problem, hint="`recollect show ID` names a memory's group.")
    wanted = _by_store(app, named)
    if app.dry_run:
        listed = _ids_in(wanted)
        many = counted(len(listed), "memory", "memories")
        return Summary(f"Would erase {many} with every trace.", {"dry_run": True, "ids": [*listed]})
    return _erase_all(app, wanted, kept_files)


def _erase_all(app: App, wanted: Wanted, kept_files: list[str]) -> Summary:
    """Notes what is to be erased before it begins: cut off, it can be finished."""
    change = app.mint.draw("change")
    planned = [_plan_erasure(app, scope, ids, change) for scope, ids in wanted.items()]
    for scope in wanted:
        app.writer(scope)  # a store that cannot be written says so before anything is noted
    notes = [erasure.write_note(app, part) for part in planned]
    done = [_erase_one(app, part) for part in planned]
    left = [*kept_files, *_traces_left(done), *_erase_elsewhere(app, planned)]
    for note in notes:
        note.unlink(missing_ok=True)
    return _summarize(app, _ids_in(wanted), done, left)


def _ids_in(wanted: Wanted) -> list[str]:
    return [id for ids in wanted.values() for id in ids]


def _traces_left(done: Sequence[Erased]) -> list[str]:
    """What was lost with them, and what may still tell of them, for a person."""
    lost = [
        f"The backup {copy} could not be opened and was removed."
        for erased in done
        for copy in erased.unreadable
    ]
    skipped = [
        f"Not looked at, may still tell of them: {path}."
        for erased in done
        for path in erased.skipped
    ]
    return [*lost, *skipped]


def _summarize(app: App, ids: list[str], done: Sequence[Erased], left: list[str]) -> Summary:
    entries = sum(erased.entries for erased in done)
    backups = sum(erased.backups for erased in done)
    app.log.line("purge", memories=len(ids), entries=entries, backups=backups)
    many = counted(len(ids), "memory", "memories")
    from_entries = counted(entries, "journal entry", "journal entries")
    summary = f"Erased {many}; removed them from {from_entries} and {counted(backups, 'backup')}."
    facts: dict[str, Json] = {
        "dry_run": False,
        "ids": [*ids],
        "journal_entries": entries,
        "backups": backups,
    }
    return Summary(summary, facts, tuple(left))


def _find_named(app: App, names: tuple[str, ...], group: str | None) -> list[tuple[Scope, str]]:
    named = [memories.find_id(app, name) for name in names]
    for scope, store in app.scopes() if group else ():
        found = store.find(Query(group=storable(group or ""), limit=_NO_LIMIT))
        named += [(scope, memory.id) for memory in found]
    return named


def _find_in_project(app: App) -> tuple[list[tuple[Scope, str]], list[str]]:
    """All of this project's memories, and what to say about notes, whose files are not ours to erase."""
    app.require_project()
    named: list[tuple[Scope, str]] = []
    kept_files: list[str] = []
    for memory in app.reader(Scope.PROJECT).find(Query(limit=_NO_LIMIT)):
        path = note_files.file_of(app, Scope.PROJECT, memory)
        if path is None:
            named.append((Scope.PROJECT, memory.id))
        else:
            kept_files.append(f"A note's file stays, and the note with it: {path}.")
    return named, kept_files


def _by_store(app: App, named: Sequence[tuple[Scope, str]]) -> Wanted:
    """With those that were merged into them: their words live on in what they became."""
    wanted: Wanted = {}
    for scope in dict.fromkeys(scope for scope, _ in named):
        reader, ids = app.reader(scope), [id for where, id in named if where is scope]
        merged = [alias.old for alias in reader.records(Alias, new=ids)]
        wanted[scope] = tuple(dict.fromkeys([*ids, *merged]))
        for memory in filter(None, (reader.get(id, follow=False) for id in wanted[scope])):
            memories.refuse_note_file(app, scope, memory)
    return wanted


def _plan_erasure(app: App, scope: Scope, ids: tuple[str, ...], change: str) -> Erasure:
    standing = filter(None, (app.reader(scope).get(id, follow=False) for id in ids))
    sessions = dict.fromkeys(
        session for memory in standing for session in erasure.sessions_of(memory)
    )
    return Erasure(
        store=str(app.store_path(scope)),
        scope=scope,
        ids=ids,
        sessions=tuple(sessions),
        change=change,
    )


def _erase_one(app: App, planned: Erasure) -> Erased:
    store = app.writer(planned.scope)
    note_files.recover(app, planned.scope)  # its record quotes files
    header = None
    is_begun = bool(store.log(limit=1, change=planned.change))
    if planned.is_own and not is_begun:
        summary = f"Purged {counted(len(planned.ids), 'memory', 'memories')}"
        header = app.change_header("purge", summary, change=planned.change)
        teams.queue_purge(app, planned.scope, store, planned.ids)
    skipped = erasure.erase_traces(app, planned)
    erased = erasure.erase_in_store(store, planned.ids, planned.sessions, header)
    return erased._replace(skipped=tuple(skipped))


def _erase_elsewhere(app: App, planned: Sequence[Erasure]) -> list[str]:
    """Outside of the stores. Returns what may still hold their words, for a person."""
    from recollect.integrations import rule_copies

    ids = [id for one in planned for id in one.ids]

    def names_one(text: str) -> bool:
        return any(id in text for id in ids)

    for path in validate.log_files(app):
        with suppress(OSError, HomeRefused):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            write_private(path, "".join(line for line in lines if not names_one(line)))
    _remove_answers(_answer_folders(app))
    view = app.project.root / ".ai" / "focus.json" if app.project else None
    if view is not None and view.is_file() and any(one.scope is app.scope for one in planned):
        steering.save_focus(app, load_focus(app))  # it shows what is left
    edited = rule_copies.erase(app, names_one)  # a person edited these files
    return [
        f"Not changed, may still contain them: {one}." for one in (*edited, *set_aside_files(app))
    ]


def _answer_folders(app: App) -> Iterable[Path]:
    """Where answers to virtual reads stand until their sessions end."""
    yield Path(follow(find_place(str(app.home.root), environment())).recalls)
    for host in callers():
        yield from agent_of(host).answer_folders(app.places)


def _remove_answers(folders: Iterable[Path]) -> None:
    """All of them: an answer does not say whose words it quotes, and whoever needs it asks again."""
    for folder in folders:
        for path in folder.rglob("*") if folder.is_dir() else ():
            with suppress(OSError):
                if path.is_file() or path.is_symlink():
                    os.unlink(path)


# Those that were cut off.


def finish(app: App) -> list[str]:
    """Finishes what this App can reach; a line for each, for a person. What fails stays for the next time."""
    told: list[str] = []
    for path, planned in list(erasure.unfinished(app.home)):
        if planned is None or not erasure.is_reachable(app, planned):
            continue
        many = counted(len(planned.ids), "memory", "memories")
        try:
            _erase_one(app, planned)
            _erase_elsewhere(app, [planned])
        except RecollectError as problem:
            told.append(f"An erasure of {many} that was cut off waits: {problem.message}")
            continue
        path.unlink(missing_ok=True)
        app.log.line("purge-finished", memories=len(planned.ids))
        told.append(f"Finished an erasure of {many} that was cut off.")
    return told


def work(app: App, _memo: Memo) -> bool:
    """Job: finishes them in every project."""
    app.actor = "daemon"
    for line in finish(app):
        app.log.line("erasures", said=line)
    return False


def checks(app: App) -> list[Check]:
    """For `doctor`: those that are still not finished."""
    waiting = list(erasure.unfinished(app.home))
    if not waiting:
        return []
    told = finish(app)
    left = [(path, planned) for path, planned in erasure.unfinished(app.home)]
    if not left:
        return [Check("erasures", Mark.GOOD, " ".join(told))]
    stores = ", ".join(planned.store if planned else str(path) for path, planned in left)
    detail = f"cut off and not finished: {counted(len(left), 'erasure')} in {stores}"
    return [Check("erasures", Mark.BAD, detail, f"cd into that project, then {_FINISH}")]

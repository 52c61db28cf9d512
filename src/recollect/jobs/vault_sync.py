"""Keeps notes in step with their files: files that changed become plans, and `[[Name]]` in a note links it to the note
of that name. A file is read only if its stamp differs from what is known of it (app/note_files.py), and planned only if
its text does. A note whose file is gone is archived, and is the same again when the file comes back."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from contextlib import nullcontext

from recollect.app import note_files
from recollect.app.core import App
from recollect.app.note_files import (
    NO_FILE,
    SYNC,
    UNTRUSTED,
    KnownFile,
    KnownFiles,
    NoteFile,
    lane_of,
    vault_of,
)
from recollect.app.states import SESSIONS, Memo
from recollect.base.errors import RecollectError
from recollect.base.ids import is_id
from recollect.base.moment import Moment
from recollect.base.structs import Struct, field, replace
from recollect.base.text import counted
from recollect.model.memory import Bridge, BridgeType, Note, Status
from recollect.model.plan import Change, Create, FileChange, Link, Plan, Unlink, Update, text_hash
from recollect.model.result import Done, Scope
from recollect.store import Store
from recollect.vault import dialects, note_folder, page
from recollect.vault.dialects import Form
from recollect.vault.note_folder import Refusal, Scan

SMALL_READ_BATCH = 50  # where others may want to write: the lock is held for a tenth of a second
QUICK_LOOK_FILES = 2_000
QUICK_LOOK_CHANGES = 20  # to read and index them takes some 80 ms
FEW_FILES = 400  # the watch reads at a time
_SHARE = 10  # the watch looks one part in ten of the time at most
_SETTLED_S = (
    2.5  # a file saved just now is read again after this: two saves at one moment look like one
)
WRITE_BATCH = 20  # files to write at a time: each is synced to the disk, some 25 ms


class Report(Struct, frozen=False):  # what a look at a vault found
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("new", "changed", "renamed", "gone"), 0)
    )
    waiting: int = 0  # files that were left for later
    refused: list[Refusal] = field(default_factory=list)
    problems: list[Refusal] = field(
        default_factory=list
    )  # read, with something in them that could not be understood


def quick_look(app: App, scope: Scope) -> Report:
    """For a hook: reads a few changes, in a vault that is quickly looked through; the rest later."""
    note_files.recover(app, scope)
    seen = note_folder.scan(vault_of(app, scope), QUICK_LOOK_FILES)
    if not seen.is_whole:
        return Report(waiting=QUICK_LOOK_FILES)
    return refresh(app, scope, seen=seen, first=QUICK_LOOK_CHANGES)


def refresh(
    app: App,
    scope: Scope,
    *,
    thorough: bool = False,
    first: int | None = None,
    seen: Scan | None = None,
) -> Report:
    """Read what changed since the last look. `thorough`: compare everything, whatever is known. `first`: only this many
    files now. `seen`: what is there, if that is known."""
    note_files.recover(app, scope)
    vault = vault_of(app, scope)
    seen = seen or note_folder.scan(vault)
    report = Report(refused=list(seen.refused))
    if not seen.stamps and app.store_path(scope) is None:
        return report
    known = KnownFiles(app.reader(scope), seen.stamps)
    stamps = {path: one.stamp for path, one in known.files.items()}
    changed = [path for path, stamp in seen.stamps.items() if thorough or stamps.get(path) != stamp]
    if first is not None:
        # Files that were read a moment ago, and are only read again to be sure, keep no other waiting.
        again = [path for path in changed if stamps.get(path) == UNTRUSTED]
        new = [path for path in changed if stamps.get(path) != UNTRUSTED]
        report.waiting = len(new[first:])
        changed = [*new[:first], *again[: 10 * first]]
    size = 500 if first is None else SMALL_READ_BATCH
    for start in range(0, len(changed), size):
        files = []
        for path in changed[start : start + size]:
            file = note_files.read(app, vault, path, seen.stamps[path])
            if isinstance(file, Refusal):
                report.refused.append(file)
            else:
                report.problems += [Refusal(path, why) for why in file.page.problems]
                files.append(file)
        update_notes(app, scope, files, known, report, thorough=thorough)
        app.progress(min(start + size, len(changed)), len(changed), "notes")
    _follow_links(app, scope, known)
    if (
        known.gone and not report.waiting
    ):  # else one of the waiting files may be a lost one under another name
        _archive_lost(app, scope, known, report)
    if any(report.counts.values()) and not app.dry_run:
        app.log.line("vault", scope=scope, **report.counts, refused=len(report.refused))
    return report


def change_files(
    app: App,
    scope: Scope,
    texts: Mapping[FileChange, str],
    op: str,
    summary: str,
    released: Set[str] = frozenset(),
) -> Done:
    """Carry out a command. `texts`: what each file says then. `released`: notes that nothing supersedes any more."""
    known = KnownFiles(app.reader(scope))
    files = [note_files.parse(change.new_path, text) for change, text in texts.items()]
    done = update_notes(
        app, scope, files, known, Report(), op, summary, tuple(texts), released, thorough=True
    )
    _follow_links(app, scope, known)
    return done or Done(summary, Plan(), scope, None, app.dry_run)


def update_notes(
    app: App, scope: Scope, files: Sequence[NoteFile], known: KnownFiles, report: Report, op: str = SYNC,
    summary: str = "", changes: Sequence[FileChange] = (), released: Set[str] = frozenset(), *, thorough: bool = False,
) -> Done | None:  # fmt: skip
    """Notes as their files say, as one change; None: the files say what they said before. `changes`: of the files, in
    the same plan. `thorough`: files are compared with their notes, whatever is known."""
    ids = {change.new_path: change.id for change in changes}
    fresh: dict[str, KnownFile] = {}
    taken: set[str] = set()
    differing: list[NoteFile] = []
    before: dict[str, Note] = {}
    after: dict[str, Note] = {}
    now = app.clock.now()
    for file in files:
        at_path = known.files.get(file.path)
        # The file may have been renamed since.
        was = at_path or known.files.get(
            known.lost.get(file.hash) or known.lost.get(file.page.id) or ""
        )
        id = ids.get(file.path) or (was.id if was else new_note_id(app, file, taken))
        taken.add(id)
        is_fresh = (
            now.micros - file.stamp[0] // 1_000 <= 2_000_000
        )  # the coarsest clock of a file system
        fresh[file.path] = KnownFile(
            id, UNTRUSTED if is_fresh else file.stamp, file.hash, file.form
        )
        if thorough or at_path is None or at_path.hash != file.hash or at_path.stamp == NO_FILE:
            differing.append(file)
            known.updated.add(id)

    def make(store: Store) -> Plan:
        before.clear()
        after.clear()
        for file in differing:
            id = fresh[file.path].id
            written = min(now, Moment(file.stamp[0] // 1_000)) if file.stamp[1] >= 0 else now
            stored = store.get(id, follow=False)
            if isinstance(stored, Note):
                before[id] = stored
                base = replace(stored, superseded_by=None) if id in released else stored
                after[id] = page.update_note(base, file.page, file.path, written=written)
            else:
                after[id] = page.new_note(
                    file.page, file.path, id=id, lane=lane_of(scope), written=written
                )
        _supersede(store, differing, {**known.files, **fresh}, before, after)
        notes = [
            Update.between(before[id], new) if id in before else Create(new)
            for id, new in after.items()
        ]
        return Plan.of([*changes, *notes])

    def say(plan: Plan) -> str:
        return summary or f"Read {counted(len(plan.touched()), 'note')}."

    store = None if app.dry_run or not fresh else app.writer(scope)
    with app.file_transaction(store) if store else nullcontext():
        actor = lane_of(scope) if op == SYNC else ""
        done = app.commit(scope, op, make, say, actor=actor) if differing else None
        for change in changes:
            if change.old_path != change.new_path:
                known.drop(store, change.old_path)
        known.put(
            store,
            {path: one for path, one in fresh.items() if changes or known.files.get(path) != one},
        )
    is_moved = [old.path != after[id].path for id, old in before.items()]
    report.counts["new"] += len(after) - len(before)
    report.counts["renamed"] += sum(is_moved)
    report.counts["changed"] += sum(old != after[id] for id, old in before.items()) - sum(is_moved)
    return done


def new_note_id(app: App, file: NoteFile, taken: set[str]) -> str:
    """The id in the file if no other memory has it, otherwise a new one."""
    named = file.page.id
    if (
        is_id(named)
        and named.startswith("note_")
        and named not in taken
        and app.exact(named) is None
    ):
        return named
    return app.mint.draw("note")


def _supersede(
    store: Store,
    files: list[NoteFile],
    known: dict[str, KnownFile],
    before: dict[str, Note],
    after: dict[str, Note],
) -> None:
    """Some notes name the older note that they replace."""
    for file in files:
        names = (
            set(file.page.supersedes) if page.place_of(file.path).status is Status.ACTIVE else set()
        )
        new = known[file.path].id
        for path, one in known.items() if names else ():
            if one.id == new or not ({page.stem(path), path.removesuffix(".md")} & names):
                continue
            stored = store.get(one.id, follow=False)
            if one.id not in after and isinstance(stored, Note):
                before[one.id] = after[one.id] = stored
            old = after.get(one.id)
            if old is not None and old.status in (Status.ACTIVE, Status.SUPERSEDED):
                after[one.id] = replace(old, status=Status.SUPERSEDED, superseded_by=new)


def _archive_lost(app: App, scope: Scope, known: KnownFiles, report: Report) -> None:
    gone = {path: known.files[path] for path in known.gone}

    def make(store: Store) -> Plan:
        found = [
            note
            for one in gone.values()
            if isinstance(note := store.get(one.id, follow=False), Note)
        ]
        return Plan.of(
            Update.between(note, replace(note, status=Status.ARCHIVED)) for note in found
        )

    store = None if app.dry_run else app.writer(scope)
    with store.transaction() if store else nullcontext():
        summary = f"{counted(len(gone), 'note')} archived: no file any more."
        app.commit(scope, SYNC, make, lambda _: summary, actor=lane_of(scope))
        known.put(store, {path: one._replace(stamp=NO_FILE) for path, one in gone.items()})
    report.counts["gone"] += len(gone)


def _follow_links(app: App, scope: Scope, known: KnownFiles) -> None:
    """Of notes that were just updated, and of those that waited for a note that is there by now: under a hash of its
    name, so that their words are written nowhere else. A link goes with a note that is removed (app/note_files.py)."""
    if app.dry_run or not known.updated:
        return
    waiting_links, link_key = note_files.WAITING_LINKS, note_files.link_key
    ids = {page.normal_name(page.stem(path)): one.id for path, one in known.files.items()}
    ids |= {page.normal_name(path): one.id for path, one in known.files.items()}
    waiting = waiting_links.find_all(app.reader(scope))
    there = set(map(link_key, ids)) & waiting.keys() if waiting else set()
    to_follow = known.updated.union(*(waiting[key] for key in there))
    missing: dict[str, set[str]] = defaultdict(set)
    now = app.clock.now()

    def make(store: Store) -> Plan:
        changes: list[Change] = []
        for source in sorted(to_follow):
            note = store.get(source, follow=False)
            names = set(map(page.normal_name, page.links_in(note.body))) if note else set()
            for name in names - ids.keys():
                missing[link_key(name)].add(source)
            targets = {ids[name] for name in names & ids.keys()}
            around = store.bridges(source)
            linked = [
                one for one in around if one.source == source and one.origin == note_files.WIKILINK
            ]
            changes += [Unlink(bridge) for bridge in linked if bridge.target not in targets]
            for target in sorted(targets - {bridge.target for bridge in linked} - {source}):
                bridge = Bridge(source, target, BridgeType.SIBLING, 0.5, now, note_files.WIKILINK)
                if store.get(target, follow=False) and not any(
                    other.key == bridge.key for other in around
                ):
                    changes.append(Link(bridge))
        return Plan.of(changes)

    app.commit(
        scope, SYNC, make, lambda plan: f"Followed {counted(len(plan.changes), 'link')} of notes."
    )
    if there or any(not sources.issubset(waiting.get(key, ())) for key, sources in missing.items()):
        store = app.writer(scope)
        with store.transaction():
            for key in there:
                waiting_links.remove(store, key)
            for key, sources in missing.items():
                waiting_links.write(
                    store, sorted(sources.union(waiting_links.read(store, key))), key
                )


class _Seen(Struct, frozen=False):
    scan: Scan | None = None
    due_s: float = 0.0
    again_s: float = 0.0  # when to read again what was saved just before it was read; 0: never


def watch(app: App, memo: Memo) -> bool:
    """Looks at the project's vault; where there is no project, at the user's. True: there is more to read."""
    app.actor = "daemon"
    seen: _Seen = memo.setdefault(_Seen, _Seen())
    began_s = time.monotonic()
    if began_s < seen.due_s:
        return False
    try:
        note_files.recover(app, app.scope)
    except RecollectError as problem:
        _fail_look(app, seen, problem)
        return False
    scan = note_folder.scan(vault_of(app, app.scope))
    now_s = time.monotonic()
    seen.due_s = now_s + _SHARE * (now_s - began_s)
    if scan == seen.scan and not 0 < seen.again_s <= began_s:
        return False
    try:
        report = refresh(app, app.scope, first=FEW_FILES, seen=scan)
    except RecollectError as problem:
        _fail_look(app, seen, problem)
        return False
    if report.waiting:
        seen.due_s = 0.0
        return True
    seen.scan = scan
    seen.again_s = time.monotonic() + _SETTLED_S if any(report.counts.values()) else 0.0
    return False


def _fail_look(app: App, seen: _Seen, problem: RecollectError) -> None:
    app.log.line("vault-failed", problem=problem.message)
    seen.due_s = time.monotonic() + 30.0


class Pending(Struct, frozen=False):
    """What is still to be done. In memory alone: lost, it is done after the next session."""

    session_began: bool = False
    shown: set[str] = field(
        default_factory=set
    )  # memories that were shown to sessions which are over now
    paths: list[str] = field(default_factory=list)  # of files to be written

    def __bool__(self) -> bool:
        return bool(self.session_began or self.shown or self.paths)


def write_some(app: App, pending: Pending) -> bool:
    """True: there is more to do."""
    began, shown, paths = pending.session_began, pending.shown, pending.paths
    pending.session_began, pending.shown, pending.paths = False, set(), []
    if not (began or shown or paths) or app.dry_run or app.store_path(Scope.USER) is None:
        return False
    vault, reader = vault_of(app, Scope.USER), app.reader(Scope.USER)
    known, lacking = KnownFiles(reader), (Form.LACKING,) if began else ()
    files = {path: one for path, one in known.files.items() if one.stamp != NO_FILE}
    due = [
        path
        for path, one in files.items()
        if one.form in lacking or (one.form is Form.TAGGED and one.id in shown)
    ]
    paths = list(dict.fromkeys([*paths, *due]))
    pending.paths = paths[WRITE_BATCH:]
    written: list[NoteFile] = []
    for path in paths[:WRITE_BATCH]:
        one, before = known.files.get(path), note_folder.read(vault, path)
        note = reader.get(one.id, follow=False) if one else None
        if (
            one is None
            or isinstance(before, Refusal)
            or text_hash(before) != one.hash
            or not isinstance(note, Note)
        ):
            continue  # somebody is editing it: then it is read first
        after = page.with_usage(dialects.complete(before, session=SESSIONS.read(reader)), note)
        if after == before:
            continue
        try:
            note_folder.change(vault, path, before, after)
        except RecollectError as problem:
            app.log.line("note-not-written", problem=problem.message)
            continue
        file = note_files.read(app, vault, path)
        if isinstance(file, NoteFile) and file.hash == text_hash(after):
            written.append(file)
    if written:
        update_notes(app, Scope.USER, written, known, Report())
        app.log.line("notes-completed", notes=len(written))
    return bool(pending)

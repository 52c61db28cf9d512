"""Notes follow their files: files that changed become plans, and `[[Name]]` in a note links it to that other note.

A file is read only if its stamp differs from what is known of it (app/note_files.py), and planned only if its text
does. A note whose file is gone is archived, and is the same again when the file comes back: switching branches loses
nothing. A note may name another that does not exist yet; it is linked as soon as there is one. Which notes wait for
which name is kept as hashes of the names: a note's words are not written down a second time.

Does not find or read files (vault/note_folder.py), does not say what a file means (vault/layout.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import note_files
from recollect.app.core import App
from recollect.app.note_files import NO_FILE, SYNC, UNTRUSTED, WIKILINK, Known, KnownFiles, NoteFile, lane_of, vault_of
from recollect.app.states import WANTED_LINKS
from recollect.base.ids import is_id
from recollect.base.moment import Moment
from recollect.base.text import counted
from recollect.model.memory import Bridge, BridgeType, Note, Status
from recollect.model.plan import Change, Create, FileChange, Link, Plan, Unlink, Update
from recollect.model.result import Done, Scope
from recollect.vault import layout, note_folder, page
from recollect.vault.note_folder import Refusal, Scan, Stamp

if TYPE_CHECKING:
    from recollect.store import Store

BATCH = 500
SMALL_BATCH = 50  # where others may want to write: the lock is held for a tenth of a second
QUICK_LOOK_FILES = 2_000
QUICK_LOOK_CHANGES = 20  # to read and index them takes some 80 ms
_FRESH_S = 2.0  # the coarsest clock of a file system
_MOST_WAITING = 200


@dataclass(slots=True)
class Report:
    """What a look at a vault found."""

    new: int = 0
    changed: int = 0
    renamed: int = 0
    gone: int = 0
    waiting: int = 0  # files that were left for later
    refused: list[Refusal] = field(default_factory=list)
    problems: list[Refusal] = field(default_factory=list)  # read, with something in them that could not be understood

    def add(self, other: Report) -> None:
        for name in ("new", "changed", "renamed", "gone", "waiting", "refused", "problems"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def total(self) -> int:
        return self.new + self.changed + self.renamed + self.gone


def quick_look(app: App, scope: Scope) -> Report:
    """For a hook: changes are read where they are few, in a vault that is quickly looked through; else later."""
    seen = note_folder.scan(vault_of(app, scope), QUICK_LOOK_FILES)
    if not seen.is_whole:
        return Report(waiting=QUICK_LOOK_FILES)
    return refresh(app, scope, seen=seen, most=QUICK_LOOK_CHANGES)


def refresh(
    app: App,
    scope: Scope,
    *,
    thorough: bool = False,
    first: int | None = None,
    seen: Scan | None = None,
    most: int | None = None,
) -> Report:
    """Read what changed since the last look. `thorough`: compare everything, whatever is known. `first`: only this many
    files now. `seen`: what there is, where somebody just looked. `most`: nothing, where more has changed."""
    seen = seen or note_folder.scan(vault_of(app, scope))
    report = Report(refused=list(seen.refused))
    if not seen.stamps and app.store_path(scope) is None:
        return report
    known = KnownFiles.load(app.reader(scope))
    known.compare(seen.stamps)
    changed = [path for path, stamp in seen.stamps.items() if thorough or known.stamp(path) != stamp]
    if most is not None and len(changed) + len(known.gone) > most:
        report.waiting = len(changed) + len(known.gone)
        return report
    if first is not None:
        # Files that were read a moment ago, and are only read again to be sure, keep no other waiting.
        again = [path for path in changed if known.stamp(path) == UNTRUSTED]
        new = [path for path in changed if known.stamp(path) != UNTRUSTED]
        report.waiting = len(new[first:])
        changed = [*new[:first], *again[: 10 * first]]
    links: dict[str, tuple[str, ...]] = {}
    size = BATCH if first is None else SMALL_BATCH
    for start in range(0, len(changed), size):
        files = list(_read(app, scope, changed[start : start + size], seen.stamps, report))
        links |= {one.path: one.page.links for one in files if thorough or not known.says_the_same(one)}
        update_notes(app, scope, files, known, report, thorough=thorough)
        app.progress(min(start + size, len(changed)), len(changed), "notes")
    follow_links(app, scope, links, known)
    if not report.waiting:  # else one of the waiting files may be a lost one under another name
        _archive_lost(app, scope, known, report)
    if report.total and not app.dry_run:
        app.log.line(
            "vault", scope=scope, new=report.new, changed=report.changed, renamed=report.renamed, gone=report.gone,
            refused=len(report.refused),
        )  # fmt: skip
    return report


def _read(app: App, scope: Scope, paths: Sequence[str], stamps: dict[str, Stamp], report: Report) -> Iterator[NoteFile]:
    for path in paths:
        read = note_files.read(app, scope, path, stamps[path])
        if isinstance(read, Refusal):
            report.refused.append(read)
        else:
            report.problems += [Refusal(path, why) for why in read.page.problems]
            yield read


def update_notes(
    app: App,
    scope: Scope,
    files: Sequence[NoteFile],
    known: KnownFiles,
    report: Report,
    *,
    op: str = SYNC,
    summary: str = "",
    thorough: bool = False,
    released: frozenset[str] = frozenset(),
    file_changes: Sequence[FileChange] = (),
) -> Done | None:
    """Notes as their files say, as one change; None: the files say what they said before. `thorough`: compare them with
    their notes, whatever is known. `released`: notes that nothing supersedes any more. `file_changes`: changes of these
    files that belong to the same plan."""
    ids = {change.new_path: change.id for change in file_changes}
    fresh: dict[str, Known] = {}
    taken: set[str] = set()
    differing: list[NoteFile] = []
    now = app.clock.now()
    for one in files:
        was = known.find(one)
        id = ids.get(one.path) or (was.id if was else new_note_id(app, one, known, taken))
        taken.add(id)
        fresh[one.path] = Known(id, _trusted(one.stamp, now), one.hash, note_files.form_of(one.page))
        if thorough or was is None or not known.says_the_same(one):
            differing.append(one)
    counts = Report()

    def make(store: Store) -> Plan:
        counts.new = counts.changed = counts.renamed = 0
        drafts = [_draft(store, scope, one, fresh[one.path].id, now, released) for one in differing]
        notes = _changes(_with_superseded(store, drafts, differing, {**known.files, **fresh}), counts)
        return Plan.of([*file_changes, *notes])

    def say(plan: Plan) -> str:
        return summary or f"Read {counted(len(plan.touched()), 'note')}."

    store = None if app.dry_run or not fresh else app.writer(scope)
    with store.transaction() if store else nullcontext():
        actor = lane_of(scope) if op == SYNC else ""
        done = app.commit(scope, op, make, say, actor=actor) if differing else None
        for change in file_changes:
            if change.old_path != change.new_path:
                known.drop(store, change.old_path)
        known.put(store, {path: one for path, one in fresh.items() if file_changes or known.files.get(path) != one})
    report.add(counts)
    return done


def new_note_id(app: App, file: NoteFile, known: KnownFiles, taken: set[str]) -> str:
    """The id that stands in the file, where no other note has it; else one of its own."""
    named = file.page.id
    is_free = (
        is_id(named)
        and named.startswith("note_")
        and not known.has_note(named)
        and named not in taken
        and not any(store.exact(named) for _, store in app.scopes())
    )
    return named if is_free else app.mint.draw("note")


class _Draft(NamedTuple):
    before: Note | None
    after: Note


def _draft(store: Store, scope: Scope, file: NoteFile, id: str, now: Moment, released: frozenset[str]) -> _Draft:
    written = min(now, Moment(file.stamp[0] // 1_000)) if file.stamp[1] >= 0 else now
    standing = store.exact(id)
    if not isinstance(standing, Note):
        return _Draft(None, layout.new_note(file.page, file.path, id=id, lane=lane_of(scope), written=written))
    free = replace(standing, superseded_by=None) if id in released else standing
    return _Draft(standing, layout.renewed(free, file.page, file.path, written=written))


def _with_superseded(
    store: Store, drafts: Sequence[_Draft], files: Sequence[NoteFile], known: dict[str, Known]
) -> list[_Draft]:
    """Some notes say which older one they take the place of."""
    by_id = {draft.after.id: draft for draft in drafts}
    for file in files:
        wanted = set(file.page.supersedes) if layout.place_of(file.path).status is Status.ACTIVE else set()
        new = known[file.path].id
        for path, one in known.items() if wanted else ():
            if one.id == new or not ({page.stem(path), path.removesuffix(".md")} & wanted):
                continue
            note = store.exact(one.id)
            old = by_id.get(one.id) or (_Draft(note, note) if isinstance(note, Note) else None)
            if old is not None and old.after.status in (Status.ACTIVE, Status.SUPERSEDED):
                after = replace(old.after, status=Status.SUPERSEDED, superseded_by=new)
                by_id[one.id] = _Draft(old.before, after)
    return list(by_id.values())


def _changes(drafts: Sequence[_Draft], counts: Report) -> list[Change]:
    changes: list[Change] = []
    for before, after in drafts:
        if before is None:
            counts.new += 1
            changes.append(Create(after))
        elif before != after:
            counts.changed += before.path == after.path
            counts.renamed += before.path != after.path
            changes.append(Update.between(before, after))
    return changes


def _archive_lost(app: App, scope: Scope, known: KnownFiles, report: Report) -> None:
    gone = {path: known.files[path] for path in known.gone}
    if not gone:
        return

    def make(store: Store) -> Plan:
        found = [note for one in gone.values() if isinstance(note := store.exact(one.id), Note)]
        return Plan.of(Update.between(note, replace(note, status=Status.ARCHIVED)) for note in found)

    store = None if app.dry_run else app.writer(scope)
    with store.transaction() if store else nullcontext():
        summary = f"{counted(len(gone), 'note')} archived: no file any more."
        app.commit(scope, SYNC, make, lambda _: summary, actor=lane_of(scope))
        known.put(store, {path: one._replace(stamp=NO_FILE) for path, one in gone.items()})
    report.gone += len(gone)


def _trusted(stamp: Stamp, now: Moment) -> Stamp:
    age_s = (now.micros - stamp[0] // 1_000) / 1e6
    return stamp if age_s > _FRESH_S else UNTRUSTED


# Links between notes

Links = Mapping[str, tuple[str, ...]]  # by path: the names that a note speaks of


def follow_links(app: App, scope: Scope, links: Links, known: KnownFiles) -> None:
    """For notes that were just read, and for those that waited for a file that arrived."""
    if app.dry_run or not (links or known.arrived):
        return
    waited = _waited_for(app, scope, known)
    known.arrived.clear()
    links = {**_links_now(app, scope, known, waited), **links}
    ids = _ids_by_name(known) if links else {}
    wanted = {
        known.files[path].id: {ids[name] for name in map(page.normal_name, names) if name in ids}
        for path, names in links.items()
    }
    now = app.clock.now()

    def make(store: Store) -> Plan:
        changes: list[Change] = []
        for source, targets in wanted.items():
            around = store.bridges(source)
            standing = [one for one in around if one.source == source and one.origin == WIKILINK]
            changes += [Unlink(bridge) for bridge in standing if bridge.target not in targets]
            missing = targets - {bridge.target for bridge in standing} - {source}
            for target in sorted(target for target in missing if store.exact(target)):
                bridge = Bridge(source, target, BridgeType.SIBLING, 0.5, now, WIKILINK)
                if not any(other.key == bridge.key for other in around):
                    changes.append(Link(bridge))
        return Plan.of(changes)

    if wanted:
        app.commit(scope, SYNC, make, lambda plan: f"Followed {counted(len(plan.changes), 'link')} of notes.")
    missing: dict[str, set[str]] = {}
    for path, names in links.items():
        for name in names:
            if page.normal_name(name) not in ids:
                missing.setdefault(_waiting_key(name), set()).add(known.files[path].id)
    if missing or waited:
        _put_waiting(app.writer(scope), waited, missing)


def forget_links(store: Store, ids: Iterable[str]) -> None:
    """Of notes that are purged."""
    gone = set(ids)
    for key, ids in WANTED_LINKS.find_all(store).items():
        left = [id for id in ids if id not in gone]
        if not left:
            WANTED_LINKS.remove(store, key)
        elif left != ids:
            WANTED_LINKS.write(store, left, key)


def _ids_by_name(known: KnownFiles) -> dict[str, str]:
    ids = {page.normal_name(page.stem(path)): one.id for path, one in known.files.items()}
    return ids | {page.normal_name(path): one.id for path, one in known.files.items()}


def _waited_for(app: App, scope: Scope, known: KnownFiles) -> dict[str, list[str]]:
    """The notes that waited for a name which is there now, by its key."""
    waiting = WANTED_LINKS.find_all(app.reader(scope)) if known.arrived else {}
    names = {name for path in known.arrived for name in (page.stem(path), path)} if waiting else set()
    return {key: waiting[key] for key in map(_waiting_key, names) if key in waiting}


def _links_now(app: App, scope: Scope, known: KnownFiles, waited: Mapping[str, list[str]]) -> Links:
    """What those notes say now."""
    sources = {id for ids in waited.values() for id in ids}
    paths = [path for path, one in known.files.items() if one.id in sources] if sources else []
    read = (note_files.read(app, scope, path) for path in paths)
    return {file.path: file.page.links for file in read if isinstance(file, NoteFile)}


def _put_waiting(store: Store, arrived: Iterable[str], missing: Mapping[str, set[str]]) -> None:
    with store.transaction():
        for key in arrived:
            WANTED_LINKS.remove(store, key)
        for key, sources in missing.items():
            waiting = set(WANTED_LINKS.read(store, key))
            if not sources <= waiting:
                WANTED_LINKS.write(store, sorted(waiting | sources)[:_MOST_WAITING], key)


def _waiting_key(name: str) -> str:
    return hashlib.sha256(page.normal_name(name).encode(errors="replace")).hexdigest()[:20]

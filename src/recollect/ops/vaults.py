"""The vaults as memory: files that changed become plans. The user's vault is kept in the user's store, a project's in
the project's, in the lane of what a stranger may have written.

A file is read only if its stamp differs from what is known of it (register.py), and planned only if its text does. A
note whose file is gone is put away, and is the same again when the file comes back: switching branches loses nothing.

Does not find or read files (vault/folder.py), does not say what a file means (noted.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.ids import is_id
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.text import counted, storable
from recollect.model.codec import Json
from recollect.model.memory import Lane, Memory, Note, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.result import Check, Done, Mark, Scope, Told
from recollect.ops import noted, register, wikilinks
from recollect.ops.app import App
from recollect.ops.register import NO_FILE, SYNC, UNTRUSTED, Known, Leaf, Register, Shelf
from recollect.vault import folder, page
from recollect.vault.folder import Refusal, Scan, Stamp, Vault

if TYPE_CHECKING:
    from recollect.store import Store

BATCH = 500
SMALL_BATCH = 50
"""Where others may want to write: the lock is held for a tenth of a second."""
GLANCE_FILES = 2_000
GLANCE_CHANGES = 20  # to read and index them takes some 80 ms
_FRESH_S = 2.0  # the coarsest clock of a file system
_MOST_TOLD = 20


@dataclass(slots=True)
class Report:
    """What a look at a vault brought."""

    new: int = 0
    changed: int = 0
    renamed: int = 0
    gone: int = 0
    waiting: int = 0
    """Files that were left for later."""
    refused: list[Refusal] = field(default_factory=list)
    problems: list[Refusal] = field(default_factory=list)
    """Taken, with something in them that could not be read."""

    def add(self, other: Report) -> None:
        self.new += other.new
        self.changed += other.changed
        self.renamed += other.renamed
        self.gone += other.gone
        self.waiting += other.waiting
        self.refused += other.refused
        self.problems += other.problems

    @property
    def brought(self) -> int:
        return self.new + self.changed + self.renamed + self.gone


def shelves(app: App) -> Iterator[Shelf]:
    yield users(app.home)
    if app.project is not None:
        yield projects(app.project.root)


def users(home: Home) -> Shelf:
    return Shelf(Scope.USER, Vault(home.vault), Lane.USER)


def projects(root: Path) -> Shelf:
    vault = Vault(root / ".ai", (noted.MEMORY, noted.COLD), within=root, mode=0o644)
    return Shelf(Scope.PROJECT, vault, Lane.REPOSITORY)


def scanned(shelf: Shelf) -> Scan:
    """What there is, by names and stamps; nothing is opened."""
    return folder.scan(shelf.vault)


def file_of(app: App, scope: Scope, memory: Memory) -> Path | None:
    """The file that counts, where the memory is a note whose file is there."""
    if not isinstance(memory, Note) or not memory.path:
        return None
    found = (shelf.vault.base / memory.path for shelf in shelves(app) if shelf.scope is scope)
    return next((path for path in found if path.is_file()), None)


def checks(app: App) -> list[Check]:
    """For `doctor`: how many notes there are, and what in the vaults is not taken."""
    found = []
    for shelf in shelves(app):
        seen = scanned(shelf)
        name = f"{shelf.scope} vault"
        if seen.refused:
            path, why = seen.refused[0]
            told = f"{counted(len(seen.refused), 'file')} left out; {storable(path)}: {why}"
            found.append(Check(name, Mark.WARN, told, "recollect note sync"))
        elif seen.stamps:
            found.append(Check(name, Mark.GOOD, counted(len(seen.stamps), "note")))
    return found


def sync(app: App) -> Told:
    """Whatever is known, everything is compared: also what an undo took back."""
    done = Report()
    for shelf in shelves(app):
        done.add(refresh(app, shelf, thorough=True))
    facts: dict[str, Json] = {
        "new": done.new,
        "changed": done.changed,
        "renamed": done.renamed,
        "gone": done.gone,
        "refused": [list(one) for one in done.refused],
        "problems": [list(one) for one in done.problems],
        "dry_run": app.dry_run,
    }
    said = f"{done.new:,} new, {done.changed:,} changed, {done.renamed:,} renamed, {done.gone:,} put away."
    notes = [f"Left out: {storable(path)}: {why}." for path, why in done.refused[:_MOST_TOLD]]
    notes += [f"In {storable(path)}: {why}." for path, why in done.problems[:_MOST_TOLD]]
    more = len(done.refused) + len(done.problems) - len(notes)
    notes += [f"And {more:,} more; --json has them all."] if more > 0 else []
    lead = "Would take in: " if app.dry_run else "Vaults: "
    return Told(lead + said, facts, (*notes, *app.notes()))


def refresh(
    app: App, shelf: Shelf, *, thorough: bool = False, first: int | None = None, seen: Scan | None = None
) -> Report:
    """Take in what changed since it was last looked. `first`: only so many of them now. `seen`: what there is, where
    somebody just looked."""
    return _refreshed(app, shelf, seen or scanned(shelf), thorough=thorough, first=first)


def glance(app: App, shelf: Shelf) -> Report:
    """For who is in a hurry: what changed is taken in where that is little, in a vault that is soon looked through;
    else it is left for later."""
    seen = folder.scan(shelf.vault, GLANCE_FILES)
    if not seen.is_whole:
        return Report(waiting=GLANCE_FILES)
    return _refreshed(app, shelf, seen, most=GLANCE_CHANGES)


def _refreshed(
    app: App, shelf: Shelf, seen: Scan, *, thorough: bool = False, most: int | None = None, first: int | None = None
) -> Report:
    report = Report(refused=list(seen.refused))
    if not seen.stamps and app.store_path(shelf.scope) is None:
        return report
    files = Register.read(app.reading(shelf.scope))
    files.compare(seen.stamps)
    changed = [path for path, stamp in seen.stamps.items() if thorough or files.stamp(path) != stamp]
    if most is not None and len(changed) + len(files.gone) > most:
        report.waiting = len(changed) + len(files.gone)
        return report
    if first is not None:
        # Those that were read a moment ago, and are only read again to be sure, keep no other waiting.
        again = [path for path in changed if files.stamp(path) == UNTRUSTED]
        new = [path for path in changed if files.stamp(path) != UNTRUSTED]
        report.waiting = len(new[first:])
        changed = [*new[:first], *again[: 10 * first]]
    links: dict[str, tuple[str, ...]] = {}
    size = BATCH if first is None else SMALL_BATCH
    for start in range(0, len(changed), size):
        leaves = list(_leaves(app, shelf, changed[start : start + size], seen.stamps, report))
        links |= {one.path: one.page.links for one in leaves if thorough or not files.says_the_same(one)}
        take(app, shelf, leaves, files, report, thorough=thorough)
        app.progress(min(start + size, len(changed)), len(changed))
    wikilinks.follow(app, shelf, links, files)
    if not report.waiting:  # else one of those that wait may be a file of another name
        _put_away(app, shelf, files, report)
    if report.brought and not app.dry_run:
        app.log.line(
            "vault", scope=shelf.scope, new=report.new, changed=report.changed, renamed=report.renamed,
            gone=report.gone, refused=len(report.refused),
        )  # fmt: skip
    return report


def take(
    app: App,
    shelf: Shelf,
    leaves: Sequence[Leaf],
    files: Register,
    report: Report,
    *,
    op: str = SYNC,
    said: str = "",
    thorough: bool = False,
    freed: frozenset[str] = frozenset(),
    beside: Callable[[Store, str], None] | None = None,
) -> Done | None:
    """Files that were read, as one change; None: they say what they said before. `thorough`: whatever is known, they
    are compared with their notes. `freed`: notes that nothing supersedes any more. `beside`: what else is written
    together with this change."""
    fresh: dict[str, Known] = {}
    differs: list[Leaf] = []
    now = app.clock.now()
    for one in leaves:
        was = files.was(one)
        id = was.id if was else _new_id(app, one, files, fresh)
        fresh[one.path] = Known(id, _trusted(one.stamp, now), one.hash, register.form_of(one.page))
        if thorough or was is None or not files.says_the_same(one):
            differs.append(one)
    counts = Report()

    def make(store: Store) -> Plan:
        counts.new = counts.changed = counts.renamed = 0
        drafts = [_draft(store, shelf, one, fresh[one.path].id, now, freed) for one in differs]
        return _plan(_superseding(store, drafts, differs, {**files.files, **fresh}), counts)

    def say(plan: Plan) -> str:
        return said or f"Took in {counted(len(plan.touched()), 'note')}."

    store = None if app.dry_run or not fresh else app.writing(shelf.scope)
    with store.together() if store else nullcontext():
        said_by = shelf.lane if op == SYNC else ""
        done = app.commit(shelf.scope, op, make, say, actor=said_by) if differs else None
        files.settle(store, {path: one for path, one in fresh.items() if files.files.get(path) != one})
        if beside and store and done and done.change:
            beside(store, done.change)
    report.add(counts)
    return done


def _leaves(app: App, shelf: Shelf, paths: Sequence[str], stamps: dict[str, Stamp], report: Report) -> Iterator[Leaf]:
    for path in paths:
        read = register.read_leaf(app, shelf, path, stamps[path])
        if isinstance(read, Refusal):
            report.refused.append(read)
        else:
            report.problems += [Refusal(path, why) for why in read.page.problems]
            yield read


def _new_id(app: App, leaf: Leaf, files: Register, fresh: dict[str, Known]) -> str:
    """The id that stands in the file, where it is nobody's; else one of its own."""
    named = leaf.page.id
    is_free = (
        is_id(named)
        and named.startswith("note_")
        and not files.has(named)
        and not any(one.id == named for one in fresh.values())
        and not any(store.exact(named) for _, store in app.scopes())
    )
    return named if is_free else app.mint.draw("note")


class _Draft(NamedTuple):
    before: Note | None
    after: Note


def _draft(store: Store, shelf: Shelf, leaf: Leaf, id: str, now: Moment, freed: frozenset[str]) -> _Draft:
    written = min(now, Moment(leaf.stamp[0] // 1_000)) if leaf.stamp[1] >= 0 else now
    standing = store.exact(id)
    if not isinstance(standing, Note):
        return _Draft(None, noted.new_note(leaf.page, leaf.path, id=id, lane=shelf.lane, written=written))
    free = replace(standing, superseded_by=None) if id in freed else standing
    return _Draft(standing, noted.renewed(free, leaf.page, leaf.path, written=written))


def _superseding(
    store: Store, drafts: Sequence[_Draft], leaves: Sequence[Leaf], known: dict[str, Known]
) -> list[_Draft]:
    """Some notes say which older one they take the place of."""
    by_id = {draft.after.id: draft for draft in drafts}
    for leaf in leaves:
        wanted = set(leaf.page.supersedes) if noted.Place.of(leaf.path).status is Status.ACTIVE else set()
        new = known[leaf.path].id
        for path, one in known.items() if wanted else ():
            if one.id == new or not ({page.stem(path), path.removesuffix(".md")} & wanted):
                continue
            old = by_id.get(one.id) or _standing(store, one.id)
            if old is not None and old.after.status in (Status.ACTIVE, Status.SUPERSEDED):
                after = replace(old.after, status=Status.SUPERSEDED, superseded_by=new)
                by_id[one.id] = _Draft(old.before, after)
    return list(by_id.values())


def _standing(store: Store, id: str) -> _Draft | None:
    note = store.exact(id)
    return _Draft(note, note) if isinstance(note, Note) else None


def _plan(drafts: Sequence[_Draft], counts: Report) -> Plan:
    changes: list[Change] = []
    for before, after in drafts:
        if before is None:
            counts.new += 1
            changes.append(Create(after))
        elif before != after:
            counts.changed += before.path == after.path
            counts.renamed += before.path != after.path
            changes.append(Update.between(before, after))
    return Plan.of(changes)


def _put_away(app: App, shelf: Shelf, files: Register, report: Report) -> None:
    gone = {path: files.files[path] for path in files.gone}
    if not gone:
        return

    def make(store: Store) -> Plan:
        found = [note for one in gone.values() if isinstance(note := store.exact(one.id), Note)]
        return Plan.of(Update.between(note, replace(note, status=Status.ARCHIVED)) for note in found)

    store = None if app.dry_run else app.writing(shelf.scope)
    with store.together() if store else nullcontext():
        said = f"{counted(len(gone), 'note')} put away: no file any more."
        app.commit(shelf.scope, SYNC, make, lambda _: said, actor=shelf.lane)
        files.settle(store, {path: one._replace(stamp=NO_FILE) for path, one in gone.items()})
    report.gone += len(gone)


def _trusted(stamp: Stamp, now: Moment) -> Stamp:
    age_s = (now.micros - stamp[0] // 1_000) / 1e6
    return stamp if age_s > _FRESH_S else UNTRUSTED

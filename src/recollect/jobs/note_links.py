"""`[[Name]]` in a note links it to the note of that name, by path or by name alone. A note may name another that does
not exist yet: it waits under a hash of the name, so that its words are written nowhere else, and is linked once that
note is there (app/note_files.py: a link goes with a note that is removed)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from typing import TYPE_CHECKING

from recollect.app.core import App
from recollect.app.note_files import SYNC, WAITING_LINKS, WIKILINK, KnownFiles, link_key
from recollect.base.text import counted
from recollect.model.memory import Bridge, BridgeType
from recollect.model.plan import Change, Link, Plan, Unlink
from recollect.model.result import Scope
from recollect.vault import page

if TYPE_CHECKING:
    from recollect.store import Store


def follow(app: App, scope: Scope, known: KnownFiles) -> None:
    """The links of notes that were just updated, and of those that waited for a note that is there by now."""
    if app.dry_run or not known.updated:
        return
    ids = {page.normal_name(page.stem(path)): one.id for path, one in known.files.items()}
    ids |= {page.normal_name(path): one.id for path, one in known.files.items()}
    waiting = WAITING_LINKS.find_all(app.reader(scope))
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
            linked = [one for one in around if one.source == source and one.origin == WIKILINK]
            changes += [Unlink(bridge) for bridge in linked if bridge.target not in targets]
            for target in sorted(targets - {bridge.target for bridge in linked} - {source}):
                bridge = Bridge(source, target, BridgeType.SIBLING, 0.5, now, WIKILINK)
                if store.get(target, follow=False) and not any(other.key == bridge.key for other in around):
                    changes.append(Link(bridge))
        return Plan.of(changes)

    app.commit(scope, SYNC, make, lambda plan: f"Followed {counted(len(plan.changes), 'link')} of notes.")
    if there or any(not sources.issubset(waiting.get(key, ())) for key, sources in missing.items()):
        store = app.writer(scope)
        with store.transaction():
            for key in there:
                WAITING_LINKS.remove(store, key)
            for key, sources in missing.items():
                WAITING_LINKS.write(store, sorted(sources.union(WAITING_LINKS.read(store, key))), key)


def forget(store: Store, ids: Container[str]) -> None:
    """Of notes that are purged."""
    for key, waiting in WAITING_LINKS.find_all(store).items():
        if left := [id for id in waiting if id not in ids]:
            WAITING_LINKS.write(store, left, key)
        else:
            WAITING_LINKS.remove(store, key)

"""`[[Name]]` in a note is a bridge to the note of that name; where there is none yet, as soon as there is one.

Which notes wait for which name is kept as hashes: what stands in a note is not written down a second time. Whether a
note still speaks of a name is read in its file when that name appears.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from recollect.base.text import counted
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.plan import Change, Link, Plan, Unlink
from recollect.ops import register
from recollect.ops.app import App
from recollect.ops.register import SYNC, Leaf, Register, Shelf
from recollect.vault import page

if TYPE_CHECKING:
    from recollect.store import Store

LINK = "wikilink"
_WANTED = "vault-wanted:"
_MOST_WAITING = 200
Links = Mapping[str, tuple[str, ...]]
"""By path: the names that a note speaks of."""


def follow(app: App, shelf: Shelf, links: Links, files: Register) -> None:
    """For notes that were just read, and for those that waited for a file that arrived."""
    if app.dry_run or not (links or files.arrived):
        return
    come = _come(app, shelf, files)
    files.arrived.clear()
    links = {**_still(app, shelf, files, come), **links}
    ids = _ids(files) if links else {}
    wanted = {
        files.files[path].id: {ids[name] for name in map(page.known_as, names) if name in ids}
        for path, names in links.items()
    }
    now = app.clock.now()

    def make(store: Store) -> Plan:
        changes: list[Change] = []
        for source, targets in wanted.items():
            around = store.bridges(source)
            standing = [b for b in around if b.source == source and b.origin == LINK]
            changes += [Unlink(bridge) for bridge in standing if bridge.target not in targets]
            missing = targets - {bridge.target for bridge in standing} - {source}
            for target in sorted(target for target in missing if store.exact(target)):
                bridge = Bridge(source, target, BridgeType.SIBLING, 0.5, now, LINK)
                if not any(other.key == bridge.key for other in around):
                    changes.append(Link(bridge))
        return Plan.of(changes)

    if wanted:
        app.commit(shelf.scope, SYNC, make, lambda plan: f"Followed {counted(len(plan.changes), 'link')} of notes.")
        _wait(app, shelf, links, files, ids)
    _clear(app, shelf, come)


def forget(store: Store, ids: Iterable[str]) -> None:
    """Of notes that are erased."""
    gone = set(ids)
    for name, value in store.sessions.states(_WANTED).items():
        if gone & set(json.loads(value)):
            _put(store, name, [id for id in json.loads(value) if id not in gone])


def _ids(files: Register) -> dict[str, str]:
    ids = {page.known_as(page.stem(path)): one.id for path, one in files.files.items()}
    return ids | {page.known_as(path): one.id for path, one in files.files.items()}


def _come(app: App, shelf: Shelf, files: Register) -> dict[str, list[str]]:
    """The notes that waited for a name which has come, by its key."""
    waiting = app.reading(shelf.scope).sessions.states(_WANTED) if files.arrived else {}
    if not waiting:
        return {}
    names = {name for path in files.arrived for name in (page.stem(path), path)}
    return {key: json.loads(waiting[key]) for key in map(_key, names) if key in waiting}


def _still(app: App, shelf: Shelf, files: Register, come: Mapping[str, list[str]]) -> Links:
    """What those notes say now."""
    sources = {id for ids in come.values() for id in ids}
    paths = [path for path, one in files.files.items() if one.id in sources] if sources else []
    read = (register.read_leaf(app, shelf, path) for path in paths)
    return {leaf.path: leaf.page.links for leaf in read if isinstance(leaf, Leaf)}


def _clear(app: App, shelf: Shelf, come: Iterable[str]) -> None:
    keys = list(come)
    if not keys:
        return
    store = app.writing(shelf.scope)
    with store.together():
        for key in keys:
            store.sessions.drop_state(key)


def _wait(app: App, shelf: Shelf, links: Links, files: Register, ids: Mapping[str, str]) -> None:
    missing: dict[str, set[str]] = {}
    for path, names in links.items():
        for name in names:
            if page.known_as(name) not in ids:
                missing.setdefault(_key(name), set()).add(files.files[path].id)
    if not missing:
        return
    store = app.writing(shelf.scope)
    with store.together():
        for key, sources in missing.items():
            known = json.loads(store.sessions.state(key) or "[]")
            if not sources <= set(known):
                _put(store, key, sorted({*known, *sources})[:_MOST_WAITING])


def _put(store: Store, key: str, ids: list[str]) -> None:
    if ids:
        store.sessions.put_state(key, json.dumps(ids))
    else:
        store.sessions.drop_state(key)


def _key(name: str) -> str:
    return _WANTED + hashlib.sha256(page.known_as(name).encode(errors="replace")).hexdigest()[:20]

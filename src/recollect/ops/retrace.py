"""The way back of a note's file: what `undo` does to it when it takes back what a command did to a note.

A command leaves the steps that it took: where the file was, where it is, and the few characters of metadata that it
wrote over. They are walked back only where every file still is what we left: a note's file is the truth, and what
somebody wrote into it since stands. No note's own words are kept here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.base.errors import BadInput, Conflict
from recollect.model.plan import Plan, Remove, Unlink
from recollect.model.report import Entry
from recollect.model.result import Done, Scope
from recollect.ops import register, vaults, wikilinks
from recollect.ops.app import App
from recollect.ops.register import UNTRUSTED, Known, Register, Shelf
from recollect.vault import folder
from recollect.vault.folder import Refusal

if TYPE_CHECKING:
    from recollect.store import Store

_STEPS = "note-steps"
_CHANGES_KEPT = 200
_MOST_CHARS = 2_000
FILES_COUNT = "Change or remove the file itself; or `recollect note archive NAME`, `note restore NAME`."


class Step(NamedTuple):
    """What one file went through. No path: there was none."""

    old_path: str
    new_path: str
    old_hash: str
    new_hash: str
    at: int
    old: str
    """Stood there before."""
    length: int
    """Of what stands in its place."""

    def back(self, text: str) -> str:
        return text[: self.at] + self.old + text[self.at + self.length :]


def created(path: str, text: str) -> Step:
    return Step("", path, "", register.content_hash(text), 0, "", len(text))


def step(old_path: str, old: str, new_path: str, new: str) -> Step:
    most = min(len(old), len(new))
    at = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - at) if old[-1 - n] != new[-1 - n]), most - at)
    hashes = (register.content_hash(old), register.content_hash(new))
    return Step(old_path, new_path, *hashes, at, old[at : len(old) - tail], len(new) - at - tail)


def keep(app: App, store: Store, change: str, steps: Sequence[Step]) -> None:
    """In the transaction of that change. What is long or secret is not kept: then there is no way back."""
    if any(len(one.old) > _MOST_CHARS or app.redactor.clean(one.old).text != one.old for one in steps):
        return
    kept = {**_kept(store), change: [list(one) for one in steps]}
    _put(store, dict(list(kept.items())[-_CHANGES_KEPT:]))


def forget(store: Store, ids: Iterable[str]) -> None:
    """Of notes that are erased."""
    gone = {entry.change for id in ids for entry in store.log(limit=_CHANGES_KEPT, memory=id)}
    kept = _kept(store)
    if gone & kept.keys():
        _put(store, {change: steps for change, steps in kept.items() if change not in gone})


def steps_of(store: Store, entry: Entry) -> tuple[Step, ...]:
    try:
        return tuple(Step(*one) for one in _kept(store).get(entry.change, ()))
    except TypeError:
        return ()


def is_of_files(app: App, scope: Scope, entry: Entry) -> bool:
    """It changed files, or was read from them."""
    store = app.reading(scope)
    if steps_of(store, entry):
        return True
    if entry.undoes:
        undone = store.log(limit=1, change=entry.undoes)
        return bool(undone) and is_of_files(app, scope, undone[0])
    return entry.op.startswith("note ")


def undone(app: App, scope: Scope, entry: Entry) -> Done:
    """Files first, then memory: should it end in between, memory follows the files at the next look."""
    steps = steps_of(app.reading(scope), entry)
    if not steps:
        raise BadInput(
            f"{entry.change} ({entry.summary}) cannot be taken back in memory alone: the notes' files count.",
            hint=FILES_COUNT,
        )
    if app.actor == "agent":
        raise BadInput(f"{entry.change} changed a note's file, which is a person's.", hint="Ask the user to undo it.")
    shelf = next(one for one in vaults.shelves(app) if one.scope is scope)
    texts = [_standing(shelf, one) for one in steps]
    store = app.writing(scope)
    summary = f"Undid {entry.op}: {entry.summary}"
    act = app.act("undo", summary, undoes=entry.change)
    plan = store.undo(entry.change, act, dry_run=True)
    if app.dry_run:
        return Done(summary, plan, scope, None, dry_run=True)
    with store.together():  # no other process takes in the files before they are settled
        back = [_walked(shelf, one, text) for one, text in zip(steps, texts, strict=True)]
        _unlink(app, store, plan)
        plan = store.undo(entry.change, act)
        _settle(store, steps)
        if all(one.old_path for one in steps):
            keep(app, store, act.change, back)
    app.log.line("undo", change=act.change, undoes=entry.change, scope=scope, files=len(steps))
    return Done(summary, plan, scope, act.change, dry_run=False)


def _standing(shelf: Shelf, taken: Step) -> str:
    """What the file says, if that is what we left in it."""
    text = folder.read(shelf.vault, taken.new_path)
    if isinstance(text, Refusal) or register.content_hash(text) != taken.new_hash:
        why = text.why if isinstance(text, Refusal) else "it was changed since"
        raise Conflict(f"{taken.new_path} cannot be put back: {why}.", hint=f"Nothing was changed. {FILES_COUNT}")
    if taken.old_path not in ("", taken.new_path) and folder.stamp(shelf.vault, taken.old_path) is not None:
        raise Conflict(f"There is another file at {taken.old_path} by now.", hint="Move it away, then undo again.")
    return text


def _walked(shelf: Shelf, taken: Step, text: str) -> Step:
    """Back. What it would be to go there again."""
    vault = shelf.vault
    if not taken.old_path:
        folder.remove_new(vault, taken.new_path, text)
        return created(taken.new_path, text)
    old = taken.back(text)
    folder.change(vault, taken.new_path, text, old)
    if taken.old_path != taken.new_path:
        folder.move_to(vault, taken.new_path, taken.old_path)
    return step(taken.new_path, text, taken.old_path, old)


def _unlink(app: App, store: Store, plan: Plan) -> None:
    """What goes leaves no link behind it that its words, or another's, once made."""
    gone = [change.memory.id for change in plan.changes if isinstance(change, Remove)]
    links = [bridge for bridge in store.bridges(*gone) if bridge.origin == wikilinks.LINK] if gone else []
    if links:
        store.apply(Plan.of(Unlink(bridge) for bridge in links), app.act(register.SYNC, "Links to a note that goes."))


def _settle(store: Store, steps: Sequence[Step]) -> None:
    """Read anew at the next look, as the notes that they are."""
    files = Register.read(store)
    for one in steps:
        known = files.files.get(one.new_path)
        files.drop(store, one.new_path)
        if one.old_path and known is not None:
            files.settle(store, {one.old_path: Known(known.id, UNTRUSTED, one.old_hash, known.form)})


def _kept(store: Store) -> dict[str, Any]:
    try:
        kept = json.loads(store.sessions.state(_STEPS) or "{}")
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def _put(store: Store, kept: dict[str, Any]) -> None:
    store.sessions.put_state(_STEPS, json.dumps(kept))

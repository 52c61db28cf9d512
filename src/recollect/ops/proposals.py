"""What a language model proposed becomes plans: content alone, in the lowest lane of what it was made from.

Words of threads and of rules that wait are changed in place; for a rule in force a candidate waits in the inbox, which
takes its place if a person accepts it; for a note of the user's own, a note in the vault's inbox. What a person wrote
meanwhile, pinned memories and a repository's files are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from recollect.base.errors import RecollectError
from recollect.base.text import counted
from recollect.capture import contrast
from recollect.capture.review import Proposal, Rewrite
from recollect.lifecycle import propose
from recollect.lifecycle.propose import TAG
from recollect.model.memory import Lane, Memory, Note, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.result import Done, Scope
from recollect.ops import notes
from recollect.ops.app import App
from recollect.ops.capture import standing
from recollect.ops.here import scope_here
from recollect.vault import page

if TYPE_CHECKING:
    from recollect.store import Store

WAITING_MOST = 30
"""Proposals in the inbox; while so many wait, nobody reads them."""


@dataclass(frozen=True, slots=True)
class Proposed:
    proposals: tuple[Proposal, ...]
    shown: dict[str, tuple[Scope, Memory]]
    """What the model was shown, as it was then."""
    lane: Lane
    session: str

    def scope_of(self, one: Proposal, here: Scope) -> Scope:
        return self.shown[one.id][0] if isinstance(one, Rewrite) else here

    def is_note(self, one: Proposal) -> bool:
        return isinstance(one, Rewrite) and isinstance(self.shown[one.id][1], Note)


def applied(app: App, proposed: Proposed) -> list[Done]:
    """One change a store, so that one undo takes it back; a note's file is a change of its own."""
    here = scope_here(app)
    dones = []
    for scope in Scope:
        wanted = [one for one in proposed.proposals if proposed.scope_of(one, here) is scope]
        wanted = [one for one in wanted if not proposed.is_note(one)]
        if wanted:
            done = app.commit(scope, TAG, partial(_plan, app, wanted, proposed), _summary)
            dones += [done] if done.plan else []
    found = (_noted(app, one, proposed) for one in proposed.proposals if proposed.is_note(one))
    return [*dones, *(done for done in found if done is not None)]


def _plan(app: App, wanted: Sequence[Proposal], proposed: Proposed, store: Store) -> Plan:
    changes: list[Change] = []
    rules = standing(store, Status.ACTIVE, Status.CANDIDATE, Status.ARCHIVED)
    room = WAITING_MOST - sum(rule.status is Status.CANDIDATE and TAG in rule.tags for rule in rules)
    now = app.clock.now()
    for one in wanted:
        known = any(contrast.same(one.body, rule.body) for rule in rules)
        if isinstance(one, Rewrite):
            old = _untouched(app, store.exact(one.id), proposed.shown[one.id][1])
            if old is not None and not known:
                words = propose.Words(one.body, proposed.lane, proposed.session)
                changes += propose.rewritten(old, words, id=app.mint.draw("rule"), now=now)
        elif room > 0 and not known:
            room -= 1
            words = propose.Words(one.body, proposed.lane, proposed.session)
            changes.append(Create(propose.candidate(words, one.rule_type, id=app.mint.draw("rule"), now=now)))
    return Plan.of(changes)


def _untouched(app: App, now: Memory | None, was: Memory) -> Memory | None:
    """As it stands, where nobody changed it since the model was shown it."""
    if now is not None and (now.title, now.body) == (was.title, was.body) and not now.pinned:
        return now
    app.log.line("not-rewritten", memory=was.id, why="pinned" if now and now.pinned else "changed meanwhile")
    return None


def _summary(plan: Plan) -> str:
    waiting = sum(isinstance(change, Create) for change in plan.changes)
    changed = sum(isinstance(change, Update) for change in plan.changes)
    parts = [f"{counted(changed, 'memory', 'memories')} reworded"] if changed else []
    parts += [f"{counted(waiting, 'proposal')} in the inbox"] if waiting else []
    return f"{', '.join(parts)}."


def _noted(app: App, one: Proposal, proposed: Proposed) -> Done | None:
    """Into the inbox of the user's vault; a repository's files are never written unasked."""
    if not isinstance(one, Rewrite):
        return None
    scope, was = proposed.shown[one.id]
    now = _untouched(app, app.reading(scope).exact(one.id), was)
    if not isinstance(now, Note) or scope is not Scope.USER or now.status is not Status.ACTIVE:
        return None
    try:
        return notes.save(app, one.body, title=f"{page.stem(now.path)} (proposed)", tags=(TAG,), inbox=True)
    except RecollectError as problem:
        app.log.line("not-rewritten", memory=one.id, why=problem.message)
        return None

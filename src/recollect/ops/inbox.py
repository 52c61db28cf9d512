"""The inbox: rules that were heard and not sure enough. A person accepts, edits or rejects them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.app.rule_keeping import linked_replaced, supersede
from recollect.base.errors import BadInput
from recollect.base.text import one_line, title_from
from recollect.model.memory import ACCEPTED_TAG, Kind, Memory, Rule, Status
from recollect.model.plan import Plan, Update
from recollect.model.result import Cards, Done, Scope
from recollect.ops.memories import Limit, list_kind
from recollect.ops.rules import MAX_RULE_CHARS
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

Id = Annotated[str, Arg("The rule's id.", metavar="ID")]


def listing(app: App, *, limit: Limit = 50) -> Cards:
    cards = list_kind(app, Kind.RULE, Status.CANDIDATE, limit)
    shown = tuple(replace(card, replaces=_replaces(app.reader(card.scope), card.memory)) for card in cards.cards)
    return replace(cards, cards=shown, what="rules" if shown else "rules wait in the inbox")


def _replaces(store: Store, rule: Memory) -> tuple[str, ...]:
    """The rules in force that it would put out of force."""
    ids = linked_replaced(store, rule)
    return tuple(id for id in ids if (old := store.exact(id)) is not None and old.status is Status.ACTIVE)


def accept(app: App, id: Id) -> Done:
    return _in_force(app, id, None)


def edit(
    app: App,
    id: Id,
    text: Annotated[str, Arg("The rule as it should read; - reads standard input.", metavar="TEXT", stdin=True)],
) -> Done:
    words = one_line(app.redact_text("rule", text, max_chars=MAX_RULE_CHARS))
    if not words:
        raise BadInput("The rule is empty.", hint='`recollect inbox edit ID "Use pnpm, never npm"`')
    return _in_force(app, id, words)


def reject(app: App, id: Id) -> Done:
    scope, rule = _waiting(app, id)

    def make(store: Store) -> Plan:
        standing = store.exact(rule.id) or rule
        return Plan.of([Update.between(standing, replace(standing, status=Status.ARCHIVED))])

    return app.commit(scope, "inbox reject", make, lambda _: f"Rule {rule.id} is put away; `restore` brings it back.")


def _in_force(app: App, id: str, words: str | None) -> Done:
    """What a person accepts is as good as said: it supersedes what it contradicts."""
    scope, rule = _waiting(app, id)

    def make(store: Store) -> Plan:
        now = app.clock.now()
        known = store.exact(rule.id)
        standing = known if isinstance(known, Rule) else rule
        tags = tuple(dict.fromkeys((*standing.tags, ACCEPTED_TAG)))
        new = replace(standing, status=Status.ACTIVE, reinforced_at=now, last_active_at=now, tags=tags)
        if words is not None:
            new = replace(new, body=words, title=title_from(words))
        return Plan.of([Update.between(standing, new), *supersede(store, new)])

    return app.commit(scope, "inbox accept" if words is None else "inbox edit", make,
                      lambda _: f"Rule {rule.id} is in force.")  # fmt: skip


def _waiting(app: App, id: str) -> tuple[Scope, Rule]:
    scope, memory = app.find(id)
    if not isinstance(memory, Rule) or memory.status is not Status.CANDIDATE:
        raise BadInput(f"{id} does not wait in the inbox.", hint="`recollect inbox list` shows what does.")
    return scope, memory

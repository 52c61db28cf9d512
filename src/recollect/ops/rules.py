"""Rules: what to do. Those that were heard and are not sure enough wait in the inbox, where a person accepts, edits or
rejects them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.app.rule_keeping import linked_replaced, new_rule, supersede
from recollect.base.errors import BadInput
from recollect.base.text import first_line_title, one_line
from recollect.lifecycle import edits
from recollect.model.memory import ACCEPTED_TAG, Kind, Lane, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Cards, Done, Scope
from recollect.ops.memories import Limit, Muted, Topics, User, change_one, list_kind, scope_of
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

Id = Annotated[str, Arg("The rule's id.", metavar="ID")]


def listing(
    app: App,
    *,
    status: Annotated[Status, Arg("Only rules with this status.")] = Status.ACTIVE,
    topic: Annotated[str | None, Arg("Only rules with this topic.")] = None,
    muted: Muted = False,
    limit: Limit = 50,
) -> Cards:
    return list_kind(app, Kind.RULE, status, limit, muted=muted, topic=topic)


def add(
    app: App,
    text: Annotated[str, Arg("The rule, one clear sentence; - reads standard input.", metavar="TEXT", stdin=True)],
    *,
    type: Annotated[RuleType, Arg("What kind of rule it is.")] = RuleType.PREFERENCE,
    topics: Topics = (),
    user: User = False,
) -> Done:
    """The same sentence, whatever its case, is one rule with a count, not two."""
    words = _read_rule(app, text, "rule add")
    named = app.redact_topics(topics)

    def make(store: Store) -> Plan:
        for same in store.find(Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), body=words, limit=1)):
            again = replace(same, seen=same.seen + 1, last_active_at=app.clock.now())
            return Plan.of([Update.between(same, again)])
        lane = Lane.AGENT if app.actor == "agent" else Lane.USER
        return Plan.of([Create(new_rule(app, words, topics=named, rule_type=type, origin=app.actor, lane=lane))])

    def say(plan: Plan) -> str:
        is_known = isinstance(plan.changes[0], Update)
        return f"Rule {plan.touched()[0]} {'already says this; counted again' if is_known else 'is in force'}."

    return app.commit(scope_of(user), "rule add", make, say)


def _read_rule(app: App, text: str, command: str) -> str:
    words = one_line(app.redact_text("rule", text, max_chars=2_000))
    if not words:
        raise BadInput("The rule is empty.", hint=f'`recollect {command} "Use pnpm, never npm"`')
    return words


def list_inbox(app: App, *, limit: Limit = 50) -> Cards:
    """Each with the rules in force that it would replace."""
    cards = list_kind(app, Kind.RULE, Status.CANDIDATE, limit)
    shown = []
    for card in cards.cards:
        store = app.reader(card.scope)
        found = filter(None, (store.get(id, follow=False) for id in linked_replaced(store, card.memory)))
        shown.append(replace(card, replaces=tuple(old.id for old in found if old.status is Status.ACTIVE)))
    return replace(cards, cards=tuple(shown), what="rules" if shown else "rules wait in the inbox")


def accept(app: App, id: Id) -> Done:
    return _accept_rule(app, id, "inbox accept", None)


def edit(
    app: App,
    id: Id,
    text: Annotated[str, Arg("The rule as it should read; - reads standard input.", metavar="TEXT", stdin=True)],
) -> Done:
    return _accept_rule(app, id, "inbox edit", _read_rule(app, text, "inbox edit ID"))


def reject(app: App, id: Id) -> Done:
    scope, rule = _find_waiting(app, id)
    return change_one(
        app, scope, rule, "inbox reject", edits.archive, f"Rule {rule.id} is archived; `restore` brings it back."
    )


def _accept_rule(app: App, id: str, op: str, words: str | None) -> Done:
    """What a person accepts is as good as said: it supersedes what it contradicts."""
    scope, rule = _find_waiting(app, id)

    def make(store: Store) -> Plan:
        now, known = app.clock.now(), store.get(rule.id, follow=False)
        current = known if isinstance(known, Rule) else rule
        tags = tuple(dict.fromkeys((*current.tags, ACCEPTED_TAG)))
        new = replace(current, status=Status.ACTIVE, reinforced_at=now, last_active_at=now, tags=tags)
        if words is not None:
            new = replace(new, body=words, title=first_line_title(words))
        return Plan.of([Update.between(current, new), *supersede(store, new)])

    return app.commit(scope, op, make, lambda _: f"Rule {rule.id} is in force.")


def _find_waiting(app: App, id: str) -> tuple[Scope, Rule]:
    scope, memory = app.find(id)
    if not isinstance(memory, Rule) or memory.status is not Status.CANDIDATE:
        raise BadInput(f"{id} does not wait in the inbox.", hint="`recollect inbox list` shows what does.")
    return scope, memory

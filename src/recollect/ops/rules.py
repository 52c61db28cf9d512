"""Rules: what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput
from recollect.base.text import one_line, title_from
from recollect.model.memory import Kind, Lane, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.result import Cards, Done
from recollect.ops.app import App
from recollect.ops.memories import Limit, Quiet, Topics, User, hushed, listed, scope_of
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

MAX_RULE_CHARS = 2_000


def add(
    app: App,
    text: Annotated[str, Arg("The rule, one clear sentence; - reads standard input.", metavar="TEXT", stdin=True)],
    *,
    type: Annotated[RuleType, Arg("What kind of rule it is.")] = RuleType.PREFERENCE,
    topics: Topics = (),
    user: User = False,
) -> Done:
    words = one_line(app.take("rule", text, max_chars=MAX_RULE_CHARS))
    if not words:
        raise BadInput("The rule is empty.", hint='`recollect rule add "Use pnpm, never npm"`')
    named = app.take_topics(topics)
    scope = scope_of(user)

    def make(store: Store) -> Plan:
        now = app.clock.now()
        same = _same_rule(store, words)
        if same is not None:
            return Plan.of([Update.between(same, replace(same, seen=same.seen + 1, last_active_at=now))])
        rule = Rule(
            id=app.mint.draw("rule"),
            title=title_from(words),
            body=words,
            topics=named,
            rule_type=type,
            origin=app.actor,
            lane=Lane.AGENT if app.actor == "agent" else Lane.USER,
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )
        return Plan.of([Create(rule)])

    def say(plan: Plan) -> str:
        known = isinstance(plan.changes[0], Update)
        return (
            f"{plan.touched()[0]} says so already; counted once more."
            if known
            else f"Rule {plan.touched()[0]} is in force."
        )

    return app.commit(scope, "rule add", make, say)


def listing(
    app: App,
    *,
    status: Annotated[Status, Arg("Only those of this status.")] = Status.ACTIVE,
    topic: Annotated[str | None, Arg("Only those with this topic.")] = None,
    quiet: Quiet = False,
    limit: Limit = 50,
) -> Cards:
    if quiet:
        return hushed(app, Kind.RULE, limit, what="rules")
    return listed(app, Kind.RULE, status, topic, limit, what="rules")


def retire(app: App, id: Annotated[str, Arg("The rule's id.", metavar="ID")]) -> Done:
    scope, memory = app.find(id)
    if not isinstance(memory, Rule):
        raise BadInput(f"{id} is a {memory.kind}, not a rule.", hint=f"`recollect archive {id}` puts it away.")

    def make(store: Store) -> Plan:
        standing = store.exact(memory.id) or memory
        return Plan.of([Update.between(standing, replace(standing, status=Status.ARCHIVED))])

    return app.commit(scope, "rule retire", make, lambda _: f"Rule {memory.id} is out of force.")


def _same_rule(store: Store, words: str) -> Rule | None:
    """The same sentence, whatever its case: one rule with a count, not two."""
    same = store.same_words(Kind.RULE, words)
    return same if isinstance(same, Rule) else None

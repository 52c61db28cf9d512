"""Rules: what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.base.text import one_line, title_from
from recollect.model.memory import Kind, Lane, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Cards, Done
from recollect.ops.memories import Limit, Quiet, Topics, User, list_kind, scope_of
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
    """The same sentence, whatever its case, is one rule with a count, not two."""
    words = one_line(app.redact_text("rule", text, max_chars=MAX_RULE_CHARS))
    if not words:
        raise BadInput("The rule is empty.", hint='`recollect rule add "Use pnpm, never npm"`')
    named = app.redact_topics(topics)

    def make(store: Store) -> Plan:
        now = app.clock.now()
        for same in store.find(Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), body=words, limit=1)):
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
        id = plan.touched()[0]
        is_known = isinstance(plan.changes[0], Update)
        return f"{id} says so already; counted once more." if is_known else f"Rule {id} is in force."

    return app.commit(scope_of(user), "rule add", make, say)


def listing(
    app: App,
    *,
    status: Annotated[Status, Arg("Only those with this status.")] = Status.ACTIVE,
    topic: Annotated[str | None, Arg("Only those with this topic.")] = None,
    quiet: Quiet = False,
    limit: Limit = 50,
) -> Cards:
    return list_kind(app, Kind.RULE, status, limit, quiet=quiet, topic=topic)

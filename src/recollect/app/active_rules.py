"""The rules in force here, for sessions, calls and everything that is written where agents read by themselves."""

from __future__ import annotations

from recollect.app.core import App
from recollect.model.memory import Kind, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.recall.priority import is_quiet, relevance

MAX_RULES = 300


def load_rules(app: App) -> dict[str, tuple[Scope, Rule]]:
    """By id, the ones that proved themselves first; without those that went quiet."""
    wanted = Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), limit=MAX_RULES)
    found = [
        (scope, rule)
        for scope, store in app.scopes()
        for rule in store.find(wanted)
        if isinstance(rule, Rule) and not is_quiet(rule)
    ]
    found.sort(
        key=lambda pair: (
            pair[1].pinned, relevance(pair[1].ratings, pair[1].outcomes), pair[1].seen, pair[1].last_active_at,
        ),
        reverse=True,
    )  # fmt: skip
    return {rule.id: (scope, rule) for scope, rule in found}
